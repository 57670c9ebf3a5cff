//! The mark: a file next to the database that records the extent of the journal.
//!
//! Each transaction appends one line and syncs it before the transaction is acknowledged. So a
//! database behind its mark has lost acknowledged data, and a mark is never ahead by itself. The
//! last whole line counts; a line cut short by a power cut is skipped.

use std::cell::Cell;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Crc;
use jiff::Timestamp;

use super::commits::Extent;
use crate::disk::{Disk, FileKind, replace};

/// The size above which the file is rewritten with one line.
const MAX_SIZE: u64 = 64 * 1024;

/// First field of a line.
const VERSION: &str = "1";

/// Content of a mark file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Missing,
    /// No line can be read.
    Damaged,
    /// The extent that the journal had.
    At(Extent),
}

impl Mark {
    /// The recorded extent, if it is known.
    pub fn extent(&self) -> Option<&Extent> {
        match self {
            Self::At(extent) => Some(extent),
            Self::Missing | Self::Damaged => None,
        }
    }
}

/// The path of the mark of `database`.
pub fn mark_path(database: &Path) -> PathBuf {
    database.with_extension("mark")
}

/// Reads the mark of `database`.
pub fn read_mark(database: &Path, disk: &dyn Disk) -> io::Result<Mark> {
    let bytes = match disk.read(&mark_path(database)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Mark::Missing),
        read => read?,
    };
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(parse_line);
    Ok(lines.max_by_key(|extent| extent.commits).map_or(Mark::Damaged, Mark::At))
}

/// Writes the mark of an open database.
pub struct MarkWriter {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    size: Cell<u64>,
    failed: Cell<bool>,
}

impl MarkWriter {
    /// Opens the mark of `database`, which has the extent `extent`. A file with a different extent
    /// is rewritten.
    pub fn new(database: &Path, disk: Arc<dyn Disk>, extent: &Extent) -> Self {
        let path = mark_path(database);
        let size = match disk.file_kind(&path) {
            Ok(Some(FileKind::File(size))) => size,
            Ok(_) | Err(_) => 0,
        };
        let known = read_mark(database, &*disk).ok();
        let marker = Self { path, disk, size: Cell::new(size), failed: Cell::new(false) };
        if known.as_ref().and_then(Mark::extent) != Some(extent) {
            marker.log_failure(marker.rewrite(extent));
        }
        marker
    }

    /// Records the current extent. A mark that cannot be written falls behind, which does no harm.
    pub fn write(&self, extent: &Extent) {
        let kept = if self.size.get() > MAX_SIZE { self.rewrite(extent) } else { self.append(extent) };
        self.log_failure(kept);
    }

    fn rewrite(&self, extent: &Extent) -> io::Result<()> {
        let line = format_line(extent);
        replace(&*self.disk, &self.path, line.as_bytes())?;
        self.size.set(line.len() as u64);
        Ok(())
    }

    fn append(&self, extent: &Extent) -> io::Result<()> {
        // Starts with a line feed, because the previous line may have been cut short.
        let line = format!("\n{}", format_line(extent));
        self.disk.append(&self.path, line.as_bytes())?;
        self.size.set(self.size.get() + line.len() as u64);
        Ok(())
    }

    fn log_failure(&self, kept: io::Result<()>) {
        if let Err(error) = &kept
            && !self.failed.get()
        {
            let path = self.path.display();
            tracing::warn!(%error, %path, "The mark of the journal stays behind; the next write tries again.");
        }
        self.failed.set(kept.is_err());
    }
}

impl fmt::Debug for MarkWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Marker").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Formats a line such as `1 812 402 120 1800000000000000 9f3c12ab`: version, transactions,
/// entries, messages, microseconds, and a checksum of all of these.
fn format_line(extent: &Extent) -> String {
    let at = extent.at.map_or_else(|| "-".to_owned(), |at| at.as_microsecond().to_string());
    let text = format!("{VERSION} {} {} {} {at}", extent.commits, extent.entries, extent.messages);
    format!("{text} {:08x}\n", checksum(&text))
}

fn parse_line(line: &[u8]) -> Option<Extent> {
    let (text, sum) = std::str::from_utf8(line).ok()?.rsplit_once(' ')?;
    if sum != format!("{:08x}", checksum(text)) {
        return None;
    }
    let mut words = text.split(' ');
    if words.next() != Some(VERSION) {
        return None;
    }
    let mut number = || words.next()?.parse().ok();
    let commits = number()?;
    let entries = number()?;
    let messages = number()?;
    let at = words.next()?.parse().ok().and_then(|at| Timestamp::from_microsecond(at).ok());
    Some(Extent { commits, entries, messages, at })
}

fn checksum(text: &str) -> u32 {
    let mut crc = Crc::new();
    crc.update(text.as_bytes());
    crc.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    fn extent(commits: u64) -> Extent {
        Extent { commits, entries: 2, messages: 1, at: Timestamp::from_microsecond(commits as i64).ok() }
    }

    #[test]
    fn the_last_whole_line_counts_in_a_truncated_or_corrupted_file() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("journal.db");
        assert_eq!(read_mark(&database, &RealDisk).unwrap(), Mark::Missing);
        let marker = MarkWriter::new(&database, Arc::new(RealDisk), &extent(1));
        (2..=40).for_each(|n| marker.write(&extent(n)));
        assert_eq!(read_mark(&database, &RealDisk).unwrap(), Mark::At(extent(40)));
        let whole = RealDisk.read(&mark_path(&database)).unwrap();
        let put = |bytes: &[u8]| {
            let _ = RealDisk.remove(&mark_path(&database));
            RealDisk.create(&mark_path(&database), bytes).unwrap();
            read_mark(&database, &RealDisk).unwrap()
        };
        for end in 0..whole.len() {
            let reached = match put(&whole[..end]) {
                Mark::At(extent) => extent.commits,
                Mark::Damaged => 0,
                Mark::Missing => panic!("it is there"),
            };
            // A line that lost its last digit is not accepted.
            let lines = whole[..end].iter().filter(|byte| **byte == b'\n').count() as u64;
            assert!(reached <= 40 && reached >= lines / 2, "{end}: {reached}");
        }
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let Mark::At(found) = put(&flipped) else { panic!("one bit spoils one line, or two") };
            assert!((38..=40).contains(&found.commits), "bit {bit}: {found:?}");
        }
        assert_eq!(put(b"nothing of ours"), Mark::Damaged);
        // After a truncated line the next one is readable.
        put(&whole[..whole.len() - 5]);
        marker.write(&extent(41));
        assert_eq!(read_mark(&database, &RealDisk).unwrap(), Mark::At(extent(41)));
    }

    #[test]
    fn the_file_stays_small() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("journal.db");
        let marker = MarkWriter::new(&database, Arc::new(RealDisk), &extent(1));
        marker.size.set(MAX_SIZE + 1);
        marker.write(&extent(2));
        let size = RealDisk.read(&mark_path(&database)).unwrap().len();
        assert!(size < 100, "{size} bytes");
        assert_eq!(read_mark(&database, &RealDisk).unwrap(), Mark::At(extent(2)));
    }
}
