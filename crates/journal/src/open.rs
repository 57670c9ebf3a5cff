//! Opens a data directory for one process at a time; recovers what a crash left and reports every
//! problem.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use domain::assistant::State;
use domain::context::REFERENCES;
use domain::conversation::{Branch, Head, Move, MoveReason, SessionId};
use domain::label::Label;
use domain::record::Record;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::db::{
    Database, DatabaseError, Extent, FIRST_COMMIT, Mark, MarkWriter, PathCache, ReplaceReason, Replacement,
    create_if_missing, finish_laying, has_counter, mark_of, pending_notices, read_mark, rescue,
};
use crate::disk::{Disk, FileKind, remove_leftovers, remove_leftovers_of};
use crate::error_class::{self, ErrorClass};
use crate::external_edits::ExternalEditCheck;
use crate::files;
use crate::git;
use crate::import::Importer;
use crate::lock::{LOCK_FILE, Lock, LockError};
use crate::migration::copy_before_migration;
use crate::paths::Paths;
use crate::plan_files::PlanFiles;
use crate::run_message_file;
use crate::sent_files::SentFiles;
use crate::session_files::SessionFiles;
use crate::state_files::StateFiles;
use crate::update_file::{self, UpdateFile};
use crate::worker::Worker;
use crate::{CheckpointState, Journal, Reader, Writer};

/// Parameters for opening a data directory.
#[derive(Clone)]
pub struct OpenParams {
    pub paths: Paths,
    pub disk: Arc<dyn Disk>,
    /// The time zone of times in files.
    pub zone: TimeZone,
    pub now: Timestamp,
    /// The id of this process.
    pub pid: u32,
}

pub struct OpenedJournal {
    pub journal: Journal,
    /// The state of the assistant.
    pub state: State,
    /// Notices for the user about damage and its repair. The notice about a recovered journal is
    /// repeated at every start until `Journal::remove_rescue_notices` is called.
    pub notices: Vec<String>,
}

/// An error from opening a data directory.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another daemon uses it.
    #[error("{0}")]
    Running(LockError),
    /// A permanent error. The text says what to change.
    #[error("{0}")]
    Unusable(String),
    /// An error that may pass. The text says what helps.
    #[error("{0}")]
    Temporary(String),
}

/// Selects whether the files have a git history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryMode {
    Git,
    /// No history: the directory is temporary, so nothing in it has to survive a power cut.
    Disabled,
}

/// Opens the data directory at `params.paths`.
pub fn open(params: OpenParams) -> Result<OpenedJournal, OpenError> {
    open_with_history(params, HistoryMode::Git)
}

/// Opens the data directory at `params.paths`, with or without a git history.
pub fn open_with_history(params: OpenParams, tracked: HistoryMode) -> Result<OpenedJournal, OpenError> {
    open_with_import(params, tracked, None)
}

/// Like `open_with_history`. Also imports conversations of the Python program from the transcripts
/// in the folders of `projects`.
pub fn open_with_import(
    params: OpenParams,
    tracked: HistoryMode,
    projects: Option<&Path>,
) -> Result<OpenedJournal, OpenError> {
    let mut was_opened = false;
    match open_once(params.clone(), tracked, projects, None, &mut was_opened) {
        // Damage that the first check does not find, which would prevent every start.
        Err(OpenError::Unusable(_)) if was_opened && is_unsound(&params.paths) => {
            let damaged = DatabaseError::Damaged("some page is not what it should be".to_owned());
            open_once(params, tracked, projects, Some(damaged), &mut was_opened)
        }
        opened => opened,
    }
}

/// The keys under which the database stores what was written to state files.
const FILE_HASH_KEYS: [&str; 2] = [update_file::FILE_HASH_KEY, run_message_file::FILE_HASH_KEY];

fn is_unsound(paths: &Paths) -> bool {
    matches!(open_read_only(paths), Ok(Some(database)) if !database.is_sound())
}

