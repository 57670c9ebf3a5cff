//! What a file said before.

use std::path::Path;

use jiff::Timestamp;

use super::program::{Program, is_repository};

/// The most versions of a file that are told.
const MOST: usize = 50;

/// A file as it was committed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The name of the commit.
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// What was said of it.
    pub message: String,
}

/// The versions of `file`, named from `data` on, newest first: none, where nobody keeps a history.
pub fn versions(data: &Path, file: &str, program: &str) -> Vec<Committed> {
    if !is_repository(data) {
        return Vec::new();
    }
    let most = format!("--max-count={MOST}");
    // A commit that took the file away has no version of it.
    let asked = ["log", &most, "--diff-filter=AM", "--format=%H%x09%ct%x09%s", "--", file];
    let told = Program::new(program).ask(data, &asked).unwrap_or_default();
    String::from_utf8_lossy(&told).lines().filter_map(read).collect()
}

fn read(line: &str) -> Option<Committed> {
    let mut parts = line.splitn(3, '\t');
    let id = parts.next()?;
    let at = parts.next()?;
    let message = parts.next()?;
    let at = Timestamp::from_second(at.parse().ok()?).ok()?;
    Some(Committed { id: id.to_owned(), at, message: message.to_owned() })
}

/// What `file` said in the commit `id`: nothing, if there is no such version or it is no text.
pub fn version(data: &Path, file: &str, id: &str, program: &str) -> Option<String> {
    let named = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !named || !is_repository(data) {
        return None;
    }
    let text = Program::new(program).ask(data, &["show", &format!("{id}:{file}")]).ok()?;
    String::from_utf8(text).ok()
}
