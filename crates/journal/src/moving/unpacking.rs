//! Unpacks an untrusted archive into a staging directory and verifies it.
//!
//! Aborts at anything that is not a regular file, has a path outside the directory or a duplicate
//! path, exceeds a limit, or does not match the manifest. Nothing outside the staging directory is
//! touched.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};
use tar::{Archive, Entry};

use super::choosing::{refusal, stays_behind};
use super::manifest::{FORMAT, Manifest};
use super::packing::in_hex;
use super::path::is_plain;
use super::{DATA, JOURNAL, MANIFEST, Progress, Tell};
use crate::db::{Unopened, examine_copy};
use crate::disk::Disk;

/// Limits for unpacking.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The most files.
    pub files: u64,
    /// The most unpacked bytes: the free space.
    pub bytes: u64,
    /// The most bytes of the manifest.
    pub list: u64,
    /// Unpacked bytes that are exempt from the limit of the compression ratio.
    pub first: u64,
}

impl Bounds {
    /// The limits for a disk with `bytes` of free space.
    pub fn with_room_for(bytes: u64) -> Self {
        Self { files: 1_000_000, bytes, list: 256 * 1024 * 1024, first: 64 * 1024 * 1024 }
    }
}

/// The maximum compression ratio beyond the first bytes. Real data directories compress far less.
const ALIKE: u64 = 300;

/// Allowance for the header of a file and a long name.
const AROUND: u64 = 16 * 1024;

/// The name for headers in errors.
const HEADERS: &str = "a header";

/// Bytes written at a time.
const PART: usize = 8 * 1024 * 1024;

/// An error from unpacking an archive.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It is not an archive of this program, or incomplete.
    #[error("this is not a whole archive of ollim-bot: {0}. nothing was changed.")]
    NotOurs(String),
    /// It contains something that is not allowed.
    #[error("this archive is not safe to unpack: {0}. nothing was changed.")]
    Unsafe(String),
    /// A file does not match the manifest.
    #[error("this archive is damaged: {0}. nothing was changed.")]
    Damaged(String),
    #[error("{0} nothing was changed.")]
    Newer(String),
    #[error("the archive could not be unpacked: {0}. nothing was changed.")]
    Disk(io::Error),
}

/// Unpacks `archive` into `dir`, which must not exist, verifies it, and returns the manifest.
pub fn unpack(
    archive: impl Read,
    (disk, stage): (&dyn Disk, &Path),
    bounds: Bounds,
    tell: Tell<'_>,
) -> Result<Manifest, Refused> {
    let packed = Cell::new(0);
    let allowed = Cell::new(0);
    let counted = Counted { inner: archive, count: &packed };
    let unpacked = GzDecoder::new(BufReader::new(counted));
    let metered =
        Metered { inner: unpacked, allowed: &allowed, packed: &packed, first: bounds.first, count: 0 };
    let mut archive = Archive::new(metered);
    let mut unpacker = Unpacker {
        disk,
        stage,
        bounds,
        allowed: &allowed,
        found: BTreeMap::new(),
        progress: Progress::default(),
        tell,
    };
    disk.create_dir(stage).map_err(Refused::Disk)?;
    let mut list = None;
    let mut entries = archive.entries().map_err(|error| unread(HEADERS, &error))?;
    loop {
        allowed.set(AROUND);
        let Some(entry) = entries.next() else { break };
        let entry = entry.map_err(|error| unread(HEADERS, &error))?;
        if list.is_some() {
            return Err(Refused::NotOurs("something follows its list".to_owned()));
        }
        list = unpacker.take(entry)?;
    }
    // Reads to the end, because that verifies the checksum of the compressed data, which alone
    // covers the manifest.
    allowed.set(AROUND);
    passed_by(HEADERS, &mut archive.into_inner())?;
    let list = list.ok_or_else(|| Refused::NotOurs("it has no list of what is inside".to_owned()))?;
    unpacker.look_over(&list)?;
    Ok(list)
}

