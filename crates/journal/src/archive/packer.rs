//! Writes an archive of a data directory in a consistent state.
//!
//! The files derived from the journal are read while the journal does not change; if it was written
//! meanwhile, they are read again. File changes that are still pending are stored in the journal
//! and are applied after the import.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tar::{Builder, Header};

use super::manifest::{ARCHIVE_FORMAT, ArchivedFile, ExcludedFile, Manifest};
use super::pack_error::{PackError, UnreadableFile, copy_error};
use super::selection::{ExclusionReason, GitHistory, Secrets};
use super::walker::{SelectedFile, WalkResult, walk, walk_dir};
use super::{DATA_PREFIX, JOURNAL_NAME, MANIFEST_NAME, Progress, ProgressCallback};
use crate::db::{Snapshot, examine_copy, remove_counter, remove_devices};
use crate::disk::{Disk, FileKind, Stamp};
use crate::paths::Paths;

/// The most attempts to read the files while the journal does not change. After that the archive is
/// written anyway, because the derived files follow from the journal.
const MAX_ATTEMPTS: usize = 20;

/// Longer files are not held in memory.
const MAX_IN_MEMORY: u64 = 32 * 1024 * 1024;

/// Bytes of a long file that are read at a time.
const CHUNK_SIZE: usize = 1024 * 1024;

/// The objects and packs of git.
const GIT_OBJECTS: &str = ".git/objects/";
const GIT_PACKS: &str = ".git/objects/pack/";

/// The description in the manifest.
const DESCRIPTION: &str = "a data directory of ollim-bot. `ollim-bot import` puts it in its place after it has looked over \
                     every file; by hand: everything under data/ belongs into the data directory.";

/// Parameters of an export.
pub struct PackRequest<'a> {
    pub paths: &'a Paths,
    pub disk: &'a dyn Disk,
    /// Selects whether to include secrets.
    pub secrets: Secrets,
    /// Selects whether to include the git history.
    pub history: GitHistory,
    pub now: Timestamp,
    pub program: &'a str,
}

/// Writes the archive of `order` to `out`.
pub fn pack(
    order: &PackRequest<'_>,
    out: &mut dyn Write,
    tell: ProgressCallback<'_>,
) -> Result<Manifest, PackError> {
    let root = order.paths.root();
    if order.disk.file_kind(root).map_err(UnreadableFile::at_path(root, root))? != Some(FileKind::Directory) {
        return Err(PackError::NoDataDirectory(root.display().to_string()));
    }
    let ConsistentState { journal, read, walk } = ConsistentState::capture(order)?;
    let mut packer = Packer {
        archive: Builder::new(GzEncoder::new(out, Compression::default())),
        inside: Vec::new(),
        now: order.now,
        progress: Progress::default(),
        tell,
    };
    let mut left_out = walk.excluded;
    let journal_format = match &journal {
        Some(journal) => Some(packer.add_journal(order, journal, &mut left_out)?),
        None => None,
    };
    for (chosen, bytes) in &read {
        packer.add_bytes(&chosen.name, order.disk.is_executable(&chosen.path).unwrap_or_default(), bytes)?;
    }
    // Refs are packed before objects, so that no ref names an object which is not in the archive.
    let (objects, others): (Vec<_>, Vec<_>) =
        walk.files.into_iter().partition(|chosen| chosen.name.starts_with(GIT_OBJECTS));
    for chosen in &others {
        left_out.extend(packer.add_file(order.disk, chosen)?);
    }
    if others.iter().any(|chosen| chosen.name.starts_with(".git/")) {
        packer.add_git_objects(order, objects)?;
    }
    let manifest = Manifest {
        about: DESCRIPTION.to_owned(),
        format: ARCHIVE_FORMAT,
        program: order.program.to_owned(),
        made: order.now.to_string(),
        journal_format,
        inside: packer.inside,
        left_out,
    };
    let text = serde_json::to_vec_pretty(&manifest).map_err(io::Error::other)?;
    let mut archive = packer.archive;
    append(&mut archive, MANIFEST_NAME, order.now, false, &mut text.as_slice(), text.len() as u64)?;
    archive.into_inner()?.finish()?.flush()?;
    Ok(manifest)
}

/// A snapshot of the journal and the derived files at the same moment.
struct ConsistentState {
    journal: Option<Snapshot>,
    read: Vec<(SelectedFile, Vec<u8>)>,
    walk: WalkResult,
}

