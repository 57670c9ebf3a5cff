//! The environment of the tools that run by themselves.
//!
//! The daemon builds it. A part that is missing or cannot work here is off, with a reason that is
//! returned to the caller.

use std::sync::Arc;

use crate::files::Files;
use crate::mcp::Servers;
use crate::shell::{OwnCommands, Shell};
use crate::skill::SkillStore;
use crate::web::{PageFetcher, WebSearch};

#[derive(Default)]
pub struct ToolEnv {
    /// The files of the data directory.
    pub files: Availability<Arc<Files>>,
    /// The shell for sandboxed commands.
    pub shell: Availability<Shell>,
    /// Our own commands.
    pub own_commands: Availability<Arc<dyn OwnCommands>>,
    pub page_fetcher: Availability<PageFetcher>,
    pub web_search: Availability<WebSearch>,
    pub mcp_servers: Availability<Servers>,
    pub skills: Availability<Arc<dyn SkillStore>>,
}

/// An optional part of the environment.
pub enum Availability<T> {
    Available(T),
    /// Unavailable for this reason, half a sentence such as `no search engine is set`.
    Unavailable(String),
}

impl<T> Availability<T> {
    /// Returns the part for the tool `name`, or why it is off.
    pub(crate) fn get(&self, name: &str) -> Result<&T, String> {
        match self {
            Self::Available(part) => Ok(part),
            Self::Unavailable(why) => Err(format!("`{name}` is off: {why}. go on without it.")),
        }
    }
}

impl<T> Default for Availability<T> {
    fn default() -> Self {
        Self::Unavailable("nothing was set up for it here".to_owned())
    }
}
