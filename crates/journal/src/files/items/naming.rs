//! File names of new items.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use domain::schedule::slug;

use super::Item;
use crate::disk::Disk;
use crate::files::Trouble;

/// The most names that are tried.
const TRIED: u32 = 10_000;

/// The file to write.
pub(super) enum Spot {
    /// The existing file of the item.
    Own(PathBuf),
    /// The first free name.
    New(PathBuf),
}

/// Chooses the file of `item`. `is_own` tells whether an existing file belongs to the item.
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

/// All names in the directory, read once. Includes broken links.
fn taken(disk: &dyn Disk, dir: &Path) -> Result<HashSet<PathBuf>, Trouble> {
    if disk.look(dir).map_err(Trouble::reading(dir))?.is_none() {
        return Ok(HashSet::new());
    }
    let listed = disk.list(dir).map_err(Trouble::reading(dir))?;
    Ok(listed.into_iter().map(|listed| listed.path).collect())
}
