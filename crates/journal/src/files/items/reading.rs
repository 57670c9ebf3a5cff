//! Reading files that anybody may have put there.

use std::path::{Path, PathBuf};

use crate::disk::{Disk, Seen};
use crate::files::Trouble;
use crate::frontmatter::{BadText, read, split, wire::IdKey};

/// The most bytes of a file that people write.
const LARGEST: usize = 1 << 20;

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
    let unreadable = |error| BadText::whole(format!("it cannot be read ({error})"));
    let too_large = || {
        BadText::whole(format!("it is larger than {} MB; a file like this holds a few pages", LARGEST >> 20))
    };
    match disk.look(path).map_err(unreadable)? {
        Some(Seen::File(size)) if size > LARGEST as u64 => return Err(too_large()),
        Some(Seen::File(_)) => {}
        Some(Seen::Directory) => return Err(BadText::whole("it is a directory; only files are read")),
        Some(Seen::Strange) => {
            return Err(BadText::whole("it is not a plain file; only plain files are read"));
        }
        None => return Err(BadText::whole("it is a link that leads nowhere; remove it or mend it")),
    }
    let bytes = disk.read_part(path, 0, LARGEST + 1).map_err(unreadable)?;
    if bytes.len() > LARGEST {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|_| BadText::whole("it is not text; save it as UTF-8"))
}

/// The id a file says it has.
pub(super) fn id_of(disk: &dyn Disk, path: &Path) -> Option<String> {
    let text = text_of(disk, path).ok()?;
    read::<IdKey>(&split(&text).ok()?).ok()?.id
}
