//! Facts about the user that the greeting shows.

use domain::assistant::Memory;
use domain::inbox::KeptId;
use domain::model::Choices;
use domain::record::MessageId;

/// Facts about the user, as of the start.
#[derive(Clone, Debug)]
pub struct Known {
    pub human: Acquaintance,
    pub quiet: String,
    /// The name that the user chose at runtime.
    pub name: Option<String>,
    /// The chosen model, if it is not the one of the settings file.
    pub model: Option<String>,
}

/// Distinguishes new users from those who have used the assistant before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquaintance {
    /// Nothing was said or stored yet.
    New,
    Known,
}

impl Known {
    /// Reads the facts from `memory`; `choices` gives the name of the chosen model.
    pub fn of(memory: &Memory, choices: &Choices) -> Self {
        let new = memory.messages.next == MessageId(1) && memory.inbox.next == KeptId(1);
        let human = if new { Acquaintance::New } else { Acquaintance::Known };
        let settings = &memory.chosen.settings;
        let chosen = settings.models.main.as_deref();
        let model = chosen.map(|chosen| choices.model_name(Some(chosen)).to_owned());
        Self { human, quiet: settings.calm.quiet.to_string(), name: settings.name.clone(), model }
    }
}
