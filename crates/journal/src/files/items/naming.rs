//! What a new file is called.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use domain::schedule::slug;

use super::Item;
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

/// The name for the file of `item`. Whether a file that has such a name is its own is asked of `is_own`.
pub(super) fn spot<T: Item>(
    disk: &dyn Disk,
    dir: &Path,
    item: &T,
    is_own: impl Fn(&Path) -> bool,
) -> Result<Spot, Trouble> {
    let slug = slug(item.words());
    let stem = if slug.is_empty() { item.id().as_str() } else { &slug };
    let taken = taken(disk, dir)?;
    for n in 1..=TRIED {
        let path = match n {
            1 => dir.join(format!("{stem}.md")),
            n => dir.join(format!("{stem}-{n}.md")),
        };
        if !taken.contains(&path) && disk.look(&path).map_err(Trouble::reading(&path))?.is_none() {
            return Ok(Spot::New(path));
        }
        if is_own(&path) {
            return Ok(Spot::Own(path));
        }
    }
    Err(Trouble::refused(&dir.join(stem), "too many files have this name; remove some"))
}

/// All that has a name, read once however many there are. A link that leads nowhere is somebody's, too.
fn taken(disk: &dyn Disk, dir: &Path) -> Result<HashSet<PathBuf>, Trouble> {
    if disk.look(dir).map_err(Trouble::reading(dir))?.is_none() {
        return Ok(HashSet::new());
    }
    let listed = disk.list(dir).map_err(Trouble::reading(dir))?;
    Ok(listed.into_iter().map(|listed| listed.path).collect())
}
