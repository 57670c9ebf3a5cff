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

use super::manifest::{ARCHIVE_FORMAT, Manifest};
use super::packer::hex_digest;
use super::path::is_safe;
use super::selection::{exclusion, ignored_reason};
use super::{DATA_PREFIX, JOURNAL_NAME, MANIFEST_NAME, Progress, ProgressCallback};
use crate::db::{DatabaseError, examine_copy};
use crate::disk::Disk;

/// Limits for unpacking.
#[derive(Clone, Copy, Debug)]
pub struct UnpackLimits {
    /// The most files.
    pub files: u64,
    /// The most unpacked bytes: the free space.
    pub bytes: u64,
    /// The most bytes of the manifest.
    pub manifest: u64,
    /// Unpacked bytes that are exempt from the limit of the compression ratio.
    pub ratio_exempt: u64,
}

impl UnpackLimits {
    /// The limits for a disk with `bytes` of free space.
    pub fn for_free_space(bytes: u64) -> Self {
        Self { files: 1_000_000, bytes, manifest: 256 * 1024 * 1024, ratio_exempt: 64 * 1024 * 1024 }
    }
}

/// The maximum compression ratio beyond the first bytes. Real data directories compress far less.
const MAX_RATIO: u64 = 300;

/// Allowance for the header of a file and a long name.
const HEADER_ALLOWANCE: u64 = 16 * 1024;

/// The name for headers in errors.
const HEADER_NAME: &str = "a header";

/// Bytes written at a time.
const CHUNK_SIZE: usize = 8 * 1024 * 1024;

/// An error from unpacking an archive.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
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
    (disk, dir): (&dyn Disk, &Path),
    bounds: UnpackLimits,
    progress: ProgressCallback<'_>,
) -> Result<Manifest, UnpackError> {
    let packed = Cell::new(0);
    let allowed = Cell::new(0);
    let counted = CountingReader { inner: archive, count: &packed };
    let unpacked = GzDecoder::new(BufReader::new(counted));
    let metered = LimitedReader {
        inner: unpacked,
        allowed: &allowed,
        packed: &packed,
        ratio_exempt: bounds.ratio_exempt,
        count: 0,
    };
    let mut archive = Archive::new(metered);
    let mut unpacker = Unpacker {
        disk,
        dir,
        bounds,
        allowed: &allowed,
        found: BTreeMap::new(),
        progress: Progress::default(),
        on_progress: progress,
    };
    disk.create_dir(dir).map_err(UnpackError::Disk)?;
    let mut list = None;
    let mut entries = archive.entries().map_err(|error| read_error(HEADER_NAME, &error))?;
    loop {
        allowed.set(HEADER_ALLOWANCE);
        let Some(entry) = entries.next() else { break };
        let entry = entry.map_err(|error| read_error(HEADER_NAME, &error))?;
        if list.is_some() {
            return Err(UnpackError::NotOurs("something follows its list".to_owned()));
        }
        list = unpacker.unpack_entry(entry)?;
    }
    // Reads to the end, because that verifies the checksum of the compressed data, which alone
    // covers the manifest.
    allowed.set(HEADER_ALLOWANCE);
    skip(HEADER_NAME, &mut archive.into_inner())?;
    let list = list.ok_or_else(|| UnpackError::NotOurs("it has no list of what is inside".to_owned()))?;
    unpacker.verify(&list)?;
    Ok(list)
}

struct Unpacker<'a, 'b> {
    disk: &'a dyn Disk,
    dir: &'a Path,
    bounds: UnpackLimits,
    allowed: &'a Cell<u64>,
    found: BTreeMap<String, (u64, String)>,
    progress: Progress,
    on_progress: ProgressCallback<'b>,
}

