//! Migration: an older journal is brought up to date, and the one from before is kept.
//!
//! The steps are one transaction, so that whoever is ended in the middle finds the old one. The copy is for another
//! case: the human wants the older program back, which cannot read what the newer one wrote.

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

/// How many journals from before are kept.
const KEPT: usize = 3;

/// What one is called: this, the time it was kept, and its format.
const NAMED: &str = "journal-";
const STAMPED: &str = "%Y%m%dT%H%M%SZ";
const FORMAT: &str = "-format-";

/// How a journal stands to this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The format that it has.
    pub found: i64,
    /// The format that this program writes.
    pub known: i64,
}

impl Standing {
    /// Whether something is to be done.
    pub fn is_old(self) -> bool {
        self.found < self.known
    }
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// How it stood before.
    pub before: Standing,
    /// Where the journal from before is kept; nothing, if it was up to date.
    pub kept: Option<PathBuf>,
}

/// How the journal of `paths` stands; nothing, if there is none yet.
pub fn standing(paths: &Paths, disk: &dyn Disk) -> Result<Option<Standing>, NotOpened> {
    let found = format(paths, disk).map_err(|error| not_brought(paths, &error))?;
    Ok(found.map(|found| Standing { found, known: known_format() }))
}

/// The format of the journal of `paths`; nothing, if there is none yet.
pub fn format(paths: &Paths, disk: &dyn Disk) -> Result<Option<i64>, Unopened> {
    match disk.look(&paths.database()).map_err(Unopened::of_disk)? {
        Some(Seen::File(bytes)) if bytes > 0 => format_of(&paths.database()).map(Some),
        Some(_) | None => Ok(None),
    }
}

/// Brings the journal of `paths` up to date, for the process `pid`; nothing, if there is none.
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

/// Why the journal of `paths` is not brought up to date, and who must act. A damaged one is no reason never to start again:
/// a start knows what to do.
fn not_brought(paths: &Paths, error: &Unopened) -> NotOpened {
    match error {
        Unopened::Damaged(_) => {
            NotOpened::NotNow(format!("{error}. the next start goes on from a good copy."))
        }
        Unopened::Newer { .. } | Unopened::Disk(_) | Unopened::NotNow(..) => sorted(paths, error),
    }
}

/// Keeps the journal of `paths` as it is, if it is about to change its format. What is to be told of it.
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

/// The newest journal that was kept before a migration at `since` or later, and that a program reads which knows formats
/// up to `known`. What was kept before is of an earlier migration, and much may have been said since.
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

/// Where the journal of `paths` is kept if another one is laid back at `now`.
pub fn aside(paths: &Paths, now: Timestamp) -> PathBuf {
    aside_of(&paths.database(), Aside::Newer, now)
}

/// Puts a copy of `kept` in the place of the journal of `paths`, which is kept aside; gives where that is.
pub fn lay_back(
    paths: &Paths,
    disk: &dyn Disk,
    kept: &Path,
    now: Timestamp,
) -> Result<Option<PathBuf>, Unopened> {
    let journal = paths.database();
    let half = journal.with_extension("db.back.tmp");
    // All that may fail for want of room comes first: until then nothing has changed.
    let copied = remove(disk, &half).and_then(|_| disk.create(&half, &disk.read(kept)?));
    copied.map_err(|error| {
        let _ = disk.remove(&half);
        Unopened::of_disk(error)
    })?;
    // What was said since is left behind on purpose: the mark must not be ahead of what takes the place.
    if let Some(reached) = read_mark(&journal, disk).map_err(Unopened::of_disk)?.extent()
        && !raise_commits(&half, reached.commits)?
    {
        remove(disk, &mark_of(&journal)).map_err(Unopened::of_disk)?;
    }
    lay(&half, &journal, Aside::Newer, now, &Laid::told, disk)
}

/// Ends what was begun about the journal of `paths` and cut short: nothing, if nothing was.
pub fn finish_laying(paths: &Paths, disk: &dyn Disk) -> Result<Option<Laid>, Unopened> {
    db::finish_laying(&paths.database(), disk)
}

/// Whether a start would lay another journal in the place of that of `paths`, or nobody can tell.
pub fn is_laying(paths: &Paths, disk: &dyn Disk) -> bool {
    db::is_decided(&paths.database(), disk)
}

fn keep(paths: &Paths, disk: &dyn Disk, now: Timestamp) -> Result<PathBuf, Unopened> {
    let dir = paths.before_migration();
    ensure_dir(disk, &dir).map_err(Unopened::of_disk)?;
    let snapshot = Snapshot::of(&paths.database())?;
    let format = format_of(&paths.database())?;
    let path = dir.join(format!("{NAMED}{}{FORMAT}{format}.db", now.strftime(STAMPED)));
    // A number at the end would be that of a process.
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

/// Brings the copy to the disk, and gives it its name.
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
