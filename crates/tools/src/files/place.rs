//! Parses a path as written by the model into names beneath the data directory.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use domain::hidden::is_hidden;

/// The folder of the program's state.
pub const STATE: &str = "state";
/// The folder of a git repository. Its hooks can run programs, so it is closed at every depth.
pub const HISTORY: &str = ".git";
/// The prefix of database file names; copies are closed as well.
const LOG: &str = "journal.db";

/// The maximum number of bytes of a path and of one name.
const PATH_BYTES: usize = 4096;
const NAME_BYTES: usize = 255;

/// The base directories of paths.
#[derive(Clone, Debug)]
pub struct Folders {
    /// The data directory, as an absolute path.
    pub data: PathBuf,
    /// The replacement for `~`, if known.
    pub home: Option<PathBuf>,
}

impl Folders {
    /// Resolves links in the data directory.
    pub(super) fn resolved(self) -> Self {
        let data = std::fs::canonicalize(&self.data).unwrap_or(self.data);
        Self { data, ..self }
    }
}

/// A path beneath the data directory that is not closed and contains no `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside(Vec<String>);

impl Inside {
    /// Parses `text`. An empty text or `.` is the data directory itself.
    pub fn read(text: &str, folders: &Folders) -> Result<Self, String> {
        if text.len() > PATH_BYTES {
            return Err("that path is too long.".to_owned());
        }
        if text.chars().any(char::is_control) {
            return Err(format!("{text:?} has a control character in it. name a file without one."));
        }
        let mut parts: Vec<String> = Vec::new();
        for part in relative(text, folders)?.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop().ok_or_else(|| outside(text))?),
                _ => parts.push(part.to_owned()),
            }
        }
        if parts.iter().any(|part| part.len() > NAME_BYTES) {
            return Err("a name in that path is too long.".to_owned());
        }
        if parts.iter().enumerate().any(|(depth, part)| is_closed(depth, part)) {
            Err(closed(text))
        } else {
            Ok(Self(parts))
        }
    }

    /// The names, starting at the data directory.
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// The folder and the name of a file, or `None` for the data directory itself.
    pub fn file(&self) -> Option<(&[String], &str)> {
        self.0.split_last().map(|(name, folder)| (folder, name.as_str()))
    }

    /// The path as text, `.` for the data directory.
    pub fn shown(&self) -> String {
        if self.0.is_empty() { ".".to_owned() } else { self.0.join("/") }
    }
}

impl fmt::Display for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// The refusal for a path of the program.
pub fn closed(text: &str) -> String {
    format!(
        "`{text}` is closed: `{STATE}/`, `{HISTORY}/` and what may hold keys belong to the program itself, in every \
         mode. use another place, or tell the human what you wanted to know or change."
    )
}

fn outside(text: &str) -> String {
    format!("`{text}` is outside the data directory. name a path beneath it, such as `notes/today.md`.")
}

/// Returns `text` relative to the data directory.
fn relative<'a>(text: &'a str, folders: &Folders) -> Result<std::borrow::Cow<'a, str>, String> {
    let home = || folders.home.as_ref().ok_or_else(|| outside(text));
    let path = match text.strip_prefix('~') {
        Some("") => home()?.clone(),
        Some(rest) if rest.starts_with('/') => home()?.join(rest.trim_start_matches('/')),
        Some(_) | None if !text.starts_with('/') => return Ok(text.into()),
        Some(_) | None => PathBuf::from(text),
    };
    let path = flat(&path);
    let beneath = path.strip_prefix(flat(&folders.data)).map_err(|_| outside(text))?;
    Ok(beneath.to_string_lossy().into_owned().into())
}

/// Removes `.` and `..` lexically. Links are never followed later, so the result is exact.
fn flat(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(flat.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => flat.push(part),
        }
    }
    flat
}

/// Returns whether a name at this depth is closed, also under spellings that some file systems
/// treat as equal.
pub fn is_closed(depth: usize, name: &str) -> bool {
    let seen: String = name.chars().filter(|c| !is_hidden(*c)).flat_map(char::to_lowercase).collect();
    let seen = seen.replace('ſ', "s");
    let seen = seen.trim_end_matches(['.', ' ']);
    // The list of MCP servers and a file of variables may contain keys.
    (depth == 0 && [STATE, "mcp.json", ".env"].contains(&seen.trim_start()))
        || seen == HISTORY
        || seen == "git~1"
        || seen.starts_with(LOG)
}
