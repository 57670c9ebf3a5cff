//! Opens a data directory for one process at a time; recovers what a crash left and reports every
//! problem.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use domain::assistant::Memory;
use domain::context::REFERENCES;
use domain::conversation::{Branch, Head, Move, SessionId, Why};
use domain::label::Label;
use domain::record::Record;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::db::{
    Aside, Database, Extent, FIRST, Laid, Mark, Marker, PathCache, Unopened, finish_laying, is_counted_at,
    make_if_missing, mark_of, read_mark, rescue, untold,
};
use crate::disk::{Disk, Seen, sweep, sweep_beside};
use crate::files;
use crate::git;
use crate::importing::Import;
use crate::keeper::Keeper;
use crate::lock::{LOCK_FILE, Lock, NotLocked};
use crate::looking::Look;
use crate::migration::keep_before;
use crate::passing::{self, Lasts};
use crate::paths::Paths;
use crate::plans::PlanFiles;
use crate::reports::{self, ReportFile};
use crate::run_messages;
use crate::sent::SentFiles;
use crate::sessions::SessionFiles;
use crate::state::StateFiles;
use crate::{Folding, Journal, Reader, Writer};

/// Parameters for opening a data directory.
#[derive(Clone)]
pub struct Place {
    pub paths: Paths,
    pub disk: Arc<dyn Disk>,
    /// The time zone of times in files.
    pub zone: TimeZone,
    pub now: Timestamp,
    /// The id of this process.
    pub pid: u32,
}

pub struct Opened {
    pub journal: Journal,
    /// The state of the assistant.
    pub memory: Memory,
    /// Notices for the user about damage and its repair. The notice about a recovered journal is
    /// repeated at every start until `Journal::remove_rescue_notices` is called.
    pub notices: Vec<String>,
}

/// An error from opening a data directory.
#[derive(Debug, thiserror::Error)]
pub enum NotOpened {
    /// Another daemon uses it.
    #[error("{0}")]
    Running(NotLocked),
    /// A permanent error. The text says what to change.
    #[error("{0}")]
    Unusable(String),
    /// An error that may pass. The text says what helps.
    #[error("{0}")]
    NotNow(String),
}

/// Selects whether the files have a git history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracked {
    ByGit,
    /// No history: the directory is temporary, so nothing in it has to survive a power cut.
    Nowhere,
}

/// Opens the data directory at `params.paths`.
pub fn open(place: Place) -> Result<Opened, NotOpened> {
    open_with(place, Tracked::ByGit)
}

/// Opens the data directory at `params.paths`, with or without a git history.
pub fn open_with(place: Place, tracked: Tracked) -> Result<Opened, NotOpened> {
    open_importing(place, tracked, None)
}

/// Like `open_with_history`. Also imports conversations of the Python program from the transcripts
/// in the folders of `projects`.
pub fn open_importing(place: Place, tracked: Tracked, projects: Option<&Path>) -> Result<Opened, NotOpened> {
    let mut was_opened = false;
    match open_once(place.clone(), tracked, projects, None, &mut was_opened) {
        // Damage that the first check does not find, which would prevent every start.
        Err(NotOpened::Unusable(_)) if was_opened && is_unsound(&place.paths) => {
            let damaged = Unopened::Damaged("some page is not what it should be".to_owned());
            open_once(place, tracked, projects, Some(damaged), &mut was_opened)
        }
        opened => opened,
    }
}

/// The keys under which the database stores what was written to state files.
const FILE_NOTES: [&str; 2] = [reports::NOTE, run_messages::NOTE];

fn is_unsound(paths: &Paths) -> bool {
    matches!(peek(paths), Ok(Some(database)) if !database.is_sound())
}

