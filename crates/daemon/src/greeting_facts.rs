//! Facts about the user that the greeting shows.

use domain::assistant::State;
use domain::inbox::InboxItemId;
use domain::model::ModelChoices;
use domain::record::MessageId;

/// Facts about the user, as of the start.
#[derive(Clone, Debug)]
pub struct GreetingFacts {
    pub user: UserStatus,
    pub quiet: String,
    /// The name that the user chose at runtime.
    pub name: Option<String>,
    /// The chosen model, if it is not the one of the settings file.
    pub model: Option<String>,
}

/// Distinguishes new users from those who have used the assistant before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserStatus {
    /// Nothing was said or stored yet.
    New,
    Known,
}

impl GreetingFacts {
    /// Reads the facts from `memory`; `choices` gives the name of the chosen model.
    pub fn of(memory: &State, choices: &ModelChoices) -> Self {
        let new = memory.messages.next == MessageId(1) && memory.inbox.next_id == InboxItemId(1);
        let human = if new { UserStatus::New } else { UserStatus::Known };
        let settings = &memory.choices.settings;
        let chosen = settings.models.main.as_deref();
        let model = chosen.map(|chosen| choices.model_name(Some(chosen)).to_owned());
        Self {
            user: human,
            quiet: settings.notifications.quiet_hours.to_string(),
            name: settings.name.clone(),
            model,
        }
    }
}
