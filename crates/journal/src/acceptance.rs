//! What the human accepts, they accept as it is: it is known by a hash of all its words.
//!
//! What the file of a job asks for is accepted line by line. It holds as soon as the human writes it by one of our own doors
//! (a command, the page, a yes to an edit); what any other program writes there waits for `accept`.

use domain::schedule::{Reminder, Routine, WebhookSpec, What};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};

use super::db::Database;
use super::{Journal, Paths, Unreadable, Unwritten, unwritten};
use crate::files::items::Item;

/// Under this name it is kept that the jobs of the first start were accepted.
const JOBS: &str = "jobs";

/// What somebody asks for, and the name under which that is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// The name: `routine:mail`.
    pub name: String,
    /// What is asked for, a line each.
    pub lines: Vec<String>,
}

impl Asking {
    /// What the job asks for.
    pub fn job(what: &What) -> Self {
        Self { name: what.accepted_as(), lines: what.asks() }
    }

    /// What the webhook asks for.
    pub fn webhook(hook: &WebhookSpec) -> Self {
        Self { name: format!("webhook:{}", hook.id), lines: hook.terms.asks() }
    }

    /// What `text` asks for in `file`, called as it is from the data directory on: nothing, if that is no such file.
    pub fn of(file: &str, text: &str) -> Option<Self> {
        // What is asked for does not depend on where a clock is.
        let zone = &TimeZone::UTC;
        let (folder, _) = file.split_once('/').filter(|(_, name)| !name.contains('/'))?;
        match folder {
            Routine::DIRECTORY => Some(Self::job(&What::Routine(Routine::read(text, zone).ok()?))),
            Reminder::DIRECTORY => Some(Self::job(&What::Reminder(Reminder::read(text, zone).ok()?))),
            WebhookSpec::DIRECTORY => Some(Self::webhook(&WebhookSpec::read(text, zone).ok()?)),
            _ => None,
        }
    }

    fn hashes(&self) -> impl Iterator<Item = (&str, String)> {
        self.lines.iter().map(|line| (self.name.as_str(), hash_of(line)))
    }

    /// Only what `before` did not ask for.
    #[must_use]
    pub fn since(mut self, before: Option<&Self>) -> Self {
        let asked = |line: &String| before.is_some_and(|before| before.lines.contains(line));
        self.lines.retain(|line| !asked(line));
        self
    }
}

/// What the human has accepted, as it was when somebody looked.
pub enum Accepted {
    /// Nobody was asked yet: what is there at the first start is the human's own.
    Everything,
    /// This.
    Kept(Database),
    /// It could not be looked up, so that nothing is.
    Nothing,
}

impl Accepted {
    /// Looks it up in the data directory at `paths`.
    pub fn look(paths: &Paths) -> Self {
        match super::peek(paths) {
            Ok(None) => Self::Everything,
            Ok(Some(database)) => match database.accepted(JOBS) {
                Ok(begun) if begun.is_empty() => Self::Everything,
                Ok(_) => Self::Kept(database),
                Err(_) => Self::Nothing,
            },
            Err(_) => Self::Nothing,
        }
    }

    /// Those lines that are held back.
    pub fn held(&self, asking: &Asking) -> Vec<String> {
        match self {
            Self::Everything => Vec::new(),
            Self::Nothing => asking.lines.clone(),
            Self::Kept(_) if asking.lines.is_empty() => Vec::new(),
            Self::Kept(database) => {
                let accepted = database.accepted(&asking.name).unwrap_or_default();
                let held = asking.lines.iter().filter(|line| !accepted.contains(&hash_of(line)));
                held.cloned().collect()
            }
        }
    }
}

/// What the human is told of what is `held` back in a file, which `command` accepts.
pub fn held_back(held: &[String], command: &str) -> String {
    format!(
        "asks for {}, which you have not accepted: it runs without. `{command}` accepts it.",
        held.join(" and ")
    )
}

/// The hash by which `content` is known.
pub fn hash_of(content: &str) -> String {
    Sha256::digest(content.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Accepts `name` with the content of this hash, in the data directory at `paths`, whether or not somebody runs there.
pub fn accept(paths: &Paths, name: &str, hash: &str, at: Timestamp) -> Result<(), String> {
    let database = opened(paths)?;
    database.accept(name, hash, at).map_err(|error| unwritten(&error).0)
}

/// Accepts all that is asked for, in the data directory at `paths`. Before the first start there is nothing to do: all that
/// is there then is accepted.
pub fn accept_all(paths: &Paths, asking: &Asking, at: Timestamp) -> Result<(), String> {
    if asking.lines.is_empty() || !paths.database().exists() {
        return Ok(());
    }
    let mut database = opened(paths)?;
    database.accept_each(asking.hashes(), at).map_err(|error| unwritten(&error).0)
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

    /// Accepts all that `jobs` ask for, if this was not done before: they were here before we were.
    pub async fn accept_the_first(&self, jobs: Vec<Asking>, at: Timestamp) -> Result<(), Unwritten> {
        self.change(move |database| {
            if !database.accepted(JOBS)?.is_empty() {
                return Ok(());
            }
            let begun = std::iter::once((JOBS, hash_of(JOBS)));
            database.accept_each(jobs.iter().flat_map(Asking::hashes).chain(begun), at)
        })
        .await
    }
}
