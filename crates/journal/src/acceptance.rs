//! Permissions of job files and webhooks, which the user accepts line by line. A line is known by
//! the hash of its text.
//!
//! A permission is accepted as soon as the user writes it through a command, the page or an
//! approved edit. Permissions written by any other program wait for the command `accept`.

use std::collections::BTreeSet;

use domain::schedule::{JobFileChange, JobSpec, Reminder, Routine, WebhookSpec};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};

use super::db::Database;
use super::{Journal, Paths, ReadError, WriteError, disk, write_error};
use crate::files::items::Item;

/// The name that records that the jobs of the first start were accepted.
const INITIAL_JOBS: &str = "jobs";

/// The permissions a file requests, and the name under which they are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionRequests {
    /// For example `routine:mail`.
    pub name: String,
    /// For a follow-up in a chain: the name of the first reminder, which requested the same.
    chain_root: Option<String>,
    /// The requested permissions, one line each.
    pub lines: Vec<String>,
    /// All permissions that the file mentions, requested or not.
    mentioned: Vec<String>,
}

impl PermissionRequests {
    pub fn for_job(what: &JobSpec) -> Self {
        let name = match what {
            JobSpec::Routine(routine) => format!("routine:{}", routine.id),
            JobSpec::Reminder(reminder) => format!("reminder:{}", reminder.id),
        };
        let first = what.first_of_chain().map(|first| format!("reminder:{first}"));
        Self {
            name,
            chain_root: first,
            lines: what.requested_permissions(),
            mentioned: what.named_permissions(),
        }
    }

    pub fn for_webhook(hook: &WebhookSpec) -> Self {
        let lines = hook.options.requested_tools();
        let named = hook.options.named_tools();
        Self { name: format!("webhook:{}", hook.id), chain_root: None, lines, mentioned: named }
    }

    /// Reads the requests of `text`, the content of `file` (relative to the data directory). `None`
    /// if it is no readable job or webhook.
    pub fn parse_file(file: &str, text: &str) -> Option<Self> {
        // Requests do not depend on the time zone.
        let zone = &TimeZone::UTC;
        let (folder, _) = file.split_once('/').filter(|(_, name)| !name.contains('/'))?;
        match folder {
            Routine::DIRECTORY => Some(Self::for_job(&JobSpec::Routine(Routine::read(text, zone).ok()?))),
            Reminder::DIRECTORY => Some(Self::for_job(&JobSpec::Reminder(Reminder::read(text, zone).ok()?))),
            WebhookSpec::DIRECTORY => Some(Self::for_webhook(&WebhookSpec::read(text, zone).ok()?)),
            _ => None,
        }
    }

