//! The workshop: what the tools that work themselves work with.
//!
//! The daemon builds it. What is missing or cannot work here is off, with the reason, which is told to whoever calls.

use std::sync::Arc;

use crate::files::Files;
use crate::shell::{OwnCommands, Shell};
use crate::skill::Skills;
use crate::web::{Fetch, Search};

/// What there is to work with.
#[derive(Default)]
pub struct Workshop {
    /// The files of the data directory.
    pub files: Part<Arc<Files>>,
    /// How commands are run.
    pub shell: Part<Shell>,
    /// Our own commands.
    pub own: Part<Arc<dyn OwnCommands>>,
    /// Pages of the web.
    pub fetch: Part<Fetch>,
    /// A search engine.
    pub search: Part<Search>,
    /// The skills.
    pub skills: Part<Arc<dyn Skills>>,
}

/// One part of the workshop.
pub enum Part<T> {
    /// It works.
    On(T),
    /// It does not, for this reason: half a sentence, such as `no search engine is set`.
    Off(String),
}

impl<T> Part<T> {
    /// The part, for the tool `name`, or why that does not work.
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