/// Opens the data directory. `damaged` is the known damage of the journal, if any. Sets
/// `was_opened` once the database was opened.
fn open_once(
    params: OpenParams,
    tracked: HistoryMode,
    projects: Option<&Path>,
    damaged: Option<DatabaseError>,
    was_opened: &mut bool,
) -> Result<OpenedJournal, OpenError> {
    let state = params.paths.state();
    params.disk.create_dir(&state).map_err(|error| open_error(&params.paths, &error))?;
    // Checked before taking the lock creates the file, which shows whether this program has run
    // here before.
    let known =
        params.disk.file_kind(&state.join(LOCK_FILE)).map_err(|error| open_error(&params.paths, &error))?;
    let lock = Lock::take(&state, params.pid).map_err(|error| match error {
        LockError::Running(_) => OpenError::Running(error),
        LockError::Disk(error) => open_error(&params.paths, &error),
    })?;
    // With the lock held, all unfinished work is from a process that died.
    let laid = finish_laying(&params.paths.database(), params.disk.as_ref());
    let laid = laid.map_err(|error| open_error(&params.paths, &error))?;
    let newer = laid.iter().filter(|laid| laid.reason == ReplaceReason::Newer);
    let mut notices: Vec<String> = newer.map(Replacement::notice).collect();
    remove_all_leftovers(&params, &mut notices).map_err(|error| open_error(&params.paths, &error))?;
    let mark = read_mark(&params.paths.database(), params.disk.as_ref());
    let mark = mark.map_err(|error| open_error(&params.paths, &error))?;
    // Opening a journal without a counter creates the counter.
    let never_had_mark = mark == Mark::Missing && matches!(has_counter(&params.paths.database()), Ok(false));
    let emptied =
        detect_missing_database(&params, known, &mark).map_err(|error| open_error(&params.paths, &error))?;
    if tracked == HistoryMode::Git {
        notices.extend(copy_before_migration(&params.paths, params.disk.as_ref(), params.now));
    }
    let mut database = open_database(&params, emptied.or(damaged), &mark)?;
    *was_opened = true;
    // The WAL is kept until everything a start needs was read, because damage may still be found.
    database.set_checkpoint_on_close(false).map_err(|error| open_error(&params.paths, &error))?;
    let rescued = pending_notices(&params.paths.database(), params.disk.as_ref());
    let rescued = rescued.map_err(|error| open_error(&params.paths, &error))?;
    let extent = database.extent().map_err(|error| open_error(&params.paths, &error))?;
    // Restored without the other state files, for example from a replica after the disk was lost.
    let is_alone =
        !never_had_mark && known.is_none() && mark == Mark::Missing && extent.commits > FIRST_COMMIT;
    if is_alone {
        database.forget_written_files(&FILE_HASH_KEYS).map_err(|error| open_error(&params.paths, &error))?;
    }
    // A replaced journal may be older than the files.
    let is_usual = rescued.is_empty() && laid.is_none() && !is_alone;
    let journal = if is_usual { JournalOrigin::Continued } else { JournalOrigin::Replaced };
    for notice in &rescued {
        tracing::warn!(notice, "The journal was not as it was left.");
    }
    let is_rescued = !rescued.is_empty();
    notices.extend(rescued);
    if tracked == HistoryMode::Disabled {
        database.disable_durability().map_err(|error| open_error(&params.paths, &error))?;
    } else {
        let extent = database.extent().map_err(|error| open_error(&params.paths, &error))?;
        let expects_mark = !(is_rescued || never_had_mark);
        notices
            .extend(expects_mark.then(|| missing_mark_notice(&mark, &extent, &params, is_alone)).flatten());
        database.set_mark_writer(MarkWriter::new(
            &params.paths.database(),
            Arc::clone(&params.disk),
            &extent,
        ));
    }
    let mut files = SessionFiles::open(&params, tracked, &mut notices)
        .map_err(|error| open_error(&params.paths, &error))?;
    let mut reports = UpdateFile::new(&params);
    reports
        .reconcile(&mut database, params.now, &mut notices)
        .map_err(|error| open_error(&params.paths, &error))?;
    let mut sent = SentFiles::new(&params);
    sent.reconcile(&mut database, params.now, &mut notices)
        .map_err(|error| open_error(&params.paths, &error))?;
    reconcile_main_session(&mut database, &mut files, &params, journal, &mut notices)?;
    let disk = Arc::clone(&params.disk);
    let mut import = projects.map(|projects| Importer::new(&*disk, projects, params.now));
    if let Some(import) = &mut import {
        let imported = import.import_main(&mut database, journal, &mut notices);
        imported.map_err(|error| open_error(&params.paths, &error))?;
    }
    let git = files.git();
    let mut plans = PlanFiles::new(&params, Arc::clone(&git));
    let stands = plans.reconcile(&mut database, params.now, import.as_mut(), &mut notices);
    let stands = stands.map_err(|error| open_error(&params.paths, &error))?;
    if let Some(import) = &mut import {
        import.import_runs(&mut database).map_err(|error| open_error(&params.paths, &error))?;
    }
    let mut memory = database.load_state().map_err(|error| open_error(&params.paths, &error))?;
    memory.main.created =
        files.main_created_at(params.now).map_err(|error| open_error(&params.paths, &error))?;
    let mut small = StateFiles::new(&params);
    memory.choices = small.load(params.now, &mut notices);
    let pings = database.ping_budget().map_err(|error| open_error(&params.paths, &error))?;
    small.reconcile_ping_budget(pings, &mut memory.choices);
    memory.plans.sessions = stands;
    database.set_checkpoint_on_close(true).map_err(|error| open_error(&params.paths, &error))?;
    let reading = Database::open_read_only(&params.paths.database())
        .map_err(|error| open_error(&params.paths, &error))?;
    let reader = Reader { database: reading, cache: PathCache::default() };
    let journal = Journal {
        writer: Worker::new(
            "journal",
            Writer {
                database,
                files,
                state: small,
                reports,
                sent,
                plans,
                edit_check: ExternalEditCheck::default(),
                disk: Arc::clone(&params.disk),
                checkpoint: CheckpointState::default(),
            },
        )
        .map_err(|error| open_error(&params.paths, &error))?,
        reader: Worker::new("reader", reader).map_err(|error| open_error(&params.paths, &error))?,
        paths: params.paths,
        disk: params.disk,
        git,
        _lock: lock,
    };
    Ok(OpenedJournal { journal, state: memory, notices })
}

