//! Migration of an older journal, which is copied first.
//!
//! A migration is one transaction, so an interrupted one leaves the old format. The copy allows the
//! user to return to the older program, which cannot read the new format.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::db::{
    self, Aside, Database, Laid, Snapshot, Unopened, aside_of, format_of, known_format, lay, mark_of,
    raise_commits, read_mark,
};
use crate::disk::{Disk, Seen, ensure_dir, remove};
use crate::lock::{Lock, NotLocked};
use crate::open::{NotOpened, sorted};
use crate::paths::Paths;

/// Number of copies that are retained.
const KEPT: usize = 3;

/// The parts of a copy's file name: prefix, time, and format.
const NAMED: &str = "journal-";
const STAMPED: &str = "%Y%m%dT%H%M%SZ";
const FORMAT: &str = "-format-";

/// The format of a journal compared with that of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The format of the journal.
    pub found: i64,
    /// The format that this program writes.
    pub known: i64,
}

impl Standing {
    /// Returns whether a migration is needed.
    pub fn is_old(self) -> bool {
        self.found < self.known
    }
}

/// Result of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The formats before.
    pub before: Standing,
    /// The copy of the old journal; `None` if no migration was needed.
    pub kept: Option<PathBuf>,
}

/// Compares the format of the journal of `paths` with that of this program. `None` if there is no
/// journal.
pub fn standing(paths: &Paths, disk: &dyn Disk) -> Result<Option<Standing>, NotOpened> {
    let found = format(paths, disk).map_err(|error| not_brought(paths, &error))?;
    Ok(found.map(|found| Standing { found, known: known_format() }))
}

/// The format of the journal of `paths`, if there is one.
pub fn format(paths: &Paths, disk: &dyn Disk) -> Result<Option<i64>, Unopened> {
    match disk.look(&paths.database()).map_err(Unopened::of_disk)? {
        Some(Seen::File(bytes)) if bytes > 0 => format_of(&paths.database()).map(Some),
        Some(_) | None => Ok(None),
    }
}

/// Migrates the journal of `paths` for the process `pid`. `None` if there is no journal.
pub fn migrate(
    paths: &Paths,
    disk: &dyn Disk,
    now: Timestamp,
    pid: u32,
) -> Result<Option<Migrated>, NotOpened> {
    if standing(paths, disk)?.is_none() {
        return Ok(None);
    }
    let _lock = Lock::take(&paths.state(), pid).map_err(|error| match error {
        NotLocked::Running(_) => NotOpened::Running(error),
        NotLocked::Disk(error) => sorted(paths, &error),
    })?;
    let Some(before) = standing(paths, disk)? else { return Ok(None) };
    if !before.is_old() {
        return Ok(Some(Migrated { before, kept: None }));
    }
    let kept = keep(paths, disk, now).map_err(|error| {
        let text = format!("the journal could not be copied first ({error}). nothing was changed.");
        match not_brought(paths, &error) {
            NotOpened::Unusable(_) => NotOpened::Unusable(text),
            NotOpened::NotNow(_) | NotOpened::Running(_) => NotOpened::NotNow(text),
        }
    })?;
    let database = Database::open(&paths.database()).map_err(|error| not_brought(paths, &error))?;
    if database.is_sound() {
        Ok(Some(Migrated { before, kept: Some(kept) }))
    } else {
        Err(NotOpened::NotNow(format!(
            "the journal is damaged. the one from before is kept as {}; the next start goes on from a good copy.",
            kept.display()
        )))
    }
}

/// The error of a failed migration. Damage is reported as temporary, because a start recovers a
/// damaged journal.
fn not_brought(paths: &Paths, error: &Unopened) -> NotOpened {
    match error {
        Unopened::Damaged(_) => {
            NotOpened::NotNow(format!("{error}. the next start goes on from a good copy."))
        }
        Unopened::Newer { .. } | Unopened::Disk(_) | Unopened::NotNow(..) => sorted(paths, error),
    }
}

/// Copies the journal of `paths` if it is about to be migrated. Returns a notice.
pub fn keep_before(paths: &Paths, disk: &dyn Disk, now: Timestamp) -> Option<String> {
    let Standing { found, known } =
        standing(paths, disk).ok().flatten().filter(|standing| standing.is_old() && standing.found > 0)?;
    Some(match keep(paths, disk, now) {
        Ok(kept) => format!(
            "the journal was brought from format {found} to {known}. the one from before is kept as {}.",
            kept.display()
        ),
        Err(error) => {
            tracing::warn!(%error, "The journal could not be copied before it was brought up to date.");
            format!(
                "the journal was brought from format {found} to {known}; there was no room to keep the one from before."
            )
        }
    })
}

