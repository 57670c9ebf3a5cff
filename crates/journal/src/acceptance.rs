//! What the human accepts, they accept as it is: it is known by a hash of all its words.
//!
//! What the file of a job asks for is accepted line by line. It holds as soon as the human writes it by one of our own doors
//! (a command, the page, a yes to an edit); what any other program writes there waits for `accept`.

use std::collections::BTreeSet;

use domain::schedule::{FileNews, Reminder, Routine, WebhookSpec, What};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};

use super::db::Database;
use super::{Journal, Paths, Unreadable, Unwritten, disk, unwritten};
use crate::files::items::Item;

/// Under this name it is kept that the jobs of the first start were accepted.
const JOBS: &str = "jobs";

/// What a file asks for, and the name under which that is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedFor {
    /// The name: `routine:mail`.
    pub name: String,
    /// Whoever asked for the same before: the first of a chain.
    first: Option<String>,
    /// What is asked for, a line each.
    pub lines: Vec<String>,
    /// All that the file names, whether it asks for it or not.
    named: Vec<String>,
}

impl AskedFor {
    /// What the job asks for.
    pub fn job(what: &What) -> Self {
        let name = match what {
            What::Routine(routine) => format!("routine:{}", routine.id),
            What::Reminder(reminder) => format!("reminder:{}", reminder.id),
        };
        let first = what.first_of_chain().map(|first| format!("reminder:{first}"));
        Self { name, first, lines: what.asks(), named: what.names() }
    }

