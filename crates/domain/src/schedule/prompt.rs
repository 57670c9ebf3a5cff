//! The prompt of a job.

use std::fmt;

/// A prompt, trimmed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Prompt(String);

impl Prompt {
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
