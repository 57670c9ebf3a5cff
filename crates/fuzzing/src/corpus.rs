//! What lies in `fuzz/corpus`: inputs that say something, broken or not, one file each.

use std::path::{Path, PathBuf};

/// The folder of a door.
pub fn folder(door: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(door)
}

/// All that lies there for a door, in the order of the files' names.
pub fn of(door: &str) -> Vec<Vec<u8>> {
    let Ok(listed) = std::fs::read_dir(folder(door)) else { return Vec::new() };
    let mut paths: Vec<_> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.into_iter().filter_map(|path| std::fs::read(path).ok()).collect()
}