/// Removes leftovers of interrupted writes from all directories. An unreadable directory disables
/// only its feature, which is reported in `notices`.
fn remove_all_leftovers(params: &OpenParams, notices: &mut Vec<String>) -> io::Result<()> {
    let disk = params.disk.as_ref();
    let state = params.paths.state();
    remove_leftovers(disk, &state)?;
    let features = [
        (state.join("routine_sessions"), "routines with a session of their own can't keep it"),
        (params.paths.backups(), "I can't make backups of our conversation"),
        (params.paths.before_migration(), "an older journal can't be kept when its format changes"),
    ];
    let mut tell = |directory: &Path, error: &io::Error, lost: &str| {
        notices.push(format!(
            "{} can't be used ({error}), so {lost}. Everything else works. Make it a directory that this account can read \
             and write, and restart.",
            directory.display()
        ));
    };
    for (directory, lost) in features {
        if let Err(error) = remove_leftovers(disk, &directory) {
            tell(&directory, &error, lost);
        }
    }
    let folders = [
        ("routines", "no routine runs"),
        ("reminders", "no reminder comes"),
        ("webhooks", "no webhook can be called"),
        (".claude/agents", "your own subagents can't be used"),
    ];
    for (folder, lost) in folders {
        let folder = params.paths.root().join(folder);
        match remove_item_leftovers(disk, &folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => tell(&folder, &error, lost),
            Ok(()) | Err(_) => {}
        }
    }
    let ours: Vec<&str> = REFERENCES.iter().map(|document| document.name).chain([git::IGNORE_FILE]).collect();
    remove_leftovers_of(disk, params.paths.root(), &ours)
}

