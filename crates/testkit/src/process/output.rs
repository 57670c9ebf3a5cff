//! The output and exit status of a process, and the files it left.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Returns stdout as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns stderr as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts that the program reported in one line that `path` is unusable, and exited with the code
/// for a configuration error.
///
/// # Panics
/// If it did not.
pub fn assert_unusable(output: &Output, path: &Path) {
    let message = stderr(output);
    assert_eq!(output.status.code(), Some(78), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.contains(&*path.to_string_lossy()), "{message} does not name {}", path.display());
}

/// Asserts that the program reported a full disk in one line with the path and a remedy, and exited
/// with the code for a retry.
///
/// # Panics
/// If it did not.
pub fn assert_disk_full(output: &Output, path: &Path) {
    let message = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.contains(&format!("there is no room left for {}", path.display())), "{message}");
    assert!(message.contains("make some, and start again"), "{message}");
}

/// Returns every file below `dir` with its content.
///
/// # Panics
/// If a directory cannot be read.
pub fn read_tree(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry")) {
        if entry.file_type().expect("a kind").is_dir() {
            found.extend(read_tree(&entry.path()))
        } else {
            drop(found.insert(entry.path(), std::fs::read(entry.path()).unwrap_or_default()))
        }
    }
    found
}
