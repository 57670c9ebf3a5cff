//! Calls of tools that need the assistant's state and depend on the place of the turn.

use crate::embed::Embed;
use crate::place::PlacedTool;

/// A call of a context tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    Show(Embed, Urgency),
    /// Interrupt the user with this text.
    Ping(String, Urgency),
    /// Check again in this many minutes.
    FollowUp(u32),
    /// Promote the fork to main.
    Save,
    /// Leave this report for main.
    Report(String),
    EnterFork(Asked),
    /// End the fork and discard it.
    ExitFork,
    /// Compact the session with these instructions.
    Compact(String),
}

/// The options of a requested fork.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
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

impl Wish {
    /// Returns the kind of the tool.
    pub fn tool(&self) -> PlacedTool {
        match self {
            Self::Show(..) => PlacedTool::Embed,
            Self::Ping(..) => PlacedTool::Ping,
            Self::FollowUp(_) => PlacedTool::FollowUp,
            Self::Save => PlacedTool::Save,
            Self::Report(_) => PlacedTool::Report,
            Self::EnterFork(_) => PlacedTool::EnterFork,
            Self::ExitFork => PlacedTool::ExitFork,
            Self::Compact(_) => PlacedTool::Compact,
        }
    }
}