/// Removes leftovers of our own writes only.
fn remove_item_leftovers(disk: &dyn Disk, folder: &Path) -> io::Result<()> {
    let ours = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.strip_suffix(".tmp").and_then(|name| name.rsplit_once(".md."));
        number
            .is_some_and(|(_, number)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    for listed in disk.list(folder)?.iter().filter(|listed| ours(&listed.path)) {
        if let Err(error) = disk.remove(&listed.path) {
            tracing::warn!(%error, path = %listed.path.display(), "A half-written file stays.");
        }
    }
    Ok(())
}

/// Removes leftovers of interrupted writes in the state directory of `paths`, for the process
/// `pid`, and returns their number. Fails without a change if a daemon runs there.
pub fn remove_state_leftovers(paths: &Paths, disk: &dyn Disk, pid: u32) -> Result<usize, LockError> {
    let state = paths.state();
    // Without the lock file this program has not run here, so there are no leftovers, and the file
    // must not be created.
    if disk.file_kind(&state.join(LOCK_FILE))?.is_none() {
        return Ok(0);
    }
    let _lock = Lock::take(&state, pid)?;
    Ok(remove_leftovers(disk, &state)?)
}

/// Opens the database at `paths` read-only, even while a daemon uses it. `None` before the first
/// start.
pub fn open_read_only(paths: &Paths) -> Result<Option<Database>, DatabaseError> {
    let path = paths.database();
    if path.exists() { Database::open_read_only(&path).map(Some) } else { Ok(None) }
}

fn open_database(
    params: &OpenParams,
    emptied: Option<DatabaseError>,
    mark: &Mark,
) -> Result<Database, OpenError> {
    let path = params.paths.database();
    let opened = emptied.or_else(|| detect_data_loss(&path, mark));
    match opened.map_or_else(|| open_or_create(&path, params.disk.as_ref()), Err) {
        Ok(database) => Ok(database),
        Err(DatabaseError::Damaged(reason)) => {
            tracing::info!(reason, "The journal is damaged.");
            let now = params.now.to_zoned(params.zone.clone());
            let rescued = rescue(&path, &params.paths.backups(), &now, params.disk.as_ref());
            rescued.map_err(|error| open_error(&params.paths, &error))
        }
        Err(error) => Err(open_error(&params.paths, &error)),
    }
}

/// Returns the damage of a journal that is behind its mark or unreadable. Checked read-only,
/// because opening it for writing may discard the data after the damage.
fn detect_data_loss(path: &Path, mark: &Mark) -> Option<DatabaseError> {
    let reached = mark.extent()?;
    let found = Database::open_read_only(path).and_then(|database| database.checked_extent());
    match found {
        Ok(found) if found.commits < reached.commits => Some(DatabaseError::Damaged(format!(
            "it was changed {} times, and {} are left",
            reached.commits, found.commits
        ))),
        Ok(found) if reached.contradicts(&found) => {
            Some(DatabaseError::Damaged("its pages are from different times".to_owned()))
        }
        Err(error @ DatabaseError::Damaged(_)) => Some(error),
        // Opening it for writing reports the error.
        Ok(_) | Err(DatabaseError::Newer { .. } | DatabaseError::Disk(_) | DatabaseError::Temporary(..)) => {
            None
        }
    }
}

/// The notice if a missing or damaged mark makes it impossible to tell whether the journal is
/// complete. A new journal, or one of an earlier version, has no mark yet. One that `is_alone` was
/// restored without its mark.
fn missing_mark_notice(mark: &Mark, extent: &Extent, params: &OpenParams, is_alone: bool) -> Option<String> {
    let why = match mark {
        Mark::Missing if extent.commits > FIRST_COMMIT => "missing",
        Mark::Damaged => "damaged",
        Mark::Missing | Mark::At(_) => return None,
    };
    let until = extent.at.map_or_else(
        || "It is empty".to_owned(),
        |at| {
            format!(
                "Its newest entry is from {}",
                at.to_zoned(params.zone.clone()).strftime("%Y-%m-%d %H:%M:%S")
            )
        },
    );
    let file = mark_of(&params.paths.database());
    if is_alone {
        return Some(format!(
            "The journal was put here without {}, so I can't tell whether its end is complete. {until}. Notes, routines, \
             reminders and settings are files that the journal doesn't hold: if some are missing, take them from your newest \
             export.",
            file.display()
        ));
    }
    Some(format!(
        "{} was {why}, so I can't tell whether the end of the journal is complete. {until}; if you miss something after \
         that, look at `ollim-bot doctor`. I wrote a new one.",
        file.display()
    ))
}

fn open_or_create(path: &Path, disk: &dyn Disk) -> Result<Database, DatabaseError> {
    // On failure `Database::open` creates it step by step or reports the error.
    if let Err(error) = create_if_missing(path, disk) {
        tracing::warn!(%error, "A new journal could not be made at once.");
    }
    Database::open(path)
}

/// Detects that the database is empty or missing although there was one, which SQLite would treat
/// as new. The evidence is a backup, a mark, or a session together with our lock file (`known`
/// before taking the lock). An inaccessible file is an error rather than evidence of a first start.
fn detect_missing_database(
    params: &OpenParams,
    known: Option<FileKind>,
    mark: &Mark,
) -> io::Result<Option<DatabaseError>> {
    let (reason, known) = match params.disk.file_kind(&params.paths.database())? {
        Some(FileKind::File(0)) => ("it is empty", true),
        None => ("it is gone", known.is_some()),
        Some(FileKind::File(_) | FileKind::Directory | FileKind::Other) => return Ok(None),
    };
    let has_backups = match params.disk.list(&params.paths.backups()) {
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        listed => !listed?.is_empty(),
    };
    let has_session = params.disk.file_kind(&params.paths.state().join("sessions.json"))?.is_some();
    let was_there = has_backups || mark.extent().is_some() || (has_session && known);
    Ok(was_there.then(|| DatabaseError::Damaged(reason.to_owned())))
}

/// Origin of the open journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JournalOrigin {
    Continued,
    /// It replaced one that was damaged or written by a newer version.
    Replaced,
}

