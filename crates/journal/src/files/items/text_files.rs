//! Reads item files, which anyone may have written.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, FileKind};
use crate::files::FileError;
use crate::frontmatter::{BadText, read, split, wire::IdKey};

/// The maximum size of an item file in bytes.
const MAX_SIZE: usize = 1 << 20;
const TOO_LARGE: &str = "it is larger than 1 MB; a file like this holds a few pages";

/// Returns whether the name is that of an item file. Hidden files are not, because editors use them
/// as locks.
pub(crate) fn is_markdown(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.ends_with(b".md") && !name.starts_with(b".")
}

/// The item files in `dir`, sorted.
pub(super) fn markdown_files(disk: &dyn Disk, dir: &Path) -> Result<Vec<PathBuf>, FileError> {
    if disk.file_kind(dir).map_err(FileError::on_read(dir))?.is_none() {
        return Ok(Vec::new());
    }
    let listed = disk.list(dir).map_err(FileError::on_read(dir))?;
    let mut paths: Vec<PathBuf> =
        listed.into_iter().map(|listed| listed.path).filter(|path| is_markdown(path)).collect();
    paths.sort();
    Ok(paths)
}

/// Reads the text of a file, or returns why it is invalid.
pub(in crate::files) fn read_text(disk: &dyn Disk, path: &Path) -> Result<String, BadText> {
    let text = disk.file_kind(path).and_then(|seen| read_text_as(disk, path, seen));
    text.map_err(|error| BadText::whole(format!("it cannot be read ({error})")))?
}

/// The id in a file, if it has a readable one.
pub(super) fn read_id(disk: &dyn Disk, path: &Path) -> io::Result<Option<String>> {
    let text = read_text_as(disk, path, disk.file_kind(path)?)?;
    Ok(text.ok().and_then(|text| parse_id(&text)))
}

/// The id in the text of a file.
pub(crate) fn parse_id(text: &str) -> Option<String> {
    read::<IdKey>(&split(text).ok()?).ok()?.id
}

/// Reads the text of a file of kind `kind`. The inner error is a defect of the file, the outer one
/// a disk error.
pub(crate) fn read_text_as(
    disk: &dyn Disk,
    path: &Path,
    kind: Option<FileKind>,
) -> io::Result<Result<String, BadText>> {
    let wrong = |reason: &str| Ok(Err(BadText::whole(reason)));
    match kind {
        Some(FileKind::File(length)) if length > MAX_SIZE as u64 => return wrong(TOO_LARGE),
        Some(FileKind::File(_)) => {}
        Some(FileKind::Directory) => return wrong("it is a directory; only files are read"),
        Some(FileKind::Other) => return wrong("it is not a plain file; only plain files are read"),
        None => return wrong("it is a link that leads nowhere; remove it or mend it"),
    }
    let bytes = disk.read_part(path, 0, MAX_SIZE + 1)?;
    if bytes.len() > MAX_SIZE {
        wrong(TOO_LARGE)
    } else {
        Ok(String::from_utf8(bytes).map_err(|_| BadText::whole("it is not text; save it as UTF-8")))
    }
}
