//! Places: a path as the model writes it, read into names beneath the data directory.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use domain::hidden::is_hidden;

/// The folder that belongs to the program.
pub const STATE: &str = "state";
/// The folder of a history. It can say what is to be run, so it is closed wherever it is.
pub const HISTORY: &str = ".git";
/// How the files of the log begin, wherever a copy of it may be.
const LOG: &str = "journal.db";

/// The most bytes of a path, and of one name in it.
const PATH_BYTES: usize = 4096;
const NAME_BYTES: usize = 255;

/// Where things are.
#[derive(Clone, Debug)]
pub struct Folders {
    /// The data directory, as an absolute path.
    pub data: PathBuf,
    /// What `~` stands for, if that is known.
    pub home: Option<PathBuf>,
}

impl Folders {
    /// The same with the data directory as it is called when no link leads there.
    pub(super) fn resolved(self) -> Self {
        let data = std::fs::canonicalize(&self.data).unwrap_or(self.data);
        Self { data, ..self }
    }
}

/// A place beneath the data directory that is not closed: its names, none of which leads back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside(Vec<String>);

impl Inside {
    /// Reads `text`. No text, or `.`, is the data directory itself.
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

    /// The names, from the data directory on.
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// The folder and the name of a file: nothing, if this is the data directory itself.
    pub fn file(&self) -> Option<(&[String], &str)> {
        self.0.split_last().map(|(name, folder)| (folder, name.as_str()))
    }

    /// As it is told.
    pub fn shown(&self) -> String {
        if self.0.is_empty() { ".".to_owned() } else { self.0.join("/") }
    }
}

impl fmt::Display for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// Why a place of the program is not opened.
pub fn closed(text: &str) -> String {
    format!(
        "`{text}` is closed: `{STATE}/`, `{HISTORY}/` and what may hold keys belong to the program itself, in every \
         mode. use another place, or tell the human what you wanted to know or change."
    )
}

fn outside(text: &str) -> String {
    format!("`{text}` is outside the data directory. name a path beneath it, such as `notes/today.md`.")
}

/// `text` as it is called from the data directory on.
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

/// `path` without what leads nowhere or back. No link is followed later, so this is where it leads.
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

/// Whether a name at this depth is closed, also under the spellings that some file systems take for the same.
pub fn is_closed(depth: usize, name: &str) -> bool {
    let seen: String = name.chars().filter(|c| !is_hidden(*c)).flat_map(char::to_lowercase).collect();
    let seen = seen.replace('ſ', "s");
    let seen = seen.trim_end_matches(['.', ' ']);
    // The list of servers and a file of variables may hold keys.
    (depth == 0 && [STATE, "mcp.json", ".env"].contains(&seen.trim_start()))
        || seen == HISTORY
        || seen == "git~1"
        || seen.starts_with(LOG)
}
