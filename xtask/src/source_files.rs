//! The files of the repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

/// One file of the repository.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The path from the root of the repository, with `/` between the parts.
    pub path: String,
    pub text: String,
}

impl SourceFile {
    /// Creates a file, for tests.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }

    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Reads all files that are tracked or not ignored. Files that are not text are empty.
pub fn read_all() -> anyhow::Result<Vec<SourceFile>> {
    let root = root();
    let listing = Command::new("git")
        // A clone may belong to another user.
        .args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .context("cannot run git, which lists the files to look at")?;
    if !listing.status.success() {
        bail!("git cannot list the files: {}", String::from_utf8_lossy(&listing.stderr).trim());
    }
    let mut paths: Vec<_> = String::from_utf8_lossy(&listing.stdout)
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect();
    paths.sort();
    paths.dedup();
    // Deleted files that are still in the index are skipped.
    let file = |path: String| {
        let bytes = std::fs::read(root.join(&path)).ok()?;
        Some(SourceFile { path, text: String::from_utf8(bytes).unwrap_or_default() })
    };
    Ok(paths.into_iter().filter_map(file).collect())
}
