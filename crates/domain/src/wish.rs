//! Wishes: what a running turn wants of the assistant, where the place decides whether it may.

use crate::embed::Embed;
use crate::place::PlacedTool;

/// Something a tool was called for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Show this.
    Show(Embed, Urgency),
    /// Interrupt the human with these words.
    Ping(String, Urgency),
    /// Check again in so many minutes.
    FollowUp(u32),
    /// Let the fork become the main conversation.
    Save,
    /// Leave these words for main.
    Report(String),
    /// Start a side conversation.
    EnterFork(Asked),
    /// End it and keep nothing.
    ExitFork,
    /// Shorten what is remembered, keeping what these words say.
    Compact(String),
}

/// What was asked for a side conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// What it is about, if that is known.
    pub topic: Option<String>,
    /// After how many quiet minutes it is idle, if not after the usual time.
    pub idle_minutes: Option<u32>,
}

/// Whether something may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// It may.
    Normal,
    /// It may not, whatever the budget says.
    Critical,
}

impl Wish {
    /// The tool it came from.
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
