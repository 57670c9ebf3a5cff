//! What the assistant knew when it started, as far as the human is greeted with it.

use domain::assistant::Memory;
use domain::inbox::KeptId;
use domain::record::MessageId;

/// What the assistant knew when it started, as far as the human is greeted with it.
#[derive(Clone, Debug)]
pub struct Known {
    /// Whether it knows the human already.
    pub human: Acquaintance,
    /// The quiet hours.
    pub quiet: String,
    /// What the human said they are called.
    pub name: Option<String>,
}

/// Whether we have met before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquaintance {
    /// Never: nothing was said or kept yet.
    New,
    /// We have.
    Known,
}

impl Known {
    /// What `memory` says of it.
    pub fn of(memory: &Memory) -> Self {
        let new = memory.messages.next == MessageId(1) && memory.inbox.next == KeptId(1);
        let human = if new { Acquaintance::New } else { Acquaintance::Known };
        let settings = &memory.chosen.settings;
        Self { human, quiet: settings.calm.quiet.to_string(), name: settings.name.clone() }
    }
}