/// The newest copy that was made before a migration at `since` or later and has a format up to
/// `known`. An older copy belongs to an earlier migration and may lack much.
pub fn kept_for(
    paths: &Paths,
    disk: &dyn Disk,
    known: i64,
    since: Option<Timestamp>,
) -> Result<Option<PathBuf>, Unopened> {
    let since = since.map(|since| since.strftime(STAMPED).to_string()).unwrap_or_default();
    let fits = |path: &Path| {
        let name = path.file_name()?.to_str()?.strip_prefix(NAMED)?.strip_suffix(".db")?;
        let (stamp, format) = name.split_once(FORMAT)?;
        Some(stamp >= since.as_str() && format.parse::<i64>().ok()? <= known)
    };
    let kept = match disk.list(&paths.before_migration()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        listed => listed.map_err(Unopened::of_disk)?,
    };
    Ok(kept.into_iter().map(|it| it.path).filter(|path| fits(path) == Some(true)).max())
}

/// The path to which the journal of `paths` is moved if a copy replaces it at `now`.
pub fn aside(paths: &Paths, now: Timestamp) -> PathBuf {
    aside_of(&paths.database(), Aside::Newer, now)
}

/// Replaces the journal of `paths` by a copy of `kept`. Returns where the old journal was moved.
pub fn lay_back(
    paths: &Paths,
    disk: &dyn Disk,
    kept: &Path,
    now: Timestamp,
) -> Result<Option<PathBuf>, Unopened> {
    let journal = paths.database();
    let half = journal.with_extension("db.back.tmp");
    // Everything that needs disk space comes first, so that nothing has changed if it fails.
    let copied = remove(disk, &half).and_then(|_| disk.create(&half, &disk.read(kept)?));
    copied.map_err(|error| {
        let _ = disk.remove(&half);
        Unopened::of_disk(error)
    })?;
    // The newer content is dropped on purpose, so the mark must not be ahead of the restored
    // journal.
    if let Some(reached) = read_mark(&journal, disk).map_err(Unopened::of_disk)?.extent()
        && !raise_commits(&half, reached.commits)?
    {
        remove(disk, &mark_of(&journal)).map_err(Unopened::of_disk)?;
    }
    lay(&half, &journal, Aside::Newer, now, &Laid::told, disk)
}

/// Completes an interrupted replacement of the journal of `paths`, if there is one.
pub fn finish_laying(paths: &Paths, disk: &dyn Disk) -> Result<Option<Laid>, Unopened> {
    db::finish_laying(&paths.database(), disk)
}

/// Returns whether a replacement of the journal is pending. True if that cannot be determined.
pub fn is_laying(paths: &Paths, disk: &dyn Disk) -> bool {
    db::is_decided(&paths.database(), disk)
}

fn keep(paths: &Paths, disk: &dyn Disk, now: Timestamp) -> Result<PathBuf, Unopened> {
    let dir = paths.before_migration();
    ensure_dir(disk, &dir).map_err(Unopened::of_disk)?;
    let snapshot = Snapshot::of(&paths.database())?;
    let format = format_of(&paths.database())?;
    let path = dir.join(format!("{NAMED}{}{FORMAT}{format}.db", now.strftime(STAMPED)));
    // Without a number at the end, because that would be read as a process id.
    let half = path.with_extension("db.tmp");
    let _ = disk.remove(&half);
    let copied = snapshot.copy(&half, &mut |_, _| {}).and_then(|()| finish(disk, &half, &path));
    if copied.is_err() {
        let _ = disk.remove(&half);
    }
    copied?;
    forget_older(&dir, disk);
    Ok(path)
}

/// Syncs the copy and gives it its final name.
fn finish(disk: &dyn Disk, half: &Path, path: &Path) -> Result<(), Unopened> {
    disk.append(half, b"").map_err(Unopened::of_disk)?;
    disk.rename(half, path).map_err(Unopened::of_disk)?;
    path.parent().map_or(Ok(()), |dir| disk.sync_dir(dir)).map_err(Unopened::of_disk)
}

fn forget_older(dir: &Path, disk: &dyn Disk) {
    let mut kept: Vec<PathBuf> = disk.list(dir).unwrap_or_default().into_iter().map(|it| it.path).collect();
    kept.sort();
    kept.reverse();
    for old in kept.into_iter().filter(|path| path.extension().is_some_and(|end| end == "db")).skip(KEPT) {
        let _ = disk.remove(&old);
    }
}
