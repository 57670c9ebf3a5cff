//! Reads the end of a long file without the rest.

use std::io;
use std::path::Path;

use crate::disk::{Disk, FileKind};

/// Bytes read from the end at first.
const WINDOW: u64 = 8 << 10;

/// The end of the file, from the start of a line.
pub(super) fn read_tail(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    window(disk, path, file_len(disk, path)?, WINDOW)
}

/// The bytes after the last line feed.
pub(super) fn unterminated_line(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let len = file_len(disk, path)?;
    let mut size = WINDOW;
    loop {
        let from = len.saturating_sub(size);
        let bytes = read_range(disk, path, from, len)?;
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => return Ok(bytes[end + 1..].to_vec()),
            None if from == 0 => return Ok(bytes),
            None => size *= 4,
        }
    }
}

/// Calls `find` with growing parts of the end of the file until it returns a result.
pub(super) fn search<T>(
    disk: &dyn Disk,
    path: &Path,
    find: impl Fn(&[u8]) -> Option<T>,
) -> io::Result<Option<T>> {
    let len = file_len(disk, path)?;
    let mut size = WINDOW;
    loop {
        if let Some(found) = find(&window(disk, path, len, size)?) {
            return Ok(Some(found));
        }
        if size >= len {
            return Ok(None);
        }
        size *= 4;
    }
}

/// Splits bytes into complete lines and the rest after the last line feed.
pub(super) fn split_lines(bytes: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let torn = lines.pop().unwrap_or_default();
    (lines, torn)
}

fn window(disk: &dyn Disk, path: &Path, len: u64, size: u64) -> io::Result<Vec<u8>> {
    let from = len.saturating_sub(size);
    let mut bytes = read_range(disk, path, from, len)?;
    let cut = bytes.iter().position(|byte| *byte == b'\n');
    if let (true, Some(cut)) = (from > 0, cut) {
        bytes.drain(..=cut);
    }
    Ok(bytes)
}

fn read_range(disk: &dyn Disk, path: &Path, from: u64, to: u64) -> io::Result<Vec<u8>> {
    if from == to {
        return Ok(Vec::new());
    }
    disk.read_part(path, from, usize::try_from(to - from).map_err(io::Error::other)?)
}

fn file_len(disk: &dyn Disk, path: &Path) -> io::Result<u64> {
    match disk.file_kind(path)? {
        Some(FileKind::File(len)) => Ok(len),
        None => Ok(0),
        Some(FileKind::Directory | FileKind::Other) => Err(io::Error::other("it is not a plain file")),
    }
}
