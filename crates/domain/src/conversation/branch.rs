//! Names of branches.

use std::fmt;
use std::str::FromStr;

/// The name of a position in the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Branch {
    /// The main conversation.
    Main,
    /// An interactive fork, or a background run.
    Fork(ForkName),
}

impl Branch {
    /// Returns the fork called `name`.
    pub fn fork(name: &str) -> Result<Self, InvalidBranchName> {
        Ok(Self::Fork(name.parse()?))
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str("main"),
            Self::Fork(name) => write!(f, "fork/{name}"),
        }
    }
}

impl FromStr for Branch {
    type Err = InvalidBranchName;

    fn from_str(text: &str) -> Result<Self, InvalidBranchName> {
        match text.strip_prefix("fork/") {
            Some(name) => Self::fork(name),
            None if text == "main" => Ok(Self::Main),
            None => Err(InvalidBranchName(text.to_owned())),
        }
    }
}

/// The name of a fork: 1 to 64 letters, digits, `.`, `_`, `-` or `:`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ForkName(String);

impl ForkName {
    pub(crate) fn from_generated(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for ForkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ForkName {
    type Err = InvalidBranchName;

    fn from_str(text: &str) -> Result<Self, InvalidBranchName> {
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
        if (1..=64).contains(&text.chars().count()) && text.chars().all(fits) {
            return Ok(Self(text.to_owned()));
        }
        Err(InvalidBranchName(text.to_owned()))
    }
}

/// The error for an invalid branch name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a branch: use `main`, or `fork/` and 1 to 64 letters, digits, `.`, `_`, `-` or `:`")]
pub struct InvalidBranchName(String);
