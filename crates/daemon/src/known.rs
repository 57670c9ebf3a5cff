//! What the assistant knew when it started, as far as the human is greeted with it.

use domain::assistant::Memory;
use domain::inbox::KeptId;
use domain::model::Choices;
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
    /// The name of the model that answers, if it is not the one of the settings file.
    pub model: Option<String>,
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
    /// What `memory` says of it, where one of these models can be chosen.
    pub fn of(memory: &Memory, choices: &Choices) -> Self {
        let new = memory.messages.next == MessageId(1) && memory.inbox.next == KeptId(1);
        let human = if new { Acquaintance::New } else { Acquaintance::Known };
        let settings = &memory.chosen.settings;
        let chosen = settings.models.main.as_deref();
        let model = chosen.map(|chosen| choices.model_name(Some(chosen)).to_owned());
        Self { human, quiet: settings.calm.quiet.to_string(), name: settings.name.clone(), model }
    }
}