    /// The notice for a file of which `held` is withheld, with the command that accepts it.
    pub fn withheld_notice(&self, held: &[String]) -> String {
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

/// The permissions the user has accepted, as of the time they were loaded.
pub enum AcceptedPermissions {
    /// Before the first start: existing files belong to the user.
    Everything,
    Recorded(Database),
    /// The lookup failed, so nothing is accepted.
    Nothing,
}

impl AcceptedPermissions {
    /// Loads them from the data directory at `paths`.
    pub fn load(paths: &Paths) -> Self {
        match super::open_read_only(paths) {
            Ok(None) => Self::Everything,
            Ok(Some(database)) => match database.accepted(INITIAL_JOBS) {
                Ok(begun) if begun.is_empty() => Self::Everything,
                Ok(_) => Self::Recorded(database),
                Err(_) => Self::Nothing,
            },
            Err(_) => Self::Nothing,
        }
    }

    /// The requested lines that are not accepted.
    pub fn withheld(&self, asked: &PermissionRequests) -> Vec<String> {
        match self {
            Self::Everything => Vec::new(),
            Self::Nothing => asked.lines.clone(),
            Self::Recorded(_) if asked.lines.is_empty() => Vec::new(),
            Self::Recorded(database) => {
                let names = [Some(&asked.name), asked.chain_root.as_ref()].into_iter().flatten();
                // A failed lookup counts as not accepted.
                let accepted: Vec<String> =
                    names.flat_map(|name| database.accepted(name).unwrap_or_default()).collect();
                let held = asked.lines.iter().filter(|line| !accepted.contains(&hash_of(line)));
                held.cloned().collect()
            }
        }
    }
}

/// The notices about unusable files that the user has already received, stored next to the
/// acceptances.
pub(crate) struct FileNotices(Database);

impl FileNotices {
    /// Opens the journal at `paths`. `None` if it is missing or cannot be opened.
    pub(crate) fn open(paths: &Paths) -> Option<Self> {
        open_existing(paths).ok().map(Self)
    }

    /// Sets `told_before` if the user has already received this notice. A new notice is recorded.
    pub(crate) fn mark(&self, news: JobFileChange, at: Timestamp) -> JobFileChange {
        match news {
            JobFileChange::Invalid { file, source, reason: why, .. } => {
                let told_before = self.record(&file, &why, at);
                JobFileChange::Invalid { file, source, reason: why, reported_before: told_before }
            }
            JobFileChange::Withheld { file, reason: why, .. } => {
                let told_before = self.record(&file, &why, at);
                JobFileChange::Withheld { file, reason: why, reported_before: told_before }
            }
            JobFileChange::Repaired(file) => {
                self.forget(&file);
                JobFileChange::Repaired(file)
            }
            JobFileChange::Planned(_) | JobFileChange::Removed(_) => news,
        }
    }

    /// Returns whether the user was notified of `why` for `file`, and records it. If recording
    /// fails, the notice is repeated.
    fn record(&self, file: &str, why: &str, at: Timestamp) -> bool {
        let name = notice_key(file);
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

    /// Forgets the notices of all files that are not in `wrong`. If a folder is in `wrong`, its
    /// files are unknown and their notices stay.
    pub(crate) fn retain(&self, wrong: &BTreeSet<String>) {
        let told = self.0.accepted_names_with_prefix(&notice_key("")).unwrap_or_else(|error| {
            tracing::warn!(%error, "What was told of files could not be looked up.");
            Vec::new()
        });
        for file in told.iter().filter_map(|name| name.strip_prefix(&notice_key(""))) {
            let folder = file.split_once('/').map(|(folder, _)| folder);
            if !wrong.contains(file) && !folder.is_some_and(|folder| wrong.contains(folder)) {
                self.forget(file);
            }
        }
    }

    fn forget(&self, file: &str) {
        if let Err(error) = self.0.revoke(&notice_key(file)) {
            tracing::warn!(%error, file, "What was told of a file is still remembered.");
        }
    }
}

/// The name under which the notice about `file` is stored.
fn notice_key(file: &str) -> String {
    format!("told:{file}")
}

/// The SHA-256 hash of `content`, in hexadecimal.
pub fn hash_of(content: &str) -> String {
    Sha256::digest(content.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Accepts `name` with this hash in the data directory at `paths`, whether or not the daemon runs.
pub fn accept(paths: &Paths, name: &str, hash: &str, at: Timestamp) -> Result<(), String> {
    let database = open_existing(paths)?;
    database.accept(name, hash, at).map_err(|error| write_error(&error).0)?;
    notify_watcher(paths, at);
    Ok(())
}

/// Notifies the running daemon that permissions changed, so that it scans the job files. If this
/// fails, the daemon scans within a few seconds anyway.
fn notify_watcher(paths: &Paths, at: Timestamp) {
    let marked = disk::ensure_dir(&disk::RealDisk, &paths.marks())
        .and_then(|()| disk::replace(&disk::RealDisk, &paths.accepted_mark(), at.to_string().as_bytes()));
    if let Err(error) = marked {
        tracing::warn!(%error, "What was accepted holds a few seconds later.");
    }
}

/// Accepts the change of `file` (relative to the data directory) from `before` to `after` when the
/// user has not reviewed the whole file: requests that `before` did not mention are accepted, and
/// removed requests are revoked. An unreadable text mentions everything.
pub fn accept_change(
    paths: &Paths,
    file: &str,
    before: &str,
    after: &str,
    at: Timestamp,
) -> Result<(), String> {
    let (Some(before), Some(after)) =
        (PermissionRequests::parse_file(file, before), PermissionRequests::parse_file(file, after))
    else {
        return Ok(());
    };
    let new = after.lines.iter().filter(|line| !before.mentioned.contains(line)).map(|line| hash_of(line));
    let gone = before.lines.iter().filter(|line| !after.lines.contains(line)).map(|line| hash_of(line));
    let new = new.collect::<Vec<_>>();
    let gone = gone.collect::<Vec<_>>();
    if new.is_empty() && gone.is_empty() {
        Ok(())
    } else {
        apply_change(paths, at, |database| database.accept_change(&after.name, &new, &gone, at))
    }
}

/// Accepts exactly the requested permissions, all of which the user has reviewed.
pub fn accept_requested(paths: &Paths, asked: &PermissionRequests, at: Timestamp) -> Result<(), String> {
    let new: Vec<String> = asked.lines.iter().map(|line| hash_of(line)).collect();
    apply_change(paths, at, |database| {
        let gone = database.accepted(&asked.name)?;
        database.accept_change(&asked.name, &new, &gone, at)
    })
}

/// Changes acceptances. Does nothing before the first start, because that accepts all existing
/// files.
fn apply_change(
    paths: &Paths,
    at: Timestamp,
    change: impl FnOnce(&mut Database) -> rusqlite::Result<()>,
) -> Result<(), String> {
    if paths.database().exists() {
        change(&mut open_existing(paths)?).map_err(|error| write_error(&error).0)?;
        notify_watcher(paths, at);
        Ok(())
    } else {
        Ok(())
    }
}

/// Revokes all acceptances of `name` in the data directory at `paths`.
pub fn revoke(paths: &Paths, name: &str) -> Result<(), String> {
    let database = open_existing(paths)?;
    database.revoke(name).map_err(|error| write_error(&error).0)
}

fn open_existing(paths: &Paths) -> Result<Database, String> {
    let path = paths.database();
    if !path.exists() {
        return Err("Nothing was started here yet. Start the assistant once, then accept it.".to_owned());
    }
    Database::open(&path).map_err(|error| error.to_string())
}

impl Database {
    /// Requires acceptance for all requests from now on.
    pub(crate) fn require_acceptance(&self, at: Timestamp) -> rusqlite::Result<()> {
        self.accept(INITIAL_JOBS, &hash_of(INITIAL_JOBS), at)
    }
}

impl Journal {
    /// Returns whether the user has accepted `name` with this hash.
    pub async fn is_accepted(&self, name: String, hash: String) -> Result<bool, ReadError> {
        self.read(move |reader| reader.database.is_accepted(&name, &hash)).await
    }

    /// Accepts `name` with this hash. Call this only for an action of the user.
    pub async fn accept(&self, name: String, hash: String, at: Timestamp) -> Result<(), WriteError> {
        self.update_database(move |database| database.accept(&name, &hash, at)).await
    }

    /// Accepts all requests of `jobs` at the first start, because the files are older than the
    /// journal. Does nothing later.
    pub async fn accept_initial_jobs(
        &self,
        jobs: Vec<PermissionRequests>,
        at: Timestamp,
    ) -> Result<(), WriteError> {
        self.update_database(move |database| {
            if !database.accepted(INITIAL_JOBS)?.is_empty() {
                return Ok(());
            }
            let begun = std::iter::once((INITIAL_JOBS, hash_of(INITIAL_JOBS)));
            database.accept_each(jobs.iter().flat_map(PermissionRequests::hashes).chain(begun), at)
        })
        .await
    }
}
