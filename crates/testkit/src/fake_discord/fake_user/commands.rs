//! Commands run by a simulated user.

use std::time::Duration;

use serde_json::{Value, json};

use super::{ActionError, Choice, FakeUser};
use crate::fake_discord::id::{InteractionId, MessageId};
use crate::fake_discord::interactions::InteractionKind;
use crate::fake_discord::state::DiscordState;
use crate::fake_discord::views::InteractionView;

/// Names of the option types, from type 3 on.
const OPTION_TYPES: &[&str] =
    &["string", "integer", "boolean", "user", "channel", "role", "mentionable", "number"];

impl FakeUser {
    /// Runs a slash command: `run_command("/model", &[("name", json!("opus"))])`.
    pub fn run_command(
        &self,
        command: &str,
        options: &[(&str, Value)],
    ) -> Result<InteractionId, ActionError> {
        self.discord.update(|state| {
            let registered = find_command(state, command.trim_start_matches('/'), 1)?;
            let data = command_data(&registered, options)?;
            Ok(state.create_interaction(self.id, InteractionKind::Command, data, None))
        })
    }

    /// Types `typed` into an option with autocomplete, and returns the choices shown.
    pub async fn complete_option(
        &self,
        command: &str,
        option: &str,
        typed: &str,
    ) -> Result<Vec<Choice>, ActionError> {
        let interaction = self.discord.update(|state| {
            let registered = find_command(state, command.trim_start_matches('/'), 1)?;
            let declared = find_option(&registered, option)?;
            if declared["autocomplete"] != true {
                return Err(ActionError(format!("the option {option} does not complete")));
            }
            let option = json!({"name": option, "type": declared["type"], "value": typed, "focused": true});
            let data = json!({
                "id": registered["id"], "name": registered["name"], "type": 1, "options": [option],
            });
            Ok(state.create_interaction(self.id, InteractionKind::Completion, data, None))
        })?;
        let InteractionView::Choices(choices) = self.discord.wait_for_answer(interaction).await else {
            return Err(ActionError::new("Loading options failed"));
        };
        Ok(choices)
    }

    /// Runs a command from a message's context menu.
    pub fn run_message_command(&self, command: &str, on: MessageId) -> Result<InteractionId, ActionError> {
        self.discord.update(|state| {
            let registered = find_command(state, command, 3)?;
            let message = self.visible_message(state, on)?;
            let messages = json!({on.to_string(): state.chat.message_json(message)});
            let data = json!({
                "id": registered["id"], "name": registered["name"], "type": 3, "target_id": on.to_string(),
                "resolved": {"messages": messages},
            });
            Ok(state.create_interaction(self.id, InteractionKind::Command, data, None))
        })
    }
}

impl crate::fake_discord::FakeDiscord {
    /// Returns what the user sees after an interaction: the first response, or a failure after
    /// three seconds.
    pub async fn wait_for_answer(&self, interaction: InteractionId) -> InteractionView {
        let find_answer = |discord: &Self| {
            Some(discord.interaction_view(interaction)).filter(|shown| *shown != InteractionView::Pending)
        };
        self.wait_for(Duration::from_millis(3_001), find_answer).await.unwrap_or(InteractionView::Failed)
    }
}

fn find_command(state: &DiscordState, name: &str, kind: u64) -> Result<Value, ActionError> {
    let found = state.app.commands.iter().find(|command| command["name"] == name && command["type"] == kind);
    found.cloned().ok_or_else(|| ActionError(format!("no command {name} is registered")))
}

fn find_option<'a>(command: &'a Value, name: &str) -> Result<&'a Value, ActionError> {
    let options = command["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = options.iter().find(|option| option["name"] == name);
    found.ok_or_else(|| ActionError(format!("the command has no option {name}")))
}

fn command_data(command: &Value, given: &[(&str, Value)]) -> Result<Value, ActionError> {
    let mut options = Vec::new();
    for (name, value) in given {
        let declared = find_option(command, name)?;
        check_value(declared, value)?;
        options.push(json!({"name": name, "type": declared["type"], "value": value}));
    }
    let all = command["options"].as_array().cloned().unwrap_or_default();
    let missing = |option: &&Value| {
        option["required"] == true && !given.iter().any(|(name, _)| option["name"] == *name)
    };
    if let Some(missing) = all.iter().find(missing) {
        return Err(ActionError(format!("the option {} is required", missing["name"])));
    }
    let mut data = json!({"id": command["id"], "name": command["name"], "type": 1});
    if !options.is_empty() {
        data["options"] = Value::Array(options);
    }
    Ok(data)
}

fn check_value(option: &Value, value: &Value) -> Result<(), ActionError> {
    let kind = option["type"].as_u64().unwrap_or(0);
    let type_matches = match kind {
        3 => value.is_string(),
        4 => value.is_i64() || value.is_u64(),
        5 => value.is_boolean(),
        10 => value.is_number(),
        _ => value.is_string(),
    };
    let name = option["name"].as_str().unwrap_or_default();
    if !type_matches {
        let type_name = OPTION_TYPES.get((kind as usize).saturating_sub(3)).unwrap_or(&"value");
        return Err(ActionError(format!("the option {name} takes a {type_name}, not {value}")));
    }
    let choices = option["choices"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !choices.is_empty() && !choices.iter().any(|choice| choice["value"] == *value) {
        return Err(ActionError(format!("the option {name} has no choice {value}")));
    }
    let number = value.as_f64();
    let below = option["min_value"].as_f64().zip(number).is_some_and(|(min, value)| value < min);
    let above = option["max_value"].as_f64().zip(number).is_some_and(|(max, value)| value > max);
    let length = value.as_str().map_or(0, |text| text.chars().count() as u64);
    let long = option["max_length"].as_u64().is_some_and(|max| length > max);
    if below || above || long {
        return Err(ActionError(format!("the option {name} does not take {value}")));
    }
    Ok(())
}
