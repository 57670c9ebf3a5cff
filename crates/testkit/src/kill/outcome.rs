//! What came of a run: its words, its end, and the files it left.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

/// What it said on stdout.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What it said on stderr.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// It said in one sentence that `place` cannot be used, and ended as that wants it.
///
/// # Panics
/// If it did not.
pub fn assert_unusable(output: &Output, place: &Path) {
    let told = stderr(output);
    assert_eq!(output.status.code(), Some(78), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains(&*place.to_string_lossy()), "{told} does not name {}", place.display());
}

/// Refused in one sentence that names the place and what would help, with the code of what is worth another try.
///
/// # Panics
/// If it is not.
pub fn assert_no_room(output: &Output, place: &Path) {
    let told = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains(&format!("there is no room left for {}", place.display())), "{told}");
    assert!(told.contains("make some, and start again"), "{told}");
}

/// Every file below `dir`, with what it holds.
///
/// # Panics
/// If it cannot be read.
pub fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry")) {
        if entry.file_type().expect("a kind").is_dir() {
            found.extend(contents(&entry.path()))
        } else {
            drop(found.insert(entry.path(), std::fs::read(entry.path()).unwrap_or_default()))
        }
    }
    found
}
