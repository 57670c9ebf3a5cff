//! Packing: one archive of all that a data directory holds, as it was at one moment.
//!
//! The files that follow the journal are read while the journal stands still: if something was written meanwhile,
//! they are read again. What the journal has not yet done to a file stands in the journal, and is done where it is
//! unpacked.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tar::{Builder, Header};

use super::choosing::{History, Secrets, Why};
use super::manifest::{FORMAT, Inside, LeftOut, Manifest};
use super::walking::{Chosen, Walk, walk};
use super::{DATA, JOURNAL, MANIFEST, Progress, Tell};
use crate::db::{Snapshot, Unopened, examine_copy, forget_devices};
use crate::disk::{Disk, Seen, Stamp};
use crate::paths::Paths;

/// How often the files are read again because the journal was written meanwhile. Who writes without pause still gets
/// an archive: what a file lacks then follows from the journal.
const TRIES: usize = 20;

/// Longer files are not held in memory.
const HELD: u64 = 32 * 1024 * 1024;

/// How much is read of them at a time.
const PART: usize = 1024 * 1024;

/// What an archive says of itself.
const ABOUT: &str = "a data directory of ollim-bot. `ollim-bot import` puts it in its place after it has looked over \
                     every file; by hand: everything under data/ belongs into the data directory.";

/// What is to be packed.
pub struct Order<'a> {
    /// The data directory.
    pub paths: &'a Paths,
    /// The disk it is on.
    pub disk: &'a dyn Disk,
    /// Whether secrets go along.
    pub secrets: Secrets,
    /// Whether the history of the files does.
    pub history: History,
    /// Now.
    pub now: Timestamp,
    /// The name and version of the program.
    pub program: &'a str,
}

/// Why there is no archive.
#[derive(Debug, thiserror::Error)]
pub enum NotPacked {
    /// There is nothing to pack.
    #[error("{0} is not there, so there is nothing to export. name another with --data-dir.")]
    Nothing(String),
    /// The journal cannot be copied.
    #[error(
        "{0}. start ollim-bot once: it keeps a damaged journal aside and goes on from a good copy. then export again."
    )]
    Journal(String),
    /// A long file was written meanwhile.
    #[error("{0} was written while i read it. try again.")]
    Changed(String),
    /// The disk, or whoever takes the archive, does not let us.
    #[error("the archive could not be written: {0}.")]
    Disk(#[from] io::Error),
}

