//! Recovery of a damaged database: sets it aside, recovers what is left, and reports what is
//! missing.
//!
//! Candidates are the database with the intact transactions of its WAL, the database alone (where
//! its WAL was checkpointed before the damage), a backup, and a backup with the WAL. Each is
//! checked in a scratch file; the one with the most commits replaces the damaged database.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jiff::{Timestamp, Zoned};

use super::commits::{Extent, FIRST};
use super::damage::backups;
use super::laying::{Aside, Laid, PARTS, lay, with_end};
use super::mark::{self, Mark};
use super::wal::Wal;
use super::{Database, Unopened, fresh, packed};
use crate::disk::Disk;
use crate::passing::Lasts;

/// Origin of a recovered database.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// The damaged database itself.
    Itself,
    /// Its WAL alone.
    Log,
    /// The backup of this name.
    Backup(String),
    /// The backup of this name with the WAL written since.
    BackupAndLog(String),
    /// An empty database.
    New,
}

/// A database that could replace the damaged one.
struct Candidate {
    source: Source,
    bytes: Vec<u8>,
    extent: Extent,
}

/// Replaces the damaged database at `path`; the notice for the user is stored next to it. A disk
/// error aborts the recovery and leaves the damaged database in place. A bad or unreadable backup
/// is skipped for an older one, but no empty database is created while an unreadable backup may
/// become readable.
pub fn rescue(path: &Path, backups_dir: &Path, now: &Zoned, disk: &dyn Disk) -> Result<Database, Unopened> {
    let mark = mark::read(path, disk).map_err(Unopened::of_disk)?;
    let mut search = Search {
        sketch: with_end(path, ".rescue.tmp"),
        now: now.timestamp(),
        disk,
        reached: mark.extent().copied(),
        best: None,
    };
    let base = read_if_there(path, disk)?;
    let wal = Wal::read(&read_if_there(&with_end(path, "-wal"), disk)?);
    if !base.is_empty() {
        if let Some(whole) = wal.with_whole(&base) {
            search.consider(Source::Itself, whole)?;
        }
        search.consider(Source::Itself, base)?;
    }
    let unread = search.backups(backups_dir, &wal)?;
    if !wal.is_empty() && !search.is_complete() {
        let new = fresh::bytes(&search.sketch, disk)?;
        search.with_log(&new, FIRST, &wal, Source::Log)?;
    }
    if let (None, Some(unread)) = (&search.best, unread) {
        return Err(unread);
    }
    search.clear()?;
    let (source, bytes, extent) = match search.best.take() {
        Some(best) => (best.source, best.bytes, best.extent),
        None => (Source::New, fresh::bytes(&search.sketch, disk)?, Extent::default()),
    };
    let ended = search.draw(&bytes, |sketch| {
        // Above the mark, so that the new database does not look as if it had lost data.
        let reached = search.reached.unwrap_or_default().commits.max(extent.commits);
        sketch.count_beyond(reached).map_err(Unopened::sorted)?;
        // The acceptances may be lost with the damaged database and must not be granted implicitly.
        sketch.begin_accepting(search.now).map_err(Unopened::sorted)
    })?;
    if ended.is_none() {
        return Err(Unopened::NotNow("a new one cannot be made".to_owned(), Lasts::ForAWhile));
    }
    let missing = match &mark {
        Mark::At(reached) => {
            reached.missing_from(&extent, now.time_zone()).map_or(Missing::Nothing, Missing::This)
        }
        Mark::Missing | Mark::Damaged => Missing::Unknown,
    };
    let tell = |laid: &Laid| told(&source, laid, &missing);
    lay(&search.sketch, path, Aside::Damaged, search.now, &tell, disk)?;
    Database::open(path)
}

/// Search for the candidate with the most commits.
struct Search<'a> {
    /// The scratch file in which candidates are checked.
    sketch: PathBuf,
    now: Timestamp,
    disk: &'a dyn Disk,
    /// The extent of the damaged database, if it is known.
    reached: Option<Extent>,
    best: Option<Candidate>,
}