    /// What the webhook asks for.
    pub fn webhook(hook: &WebhookSpec) -> Self {
        let lines = hook.terms.asks();
        let named = hook.terms.names();
        Self { name: format!("webhook:{}", hook.id), first: None, lines, named }
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

    /// What is told of a file in which `held` is held back, and how that is accepted.
    pub fn held_back(&self, held: &[String]) -> String {
        let (kind, id) = self.name.split_once(':').unwrap_or(("routine", &self.name));
        format!(
            "asks for {}, which you have not accepted: it runs without. `ollim-bot {kind} accept {id}` accepts it.",
            held.join(" and ")
        )
    }

    fn hashes(&self) -> impl Iterator<Item = (&str, String)> {
        self.lines.iter().map(|line| (self.name.as_str(), hash_of(line)))
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
    pub fn held(&self, asked: &AskedFor) -> Vec<String> {
        match self {
            Self::Everything => Vec::new(),
            Self::Nothing => asked.lines.clone(),
            Self::Kept(_) if asked.lines.is_empty() => Vec::new(),
            Self::Kept(database) => {
                let names = [Some(&asked.name), asked.first.as_ref()].into_iter().flatten();
                // What cannot be looked up was not accepted.
                let accepted: Vec<String> =
                    names.flat_map(|name| database.accepted(name).unwrap_or_default()).collect();
                let held = asked.lines.iter().filter(|line| !accepted.contains(&hash_of(line)));
                held.cloned().collect()
            }
        }
    }
}

/// What the user was told of files that cannot be used as they are, kept beside what they accepted.
pub(crate) struct ToldFiles(Database);

impl ToldFiles {
    /// Opens the journal at `paths`: nothing, if there is none yet or it cannot be opened.
    pub(crate) fn open(paths: &Paths) -> Option<Self> {
        opened(paths).ok().map(Self)
    }

    /// The same news, marked if the user was told of it before. What is new is remembered as told.
    pub(crate) fn marked(&self, news: FileNews, at: Timestamp) -> FileNews {
        match news {
            FileNews::Broken { file, source, why, .. } => {
                let told_before = self.tell(&file, &why, at);
                FileNews::Broken { file, source, why, told_before }
            }
            FileNews::Held { file, why, .. } => {
                let told_before = self.tell(&file, &why, at);
                FileNews::Held { file, why, told_before }
            }
            FileNews::Mended(file) => {
                self.forget(&file);
                FileNews::Mended(file)
            }
            FileNews::Plans(_) | FileNews::Gone(_) => news,
        }
    }

    /// Returns whether the user was told `why` of `file`, and remembers it. One that cannot be remembered is told again.
    fn tell(&self, file: &str, why: &str, at: Timestamp) -> bool {
        let name = told_name(file);
        let hash = hash_of(why);
        if self.0.is_accepted(&name, &hash).unwrap_or(false) {
            return true;
        }
        self.forget(file);
        if let Err(error) = self.0.accept(&name, &hash, at) {
            tracing::warn!(%error, file, "What was told of a file is not remembered.");
        }
        false
    }

    /// Forgets what was told of all files that are not among `wrong`. Of the files in a folder that is among them nothing is
    /// known, so what was told of these stays.
    pub(crate) fn forget_all_but(&self, wrong: &BTreeSet<String>) {
        let told = self.0.names_from(&told_name("")).unwrap_or_else(|error| {
            tracing::warn!(%error, "What was told of files could not be looked up.");
            Vec::new()
        });
        for file in told.iter().filter_map(|name| name.strip_prefix(&told_name(""))) {
            let folder = file.split_once('/').map(|(folder, _)| folder);
            if !wrong.contains(file) && !folder.is_some_and(|folder| wrong.contains(folder)) {
                self.forget(file);
            }
        }
    }

    fn forget(&self, file: &str) {
        if let Err(error) = self.0.refuse(&told_name(file)) {
            tracing::warn!(%error, file, "What was told of a file is still remembered.");
        }
    }
}

/// Under this name it is kept what was told of `file`.
fn told_name(file: &str) -> String {
    format!("told:{file}")
}

/// The hash by which `content` is known.
pub fn hash_of(content: &str) -> String {
    Sha256::digest(content.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Accepts `name` with the content of this hash, in the data directory at `paths`, whether or not somebody runs there.
pub fn accept(paths: &Paths, name: &str, hash: &str, at: Timestamp) -> Result<(), String> {
    let database = opened(paths)?;
    database.accept(name, hash, at).map_err(|error| unwritten(&error).0)?;
    notify_watch(paths, at);
    Ok(())
}

/// Tells the assistant that runs to look at the job files again, because something was accepted. If this fails, it looks a
/// few seconds later anyway.
fn notify_watch(paths: &Paths, at: Timestamp) {
    let marked = disk::ensure_dir(&disk::RealDisk, &paths.marks())
        .and_then(|()| disk::replace(&disk::RealDisk, &paths.accepted_mark(), at.to_string().as_bytes()));
    if let Err(error) = marked {
        tracing::warn!(%error, "What was accepted holds a few seconds later.");
    }
}

/// The human lets `after` be written in `file`, called as it is from the data directory on, over what they have not seen
/// all of: what it asks for and `before` did not name is accepted, and what it does not ask for any more is not. An
/// unreadable text names everything.
pub fn accept_change(
    paths: &Paths,
    file: &str,
    before: &str,
    after: &str,
    at: Timestamp,
) -> Result<(), String> {
    let (Some(before), Some(after)) = (AskedFor::of(file, before), AskedFor::of(file, after)) else {
        return Ok(());
    };
    let new = after.lines.iter().filter(|line| !before.named.contains(line)).map(|line| hash_of(line));
    let gone = before.lines.iter().filter(|line| !after.lines.contains(line)).map(|line| hash_of(line));
    let new = new.collect::<Vec<_>>();
    let gone = gone.collect::<Vec<_>>();
    if new.is_empty() && gone.is_empty() {
        Ok(())
    } else {
        changed(paths, at, |database| database.accept_change(&after.name, &new, &gone, at))
    }
}

/// The human has all that is asked for before them, and accepts that and no more.
pub fn accept_whole(paths: &Paths, asked: &AskedFor, at: Timestamp) -> Result<(), String> {
    let new: Vec<String> = asked.lines.iter().map(|line| hash_of(line)).collect();
    changed(paths, at, |database| {
        let gone = database.accepted(&asked.name)?;
        database.accept_change(&asked.name, &new, &gone, at)
    })
}

/// Changes what is accepted. Before the first start there is nothing to do: all that is there then is accepted.
fn changed(
    paths: &Paths,
    at: Timestamp,
    change: impl FnOnce(&mut Database) -> rusqlite::Result<()>,
) -> Result<(), String> {
    if paths.database().exists() {
        change(&mut opened(paths)?).map_err(|error| unwritten(&error).0)?;
        notify_watch(paths, at);
        Ok(())
    } else {
        Ok(())
    }
}

/// Accepts `name` no more, in the data directory at `paths`.
pub fn refuse(paths: &Paths, name: &str) -> Result<(), String> {
    let database = opened(paths)?;
    database.refuse(name).map_err(|error| unwritten(&error).0)
}

fn opened(paths: &Paths) -> Result<Database, String> {
    let path = paths.database();
    if !path.exists() {
        return Err("Nothing was started here yet. Start the assistant once, then accept it.".to_owned());
    }
    Database::open(&path).map_err(|error| error.to_string())
}

impl Database {
    /// From now on what jobs ask for has to be accepted, whatever is there.
    pub(crate) fn begin_accepting(&self, at: Timestamp) -> rusqlite::Result<()> {
        self.accept(JOBS, &hash_of(JOBS), at)
    }
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
    pub async fn accept_the_first(&self, jobs: Vec<AskedFor>, at: Timestamp) -> Result<(), Unwritten> {
        self.change(move |database| {
            if !database.accepted(JOBS)?.is_empty() {
                return Ok(());
            }
            let begun = std::iter::once((JOBS, hash_of(JOBS)));
            database.accept_each(jobs.iter().flat_map(AskedFor::hashes).chain(begun), at)
        })
        .await
    }
}