struct Unpacker<'a, 'b> {
    disk: &'a dyn Disk,
    stage: &'a Path,
    bounds: Bounds,
    allowed: &'a Cell<u64>,
    found: BTreeMap<String, (u64, String)>,
    progress: Progress,
    tell: Tell<'b>,
}

impl Unpacker<'_, '_> {
    /// Unpacks one entry. Returns the manifest if it is that.
    fn take<R: Read>(&mut self, mut entry: Entry<'_, R>) -> Result<Option<Manifest>, Refused> {
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        // Archives made by hand begin with a directory.
        if self.found.is_empty() && entry.header().entry_type().is_dir() {
            let shown = shown(&name);
            return Err(Refused::NotOurs(format!(
                "it begins with the directory `{shown}`, so `ollim-bot export` did not make it"
            )));
        }
        if !entry.header().entry_type().is_file() {
            return Err(Refused::Unsafe(format!("`{}` is no plain file", shown(&name))));
        }
        let size = entry.size();
        if name == MANIFEST {
            self.allow(size, self.bounds.list, &name)?;
            let list = serde_json::from_reader(&mut entry).map_err(not_a_list)?;
            return Ok(Some(list));
        }
        let inside = name.strip_prefix(DATA).filter(|inside| is_plain(inside));
        let Some(inside) = inside.filter(|inside| refusal(inside).is_none()) else {
            let shown = shown(&name);
            return Err(Refused::Unsafe(format!("it brings `{shown}`, which no archive of mine holds")));
        };
        self.allow(size, self.bounds.bytes.saturating_sub(self.progress.bytes), &name)?;
        let hash = match stays_behind(inside) {
            Some(_) => passed_by(inside, &mut entry)?,
            None => self.lay(inside, &mut entry)?,
        };
        self.progress = Progress { files: self.progress.files + 1, bytes: self.progress.bytes + size };
        self.found.insert(inside.to_owned(), (size, hash));
        (self.tell)(self.progress);
        Ok(None)
    }

    /// Allows the next `size` bytes to be read, unless that exceeds a limit.
    fn allow(&self, size: u64, most: u64, name: &str) -> Result<(), Refused> {
        let reason = if size > most {
            "there is no room for it"
        } else if self.progress.files >= self.bounds.files {
            "there are more files than a data directory has"
        } else {
            self.allowed.set(size.saturating_add(AROUND));
            return Ok(());
        };
        Err(Refused::Unsafe(format!("`{}` ({size} bytes): {reason}", shown(name))))
    }

    fn lay<R: Read>(&self, inside: &str, entry: &mut Entry<'_, R>) -> Result<String, Refused> {
        let may_run = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
        let hash = self.write(inside, entry)?;
        if may_run {
            self.disk.let_run(&self.stage.join(inside)).map_err(Refused::Disk)?;
        }
        Ok(hash)
    }

    fn write(&self, inside: &str, bytes: &mut impl Read) -> Result<String, Refused> {
        let path = self.stage.join(inside);
        if let Some(dir) = path.parent() {
            self.disk.create_dir(dir).map_err(|error| unlaid(inside, error))?;
        }
        let mut hash = Sha256::new();
        let mut part = Vec::new();
        let mut first = true;
        loop {
            part.clear();
            let mut most = bytes.take(PART as u64);
            most.read_to_end(&mut part).map_err(|error| unread(inside, &error))?;
            hash.update(&part);
            match (first, part.is_empty()) {
                (true, _) => self.disk.create(&path, &part).map_err(|error| unlaid(inside, error))?,
                (false, true) => return Ok(in_hex(hash)),
                (false, false) => self.disk.append(&path, &part).map_err(Refused::Disk)?,
            }
            first = false;
        }
    }

