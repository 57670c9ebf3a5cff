//! Commands run by a simulated user.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Choice, Person, Unfit};
use crate::discord::id::{InteractionId, MessageId};
use crate::discord::interactions::Did;
use crate::discord::screen::Shown;
use crate::discord::world::World;

/// Names of the option types, from type 3 on.
const KINDS: &[&str] = &["string", "integer", "boolean", "user", "channel", "role", "mentionable", "number"];

impl Person {
    /// Runs a slash command: `run_command("/model", &[("name", json!("opus"))])`.
    pub fn runs(&self, command: &str, options: &[(&str, Value)]) -> Result<InteractionId, Unfit> {
        self.discord.within(|world| {
            let registered = registered(world, command.trim_start_matches('/'), 1)?;
            let data = invoked(&registered, options)?;
            Ok(world.interact(self.id, Did::Command, data, None))
        })
    }

    /// Types `typed` into an option with autocomplete, and returns the choices shown.
    pub async fn asks_completion(
        &self,
        command: &str,
        option: &str,
        typed: &str,
    ) -> Result<Vec<Choice>, Unfit> {
        let asked = self.discord.within(|world| {
            let registered = registered(world, command.trim_start_matches('/'), 1)?;
            let about = option_of(&registered, option)?;
            if about["autocomplete"] != true {
                return Err(Unfit(format!("the option {option} does not complete")));
            }
            let option = json!({"name": option, "type": about["type"], "value": typed, "focused": true});
            let data = json!({
                "id": registered["id"], "name": registered["name"], "type": 1, "options": [option],
            });
            Ok(world.interact(self.id, Did::Completion, data, None))
        })?;
        let Shown::Choices(choices) = self.discord.sees_answer(asked).await else {
            return Err(Unfit::new("Loading options failed"));
        };
        Ok(choices)
    }

    /// Runs a command from a message's context menu.
    pub fn uses_message_command(&self, command: &str, on: MessageId) -> Result<InteractionId, Unfit> {
        self.discord.within(|world| {
            let registered = registered(world, command, 3)?;
            let message = self.seen(world, on)?;
            let messages = json!({on.to_string(): world.talk.message_wire(message)});
            let data = json!({
                "id": registered["id"], "name": registered["name"], "type": 3, "target_id": on.to_string(),
                "resolved": {"messages": messages},
            });
            Ok(world.interact(self.id, Did::Command, data, None))
        })
    }
}

impl crate::discord::Discord {
    /// Returns what the user sees after an interaction: the first response, or a failure after
    /// three seconds.
    pub async fn sees_answer(&self, interaction: InteractionId) -> Shown {
        let seen =
            |discord: &Self| Some(discord.answer_to(interaction)).filter(|shown| *shown != Shown::Nothing);
        self.wait_for(Duration::from_millis(3_001), seen).await.unwrap_or(Shown::Failed)
    }
}

fn registered(world: &World, name: &str, kind: u64) -> Result<Value, Unfit> {
    let found = world.desk.commands.iter().find(|command| command["name"] == name && command["type"] == kind);
    found.cloned().ok_or_else(|| Unfit(format!("no command {name} is registered")))
}

fn option_of<'a>(command: &'a Value, name: &str) -> Result<&'a Value, Unfit> {
    let options = command["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = options.iter().find(|option| option["name"] == name);
    found.ok_or_else(|| Unfit(format!("the command has no option {name}")))
}

fn invoked(command: &Value, given: &[(&str, Value)]) -> Result<Value, Unfit> {
    let mut options = Vec::new();
    for (name, value) in given {
        let about = option_of(command, name)?;
        fits(about, value)?;
        options.push(json!({"name": name, "type": about["type"], "value": value}));
    }
    let all = command["options"].as_array().cloned().unwrap_or_default();
    let missing = |option: &&Value| {
        option["required"] == true && !given.iter().any(|(name, _)| option["name"] == *name)
    };
    if let Some(missing) = all.iter().find(missing) {
        return Err(Unfit(format!("the option {} is required", missing["name"])));
    }
    let mut data = json!({"id": command["id"], "name": command["name"], "type": 1});
    if !options.is_empty() {
        data["options"] = Value::Array(options);
    }
    Ok(data)
}

fn fits(option: &Value, value: &Value) -> Result<(), Unfit> {
    let kind = option["type"].as_u64().unwrap_or(0);
    let right = match kind {
        3 => value.is_string(),
        4 => value.is_i64() || value.is_u64(),
        5 => value.is_boolean(),
        10 => value.is_number(),
        _ => value.is_string(),
    };
    let name = option["name"].as_str().unwrap_or_default();
    if !right {
        let word = KINDS.get((kind as usize).saturating_sub(3)).unwrap_or(&"value");
        return Err(Unfit(format!("the option {name} takes a {word}, not {value}")));
    }
    let choices = option["choices"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !choices.is_empty() && !choices.iter().any(|choice| choice["value"] == *value) {
        return Err(Unfit(format!("the option {name} has no choice {value}")));
    }
    let number = value.as_f64();
    let below = option["min_value"].as_f64().zip(number).is_some_and(|(least, value)| value < least);
    let above = option["max_value"].as_f64().zip(number).is_some_and(|(most, value)| value > most);
    let length = value.as_str().map_or(0, |text| text.chars().count() as u64);
    let long = option["max_length"].as_u64().is_some_and(|most| length > most);
    if below || above || long {
        return Err(Unfit(format!("the option {name} does not take {value}")));
    }
    Ok(())
}
