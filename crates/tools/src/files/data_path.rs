//! Parses a path as written by the model into names beneath the data directory.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use domain::hidden_chars::is_hidden;

/// The folder of the program's state.
pub const STATE_DIR: &str = "state";
/// The folder of a git repository. Its hooks can run programs, so it is closed at every depth.
pub const GIT_DIR: &str = ".git";
/// The prefix of database file names; copies are closed as well.
const DATABASE_PREFIX: &str = "journal.db";

/// The maximum number of bytes of a path and of one name.
const MAX_PATH_BYTES: usize = 4096;
const MAX_NAME_BYTES: usize = 255;

/// The base directories of paths.
#[derive(Clone, Debug)]
pub struct BaseDirs {
    /// The data directory, as an absolute path.
    pub data: PathBuf,
    /// The replacement for `~`, if known.
    pub home: Option<PathBuf>,
}

impl BaseDirs {
    /// Resolves links in the data directory.
    pub(super) fn canonicalized(self) -> Self {
        let data = std::fs::canonicalize(&self.data).unwrap_or(self.data);
        Self { data, ..self }
    }
}

/// A path beneath the data directory that is not closed and contains no `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPath(Vec<String>);

impl DataPath {
    /// Parses `text`. An empty text or `.` is the data directory itself.
    pub fn parse(text: &str, folders: &BaseDirs) -> Result<Self, String> {
        if text.len() > MAX_PATH_BYTES {
            return Err("that path is too long.".to_owned());
        }
        if text.chars().any(char::is_control) {
            return Err(format!("{text:?} has a control character in it. name a file without one."));
        }
        let mut parts: Vec<String> = Vec::new();
        for part in relative(text, folders)?.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop().ok_or_else(|| outside_text(text))?),
                _ => parts.push(part.to_owned()),
            }
        }
        if parts.iter().any(|part| part.len() > MAX_NAME_BYTES) {
            return Err("a name in that path is too long.".to_owned());
        }
        if parts.iter().enumerate().any(|(depth, part)| is_closed(depth, part)) {
            Err(closed_text(text))
        } else {
            Ok(Self(parts))
        }
    }

    /// The names, starting at the data directory.
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// The folder and the name of a file, or `None` for the data directory itself.
    pub fn split_file(&self) -> Option<(&[String], &str)> {
        self.0.split_last().map(|(name, folder)| (folder, name.as_str()))
    }

    /// The path as text, `.` for the data directory.
    pub fn display(&self) -> String {
        if self.0.is_empty() { ".".to_owned() } else { self.0.join("/") }
    }
}

impl fmt::Display for DataPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display())
    }
}

/// The refusal for a path of the program.
pub fn closed_text(text: &str) -> String {
    format!(
        "`{text}` is closed: `{STATE_DIR}/`, `{GIT_DIR}/` and what may hold keys belong to the program itself, in every \
         mode. use another place, or tell the human what you wanted to know or change."
    )
}

fn outside_text(text: &str) -> String {
    format!("`{text}` is outside the data directory. name a path beneath it, such as `notes/today.md`.")
}

/// Returns `text` relative to the data directory.
fn relative<'a>(text: &'a str, folders: &BaseDirs) -> Result<std::borrow::Cow<'a, str>, String> {
    let home = || folders.home.as_ref().ok_or_else(|| outside_text(text));
    let path = match text.strip_prefix('~') {
        Some("") => home()?.clone(),
        Some(rest) if rest.starts_with('/') => home()?.join(rest.trim_start_matches('/')),
        Some(_) | None if !text.starts_with('/') => return Ok(text.into()),
        Some(_) | None => PathBuf::from(text),
    };
    let path = normalize(&path);
    let beneath = path.strip_prefix(normalize(&folders.data)).map_err(|_| outside_text(text))?;
    Ok(beneath.to_string_lossy().into_owned().into())
}

/// Removes `.` and `..` lexically. Links are never followed later, so the result is exact.
fn normalize(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normalized.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normalized.push(part),
        }
    }
    normalized
}

/// Returns whether a name at this depth is closed, also under spellings that some file systems
/// treat as equal.
pub fn is_closed(depth: usize, name: &str) -> bool {
    let folded: String = name.chars().filter(|c| !is_hidden(*c)).flat_map(char::to_lowercase).collect();
    let folded = folded.replace('ſ', "s");
    let folded = folded.trim_end_matches(['.', ' ']);
    // The list of MCP servers and a file of variables may contain keys.
    (depth == 0 && [STATE_DIR, "mcp.json", ".env"].contains(&folded.trim_start()))
        || folded == GIT_DIR
        || folded == "git~1"
        || folded.starts_with(DATABASE_PREFIX)
}