impl Unpacker<'_, '_> {
    /// Unpacks one entry. Returns the manifest if it is that.
    fn unpack_entry<R: Read>(&mut self, mut entry: Entry<'_, R>) -> Result<Option<Manifest>, UnpackError> {
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        // Archives made by hand begin with a directory.
        if self.found.is_empty() && entry.header().entry_type().is_dir() {
            let shown = sanitized(&name);
            return Err(UnpackError::NotOurs(format!(
                "it begins with the directory `{shown}`, so `ollim-bot export` did not make it"
            )));
        }
        if !entry.header().entry_type().is_file() {
            return Err(UnpackError::Unsafe(format!("`{}` is no plain file", sanitized(&name))));
        }
        let size = entry.size();
        if name == MANIFEST_NAME {
            self.set_allowance(size, self.bounds.manifest, &name)?;
            let list = serde_json::from_reader(&mut entry).map_err(manifest_error)?;
            return Ok(Some(list));
        }
        let inside = name.strip_prefix(DATA_PREFIX).filter(|inside| is_safe(inside));
        let Some(inside) = inside.filter(|inside| exclusion(inside).is_none()) else {
            let shown = sanitized(&name);
            return Err(UnpackError::Unsafe(format!("it brings `{shown}`, which no archive of mine holds")));
        };
        self.set_allowance(size, self.bounds.bytes.saturating_sub(self.progress.bytes), &name)?;
        let hash = match ignored_reason(inside) {
            Some(_) => skip(inside, &mut entry)?,
            None => self.write_file(inside, &mut entry)?,
        };
        self.progress = Progress { files: self.progress.files + 1, bytes: self.progress.bytes + size };
        self.found.insert(inside.to_owned(), (size, hash));
        (self.on_progress)(self.progress);
        Ok(None)
    }

    /// Allows the next `size` bytes to be read, unless that exceeds a limit.
    fn set_allowance(&self, size: u64, most: u64, name: &str) -> Result<(), UnpackError> {
        let reason = if size > most {
            "there is no room for it"
        } else if self.progress.files >= self.bounds.files {
            "there are more files than a data directory has"
        } else {
            self.allowed.set(size.saturating_add(HEADER_ALLOWANCE));
            return Ok(());
        };
        Err(UnpackError::Unsafe(format!("`{}` ({size} bytes): {reason}", sanitized(name))))
    }

    fn write_file<R: Read>(&self, inside: &str, entry: &mut Entry<'_, R>) -> Result<String, UnpackError> {
        let may_run = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
        let hash = self.write_bytes(inside, entry)?;
        if may_run {
            self.disk.make_executable(&self.dir.join(inside)).map_err(UnpackError::Disk)?;
        }
        Ok(hash)
    }

    fn write_bytes(&self, inside: &str, bytes: &mut impl Read) -> Result<String, UnpackError> {
        let path = self.dir.join(inside);
        if let Some(dir) = path.parent() {
            self.disk.create_dir(dir).map_err(|error| write_error(inside, error))?;
        }
        let mut hash = Sha256::new();
        let mut part = Vec::new();
        let mut first = true;
        loop {
            part.clear();
            let mut most = bytes.take(CHUNK_SIZE as u64);
            most.read_to_end(&mut part).map_err(|error| read_error(inside, &error))?;
            hash.update(&part);
            match (first, part.is_empty()) {
                (true, _) => self.disk.create(&path, &part).map_err(|error| write_error(inside, error))?,
                (false, true) => return Ok(hex_digest(hash)),
                (false, false) => self.disk.append(&path, &part).map_err(UnpackError::Disk)?,
            }
            first = false;
        }
    }

