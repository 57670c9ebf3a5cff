//! Imports conversations of the Python program from the transcripts of the Claude Code program.
//!
//! Imports each stored session once: the main session, those of persistent routines, and those of
//! runs that sent a message in the last seven days. All entries of a session are written in one
//! transaction.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use domain::conversation::{Branch, Conversation, EntryContent, EntryId, Head, SessionId};
use domain::cost::CostSource;
use domain::label::Label;
use domain::record::{PlanChange, Record, SentChange, SessionHead};
use domain::schedule::ItemId;
use domain::sent_messages::{MessageOrigin, RunEnd, is_old};
use jiff::Timestamp;

use crate::db::Database;
use crate::disk::Disk;
use crate::open::JournalOrigin;
use crate::transcripts::{self, TranscriptEntry, TranscriptError};

/// The most runs whose conversations are imported for replies.
const MAX_RUNS: usize = 50;

pub struct Importer<'a> {
    disk: &'a dyn Disk,
    projects: &'a Path,
    now: Timestamp,
    /// The entry of each imported line, because forks repeat the lines of their parent.
    entries: HashMap<String, EntryId>,
    labels: HashMap<EntryId, Label>,
}

struct ImportedSession {
    head: Head,
    path: PathBuf,
    count: usize,
    root: Option<EntryId>,
}

impl<'a> Importer<'a> {
    /// Imports from the folders in `projects`.
    pub fn new(disk: &'a dyn Disk, projects: &'a Path, now: Timestamp) -> Self {
        Self { disk, projects, now, entries: HashMap::new(), labels: HashMap::new() }
    }

    /// Imports the main session if it has no entries here. Adds the result to `notices`, a failure
    /// only once. If `journal` replaced another one, a session without a transcript was created by
    /// this program, and there is no notice.
    pub fn import_main(
        &mut self,
        database: &mut Database,
        journal: JournalOrigin,
        notices: &mut Vec<String>,
    ) -> rusqlite::Result<()> {
        let Some(session) = database.main_session()? else { return Ok(()) };
        if database.session_head(&session)?.is_some_and(|head| head.entry.is_some()) {
            return Ok(());
        }
        match self.import_session(database, &session, Branch::Main)? {
            Ok(imported) => notices.push(format!(
                "I imported our earlier conversation: {} entries from {}.",
                imported.count,
                imported.path.display()
            )),
            Err(TranscriptError::Missing { .. }) if journal == JournalOrigin::Replaced => {
                // Suppresses the notice at later starts too.
                notify_once(database, &session, &mut Vec::new(), String::new)?;
            }
            Err(why) => notify_once(database, &session, notices, || {
                format!(
                    "Our earlier conversation could not be imported: {why}. We start over under its name. If the transcripts \
                     are elsewhere, set CLAUDE_CONFIG_DIR to that folder and restart me before you write."
                )
            })?,
        }
        Ok(())
    }

    pub fn import_routine(
        &mut self,
        database: &mut Database,
        routine: &ItemId,
        session: &SessionId,
        notices: &mut Vec<String>,
    ) -> rusqlite::Result<bool> {
        let branch = imported_branch(session);
        match self.import_session(database, session, branch)? {
            Ok(ImportedSession {
                head: Head { entry: Some(entry), session, label }, path, count, ..
            }) => {
                let stand = SessionHead { session: session.clone(), entry, label };
                database.write(&[Record::Plan(PlanChange::SessionHead(routine.clone(), Some(stand)))])?;
                database.set_written_session(routine, &session)?;
                notices.push(format!(
                    "I imported the earlier runs of the routine {routine}: {count} entries from {}.",
                    path.display()
                ));
                Ok(true)
            }
            Ok(_) => Ok(false),
            Err(why) => {
                notify_once(database, session, notices, || {
                    format!(
                        "The earlier runs of the routine {routine} could not be imported: {why}. Its next run starts a new \
                         session. If the transcripts are elsewhere, set CLAUDE_CONFIG_DIR to that folder and restart me."
                    )
                })?;
                Ok(false)
            }
        }
    }

