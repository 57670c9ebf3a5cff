//! Reads item files, which anyone may have written.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, Seen};
use crate::files::Trouble;
use crate::frontmatter::{BadText, read, split, wire::IdKey};

/// The maximum size of an item file in bytes.
const LARGEST: usize = 1 << 20;
const TOO_LARGE: &str = "it is larger than 1 MB; a file like this holds a few pages";

/// Returns whether the name is that of an item file. Hidden files are not, because editors use them
/// as locks.
pub(crate) fn is_markdown(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.ends_with(b".md") && !name.starts_with(b".")
}

/// The item files in `dir`, sorted.
pub(super) fn markdown(disk: &dyn Disk, dir: &Path) -> Result<Vec<PathBuf>, Trouble> {
    if disk.look(dir).map_err(Trouble::reading(dir))?.is_none() {
        return Ok(Vec::new());
    }
    let listed = disk.list(dir).map_err(Trouble::reading(dir))?;
    let mut paths: Vec<PathBuf> =
        listed.into_iter().map(|listed| listed.path).filter(|path| is_markdown(path)).collect();
    paths.sort();
    Ok(paths)
}

/// Reads the text of a file, or returns why it is invalid.
pub(in crate::files) fn text_of(disk: &dyn Disk, path: &Path) -> Result<String, BadText> {
    let text = disk.look(path).and_then(|seen| text_at(disk, path, seen));
    text.map_err(|error| BadText::whole(format!("it cannot be read ({error})")))?
}

/// The id in a file, if it has a readable one.
pub(super) fn id_of(disk: &dyn Disk, path: &Path) -> io::Result<Option<String>> {
    let text = text_at(disk, path, disk.look(path)?)?;
    Ok(text.ok().and_then(|text| id_in(&text)))
}

/// The id in the text of a file.
pub(crate) fn id_in(text: &str) -> Option<String> {
    read::<IdKey>(&split(text).ok()?).ok()?.id
}

/// Reads the text of a file of kind `kind`. The inner error is a defect of the file, the outer one
/// a disk error.
pub(crate) fn text_at(
    disk: &dyn Disk,
    path: &Path,
    seen: Option<Seen>,
) -> io::Result<Result<String, BadText>> {
    let wrong = |reason: &str| Ok(Err(BadText::whole(reason)));
    match seen {
        Some(Seen::File(length)) if length > LARGEST as u64 => return wrong(TOO_LARGE),
        Some(Seen::File(_)) => {}
        Some(Seen::Directory) => return wrong("it is a directory; only files are read"),
        Some(Seen::Strange) => return wrong("it is not a plain file; only plain files are read"),
        None => return wrong("it is a link that leads nowhere; remove it or mend it"),
    }
    let bytes = disk.read_part(path, 0, LARGEST + 1)?;
    if bytes.len() > LARGEST {
        wrong(TOO_LARGE)
    } else {
        Ok(String::from_utf8(bytes).map_err(|_| BadText::whole("it is not text; save it as UTF-8")))
    }
}