impl Search<'_> {
    /// Returns whether no better candidate is possible.
    fn is_complete(&self) -> bool {
        let best = self.best.as_ref().map(|best| best.extent.commits);
        self.reached.is_some_and(|reached| best >= Some(reached.commits))
    }

    /// Checks `bytes` as a candidate, unless a complete one was found. Returns their extent if they
    /// are sound.
    fn consider(&mut self, source: Source, bytes: Vec<u8>) -> Result<Option<Extent>, Unopened> {
        if self.is_complete() {
            return Ok(None);
        }
        let Some(mut extent) = self.draw(&bytes, |_| Ok(()))? else { return Ok(None) };
        // Its counter is newer than the rest.
        if self.reached.is_some_and(|reached| reached.contradicts(&extent)) {
            extent.commits -= 1;
        }
        if self.best.as_ref().is_none_or(|best| extent.commits > best.extent.commits) {
            self.best = Some(Candidate { source, bytes, extent });
        }
        Ok(Some(extent))
    }

    /// Checks the newest good backup, with and without the WAL. Returns the error of an unreadable
    /// backup.
    fn backups(&mut self, dir: &Path, wal: &Wal) -> Result<Option<Unopened>, Unopened> {
        let mut unread = None;
        for backup in backups(dir, self.disk).map_err(unreadable(dir))? {
            if self.is_complete() {
                break;
            }
            // Retries once: a transient disk error is no reason to lose a day.
            let bytes = match packed::read(&backup, self.disk).or_else(|_| packed::read(&backup, self.disk)) {
                Ok(bytes) => bytes.unwrap_or_default(),
                Err(error) => {
                    tracing::warn!(%error, path = %backup.display(), "A backup cannot be read.");
                    unread = unread.or_else(|| Some(unreadable(&backup)(error)));
                    continue;
                }
            };
            if bytes.is_empty() {
                continue;
            }
            let name = backup.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Some(extent) = self.consider(Source::Backup(name.clone()), bytes.clone())? else { continue };
            self.with_log(&bytes, extent.commits, wal, Source::BackupAndLog(name))?;
            break;
        }
        Ok(unread)
    }

    /// Checks `base`, which has `commits` commits, together with the WAL. The WAL contains every
    /// page changed since its start, so it applies exactly if `base` is not older than that start.
    fn with_log(&mut self, base: &[u8], commits: u64, wal: &Wal, source: Source) -> Result<(), Unopened> {
        let (Some(first), Some(whole)) = (wal.with_first(base), wal.with_whole(base)) else { return Ok(()) };
        let first = self.draw(&first, |_| Ok(()))?.map(|extent| extent.commits);
        if first.is_some_and(|first| commits >= FIRST && commits + 1 >= first) {
            self.consider(source, whole)?;
        }
        Ok(())
    }

    /// Writes `bytes` to the scratch file and, if they are a sound database, calls `more` with it.
    /// Returns the extent before that call, and leaves the database there as a single file.
    fn draw(
        &self,
        bytes: &[u8],
        more: impl FnOnce(&Database) -> Result<(), Unopened>,
    ) -> Result<Option<Extent>, Unopened> {
        self.clear()?;
        let drawn = self.disk.create(&self.sketch, bytes).map_err(Unopened::of_disk);
        match drawn.and_then(|()| try_out(&self.sketch, more)) {
            Ok(extent) => Ok(Some(extent)),
            Err(Unopened::Damaged(_) | Unopened::Newer { .. }) => self.clear().map(|()| None),
            Err(error @ (Unopened::Disk(_) | Unopened::NotNow(..))) => {
                // Keeps the first error; the next start removes a leftover file.
                let _ = self.clear();
                Err(error)
            }
        }
    }

    fn clear(&self) -> Result<(), Unopened> {
        PARTS.iter().try_for_each(|part| match self.disk.remove(&with_end(&self.sketch, part)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Unopened::of_disk(error)),
            Ok(()) | Err(_) => Ok(()),
        })
    }
}

fn try_out(sketch: &Path, more: impl FnOnce(&Database) -> Result<(), Unopened>) -> Result<Extent, Unopened> {
    let database = Database::open(sketch)?;
    if !database.consistency().map_err(Unopened::sorted)? {
        return Err(Unopened::Damaged("some page is not what it should be".to_owned()));
    }
    let extent = database.extent().map_err(Unopened::sorted)?;
    more(&database)?;
    // A single file without a WAL.
    database.connection.pragma_update(None, "journal_mode", "DELETE").map_err(Unopened::sorted)?;
    Ok(extent)
}

/// Reads the file at `path`; empty if it is missing. Retries once after a disk error.
fn read_if_there(path: &Path, disk: &dyn Disk) -> Result<Vec<u8>, Unopened> {
    match disk.read(path).or_else(|_| disk.read(path)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(unreadable(path)),
    }
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> Unopened {
    move |error| {
        let text =
            format!("it is damaged, and {} cannot be read ({error}); nothing was changed", path.display());
        Unopened::of_disk(io::Error::new(error.kind(), text))
    }
}

/// Describes the data that the recovered database lacks.
enum Missing {
    /// There is no mark to compare with.
    Unknown,
    Nothing,
    This(String),
}

fn told(source: &Source, laid: &Laid, missing: &Missing) -> String {
    let aside = laid.aside.as_ref().map(|aside| aside.display().to_string());
    if *source == Source::New {
        return began_anew(aside, missing);
    }
    let went_on = match source {
        Source::Itself => "put it together again from what was intact".to_owned(),
        Source::Log => "put it together again from its log".to_owned(),
        Source::Backup(name) => format!("went on from the backup {name}"),
        Source::BackupAndLog(name) => {
            format!("went on from the backup {name}, with the log of what was written since")
        }
        Source::New => "started a new one".to_owned(),
    };
    let start = match &aside {
        Some(aside) => format!("the journal was damaged. i kept it as {aside} and {went_on}"),
        None => format!("the journal was gone. i {went_on}"),
    };
    let damaged = if aside.is_some() { ". It may still be found in the damaged file." } else { "." };
    match missing {
        Missing::Nothing => format!("{start}; nothing is missing."),
        Missing::This(missing) => format!("{start}; missing: {missing}{damaged}"),
        Missing::Unknown if aside.is_some() => format!(
            "{start}; what was said after that is missing here and may still be found in the damaged file."
        ),
        Missing::Unknown => format!("{start}; what was said after that is missing here."),
    }
}

fn began_anew(aside: Option<String>, missing: &Missing) -> String {
    let start = match aside {
        Some(aside) => format!(
            "the journal was damaged or gone, and there was no backup. what there was of it is kept as {aside}; i could \
             not read our earlier conversation from it, and started a new one."
        ),
        None => {
            "the journal was gone, and there was no backup. i could not find our earlier conversation, and \
                 started a new one."
                .to_owned()
        }
    };
    match missing {
        Missing::This(missing) => format!("{start} Missing: {missing}."),
        Missing::Unknown | Missing::Nothing => start,
    }
}
