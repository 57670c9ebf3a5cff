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

use super::choosing::{History, Secrets, Why};
use super::manifest::{FORMAT, Inside, LeftOut, Manifest};
use super::not_packed::{NotPacked, Unread, uncopied};
use super::walking::{Chosen, Walk, walk, walk_below};
use super::{DATA, JOURNAL, MANIFEST, Progress, Tell};
use crate::db::{Snapshot, examine_copy, forget_commits, forget_devices};
use crate::disk::{Disk, Seen, Stamp};
use crate::paths::Paths;

/// The most attempts to read the files while the journal does not change. After that the archive is
/// written anyway, because the derived files follow from the journal.
const TRIES: usize = 20;

/// Longer files are not held in memory.
const HELD: u64 = 32 * 1024 * 1024;

/// Bytes of a long file that are read at a time.
const PART: usize = 1024 * 1024;

/// The objects and packs of git.
const OBJECTS: &str = ".git/objects/";
const PACKS: &str = ".git/objects/pack/";

/// The description in the manifest.
const ABOUT: &str = "a data directory of ollim-bot. `ollim-bot import` puts it in its place after it has looked over \
                     every file; by hand: everything under data/ belongs into the data directory.";

/// Parameters of an export.
pub struct Order<'a> {
    pub paths: &'a Paths,
    pub disk: &'a dyn Disk,
    /// Selects whether to include secrets.
    pub secrets: Secrets,
    /// Selects whether to include the git history.
    pub history: History,
    pub now: Timestamp,
    pub program: &'a str,
}

/// Writes the archive of `order` to `out`.
pub fn pack(order: &Order<'_>, out: &mut dyn Write, tell: Tell<'_>) -> Result<Manifest, NotPacked> {
    let root = order.paths.root();
    if order.disk.look(root).map_err(Unread::at(root, root))? != Some(Seen::Directory) {
        return Err(NotPacked::Nothing(root.display().to_string()));
    }
    let Moment { journal, read, walk } = Moment::of(order)?;
    let mut packer = Packer {
        archive: Builder::new(GzEncoder::new(out, Compression::default())),
        inside: Vec::new(),
        now: order.now,
        progress: Progress::default(),
        tell,
    };
    let mut left_out = walk.left_out;
    let journal_format = match &journal {
        Some(journal) => Some(packer.journal(order, journal, &mut left_out)?),
        None => None,
    };
    for (chosen, bytes) in &read {
        packer.add(&chosen.name, order.disk.may_run(&chosen.path).unwrap_or_default(), bytes)?;
    }
    // Refs are packed before objects, so that no ref names an object which is not in the archive.
    let (objects, others): (Vec<_>, Vec<_>) =
        walk.chosen.into_iter().partition(|chosen| chosen.name.starts_with(OBJECTS));
    for chosen in &others {
        left_out.extend(packer.file(order.disk, chosen)?);
    }
    if others.iter().any(|chosen| chosen.name.starts_with(".git/")) {
        packer.objects(order, objects)?;
    }
    let manifest = Manifest {
        about: ABOUT.to_owned(),
        format: FORMAT,
        program: order.program.to_owned(),
        made: order.now.to_string(),
        journal_format,
        inside: packer.inside,
        left_out,
    };
    let text = serde_json::to_vec_pretty(&manifest).map_err(io::Error::other)?;
    let mut archive = packer.archive;
    append(&mut archive, MANIFEST, order.now, false, &mut text.as_slice(), text.len() as u64)?;
    archive.into_inner()?.finish()?.flush()?;
    Ok(manifest)
}

/// A snapshot of the journal and the derived files at the same moment.
struct Moment {
    journal: Option<Snapshot>,
    read: Vec<(Chosen, Vec<u8>)>,
    walk: Walk,
}

