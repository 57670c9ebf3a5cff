//! The MCP servers in `mcp.json`, their sign-ins, and which of their tools the user has accepted.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use journal::disk::{self, Disk, FileKind};
use journal::{Journal, Paths};
use models::claude::ParentDeathGuard;
use tools::mcp::{AcceptedOffers, ProcessContext, ServerConfig, Servers, TokenStore, parse_config};

use crate::parent_death::wrapper;
use crate::settings::Settings;

/// The greatest size of `mcp.json`.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The default `PATH` of servers.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns the name under which the acceptance of a server is stored.
pub fn consent_name(server: &str) -> String {
    format!("server:{server}")
}

/// Reads the configured servers, and the problems of the file.
pub fn configured_servers(settings: &Settings, disk: &dyn Disk) -> (Vec<ServerConfig>, Vec<String>) {
    let path = settings.paths.root().join("mcp.json");
    let wrong = |why: String| (Vec::new(), vec![format!("mcp.json cannot be read: {why}.")]);
    match disk.file_kind(&path) {
        Ok(None) => (Vec::new(), Vec::new()),
        Ok(Some(FileKind::File(..=MAX_CONFIG_BYTES))) => match disk.read(&path) {
            Ok(bytes) => parse_config(&String::from_utf8_lossy(&bytes)),
            Err(error) => wrong(error.to_string()),
        },
        Ok(Some(FileKind::File(_) | FileKind::Directory | FileKind::Other)) => {
            wrong("it is no small file".to_owned())
        }
        Err(error) => wrong(error.to_string()),
    }
}

/// Creates clients for these servers.
pub fn servers(
    named: Vec<ServerConfig>,
    settings: &Settings,
    disk: &Arc<dyn Disk>,
    pins: &Arc<dyn AcceptedOffers>,
) -> Servers {
    let path = settings.integrations.program_path.clone().unwrap_or_else(|| DEFAULT_PATH.to_owned());
    let home = settings.home.clone().map(|home| ("HOME".to_owned(), home));
    let known = [("PATH".to_owned(), path), ("LANG".to_owned(), "C.UTF-8".to_owned())];
    let environment: BTreeMap<String, String> = known.into_iter().chain(home).collect();
    let leash = match wrapper() {
        ParentDeathGuard::Wrapper(words) => words,
        ParentDeathGuard::None => Vec::new(),
    };
    let around = ProcessContext { launcher: leash, environment, directory: settings.paths.root().to_owned() };
    Servers::new(named, &around, pins, &tokens(settings, Arc::clone(disk)))
}

/// The sign-ins of servers, as files in `state/` that only the user can read.
pub fn tokens(settings: &Settings, disk: Arc<dyn Disk>) -> Arc<dyn TokenStore> {
    Arc::new(TokenFiles { paths: settings.paths.clone(), disk })
}

/// The greatest size of a stored sign-in.
const MAX_TOKEN_BYTES: usize = 256 * 1024;

struct TokenFiles {
    paths: Paths,
    disk: Arc<dyn Disk>,
}

impl TokenFiles {
    /// Ends in `.token`, so that backups and archives treat it as a secret.
    fn place(&self, server: &str) -> PathBuf {
        self.paths.state().join(format!("mcp-{server}.token"))
    }
}

impl TokenStore for TokenFiles {
    fn read(&self, server: &str) -> io::Result<Option<Vec<u8>>> {
        let place = self.place(server);
        match std::fs::metadata(&place) {
            Ok(found) if found.permissions().mode() & 0o077 != 0 => {
                let place = place.display();
                Err(io::Error::other(format!("others can read {place}; chmod 600 makes it yours alone")))
            }
            Ok(_) => self.disk.read_part(&place, 0, MAX_TOKEN_BYTES).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn replace(&self, server: &str, bytes: &[u8]) -> io::Result<()> {
        disk::replace(&*self.disk, &self.place(server), bytes)
    }

    fn remove(&self, server: &str) -> io::Result<()> {
        disk::remove(&*self.disk, &self.place(server)).map(|_| ())
    }
}

/// Accepted tools, read through the open journal.
pub struct JournalPins(pub Arc<Journal>);

impl AcceptedOffers for JournalPins {
    fn is_accepted<'a>(&'a self, server: &'a str, fingerprint: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            // A failed lookup counts as not accepted.
            self.0.is_accepted(consent_name(server), fingerprint.to_owned()).await.unwrap_or(false)
        })
    }
}

/// Accepted tools, read from the disk without the daemon.
pub struct DiskPins(pub Paths);

impl AcceptedOffers for DiskPins {
    fn is_accepted<'a>(&'a self, server: &'a str, fingerprint: &'a str) -> BoxFuture<'a, bool> {
        let found = journal::open_read_only(&self.0).ok().flatten();
        let accepted =
            found.is_some_and(|found| found.is_accepted(&consent_name(server), fingerprint).unwrap_or(false));
        Box::pin(async move { accepted })
    }
}