    /// Verifies all files against the manifest, and that the database can be opened.
    fn verify(&self, list: &Manifest) -> Result<(), UnpackError> {
        if list.format > ARCHIVE_FORMAT {
            return Err(UnpackError::Newer(format!(
                "the archive has format {} and this version of ollim-bot knows up to {ARCHIVE_FORMAT}. update ollim-bot;",
                list.format
            )));
        }
        for file in &list.inside {
            let expected = (file.bytes, file.sha256.clone());
            match self.found.get(&file.path) {
                Some(found) if *found == expected => {}
                Some(_) => {
                    return Err(UnpackError::Damaged(format!(
                        "`{}` is not what it was",
                        sanitized(&file.path)
                    )));
                }
                None => return Err(UnpackError::Damaged(format!("`{}` is missing", sanitized(&file.path)))),
            }
        }
        if list.inside.len() != self.found.len() {
            return Err(UnpackError::Unsafe("it holds files that its list does not name".to_owned()));
        }
        if self.found.contains_key(JOURNAL_NAME) {
            check_journal(examine_copy(&self.dir.join(JOURNAL_NAME)))
        } else {
            Ok(())
        }
    }
}

/// Reads an ignored file, because the manifest contains its hash.
fn skip(what: &str, bytes: &mut impl Read) -> Result<String, UnpackError> {
    let mut hash = Sha256::new();
    let mut part = vec![0; 64 * 1024];
    loop {
        match bytes.read(&mut part).map_err(|error| read_error(what, &error))? {
            0 => return Ok(hex_digest(hash)),
            read => hash.update(&part[..read]),
        }
    }
}

fn check_journal(examined: Result<(i64, bool), DatabaseError>) -> Result<(), UnpackError> {
    match examined {
        Ok((_, true)) => Ok(()),
        Ok((_, false)) => Err(UnpackError::Damaged("the journal in it is not sound".to_owned())),
        Err(newer @ DatabaseError::Newer { .. }) => {
            Err(UnpackError::Newer(newer.to_string().replace(" nothing was changed.", "")))
        }
        Err(other) => Err(UnpackError::Damaged(other.to_string())),
    }
}

fn write_error(inside: &str, error: io::Error) -> UnpackError {
    use io::ErrorKind::{AlreadyExists, IsADirectory, NotADirectory};
    if matches!(error.kind(), AlreadyExists | NotADirectory | IsADirectory) {
        UnpackError::Unsafe(format!("`{}` comes twice, or lies under a file", sanitized(inside)))
    } else {
        UnpackError::Disk(error)
    }
}

fn manifest_error(error: serde_json::Error) -> UnpackError {
    if error.is_io() {
        read_error(MANIFEST_NAME, &error.into())
    } else {
        UnpackError::NotOurs(format!("its list cannot be read ({error})"))
    }
}

/// The error for `what`, which could not be read.
fn read_error(what: &str, error: &io::Error) -> UnpackError {
    if error.kind() == io::ErrorKind::FileTooLarge {
        UnpackError::Unsafe("a name or a header in it has no end".to_owned())
    } else if error.kind() == io::ErrorKind::QuotaExceeded {
        UnpackError::Unsafe(format!("`{}` unpacks to far more than it holds", sanitized(what)))
    } else {
        UnpackError::NotOurs(error.to_string())
    }
}

/// A shortened name without control characters, because the name is untrusted.
fn sanitized(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).take(80).collect()
}

struct CountingReader<'a, R> {
    inner: R,
    count: &'a Cell<u64>,
}

impl<R: Read> Read for CountingReader<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// Limits the number of bytes and the compression ratio. The compressed size is known only after
/// reading, so the ratio is checked after each read.
struct LimitedReader<'a, R> {
    inner: R,
    allowed: &'a Cell<u64>,
    packed: &'a Cell<u64>,
    ratio_exempt: u64,
    count: u64,
}

impl<R: Read> Read for LimitedReader<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let allowed = self.allowed.get();
        if allowed == 0 && !into.is_empty() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let most = into.len().min(usize::try_from(allowed).unwrap_or(usize::MAX));
        let read = self.inner.read(&mut into[..most])?;
        self.allowed.set(allowed - read as u64);
        self.count += read as u64;
        if self.count > self.ratio_exempt.saturating_add(self.packed.get().saturating_mul(MAX_RATIO)) {
            Err(io::ErrorKind::QuotaExceeded.into())
        } else {
            Ok(read)
        }
    }
}
