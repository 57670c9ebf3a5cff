//! Finds and repairs files of ours that other users of this machine could read.
//!
//! Everything in `state` is private to the user, and so is the data directory itself, which
//! protects all below it.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use journal::Paths;

use super::{Finding, State};

/// Limits of the scan of `state`: depth, and number of findings. Our own files stay below both.
const MAX_DEPTH: usize = 6;
const MAX_FOUND: usize = 20_000;

/// Returns all paths with access for others. A directory without `state` is not ours yet and is not
/// scanned.
pub fn find_exposed(paths: &Paths) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if !paths.state().is_dir() {
        return found;
    }
    if is_exposed(paths.root()) {
        found.push(paths.root().to_owned());
    }
    if is_exposed(&paths.state()) {
        found.push(paths.state());
    }
    walk(&paths.state(), MAX_DEPTH, &mut found);
    found
}

/// Makes all of them private. Returns those that failed, with the reason.
pub fn tighten(loose: &[PathBuf]) -> Vec<(PathBuf, io::Error)> {
    let tight = |path: &PathBuf| {
        let mode = if path.is_dir() { 0o700 } else { 0o600 };
        std::fs::set_permissions(path, Permissions::from_mode(mode)).err().map(|error| (path.clone(), error))
    };
    loose.iter().filter_map(tight).collect()
}

/// Repairs everything and returns one message for each path.
pub fn repair(paths: &Paths) -> Vec<String> {
    let loose = find_exposed(paths);
    let failed = tighten(&loose);
    let told = |path: &PathBuf| match failed.iter().find(|(unmended, _)| unmended == path) {
        None => format!("others could read {}. it is yours alone again.", path.display()),
        Some((_, error)) => format!("others can read {}, and i can't change that: {error}.", path.display()),
    };
    loose.iter().map(told).collect()
}

pub struct Repairs {
    /// One sentence for everything that was repaired.
    pub repaired: Option<String>,
    /// One sentence for each path that could not be repaired.
    pub failed: Vec<String>,
}

/// Repairs everything, with a summary instead of one message for each path.
pub fn repair_at_start(paths: &Paths) -> Repairs {
    let mut loose = find_exposed(paths);
    let failed = tighten(&loose);
    loose.retain(|path| failed.iter().all(|(unmended, _)| unmended != path));
    let mended = match loose.as_slice() {
        [] => None,
        [one] => Some(format!("others could read {}. it is yours alone again.", one.display())),
        [first, rest @ ..] => Some(format!(
            "others could read {} and {} more. all is yours alone again.",
            first.display(),
            rest.len()
        )),
    };
    let unmended = failed.iter().map(|(path, error)| {
        format!("others can read {}, and i can't change that: {error}.", path.display())
    });
    Repairs { repaired: mended, failed: unmended.collect() }
}

/// Checks for access by others. Directories alone are only a warning, because the next start
/// repairs them.
pub fn check(paths: &Paths) -> Finding {
    let loose = find_exposed(paths);
    let state = if loose.iter().all(|path| path.is_dir()) { State::Warning } else { State::Wrong };
    match loose.as_slice() {
        [] => Finding::fine("private", "nobody else can read what is kept"),
        [first, rest @ ..] => {
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            Finding::new("private", state, format!("others can read {}{more}", first.display()))
                .with_fix("ollim-bot doctor --fix")
        }
    }
}

fn walk(dir: &Path, deeper: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        // The target of a symlink is not ours, and a socket is protected by its directory.
        if kind.is_symlink() || !(kind.is_dir() || kind.is_file()) || found.len() >= MAX_FOUND {
            continue;
        }
        let path = entry.path();
        if is_exposed(&path) {
            found.push(path.clone());
        }
        if kind.is_dir() && deeper > 0 {
            walk(&path, deeper - 1, found);
        }
    }
}

fn is_exposed(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|found| !found.file_type().is_symlink() && found.permissions().mode() & 0o077 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    /// J2: Paths with access for others are found, made private and reported; targets of symlinks
    /// stay as they are.
    #[test]
    fn exposed_paths_are_made_private_and_reported() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path().join("data"));
        let elsewhere = dir.path().join("elsewhere");
        std::fs::create_dir_all(paths.state().join("backups")).unwrap();
        let key = paths.state().join("anthropic.key");
        for file in [&key, &paths.state().join("backups/1.db"), &elsewhere, &paths.root().join("tasks.md")] {
            std::fs::write(file, "x").unwrap();
            std::fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
        }
        std::os::unix::fs::symlink(&elsewhere, paths.state().join("link")).unwrap();
        for place in [paths.root().to_owned(), paths.state(), paths.state().join("backups")] {
            std::fs::set_permissions(place, Permissions::from_mode(0o755)).unwrap();
        }
        assert_eq!(check(&paths).state, State::Wrong);
        let told = repair(&paths);
        assert_eq!(told.len(), 5, "{told:?}");
        assert!(
            told.iter().any(|line| line.ends_with("anthropic.key. it is yours alone again.")),
            "{told:?}"
        );
        assert_eq!((mode(&key), mode(paths.root()), mode(&elsewhere)), (0o600, 0o700, 0o644));
        assert!(find_exposed(&paths).is_empty());
    }
}