    /// Imports the conversations of runs that sent a message in the last seven days, so that
    /// replies continue them.
    pub fn import_runs(&mut self, database: &mut Database) -> rusqlite::Result<()> {
        let origins = database.origins()?;
        let fresh = |origin: &&MessageOrigin| origin.end.is_none() && !is_old(origin.at, self.now);
        let unknown: Vec<MessageOrigin> = origins.iter().rev().filter(fresh).cloned().collect();
        let mut ends: HashMap<SessionId, Option<RunEnd>> = HashMap::new();
        for origin in unknown {
            if !ends.contains_key(&origin.session) {
                if ends.len() >= MAX_RUNS {
                    break;
                }
                let end = self.run_end(database, &origin.session)?;
                ends.insert(origin.session.clone(), end);
            }
            if let Some(end) = ends.get(&origin.session).cloned().flatten() {
                let known = MessageOrigin { end: Some(end), ..origin };
                database.write(&[Record::from(SentChange::OriginsKept(vec![known], self.now))])?;
            }
        }
        Ok(())
    }

    fn run_end(&mut self, database: &mut Database, session: &SessionId) -> rusqlite::Result<Option<RunEnd>> {
        // A persistent routine's session was imported with the routine.
        if let Some(end) = database.run_end(session)? {
            return Ok(Some(end));
        }
        let imported = self.import_session(database, session, imported_branch(session))?.ok();
        Ok(imported.and_then(|ImportedSession { head, root, .. }| {
            Some(RunEnd { source: CostSource::Fork, root, entry: head.entry?, label: head.label })
        }))
    }

    /// Imports the conversation of `session` as `branch`.
    fn import_session(
        &mut self,
        database: &mut Database,
        session: &SessionId,
        branch: Branch,
    ) -> rusqlite::Result<Result<ImportedSession, TranscriptError>> {
        let found = transcripts::find(self.disk, self.projects, session);
        let read = found.and_then(|path| Ok((transcripts::read(self.disk, &path)?, path)));
        let (items, path) = match read {
            Ok(read) => read,
            Err(why) => return Ok(Err(why)),
        };
        let mut conversation = database.load_state()?.conversation;
        let mut records = Vec::new();
        let shared = items.iter().take_while(|item| self.entries.contains_key(&item.uuid)).count();
        let root = shared.checked_sub(1).and_then(|last| self.entries.get(&items[last].uuid).copied());
        let first = items.iter().find_map(|item| item.at).unwrap_or(self.now);
        if branch != Branch::Main {
            let label = root.and_then(|root| self.labels.get(&root).copied()).unwrap_or(Label::PLAIN);
            let moved = match root {
                Some(_) => {
                    let head = Head { entry: root, session: session.clone(), label };
                    conversation.fork_at(branch.clone(), head, first)
                }
                None => conversation.create(branch.clone(), session.clone(), first),
            };
            records.push(Record::BranchMoved(moved));
        }
        let count = items.len();
        self.append_items(&mut conversation, &branch, items, shared, first, &mut records);
        let Some(head) = conversation.head(&branch).cloned() else {
            return Ok(Err(TranscriptError::Empty { path: path.display().to_string() }));
        };
        if branch != Branch::Main {
            let last = records.iter().rev().find_map(|record| {
                let Record::EntryAppended(_, entry) = record else { return None };
                Some(entry.at)
            });
            let ended =
                conversation.end(&branch, domain::conversation::MoveReason::Ended, last.unwrap_or(first));
            records.extend(ended.map(Record::BranchMoved));
        }
        database.write(&records)?;
        Ok(Ok(ImportedSession { head, path, count, root }))
    }

    fn append_items(
        &mut self,
        conversation: &mut Conversation,
        branch: &Branch,
        items: Vec<TranscriptEntry>,
        shared: usize,
        first: Timestamp,
        records: &mut Vec<Record>,
    ) {
        let mut at = first;
        for TranscriptEntry { uuid, at: said_at, said } in items.into_iter().skip(shared) {
            // A line without a time or from the future gets the time of the previous line.
            at = said_at.filter(|said_at| *said_at <= self.now).unwrap_or(at);
            let said: EntryContent = said;
            if let Some(entry) = conversation.append(branch, said, at) {
                self.entries.insert(uuid, entry.id);
                self.labels.insert(entry.id, entry.label);
                records.push(Record::EntryAppended(branch.clone(), entry));
            }
        }
    }
}

/// The name of a branch for an imported session.
fn imported_branch(session: &SessionId) -> Branch {
    let id: String =
        session.as_str().chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect();
    let name = format!("imported-{}", &id[..id.len().min(50)]);
    Branch::fork(&name).unwrap_or(Branch::Main)
}

fn notify_once(
    database: &mut Database,
    session: &SessionId,
    notices: &mut Vec<String>,
    text: impl FnOnce() -> String,
) -> rusqlite::Result<()> {
    let name = format!("import-told:{session}");
    if database.get_kv(&name)?.is_none() {
        notices.push(text());
        database.set_kv(&name, "1")?;
    }
    Ok(())
}
