//! File names of new items.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use domain::schedule::slug;

use super::Item;
use crate::disk::Disk;
use crate::files::FileError;

/// The most names that are tried.
const MAX_NAME_ATTEMPTS: u32 = 10_000;

/// The file to write.
pub(super) enum Target {
    /// The existing file of the item.
    Existing(PathBuf),
    /// The first free name.
    New(PathBuf),
}

/// Chooses the file of `item`. `is_own` tells whether an existing file belongs to the item.
pub(super) fn choose_path<T: Item>(
    disk: &dyn Disk,
    dir: &Path,
    item: &T,
    is_own: impl Fn(&Path) -> bool,
) -> Result<Target, FileError> {
    let slug = slug(item.naming_text());
    let stem = if slug.is_empty() { item.id().as_str() } else { &slug };
    let taken = existing_paths(disk, dir)?;
    for n in 1..=MAX_NAME_ATTEMPTS {
        let path = match n {
            1 => dir.join(format!("{stem}.md")),
            n => dir.join(format!("{stem}-{n}.md")),
        };
        if !taken.contains(&path) && disk.file_kind(&path).map_err(FileError::on_read(&path))?.is_none() {
            return Ok(Target::New(path));
        }
        if is_own(&path) {
            return Ok(Target::Existing(path));
        }
    }
    Err(FileError::refused(&dir.join(stem), "too many files have this name; remove some"))
}

/// All names in the directory, read once. Includes broken links.
fn existing_paths(disk: &dyn Disk, dir: &Path) -> Result<HashSet<PathBuf>, FileError> {
    if disk.file_kind(dir).map_err(FileError::on_read(dir))?.is_none() {
        return Ok(HashSet::new());
    }
    let listed = disk.list(dir).map_err(FileError::on_read(dir))?;
    Ok(listed.into_iter().map(|listed| listed.path).collect())
}
