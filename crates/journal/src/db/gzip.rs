//! Compression of older backups with gzip.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::disk::Disk;

/// Extension that is appended to a compressed backup.
const EXTENSION: &str = "gz";

/// Bytes read at a time, and bytes buffered before a write. A backup can be larger than memory
/// should hold, and freed buffers stay with the thread.
const CHUNK_SIZE: usize = 1 << 16;
const BUFFER_SIZE: usize = 1 << 18;

/// Returns whether the backup at `path` is compressed.
pub fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == EXTENSION)
}

/// Compresses the backup at `path`, which is removed once the compressed one is in place.
pub fn compress(path: &Path, disk: &dyn Disk) -> io::Result<()> {
    let half = with_extension(path, "tmp");
    let whole = with_extension(path, EXTENSION);
    if disk.file_kind(&half)?.is_some() {
        disk.remove(&half)?;
    }
    disk.create(&half, &[])?;
    let mut packer = GzEncoder::new(Vec::with_capacity(BUFFER_SIZE + CHUNK_SIZE), Compression::fast());
    let mut from = 0;
    loop {
        let piece = disk.read_part(path, from, CHUNK_SIZE)?;
        if piece.is_empty() {
            break;
        }
        from += piece.len() as u64;
        packer.write_all(&piece)?;
        if packer.get_ref().len() >= BUFFER_SIZE {
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

/// The content of the backup at `path`, decompressed if necessary. `None` if that fails.
pub fn read_decompressed(path: &Path, disk: &dyn Disk) -> io::Result<Option<Vec<u8>>> {
    let bytes = disk.read(path)?;
    if !is_compressed(path) {
        return Ok(Some(bytes));
    }
    let mut unpacked = Vec::new();
    let done = GzDecoder::new(bytes.as_slice()).read_to_end(&mut unpacked);
    Ok(done.is_ok().then_some(unpacked))
}

fn with_extension(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(end);
    PathBuf::from(name)
}
