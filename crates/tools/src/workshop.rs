//! The environment of the tools that run by themselves.
//!
//! The daemon builds it. A part that is missing or cannot work here is off, with a reason that is
//! returned to the caller.

use std::sync::Arc;

use crate::files::Files;
use crate::mcp::Servers;
use crate::shell::{OwnCommands, Shell};
use crate::skill::Skills;
use crate::web::{Fetch, Search};

#[derive(Default)]
pub struct Workshop {
    /// The files of the data directory.
    pub files: Part<Arc<Files>>,
    /// The shell for sandboxed commands.
    pub shell: Part<Shell>,
    /// Our own commands.
    pub own: Part<Arc<dyn OwnCommands>>,
    pub fetch: Part<Fetch>,
    pub search: Part<Search>,
    pub servers: Part<Servers>,
    pub skills: Part<Arc<dyn Skills>>,
}

/// An optional part of the environment.
pub enum Part<T> {
    On(T),
    /// Unavailable for this reason, half a sentence such as `no search engine is set`.
    Off(String),
}

impl<T> Part<T> {
    /// Returns the part for the tool `name`, or why it is off.
    pub(crate) fn get(&self, name: &str) -> Result<&T, String> {
        match self {
            Self::On(part) => Ok(part),
            Self::Off(why) => Err(format!("`{name}` is off: {why}. go on without it.")),
        }
    }
}

impl<T> Default for Part<T> {
    fn default() -> Self {
        Self::Off("nothing was set up for it here".to_owned())
    }
}