impl Moment {
    fn of(order: &Order<'_>) -> Result<Self, NotPacked> {
        for _ in 1..TRIES {
            match Self::once(order) {
                Ok(moment) if moment.journal.as_ref().is_none_or(Snapshot::is_newest) => return Ok(moment),
                Ok(_) => {}
                Err(NotPacked::Unread(unread)) if unread.is_gone() => {}
                Err(error) => return Err(error),
            }
        }
        Self::once(order)
    }

    fn once(order: &Order<'_>) -> Result<Self, NotPacked> {
        let path = order.paths.database();
        let journal = match order.disk.look(&path).map_err(Unread::of(JOURNAL))? {
            Some(Seen::File(bytes)) if bytes > 0 => {
                Some(Snapshot::of(&path).map_err(|error| uncopied(&order.paths.state(), error))?)
            }
            Some(_) | None => None,
        };
        let mut walk = walk(order.disk, order.paths.root(), (order.secrets, order.history))?;
        let chosen = std::mem::take(&mut walk.chosen);
        let mut read = Vec::new();
        for chosen in chosen.into_iter().filter(|chosen| journal.is_none() || chosen.name != JOURNAL) {
            if follows_the_journal(&chosen) {
                let bytes = order.disk.read(&chosen.path).map_err(Unread::of(&chosen.name))?;
                read.push((chosen, bytes));
            } else {
                walk.chosen.push(chosen)
            }
        }
        Ok(Self { journal, read, walk })
    }
}

fn follows_the_journal(chosen: &Chosen) -> bool {
    let first = chosen.name.split('/').next().unwrap_or_default();
    ["state", "routines", "reminders", "webhooks"].contains(&first) && chosen.bytes <= HELD
}

struct Packer<'a, 'b> {
    archive: Builder<GzEncoder<&'a mut dyn Write>>,
    inside: Vec<Inside>,
    now: Timestamp,
    progress: Progress,
    tell: Tell<'b>,
}

impl Packer<'_, '_> {
    /// Packs the journal through a temporary copy.
    fn journal(
        &mut self,
        order: &Order<'_>,
        journal: &Snapshot,
        left_out: &mut Vec<LeftOut>,
    ) -> Result<i64, NotPacked> {
        let copy = order.paths.state().join(format!("export-{}.tmp", std::process::id()));
        let _ = order.disk.remove(&copy);
        let packed = self.copied(order, journal, &copy, left_out);
        let _ = order.disk.remove(&copy);
        packed
    }

    fn copied(
        &mut self,
        order: &Order<'_>,
        journal: &Snapshot,
        copy: &Path,
        left_out: &mut Vec<LeftOut>,
    ) -> Result<i64, NotPacked> {
        let progress = self.progress;
        let tell = &mut self.tell;
        let state = order.paths.state();
        journal.copy(copy, &mut |_, _| tell(progress)).map_err(|error| uncopied(&state, error))?;
        if order.secrets == Secrets::Stay {
            let devices = forget_devices(copy).map_err(|error| uncopied(&state, error))?;
            left_out
                .extend((devices > 0).then(|| LeftOut { path: devices_in_words(devices), why: Why::Secret }));
        }
        // The mark is not packed, because it belongs to the local journal.
        forget_commits(copy).map_err(|error| uncopied(&state, error))?;
        let (format, sound) = examine_copy(copy).map_err(|error| uncopied(&state, error))?;
        if !sound {
            return Err(NotPacked::Damaged("the journal is damaged".to_owned()));
        }
        let chosen = Chosen { name: JOURNAL.to_owned(), path: copy.to_owned(), bytes: 0 };
        match self.file(order.disk, &chosen)? {
            None => Ok(format),
            Some(_) => Err(NotPacked::Changed("the copy of the journal".to_owned())),
        }
    }

