//! Reads earlier versions of a file.

use std::path::Path;

use jiff::Timestamp;

use super::program::{Program, is_repository};

/// The most versions that are listed.
const MAX_VERSIONS: usize = 50;

/// A committed version of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// The commit hash.
    pub id: String,
    pub at: Timestamp,
    /// The commit message.
    pub message: String,
}

/// The versions of `file` (relative to `data`), newest first. Empty without a repository.
pub fn versions(data: &Path, file: &str, program: &str) -> Vec<FileVersion> {
    if !is_repository(data) {
        return Vec::new();
    }
    let most = format!("--max-count={MAX_VERSIONS}");
    // A commit that removes the file contains no version of it.
    let asked = ["log", &most, "--diff-filter=AM", "--format=%H%x09%ct%x09%s", "--", file];
    let told = Program::new(program).output(data, &asked).unwrap_or_default();
    String::from_utf8_lossy(&told).lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<FileVersion> {
    let mut parts = line.splitn(3, '\t');
    let id = parts.next()?;
    let at = parts.next()?;
    let message = parts.next()?;
    let at = Timestamp::from_second(at.parse().ok()?).ok()?;
    Some(FileVersion { id: id.to_owned(), at, message: message.to_owned() })
}

/// The text of `file` in the commit `id`. `None` if there is no such version or it is not text.
pub fn version(data: &Path, file: &str, id: &str, program: &str) -> Option<String> {
    let named = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !named || !is_repository(data) {
        return None;
    }
    let text = Program::new(program).output(data, &["show", &format!("{id}:{file}")]).ok()?;
    String::from_utf8(text).ok()
}
