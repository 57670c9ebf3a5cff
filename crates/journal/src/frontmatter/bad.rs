//! What is wrong with a file, in words its author can act on.

use std::fmt;
use std::path::PathBuf;

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct BadText {
    /// The line, counted from one, if it is known.
    pub line: Option<usize>,
    /// The key, if it is known.
    pub field: Option<String>,
    /// What is wrong, and what would be right.
    pub reason: String,
}

impl BadText {
    /// Says what is wrong with the whole.
    pub fn whole(reason: impl Into<String>) -> Self {
        Self { line: None, field: None, reason: reason.into() }
    }
}

impl fmt::Display for BadText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if let Some(field) = &self.field {
            write!(f, "`{field}`: ")?;
        }
        f.write_str(&self.reason)
    }
}

/// A file that is left out, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {bad}", path.display())]
pub struct BadFile {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub bad: BadText,
}