    /// Verifies all files against the manifest, and that the database can be opened.
    fn look_over(&self, list: &Manifest) -> Result<(), Refused> {
        if list.format > FORMAT {
            return Err(Refused::Newer(format!(
                "the archive has format {} and this version of ollim-bot knows up to {FORMAT}. update ollim-bot;",
                list.format
            )));
        }
        for file in &list.inside {
            let expected = (file.bytes, file.sha256.clone());
            match self.found.get(&file.path) {
                Some(found) if *found == expected => {}
                Some(_) => {
                    return Err(Refused::Damaged(format!("`{}` is not what it was", shown(&file.path))));
                }
                None => return Err(Refused::Damaged(format!("`{}` is missing", shown(&file.path)))),
            }
        }
        if list.inside.len() != self.found.len() {
            return Err(Refused::Unsafe("it holds files that its list does not name".to_owned()));
        }
        if self.found.contains_key(JOURNAL) { sound(examine_copy(&self.stage.join(JOURNAL))) } else { Ok(()) }
    }
}

/// Reads an ignored file, because the manifest contains its hash.
fn passed_by(what: &str, bytes: &mut impl Read) -> Result<String, Refused> {
    let mut hash = Sha256::new();
    let mut part = vec![0; 64 * 1024];
    loop {
        match bytes.read(&mut part).map_err(|error| unread(what, &error))? {
            0 => return Ok(in_hex(hash)),
            read => hash.update(&part[..read]),
        }
    }
}

fn sound(examined: Result<(i64, bool), Unopened>) -> Result<(), Refused> {
    match examined {
        Ok((_, true)) => Ok(()),
        Ok((_, false)) => Err(Refused::Damaged("the journal in it is not sound".to_owned())),
        Err(newer @ Unopened::Newer { .. }) => {
            Err(Refused::Newer(newer.to_string().replace(" nothing was changed.", "")))
        }
        Err(other) => Err(Refused::Damaged(other.to_string())),
    }
}

fn unlaid(inside: &str, error: io::Error) -> Refused {
    use io::ErrorKind::{AlreadyExists, IsADirectory, NotADirectory};
    if matches!(error.kind(), AlreadyExists | NotADirectory | IsADirectory) {
        Refused::Unsafe(format!("`{}` comes twice, or lies under a file", shown(inside)))
    } else {
        Refused::Disk(error)
    }
}

fn not_a_list(error: serde_json::Error) -> Refused {
    if error.is_io() {
        unread(MANIFEST, &error.into())
    } else {
        Refused::NotOurs(format!("its list cannot be read ({error})"))
    }
}

/// The error for `what`, which could not be read.
fn unread(what: &str, error: &io::Error) -> Refused {
    if error.kind() == io::ErrorKind::FileTooLarge {
        Refused::Unsafe("a name or a header in it has no end".to_owned())
    } else if error.kind() == io::ErrorKind::QuotaExceeded {
        Refused::Unsafe(format!("`{}` unpacks to far more than it holds", shown(what)))
    } else {
        Refused::NotOurs(error.to_string())
    }
}

/// A shortened name without control characters, because the name is untrusted.
fn shown(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).take(80).collect()
}

struct Counted<'a, R> {
    inner: R,
    count: &'a Cell<u64>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// Limits the number of bytes and the compression ratio. The compressed size is known only after
/// reading, so the ratio is checked after each read.
struct Metered<'a, R> {
    inner: R,
    allowed: &'a Cell<u64>,
    packed: &'a Cell<u64>,
    first: u64,
    count: u64,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let allowed = self.allowed.get();
        if allowed == 0 && !into.is_empty() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let most = into.len().min(usize::try_from(allowed).unwrap_or(usize::MAX));
        let read = self.inner.read(&mut into[..most])?;
        self.allowed.set(allowed - read as u64);
        self.count += read as u64;
        if self.count > self.first.saturating_add(self.packed.get().saturating_mul(ALIKE)) {
            Err(io::ErrorKind::QuotaExceeded.into())
        } else {
            Ok(read)
        }
    }
}
