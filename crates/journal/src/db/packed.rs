//! Packed copies: a copy of the log that is older than the newest one takes a fraction of its room.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::disk::Disk;

/// What a packed copy is called after the name that it had.
const PACKED: &str = "gz";

/// How much is read at once, and how much is gathered before it is brought to the disk: a log can be larger than what
/// should be held in memory, and larger pieces would stay with the thread that had them.
const PIECE: usize = 1 << 16;
const GATHERED: usize = 1 << 18;

/// Whether the copy at `path` is packed.
pub fn is(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == PACKED)
}

/// Packs the copy at `path`, which goes only once the packed one has its name.
pub fn pack(path: &Path, disk: &dyn Disk) -> io::Result<()> {
    let half = with_end(path, "tmp");
    let whole = with_end(path, PACKED);
    if disk.look(&half)?.is_some() {
        disk.remove(&half)?;
    }
    disk.create(&half, &[])?;
    let mut packer = GzEncoder::new(Vec::with_capacity(GATHERED + PIECE), Compression::fast());
    let mut from = 0;
    loop {
        let piece = disk.read_part(path, from, PIECE)?;
        if piece.is_empty() {
            break;
        }
        from += piece.len() as u64;
        packer.write_all(&piece)?;
        if packer.get_ref().len() >= GATHERED {
            disk.append(&half, packer.get_ref())?;
            packer.get_mut().clear();
        }
    }
    disk.append(&half, &packer.finish()?)?;
    disk.rename(&half, &whole)?;
    if let Some(dir) = path.parent() {
        disk.sync_dir(dir)?;
    }
    disk.remove(path)
}

/// What the copy at `path` holds, packed or not; nothing, if it cannot be unpacked.
pub fn read(path: &Path, disk: &dyn Disk) -> io::Result<Option<Vec<u8>>> {
    let bytes = disk.read(path)?;
    if !is(path) {
        return Ok(Some(bytes));
    }
    let mut unpacked = Vec::new();
    let done = GzDecoder::new(bytes.as_slice()).read_to_end(&mut unpacked);
    Ok(done.is_ok().then_some(unpacked))
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(end);
    PathBuf::from(name)
}
