//! Calls of tools that need the assistant's state and depend on the place of the turn.

use crate::embed::Embed;
use crate::place::ContextToolKind;

/// A call of a context tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContextTool {
    Show(Embed, Urgency),
    /// Interrupt the user with this text.
    Ping(String, Urgency),
    /// Check again in this many minutes.
    FollowUp(u32),
    /// Promote the fork to main.
    Save,
    /// Leave this report for main.
    Report(String),
    EnterFork(ForkOptions),
    /// End the fork and discard it.
    ExitFork,
    /// Compact the session with these instructions.
    Compact(String),
}

/// The options of a requested fork.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForkOptions {
    /// Its topic, if known.
    pub topic: Option<String>,
    /// The idle timeout in minutes, if not the default.
    pub idle_minutes: Option<u32>,
}

/// The urgency of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Limited by the budget.
    Normal,
    /// Sent in any case.
    Critical,
}

impl ContextTool {
    /// Returns the kind of the tool.
    pub fn kind(&self) -> ContextToolKind {
        match self {
            Self::Show(..) => ContextToolKind::Embed,
            Self::Ping(..) => ContextToolKind::Ping,
            Self::FollowUp(_) => ContextToolKind::FollowUp,
            Self::Save => ContextToolKind::Save,
            Self::Report(_) => ContextToolKind::Report,
            Self::EnterFork(_) => ContextToolKind::EnterFork,
            Self::ExitFork => ContextToolKind::ExitFork,
            Self::Compact(_) => ContextToolKind::Compact,
        }
    }
}