/// Applies file changes that a crash left pending. In a new journal, adopts a session that another
/// program wrote to `sessions.json`; otherwise `Journal::external_edits` reports it.
fn reconcile_main_session(
    database: &mut Database,
    files: &mut SessionFiles,
    params: &OpenParams,
    journal: JournalOrigin,
    notices: &mut Vec<String>,
) -> Result<(), OpenError> {
    let unmade = database.pending_file_changes().map_err(|error| open_error(&params.paths, &error))?;
    if !unmade.is_empty() && files.apply(&unmade).is_ok() {
        database.remove_file_changes(&unmade).map_err(|error| open_error(&params.paths, &error))?;
    }
    let main = database.main_session().map_err(|error| open_error(&params.paths, &error))?;
    let stored =
        files.load_main_session(params.now, notices).map_err(|error| open_error(&params.paths, &error))?;
    match (main, stored) {
        (Some(main), stored) if stored.as_ref() != Some(&main) => {
            if journal == JournalOrigin::Replaced {
                notices.push(files.restore(&main, stored.as_ref(), params.now));
            }
        }
        (None, Some(session)) => {
            let had_main = database.had_main().map_err(|error| open_error(&params.paths, &error))?;
            if !had_main || journal == JournalOrigin::Replaced {
                adopt_session(database, session, params.now)
                    .map_err(|error| open_error(&params.paths, &error))?;
            }
        }
        (Some(_), _) | (None, None) => {}
    }
    Ok(())
}

/// Continues an existing session in a new main branch.
fn adopt_session(database: &mut Database, session: SessionId, at: Timestamp) -> rusqlite::Result<()> {
    let to = Some(Head { entry: None, session, label: Label::PLAIN });
    let adopted = Move { branch: Branch::Main, at, reason: MoveReason::Created, from: None, to };
    database.write(&[Record::BranchMoved(adopted)]).map(drop)
}

/// Converts an error to a text that says who must act.
pub(crate) fn open_error<E: OpenFailure>(paths: &Paths, error: &E) -> OpenError {
    let root = paths.root().display();
    let again = "start again (a service does so by itself)";
    match error.class() {
        ErrorClass::DiskFull => OpenError::Temporary(format!(
            "there is no room left for {root} ({error}). make some, and {again}."
        )),
        ErrorClass::Temporary => OpenError::Temporary(format!(
            "{root} cannot be used now ({error}). look after the disk and whoever else uses it, and {again}."
        )),
        ErrorClass::Permanent => OpenError::Unusable(error.unusable_text(paths)),
    }
}

/// An error of a data directory.
pub(crate) trait OpenFailure: std::fmt::Display {
    /// Returns whether the error may pass.
    fn class(&self) -> ErrorClass;

    /// The text for a permanent error.
    fn unusable_text(&self, _: &Paths) -> String {
        self.to_string()
    }
}

impl OpenFailure for std::io::Error {
    fn class(&self) -> ErrorClass {
        error_class::classify_io(self)
    }

    fn unusable_text(&self, paths: &Paths) -> String {
        use std::io::ErrorKind::{AlreadyExists, NotADirectory, PermissionDenied, ReadOnlyFilesystem};
        let root = paths.root().display();
        let choose = "choose another with --data-dir";
        if matches!(self.kind(), ReadOnlyFilesystem | PermissionDenied) {
            format!("{root} cannot be written to ({self}). make it writable, or {choose}.")
        } else if matches!(self.kind(), NotADirectory | AlreadyExists) {
            format!("{root} is not a directory. {choose}.")
        } else {
            format!("{root} cannot be used: {self}. {choose}.")
        }
    }
}

impl OpenFailure for rusqlite::Error {
    fn class(&self) -> ErrorClass {
        error_class::classify_sqlite(self.sqlite_error_code())
    }
}

impl OpenFailure for DatabaseError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Temporary(_, lasts) => *lasts,
            Self::Newer { .. } | Self::Damaged(_) | Self::Disk(_) => ErrorClass::Permanent,
        }
    }
}

impl OpenFailure for files::FileError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Unreadable { source, .. } | Self::Unwritable { source, .. } => {
                error_class::classify_io(source)
            }
            Self::Refused { .. } => ErrorClass::Permanent,
        }
    }
}
