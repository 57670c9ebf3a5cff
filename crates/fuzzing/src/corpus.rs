//! The inputs in `fuzz/corpus`: valid and broken ones, one file each.

use std::path::{Path, PathBuf};

/// Returns the corpus folder of a target.
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

/// Returns the corpus of a target, in the order of file names.
pub fn inputs(target: &str) -> Vec<Vec<u8>> {
    let Ok(listed) = std::fs::read_dir(folder(target)) else { return Vec::new() };
    let mut paths: Vec<_> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.into_iter().filter_map(|path| std::fs::read(path).ok()).collect()
}
