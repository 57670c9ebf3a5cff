//! What a new file is called.

use std::path::{Path, PathBuf};

use domain::schedule::slug;

use super::{Item, reading};
use crate::disk::Disk;
use crate::files::Trouble;

/// The most files with one name that are stepped around.
const TRIED: u32 = 10_000;

/// Where the file of an item goes.
pub(super) enum Spot {
    /// Where its own file is, under its words.
    Own(PathBuf),
    /// The first name that nobody has yet.
    New(PathBuf),
}

/// The name for the file of `item`.
pub(super) fn spot<T: Item>(disk: &dyn Disk, dir: &Path, item: &T) -> Result<Spot, Trouble> {
    let slug = slug(item.words());
    let stem = if slug.is_empty() { item.id().as_str() } else { &slug };
    for n in 1..=TRIED {
        let path = match n {
            1 => dir.join(format!("{stem}.md")),
            n => dir.join(format!("{stem}-{n}.md")),
        };
        if is_free(disk, &path)? {
            return Ok(Spot::New(path));
        }
        if is_of(disk, &path, item) {
            return Ok(Spot::Own(path));
        }
    }
    Err(Trouble::refused(&dir.join(stem), "too many files have this name; remove some"))
}

/// A file that cannot be read is somebody else's.
fn is_of<T: Item>(disk: &dyn Disk, path: &Path, item: &T) -> bool {
    reading::id_of(disk, path).is_ok_and(|id| id.as_deref() == Some(item.id().as_str()))
}

/// A link that leads nowhere is somebody's, so its name is not free.
fn is_free(disk: &dyn Disk, path: &Path) -> Result<bool, Trouble> {
    if disk.look(path).map_err(Trouble::reading(path))?.is_some() {
        return Ok(false);
    }
    let above = path.parent().unwrap_or(path);
    if disk.look(above).map_err(Trouble::reading(above))?.is_none() {
        return Ok(true);
    }
    let listed = disk.list(above).map_err(Trouble::reading(above))?;
    Ok(!listed.iter().any(|listed| listed.path == path))
}