impl ConsistentState {
    fn capture(order: &PackRequest<'_>) -> Result<Self, PackError> {
        for _ in 1..MAX_ATTEMPTS {
            match Self::capture_once(order) {
                Ok(moment) if moment.journal.as_ref().is_none_or(Snapshot::is_current) => return Ok(moment),
                Ok(_) => {}
                Err(PackError::Unreadable(unread)) if unread.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Self::capture_once(order)
    }

    fn capture_once(order: &PackRequest<'_>) -> Result<Self, PackError> {
        let path = order.paths.database();
        let journal = match order.disk.file_kind(&path).map_err(UnreadableFile::named(JOURNAL_NAME))? {
            Some(FileKind::File(bytes)) if bytes > 0 => {
                Some(Snapshot::take(&path).map_err(|error| copy_error(&order.paths.state(), error))?)
            }
            Some(_) | None => None,
        };
        let mut walk = walk(order.disk, order.paths.root(), (order.secrets, order.history))?;
        let chosen = std::mem::take(&mut walk.files);
        let mut read = Vec::new();
        for chosen in chosen.into_iter().filter(|chosen| journal.is_none() || chosen.name != JOURNAL_NAME) {
            if follows_journal(&chosen) {
                let bytes = order.disk.read(&chosen.path).map_err(UnreadableFile::named(&chosen.name))?;
                read.push((chosen, bytes));
            } else {
                walk.files.push(chosen)
            }
        }
        Ok(Self { journal, read, walk })
    }
}

fn follows_journal(chosen: &SelectedFile) -> bool {
    let first = chosen.name.split('/').next().unwrap_or_default();
    ["state", "routines", "reminders", "webhooks"].contains(&first) && chosen.bytes <= MAX_IN_MEMORY
}

struct Packer<'a, 'b> {
    archive: Builder<GzEncoder<&'a mut dyn Write>>,
    inside: Vec<ArchivedFile>,
    now: Timestamp,
    progress: Progress,
    tell: ProgressCallback<'b>,
}

impl Packer<'_, '_> {
    /// Packs the journal through a temporary copy.
    fn add_journal(
        &mut self,
        order: &PackRequest<'_>,
        journal: &Snapshot,
        left_out: &mut Vec<ExcludedFile>,
    ) -> Result<i64, PackError> {
        let copy = order.paths.state().join(format!("export-{}.tmp", std::process::id()));
        let _ = order.disk.remove(&copy);
        let packed = self.copy_journal(order, journal, &copy, left_out);
        let _ = order.disk.remove(&copy);
        packed
    }

    fn copy_journal(
        &mut self,
        order: &PackRequest<'_>,
        journal: &Snapshot,
        copy: &Path,
        left_out: &mut Vec<ExcludedFile>,
    ) -> Result<i64, PackError> {
        let progress = self.progress;
        let tell = &mut self.tell;
        let state = order.paths.state();
        journal.copy(copy, &mut |_, _| tell(progress)).map_err(|error| copy_error(&state, error))?;
        if order.secrets == Secrets::Exclude {
            let devices = remove_devices(copy).map_err(|error| copy_error(&state, error))?;
            left_out.extend(
                (devices > 0)
                    .then(|| ExcludedFile { path: devices_text(devices), why: ExclusionReason::Secret }),
            );
        }
        // The mark is not packed, because it belongs to the local journal.
        remove_counter(copy).map_err(|error| copy_error(&state, error))?;
        let (format, sound) = examine_copy(copy).map_err(|error| copy_error(&state, error))?;
        if !sound {
            return Err(PackError::Damaged("the journal is damaged".to_owned()));
        }
        let chosen = SelectedFile { name: JOURNAL_NAME.to_owned(), path: copy.to_owned(), bytes: 0 };
        match self.add_file(order.disk, &chosen)? {
            None => Ok(format),
            Some(_) => Err(PackError::Changed("the copy of the journal".to_owned())),
        }
    }

    /// Packs the objects of git. A concurrent repack may move them to a new pack, so this lists
    /// them again until every existing pack is included.
    fn add_git_objects(
        &mut self,
        order: &PackRequest<'_>,
        mut seen: Vec<SelectedFile>,
    ) -> Result<(), PackError> {
        let root = order.paths.root();
        let dir = root.join(GIT_OBJECTS);
        let mut inside = BTreeSet::new();
        for _ in 0..MAX_ATTEMPTS {
            seen.retain(|chosen| !inside.contains(&chosen.name));
            for chosen in std::mem::take(&mut seen) {
                if self.add_file(order.disk, &chosen)?.is_none() {
                    inside.insert(chosen.name);
                }
            }
            if order.disk.file_kind(&dir).map_err(UnreadableFile::at_path(root, &dir))?
                != Some(FileKind::Directory)
            {
                return Ok(());
            }
            match walk_dir(order.disk, (root, &dir), (order.secrets, order.history)) {
                Ok(walk) => seen = walk.files,
                Err(unread) if unread.is_not_found() => continue,
                Err(unread) => return Err(unread.into()),
            }
            if seen.iter().all(|it| !it.name.starts_with(GIT_PACKS) || inside.contains(&it.name)) {
                return Ok(());
            }
        }
        Err(PackError::Changed(".git".to_owned()))
    }

    /// Packs one file. Returns an exclusion if it has disappeared.
    fn add_file(
        &mut self,
        disk: &dyn Disk,
        chosen: &SelectedFile,
    ) -> Result<Option<ExcludedFile>, PackError> {
        let gone = || Ok(Some(ExcludedFile { path: chosen.name.clone(), why: ExclusionReason::Gone }));
        let stamp = || disk.stamp(&chosen.path).map_err(UnreadableFile::named(&chosen.name));
        let Some(before @ Stamp { kind: Some(FileKind::File(bytes)), .. }) = stamp()? else {
            return gone();
        };
        let may_run = disk.is_executable(&chosen.path).unwrap_or_default();
        if bytes <= MAX_IN_MEMORY {
            return match disk.read(&chosen.path) {
                Ok(bytes) => {
                    self.add_bytes(&chosen.name, may_run, &bytes).map(|()| None).map_err(PackError::Disk)
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => gone(),
                Err(error) => Err(UnreadableFile::named(&chosen.name)(error).into()),
            };
        }
        let hash = Sha256::new();
        let failed = None;
        let mut parts = ChunkedFile { disk, path: chosen.path.clone(), at: 0, end: bytes, hash, failed };
        let name = format!("{DATA_PREFIX}{}", chosen.name);
        let appended = append(&mut self.archive, &name, self.now, may_run, &mut parts, bytes);
        let unread = parts.failed.map(UnreadableFile::named(&chosen.name));
        // Only part of the file is in the archive.
        if unread.as_ref().is_some_and(UnreadableFile::is_not_found) || stamp()? != Some(before) {
            return Err(PackError::Changed(chosen.name.clone()));
        }
        unread.map_or(Ok(()), Err)?;
        appended?;
        self.record(&chosen.name, bytes, parts.hash);
        Ok(None)
    }

    fn add_bytes(&mut self, name: &str, may_run: bool, mut bytes: &[u8]) -> io::Result<()> {
        let hash = Sha256::new_with_prefix(bytes);
        let length = bytes.len() as u64;
        append(&mut self.archive, &format!("{DATA_PREFIX}{name}"), self.now, may_run, &mut bytes, length)?;
        self.record(name, length, hash);
        Ok(())
    }

    fn record(&mut self, path: &str, bytes: u64, hash: Sha256) {
        self.inside.push(ArchivedFile { path: path.to_owned(), bytes, sha256: hex_digest(hash) });
        self.progress = Progress { files: self.progress.files + 1, bytes: self.progress.bytes + bytes };
        (self.tell)(self.progress);
    }
}

fn append(
    archive: &mut Builder<impl Write>,
    name: &str,
    at: Timestamp,
    may_run: bool,
    bytes: &mut dyn Read,
    length: u64,
) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_size(length);
    header.set_mode(if may_run { 0o700 } else { 0o600 });
    header.set_mtime(u64::try_from(at.as_second()).unwrap_or_default());
    archive.append_data(&mut header, name, bytes)
}

/// Formats a hash in hexadecimal.
pub fn hex_digest(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn devices_text(count: u64) -> String {
    let browsers = if count == 1 { "browser" } else { "browsers" };
    format!("{count} paired {browsers}")
}

/// Reads a long file in chunks.
struct ChunkedFile<'a> {
    disk: &'a dyn Disk,
    path: PathBuf,
    at: u64,
    end: u64,
    hash: Sha256,
    /// The read error, kept apart from errors of writing the archive.
    failed: Option<io::Error>,
}

impl Read for ChunkedFile<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(CHUNK_SIZE).min(usize::try_from(self.end - self.at).unwrap_or(CHUNK_SIZE));
        let part = self.disk.read_part(&self.path, self.at, most).map_err(|error| {
            let kind = error.kind();
            self.failed = Some(error);
            io::Error::from(kind)
        })?;
        into[..part.len()].copy_from_slice(&part);
        self.at += part.len() as u64;
        self.hash.update(&part);
        Ok(part.len())
    }
}
