//! The end of a long file, read without the rest.

use std::io;
use std::path::Path;

use crate::disk::{Disk, Seen};

/// How much of the end is read at first.
const WINDOW: u64 = 8 << 10;

/// The end of the file, starting with a whole line where it is longer than what is read.
pub(super) fn last(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    window(disk, path, len(disk, path)?, WINDOW)
}

/// What follows the last line feed.
pub(super) fn torn(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let len = len(disk, path)?;
    let mut size = WINDOW;
    loop {
        let from = len.saturating_sub(size);
        let bytes = read(disk, path, from, len)?;
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => return Ok(bytes[end + 1..].to_vec()),
            None if from == 0 => return Ok(bytes),
            None => size *= 4,
        }
    }
}

/// Shows `find` more and more of the end of the file until it finds something.
pub(super) fn search<T>(
    disk: &dyn Disk,
    path: &Path,
    find: impl Fn(&[u8]) -> Option<T>,
) -> io::Result<Option<T>> {
    let len = len(disk, path)?;
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

/// The whole lines of the end of a file, and what follows the last line feed.
pub(super) fn lines(bytes: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let torn = lines.pop().unwrap_or_default();
    (lines, torn)
}

fn window(disk: &dyn Disk, path: &Path, len: u64, size: u64) -> io::Result<Vec<u8>> {
    let from = len.saturating_sub(size);
    let mut bytes = read(disk, path, from, len)?;
    let cut = bytes.iter().position(|byte| *byte == b'\n');
    if let (true, Some(cut)) = (from > 0, cut) {
        bytes.drain(..=cut);
    }
    Ok(bytes)
}

fn read(disk: &dyn Disk, path: &Path, from: u64, to: u64) -> io::Result<Vec<u8>> {
    if from == to {
        return Ok(Vec::new());
    }
    disk.read_part(path, from, usize::try_from(to - from).map_err(io::Error::other)?)
}

fn len(disk: &dyn Disk, path: &Path) -> io::Result<u64> {
    match disk.look(path)? {
        Some(Seen::File(len)) => Ok(len),
        None => Ok(0),
        Some(Seen::Directory | Seen::Strange) => Err(io::Error::other("it is not a plain file")),
    }
}
