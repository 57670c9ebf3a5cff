//! Reading files that anybody may have put there.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, Seen};
use crate::files::Trouble;
use crate::frontmatter::{BadText, read, split, wire::IdKey};

/// The most bytes of a file that people write.
const LARGEST: usize = 1 << 20;
const TOO_LARGE: &str = "it is larger than 1 MB; a file like this holds a few pages";

/// The names in `dir` that end in `.md`, in order.
pub(super) fn markdown(disk: &dyn Disk, dir: &Path) -> Result<Vec<PathBuf>, Trouble> {
    if disk.look(dir).map_err(Trouble::reading(dir))?.is_none() {
        return Ok(Vec::new());
    }
    let listed = disk.list(dir).map_err(Trouble::reading(dir))?;
    let named = |path: &PathBuf| path.as_os_str().as_encoded_bytes().ends_with(b".md");
    let mut paths: Vec<PathBuf> = listed.into_iter().map(|listed| listed.path).filter(named).collect();
    paths.sort();
    Ok(paths)
}

/// The text of a file, or why it has none.
pub(in crate::files) fn text_of(disk: &dyn Disk, path: &Path) -> Result<String, BadText> {
    bytes_of(disk, path)
        .map_err(|error| BadText::whole(format!("it cannot be read ({error})")))?
        .and_then(text)
}

/// The id a file says it has: nothing, if it says none that can be read.
pub(super) fn id_of(disk: &dyn Disk, path: &Path) -> io::Result<Option<String>> {
    let text = bytes_of(disk, path)?.and_then(text);
    let id = text.and_then(|text| read::<IdKey>(&split(&text)?));
    Ok(id.ok().and_then(|keys| keys.id))
}

/// The content of a file, or what is wrong with it; the disk itself may fail, which is another matter.
fn bytes_of(disk: &dyn Disk, path: &Path) -> io::Result<Result<Vec<u8>, BadText>> {
    let wrong = |reason: &str| Ok(Err(BadText::whole(reason)));
    match disk.look(path)? {
        Some(Seen::File(_)) => {}
        Some(Seen::Directory) => return wrong("it is a directory; only files are read"),
        Some(Seen::Strange) => return wrong("it is not a plain file; only plain files are read"),
        None => return wrong("it is a link that leads nowhere; remove it or mend it"),
    }
    let bytes = disk.read_part(path, 0, LARGEST + 1)?;
    if bytes.len() > LARGEST { wrong(TOO_LARGE) } else { Ok(Ok(bytes)) }
}

fn text(bytes: Vec<u8>) -> Result<String, BadText> {
    String::from_utf8(bytes).map_err(|_| BadText::whole("it is not text; save it as UTF-8"))
}