/// Packs what `order` names into `out`, and tells how far it is.
pub fn pack(order: &Order<'_>, out: &mut dyn Write, tell: Tell<'_>) -> Result<Manifest, NotPacked> {
    let root = order.paths.root();
    if order.disk.look(root)? != Some(Seen::Directory) {
        return Err(NotPacked::Nothing(root.display().to_string()));
    }
    let moment = Moment::of(order)?;
    let mut packer = Packer {
        archive: Builder::new(GzEncoder::new(out, Compression::default())),
        inside: Vec::new(),
        now: order.now,
        progress: Progress::default(),
        tell,
    };
    let mut left_out = moment.walk.left_out;
    let journal_format = match &moment.journal {
        Some(journal) => Some(packer.journal(order, journal, &mut left_out)?),
        None => None,
    };
    for (chosen, bytes) in &moment.read {
        packer.add((&chosen.name, order.disk.may_run(&chosen.path).unwrap_or_default()), bytes)?;
    }
    for chosen in in_order(&moment.walk.chosen) {
        if let Some(gone) = packer.file(order.disk, chosen)? {
            left_out.push(gone);
        }
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
    append(&mut archive, (MANIFEST, order.now, false), &mut text.as_slice(), text.len() as u64)?;
    archive.into_inner()?.finish()?.flush()?;
    Ok(manifest)
}

/// The journal at one moment, and the files that follow it as they were then.
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
                // A file that was there a moment ago: somebody is at work.
                Err(NotPacked::Disk(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Self::once(order)
    }

    fn once(order: &Order<'_>) -> Result<Self, NotPacked> {
        let path = order.paths.database();
        let journal = match order.disk.look(&path)? {
            Some(Seen::File(bytes)) if bytes > 0 => Some(Snapshot::of(&path).map_err(unread)?),
            Some(_) | None => None,
        };
        let mut walk = walk(order.disk, order.paths.root(), (order.secrets, order.history))?;
        let chosen = std::mem::take(&mut walk.chosen);
        let mut read = Vec::new();
        for chosen in chosen.into_iter().filter(|chosen| journal.is_none() || chosen.name != JOURNAL) {
            match follows_the_journal(&chosen) {
                true => {
                    let bytes = order.disk.read(&chosen.path)?;
                    read.push((chosen, bytes));
                }
                false => walk.chosen.push(chosen),
            }
        }
        Ok(Self { journal, read, walk })
    }
}

fn follows_the_journal(chosen: &Chosen) -> bool {
    let first = chosen.name.split('/').next().unwrap_or_default();
    ["state", "routines", "reminders", "webhooks"].contains(&first) && chosen.bytes <= HELD
}

/// What names something goes before what it names, so that nothing is named that is not there.
fn in_order(chosen: &[Chosen]) -> impl Iterator<Item = &Chosen> {
    let named = |chosen: &&Chosen| chosen.name.starts_with(".git/objects/");
    chosen.iter().filter(move |it| !named(it)).chain(chosen.iter().filter(named))
}

struct Packer<'a, 'b> {
    archive: Builder<GzEncoder<&'a mut dyn Write>>,
    inside: Vec<Inside>,
    now: Timestamp,
    progress: Progress,
    tell: Tell<'b>,
}

impl Packer<'_, '_> {
    /// Packs the journal by way of a copy, which is gone afterwards.
    fn journal(
        &mut self,
        order: &Order<'_>,
        journal: &Snapshot,
        left_out: &mut Vec<LeftOut>,
    ) -> Result<i64, NotPacked> {
        let copy = order.paths.state().join(format!("export-{}.tmp", std::process::id()));
        let _ = order.disk.remove(&copy);
        let packed = self.copied(order, (journal, &copy), left_out);
        let _ = order.disk.remove(&copy);
        packed
    }

    fn copied(
        &mut self,
        order: &Order<'_>,
        (journal, copy): (&Snapshot, &Path),
        left_out: &mut Vec<LeftOut>,
    ) -> Result<i64, NotPacked> {
        let progress = self.progress;
        let tell = &mut self.tell;
        journal.copy(copy, &mut |_, _| tell(progress)).map_err(unread)?;
        if order.secrets == Secrets::Stay {
            let devices = forget_devices(copy).map_err(unread)?;
            left_out
                .extend((devices > 0).then(|| LeftOut { path: devices_in_words(devices), why: Why::Secret }));
        }
        let (format, sound) = examine_copy(copy).map_err(unread)?;
        if !sound {
            return Err(NotPacked::Journal("the journal is damaged".to_owned()));
        }
        let chosen = Chosen { name: JOURNAL.to_owned(), path: copy.to_owned(), bytes: 0 };
        match self.file(order.disk, &chosen)? {
            None => Ok(format),
            Some(_) => Err(NotPacked::Changed("the copy of the journal".to_owned())),
        }
    }

    /// Packs one file; what became of it, if it is gone.
    fn file(&mut self, disk: &dyn Disk, chosen: &Chosen) -> Result<Option<LeftOut>, NotPacked> {
        let gone = || Ok(Some(LeftOut { path: chosen.name.clone(), why: Why::Gone }));
        let Some(stamp @ Stamp { seen: Some(Seen::File(bytes)), .. }) = disk.stamp(&chosen.path)? else {
            return gone();
        };
        let may_run = disk.may_run(&chosen.path).unwrap_or_default();
        if bytes <= HELD {
            return match disk.read(&chosen.path) {
                Ok(bytes) => {
                    self.add((&chosen.name, may_run), &bytes).map(|()| None).map_err(NotPacked::Disk)
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => gone(),
                Err(error) => Err(error.into()),
            };
        }
        let mut parts = Parts { disk, path: chosen.path.clone(), at: 0, end: bytes, hash: Sha256::new() };
        let name = format!("{DATA}{}", chosen.name);
        append(&mut self.archive, (&name, self.now, may_run), &mut parts, bytes)?;
        if disk.stamp(&chosen.path)? != Some(stamp) {
            return Err(NotPacked::Changed(chosen.name.clone()));
        }
        self.done(&chosen.name, bytes, parts.hash);
        Ok(None)
    }

    fn add(&mut self, (name, may_run): (&str, bool), mut bytes: &[u8]) -> io::Result<()> {
        let (hash, length) = (Sha256::new_with_prefix(bytes), bytes.len() as u64);
        append(&mut self.archive, (&format!("{DATA}{name}"), self.now, may_run), &mut bytes, length)?;
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
    (name, at, may_run): (&str, Timestamp, bool),
    bytes: &mut dyn Read,
    length: u64,
) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_size(length);
    header.set_mode(if may_run { 0o700 } else { 0o600 });
    header.set_mtime(u64::try_from(at.as_second()).unwrap_or_default());
    archive.append_data(&mut header, name, bytes)
}

/// A hash, as people write it.
pub fn in_hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn devices_in_words(count: u64) -> String {
    let browsers = if count == 1 { "browser" } else { "browsers" };
    format!("{count} paired {browsers}")
}

fn unread(error: Unopened) -> NotPacked {
    NotPacked::Journal(error.to_string().trim_end_matches('.').to_owned())
}

/// A long file, read part by part.
struct Parts<'a> {
    disk: &'a dyn Disk,
    path: PathBuf,
    at: u64,
    end: u64,
    hash: Sha256,
}

impl Read for Parts<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(PART).min(usize::try_from(self.end - self.at).unwrap_or(PART));
        let part = self.disk.read_part(&self.path, self.at, most)?;
        into[..part.len()].copy_from_slice(&part);
        self.at += part.len() as u64;
        self.hash.update(&part);
        Ok(part.len())
    }
}