    /// Packs the objects of git. A concurrent repack may move them to a new pack, so this lists
    /// them again until every existing pack is included.
    fn objects(&mut self, order: &Order<'_>, mut seen: Vec<Chosen>) -> Result<(), NotPacked> {
        let root = order.paths.root();
        let dir = root.join(OBJECTS);
        let mut inside = BTreeSet::new();
        for _ in 0..TRIES {
            seen.retain(|chosen| !inside.contains(&chosen.name));
            for chosen in std::mem::take(&mut seen) {
                if self.file(order.disk, &chosen)?.is_none() {
                    inside.insert(chosen.name);
                }
            }
            if order.disk.look(&dir).map_err(Unread::at(root, &dir))? != Some(Seen::Directory) {
                return Ok(());
            }
            match walk_below(order.disk, (root, &dir), (order.secrets, order.history)) {
                Ok(walk) => seen = walk.chosen,
                Err(unread) if unread.is_gone() => continue,
                Err(unread) => return Err(unread.into()),
            }
            if seen.iter().all(|it| !it.name.starts_with(PACKS) || inside.contains(&it.name)) {
                return Ok(());
            }
        }
        Err(NotPacked::Changed(".git".to_owned()))
    }

    /// Packs one file. Returns an exclusion if it has disappeared.
    fn file(&mut self, disk: &dyn Disk, chosen: &Chosen) -> Result<Option<LeftOut>, NotPacked> {
        let gone = || Ok(Some(LeftOut { path: chosen.name.clone(), why: Why::Gone }));
        let stamp = || disk.stamp(&chosen.path).map_err(Unread::of(&chosen.name));
        let Some(before @ Stamp { seen: Some(Seen::File(bytes)), .. }) = stamp()? else {
            return gone();
        };
        let may_run = disk.may_run(&chosen.path).unwrap_or_default();
        if bytes <= HELD {
            return match disk.read(&chosen.path) {
                Ok(bytes) => self.add(&chosen.name, may_run, &bytes).map(|()| None).map_err(NotPacked::Disk),
                Err(error) if error.kind() == io::ErrorKind::NotFound => gone(),
                Err(error) => Err(Unread::of(&chosen.name)(error).into()),
            };
        }
        let hash = Sha256::new();
        let failed = None;
        let mut parts = Parts { disk, path: chosen.path.clone(), at: 0, end: bytes, hash, failed };
        let name = format!("{DATA}{}", chosen.name);
        let appended = append(&mut self.archive, &name, self.now, may_run, &mut parts, bytes);
        let unread = parts.failed.map(Unread::of(&chosen.name));
        // Only part of the file is in the archive.
        if unread.as_ref().is_some_and(Unread::is_gone) || stamp()? != Some(before) {
            return Err(NotPacked::Changed(chosen.name.clone()));
        }
        unread.map_or(Ok(()), Err)?;
        appended?;
        self.done(&chosen.name, bytes, parts.hash);
        Ok(None)
    }

    fn add(&mut self, name: &str, may_run: bool, mut bytes: &[u8]) -> io::Result<()> {
        let hash = Sha256::new_with_prefix(bytes);
        let length = bytes.len() as u64;
        append(&mut self.archive, &format!("{DATA}{name}"), self.now, may_run, &mut bytes, length)?;
        self.done(name, length, hash);
        Ok(())
    }

    fn done(&mut self, path: &str, bytes: u64, hash: Sha256) {
        self.inside.push(Inside { path: path.to_owned(), bytes, sha256: in_hex(hash) });
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
pub fn in_hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn devices_in_words(count: u64) -> String {
    let browsers = if count == 1 { "browser" } else { "browsers" };
    format!("{count} paired {browsers}")
}

/// Reads a long file in chunks.
struct Parts<'a> {
    disk: &'a dyn Disk,
    path: PathBuf,
    at: u64,
    end: u64,
    hash: Sha256,
    /// The read error, kept apart from errors of writing the archive.
    failed: Option<io::Error>,
}

impl Read for Parts<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(PART).min(usize::try_from(self.end - self.at).unwrap_or(PART));
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