/// Opens the data directory. `damaged` is the known damage of the journal, if any. Sets
/// `was_opened` once the database was opened.
fn open_once(
    place: Place,
    tracked: Tracked,
    projects: Option<&Path>,
    damaged: Option<Unopened>,
    was_opened: &mut bool,
) -> Result<Opened, NotOpened> {
    let state = place.paths.state();
    place.disk.create_dir(&state).map_err(|error| sorted(&place.paths, &error))?;
    // Checked before taking the lock creates the file, which shows whether this program has run
    // here before.
    let known = place.disk.look(&state.join(LOCK_FILE)).map_err(|error| sorted(&place.paths, &error))?;
    let lock = Lock::take(&state, place.pid).map_err(|error| match error {
        NotLocked::Running(_) => NotOpened::Running(error),
        NotLocked::Disk(error) => sorted(&place.paths, &error),
    })?;
    // With the lock held, all unfinished work is from a process that died.
    let laid = finish_laying(&place.paths.database(), place.disk.as_ref());
    let laid = laid.map_err(|error| sorted(&place.paths, &error))?;
    let newer = laid.iter().filter(|laid| laid.was == Aside::Newer);
    let mut notices: Vec<String> = newer.map(Laid::told).collect();
    sweep_all(&place, &mut notices).map_err(|error| sorted(&place.paths, &error))?;
    let mark = read_mark(&place.paths.database(), place.disk.as_ref());
    let mark = mark.map_err(|error| sorted(&place.paths, &error))?;
    // Opening a journal without a counter creates the counter.
    let never_had_mark = mark == Mark::Missing && matches!(is_counted_at(&place.paths.database()), Ok(false));
    let emptied = emptied(&place, known, &mark).map_err(|error| sorted(&place.paths, &error))?;
    if tracked == Tracked::ByGit {
        notices.extend(keep_before(&place.paths, place.disk.as_ref(), place.now));
    }
    let mut database = open_database(&place, emptied.or(damaged), &mark)?;
    *was_opened = true;
    // The WAL is kept until everything a start needs was read, because damage may still be found.
    database.fold_when_closed(false).map_err(|error| sorted(&place.paths, &error))?;
    let rescued = untold(&place.paths.database(), place.disk.as_ref());
    let rescued = rescued.map_err(|error| sorted(&place.paths, &error))?;
    let extent = database.extent().map_err(|error| sorted(&place.paths, &error))?;
    // Restored without the other state files, for example from a replica after the disk was lost.
    let is_alone = !never_had_mark && known.is_none() && mark == Mark::Missing && extent.commits > FIRST;
    if is_alone {
        database.forget_files(&FILE_NOTES).map_err(|error| sorted(&place.paths, &error))?;
    }
    // A replaced journal may be older than the files.
    let is_usual = rescued.is_empty() && laid.is_none() && !is_alone;
    let journal = if is_usual { Standing::Usual } else { Standing::Replaced };
    for notice in &rescued {
        tracing::warn!(notice, "The journal was not as it was left.");
    }
    let is_rescued = !rescued.is_empty();
    notices.extend(rescued);
    if tracked == Tracked::Nowhere {
        database.make_fleeting().map_err(|error| sorted(&place.paths, &error))?;
    } else {
        let extent = database.extent().map_err(|error| sorted(&place.paths, &error))?;
        let expects_mark = !(is_rescued || never_had_mark);
        notices.extend(expects_mark.then(|| unmarked(&mark, &extent, &place, is_alone)).flatten());
        database.follow_with(Marker::new(&place.paths.database(), Arc::clone(&place.disk), &extent));
    }
    let mut files =
        SessionFiles::open(&place, tracked, &mut notices).map_err(|error| sorted(&place.paths, &error))?;
    let mut reports = ReportFile::new(&place);
    reports
        .reconcile(&mut database, place.now, &mut notices)
        .map_err(|error| sorted(&place.paths, &error))?;
    let mut sent = SentFiles::new(&place);
    sent.reconcile(&mut database, place.now, &mut notices).map_err(|error| sorted(&place.paths, &error))?;
    reconcile(&mut database, &mut files, &place, journal, &mut notices)?;
    let disk = Arc::clone(&place.disk);
    let mut import = projects.map(|projects| Import::new(&*disk, projects, place.now));
    if let Some(import) = &mut import {
        let imported = import.main(&mut database, journal, &mut notices);
        imported.map_err(|error| sorted(&place.paths, &error))?;
    }
    let git = files.git();
    let mut plans = PlanFiles::new(&place, Arc::clone(&git));
    let stands = plans.reconcile(&mut database, place.now, import.as_mut(), &mut notices);
    let stands = stands.map_err(|error| sorted(&place.paths, &error))?;
    if let Some(import) = &mut import {
        import.runs(&mut database).map_err(|error| sorted(&place.paths, &error))?;
    }
    let mut memory = database.memory().map_err(|error| sorted(&place.paths, &error))?;
    memory.main.created = files.created(place.now).map_err(|error| sorted(&place.paths, &error))?;
    let mut small = StateFiles::new(&place);
    memory.chosen = small.chosen(place.now, &mut notices);
    let pings = database.pings().map_err(|error| sorted(&place.paths, &error))?;
    small.agree(pings, &mut memory.chosen);
    memory.plans.sessions = stands;
    database.fold_when_closed(true).map_err(|error| sorted(&place.paths, &error))?;
    let reading =
        Database::open_for_reading(&place.paths.database()).map_err(|error| sorted(&place.paths, &error))?;
    let reader = Reader { database: reading, cache: PathCache::default() };
    let journal = Journal {
        writer: Keeper::new(
            "journal",
            Writer {
                database,
                files,
                state: small,
                reports,
                sent,
                plans,
                look: Look::default(),
                disk: Arc::clone(&place.disk),
                folding: Folding::default(),
            },
        )
        .map_err(|error| sorted(&place.paths, &error))?,
        reader: Keeper::new("reader", reader).map_err(|error| sorted(&place.paths, &error))?,
        paths: place.paths,
        disk: place.disk,
        git,
        _lock: lock,
    };
    Ok(Opened { journal, memory, notices })
}

