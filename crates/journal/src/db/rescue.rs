//! What to do with a damaged database: keep it aside, put together what is left of it, and say what is missing.
//!
//! There may be several ways to go on: the database with those transactions of its log that are whole, the database alone
//! (where its log was folded in before it was damaged), a backup, a backup with the log. Each is tried out beside, and the one
//! that reaches farthest takes the place of the damaged one.

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

/// Where a database comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// From the damaged one itself.
    Itself,
    /// From nothing but its log.
    Log,
    /// From the backup of this name.
    Backup(String),
    /// From the backup of this name, and the log of what was written since.
    BackupAndLog(String),
    /// It is new.
    New,
}

/// A database that could take the place of the damaged one.
struct Candidate {
    source: Source,
    bytes: Vec<u8>,
    extent: Extent,
}

/// Puts a database in the place of the damaged one at `path`; what the human should know lies beside it. Trouble with the disk
/// ends it, and the damaged one is still in its place. A backup that is no good, or cannot be read, is passed over for an
/// older one; but nothing is begun anew where one may be readable another day.
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
        // Beyond the mark, so that this one is not taken for one that lost its end.
        let reached = search.reached.unwrap_or_default().commits.max(extent.commits);
        sketch.count_beyond(reached).map_err(Unopened::sorted)?;
        // What was accepted may be lost with the damaged one, and must not be taken for granted.
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

/// The search for the database that reaches farthest.
struct Search<'a> {
    /// Where they are tried out.
    sketch: PathBuf,
    now: Timestamp,
    disk: &'a dyn Disk,
    /// How far the damaged one reached, if that is known.
    reached: Option<Extent>,
    best: Option<Candidate>,
}

impl Search<'_> {
    /// Whether nothing can be better than what was found.
    fn is_complete(&self) -> bool {
        let best = self.best.as_ref().map(|best| best.extent.commits);
        self.reached.is_some_and(|reached| best >= Some(reached.commits))
    }

    /// Tries out `bytes`, unless something was found already that lacks nothing. Says how far they reach, if they are sound.
    fn consider(&mut self, source: Source, bytes: Vec<u8>) -> Result<Option<Extent>, Unopened> {
        if self.is_complete() {
            return Ok(None);
        }
        let Some(mut extent) = self.draw(&bytes, |_| Ok(()))? else { return Ok(None) };
        // Its number is newer than the rest of it.
        if self.reached.is_some_and(|reached| reached.contradicts(&extent)) {
            extent.commits -= 1;
        }
        if self.best.as_ref().is_none_or(|best| extent.commits > best.extent.commits) {
            self.best = Some(Candidate { source, bytes, extent });
        }
        Ok(Some(extent))
    }

    /// Tries out the newest good backup, with and without the log. Gives the trouble with one that cannot be read.
    fn backups(&mut self, dir: &Path, wal: &Wal) -> Result<Option<Unopened>, Unopened> {
        let mut unread = None;
        for backup in backups(dir, self.disk).map_err(unreadable(dir))? {
            if self.is_complete() {
                break;
            }
            // A disk that stumbles once is no reason to go back a day.
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

    /// Tries out `base`, which reaches as far as `commits`, with the log. The log holds every page that was changed since it
    /// began, so it goes on from `base` exactly if that is not older than the beginning of the log.
    fn with_log(&mut self, base: &[u8], commits: u64, wal: &Wal, source: Source) -> Result<(), Unopened> {
        let (Some(first), Some(whole)) = (wal.with_first(base), wal.with_whole(base)) else { return Ok(()) };
        let first = self.draw(&first, |_| Ok(()))?.map(|extent| extent.commits);
        if first.is_some_and(|first| commits >= FIRST && commits + 1 >= first) {
            self.consider(source, whole)?;
        }
        Ok(())
    }

    /// Puts `bytes` at the sketch and does `more` with them, if they are a sound database; then says how far that reached
    /// before, and leaves it there in one file.
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
                // The first error is the one to tell of; a leftover is swept on the next start.
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
    // One file that needs no other beside it.
    database.connection.pragma_update(None, "journal_mode", "DELETE").map_err(Unopened::sorted)?;
    Ok(extent)
}

/// The bytes of the file at `path`; none, if it is not there. A disk that stumbles once is asked again.
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

/// What is missing in a database that took the place of another.
enum Missing {
    /// There is no mark to compare with.
    Unknown,
    /// It reaches as far.
    Nothing,
    /// This.
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
