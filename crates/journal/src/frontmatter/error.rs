//! Errors in files, in texts that their author can act on.

use std::fmt;
use std::path::PathBuf;

/// An error in a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct BadText {
    /// The line, from one, if known.
    pub line: Option<usize>,
    /// The key, if known.
    pub field: Option<String>,
    /// The problem and its solution.
    pub reason: String,
}

impl BadText {
    /// An error of the whole text.
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

/// An invalid file and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {bad}", path.display())]
pub struct BadFile {
    pub path: PathBuf,
    pub bad: BadText,
}