/// Removes leftovers of interrupted writes from all directories. An unreadable directory disables
/// only its feature, which is reported in `notices`.
fn sweep_all(place: &Place, notices: &mut Vec<String>) -> io::Result<()> {
    let disk = place.disk.as_ref();
    let state = place.paths.state();
    sweep(disk, &state)?;
    let features = [
        (state.join("routine_sessions"), "routines with a session of their own can't keep it"),
        (place.paths.backups(), "I can't make backups of our conversation"),
        (place.paths.before_migration(), "an older journal can't be kept when its format changes"),
    ];
    let mut tell = |directory: &Path, error: &io::Error, lost: &str| {
        notices.push(format!(
            "{} can't be used ({error}), so {lost}. Everything else works. Make it a directory that this account can read \
             and write, and restart.",
            directory.display()
        ));
    };
    for (directory, lost) in features {
        if let Err(error) = sweep(disk, &directory) {
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
        let folder = place.paths.root().join(folder);
        match sweep_files(disk, &folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => tell(&folder, &error, lost),
            Ok(()) | Err(_) => {}
        }
    }
    let ours: Vec<&str> = REFERENCES.iter().map(|document| document.name).chain([git::IGNORE_FILE]).collect();
    sweep_beside(disk, place.paths.root(), &ours)
}

/// Removes leftovers of our own writes only.
fn sweep_files(disk: &dyn Disk, folder: &Path) -> io::Result<()> {
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
pub fn sweep_left(paths: &Paths, disk: &dyn Disk, pid: u32) -> Result<usize, NotLocked> {
    let state = paths.state();
    // Without the lock file this program has not run here, so there are no leftovers, and the file
    // must not be created.
    if disk.look(&state.join(LOCK_FILE))?.is_none() {
        return Ok(0);
    }
    let _lock = Lock::take(&state, pid)?;
    Ok(sweep(disk, &state)?)
}

/// Opens the database at `paths` read-only, even while a daemon uses it. `None` before the first
/// start.
pub fn peek(paths: &Paths) -> Result<Option<Database>, Unopened> {
    let path = paths.database();
    if path.exists() { Database::open_for_reading(&path).map(Some) } else { Ok(None) }
}

fn open_database(place: &Place, emptied: Option<Unopened>, mark: &Mark) -> Result<Database, NotOpened> {
    let path = place.paths.database();
    let opened = emptied.or_else(|| cut_short(&path, mark));
    match opened.map_or_else(|| open_or_make(&path, place.disk.as_ref()), Err) {
        Ok(database) => Ok(database),
        Err(Unopened::Damaged(reason)) => {
            tracing::info!(reason, "The journal is damaged.");
            let now = place.now.to_zoned(place.zone.clone());
            let rescued = rescue(&path, &place.paths.backups(), &now, place.disk.as_ref());
            rescued.map_err(|error| sorted(&place.paths, &error))
        }
        Err(error) => Err(sorted(&place.paths, &error)),
    }
}

/// Returns the damage of a journal that is behind its mark or unreadable. Checked read-only,
/// because opening it for writing may discard the data after the damage.
fn cut_short(path: &Path, mark: &Mark) -> Option<Unopened> {
    let reached = mark.extent()?;
    let found = Database::open_for_reading(path).and_then(|database| database.reach());
    match found {
        Ok(found) if found.commits < reached.commits => Some(Unopened::Damaged(format!(
            "it was changed {} times, and {} are left",
            reached.commits, found.commits
        ))),
        Ok(found) if reached.contradicts(&found) => {
            Some(Unopened::Damaged("its pages are from different times".to_owned()))
        }
        Err(error @ Unopened::Damaged(_)) => Some(error),
        // Opening it for writing reports the error.
        Ok(_) | Err(Unopened::Newer { .. } | Unopened::Disk(_) | Unopened::NotNow(..)) => None,
    }
}

/// The notice if a missing or damaged mark makes it impossible to tell whether the journal is
/// complete. A new journal, or one of an earlier version, has no mark yet. One that `is_alone` was
/// restored without its mark.
fn unmarked(mark: &Mark, extent: &Extent, place: &Place, is_alone: bool) -> Option<String> {
    let why = match mark {
        Mark::Missing if extent.commits > FIRST => "missing",
        Mark::Damaged => "damaged",
        Mark::Missing | Mark::At(_) => return None,
    };
    let until = extent.at.map_or_else(
        || "It is empty".to_owned(),
        |at| {
            format!(
                "Its newest entry is from {}",
                at.to_zoned(place.zone.clone()).strftime("%Y-%m-%d %H:%M:%S")
            )
        },
    );
    let file = mark_of(&place.paths.database());
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

fn open_or_make(path: &Path, disk: &dyn Disk) -> Result<Database, Unopened> {
    // On failure `Database::open` creates it step by step or reports the error.
    if let Err(error) = make_if_missing(path, disk) {
        tracing::warn!(%error, "A new journal could not be made at once.");
    }
    Database::open(path)
}

/// Detects that the database is empty or missing although there was one, which SQLite would treat
/// as new. The evidence is a backup, a mark, or a session together with our lock file (`known`
/// before taking the lock). An inaccessible file is an error rather than evidence of a first start.
fn emptied(place: &Place, known: Option<Seen>, mark: &Mark) -> io::Result<Option<Unopened>> {
    let (reason, known) = match place.disk.look(&place.paths.database())? {
        Some(Seen::File(0)) => ("it is empty", true),
        None => ("it is gone", known.is_some()),
        Some(Seen::File(_) | Seen::Directory | Seen::Strange) => return Ok(None),
    };
    let has_backups = match place.disk.list(&place.paths.backups()) {
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        listed => !listed?.is_empty(),
    };
    let has_session = place.disk.look(&place.paths.state().join("sessions.json"))?.is_some();
    let was_there = has_backups || mark.extent().is_some() || (has_session && known);
    Ok(was_there.then(|| Unopened::Damaged(reason.to_owned())))
}

/// Origin of the open journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Usual,
    /// It replaced one that was damaged or written by a newer version.
    Replaced,
}

/// Applies file changes that a crash left pending. In a new journal, adopts a session that another
/// program wrote to `sessions.json`; otherwise `Journal::external_edits` reports it.
fn reconcile(
    database: &mut Database,
    files: &mut SessionFiles,
    place: &Place,
    journal: Standing,
    notices: &mut Vec<String>,
) -> Result<(), NotOpened> {
    let unmade = database.unmade().map_err(|error| sorted(&place.paths, &error))?;
    if !unmade.is_empty() && files.make(&unmade).is_ok() {
        database.made(&unmade).map_err(|error| sorted(&place.paths, &error))?;
    }
    let main = database.main_session().map_err(|error| sorted(&place.paths, &error))?;
    let stored = files.stored(place.now, notices).map_err(|error| sorted(&place.paths, &error))?;
    match (main, stored) {
        (Some(main), stored) if stored.as_ref() != Some(&main) => {
            if journal == Standing::Replaced {
                notices.push(files.restore(&main, stored.as_ref(), place.now));
            }
        }
        (None, Some(session)) => {
            let had_main = database.had_main().map_err(|error| sorted(&place.paths, &error))?;
            if !had_main || journal == Standing::Replaced {
                adopt(database, session, place.now).map_err(|error| sorted(&place.paths, &error))?;
            }
        }
        (Some(_), _) | (None, None) => {}
    }
    Ok(())
}

/// Continues an existing session in a new main branch.
fn adopt(database: &mut Database, session: SessionId, at: Timestamp) -> rusqlite::Result<()> {
    let to = Some(Head { entry: None, session, label: Label::PLAIN });
    let adopted = Move { branch: Branch::Main, at, why: Why::Created, from: None, to };
    database.write(&[Record::Moved(adopted)]).map(drop)
}

/// Converts an error to a text that says who must act.
pub(crate) fn sorted<E: Trouble>(paths: &Paths, error: &E) -> NotOpened {
    let root = paths.root().display();
    let again = "start again (a service does so by itself)";
    match error.lasts() {
        Lasts::UntilThereIsRoom => {
            NotOpened::NotNow(format!("there is no room left for {root} ({error}). make some, and {again}."))
        }
        Lasts::ForAWhile => NotOpened::NotNow(format!(
            "{root} cannot be used now ({error}). look after the disk and whoever else uses it, and {again}."
        )),
        Lasts::UntilItIsChanged => NotOpened::Unusable(error.unusable(paths)),
    }
}

/// An error of a data directory.
pub(crate) trait Trouble: std::fmt::Display {
    /// Returns whether the error may pass.
    fn lasts(&self) -> Lasts;

    /// The text for a permanent error.
    fn unusable(&self, _: &Paths) -> String {
        self.to_string()
    }
}

impl Trouble for std::io::Error {
    fn lasts(&self) -> Lasts {
        passing::of_disk(self)
    }

    fn unusable(&self, paths: &Paths) -> String {
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

impl Trouble for rusqlite::Error {
    fn lasts(&self) -> Lasts {
        passing::of_journal(self.sqlite_error_code())
    }
}

impl Trouble for Unopened {
    fn lasts(&self) -> Lasts {
        match self {
            Self::NotNow(_, lasts) => *lasts,
            Self::Newer { .. } | Self::Damaged(_) | Self::Disk(_) => Lasts::UntilItIsChanged,
        }
    }
}

impl Trouble for files::Trouble {
    fn lasts(&self) -> Lasts {
        match self {
            Self::Unreadable { source, .. } | Self::Unwritable { source, .. } => passing::of_disk(source),
            Self::Refused { .. } => Lasts::UntilItIsChanged,
        }
    }
}
