//! What the human accepts, they accept as it is: it is known by a hash of all its words.

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::db::Database;
use super::{Journal, Paths, Unreadable, Unwritten, unwritten};

/// The hash by which `content` is known.
pub fn hash_of(content: &str) -> String {
    Sha256::digest(content.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Accepts `name` with the content of this hash, in the data directory at `paths`, whether or not somebody runs there.
pub fn accept(paths: &Paths, name: &str, hash: &str, at: Timestamp) -> Result<(), String> {
    let database = opened(paths)?;
    database.accept(name, hash, at).map_err(|error| unwritten(&error).0)
}

/// Accepts `name` no more, in the data directory at `paths`.
pub fn refuse(paths: &Paths, name: &str) -> Result<(), String> {
    let database = opened(paths)?;
    database.refuse(name).map_err(|error| unwritten(&error).0)
}

fn opened(paths: &Paths) -> Result<Database, String> {
    let path = paths.database();
    if !path.exists() {
        return Err("nothing was started here yet. start the assistant once, and accept it then.".to_owned());
    }
    Database::open(&path).map_err(|error| error.to_string())
}

impl Journal {
    /// Whether the human has accepted `name` with the content of this hash.
    pub async fn is_accepted(&self, name: String, hash: String) -> Result<bool, Unreadable> {
        self.read(move |reader| reader.database.is_accepted(&name, &hash)).await
    }

    /// Accepts `name` with the content of this hash. Only an act of the human may lead here.
    pub async fn accept(&self, name: String, hash: String, at: Timestamp) -> Result<(), Unwritten> {
        self.change(move |database| database.accept(&name, &hash, at)).await
    }
}
