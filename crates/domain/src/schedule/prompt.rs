//! What a job is told to do.

use std::fmt;

/// The words of a job, without white space around them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Prompt(String);

impl Prompt {
    /// The words in `text`.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
