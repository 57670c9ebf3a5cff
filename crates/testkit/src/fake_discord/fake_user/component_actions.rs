//! Buttons, menus and modals used by a simulated user.

use serde_json::{Value, json};

use super::{ActionError, FakeUser};
use crate::fake_discord::components::all_components;
use crate::fake_discord::id::{InteractionId, MessageId};
use crate::fake_discord::interactions::{FirstResponse, InteractionKind};
use crate::fake_discord::state::DiscordState;

impl FakeUser {
    /// Clicks the button with this custom id or label.
    pub fn click(&self, message: MessageId, button: &str) -> Result<InteractionId, ActionError> {
        self.discord.update(|state| {
            let named = |component: &Value| component["custom_id"] == button || component["label"] == button;
            let found =
                self.find_component(state, message, |component| component["type"] == 2 && named(component))?;
            let custom_id = found["custom_id"].as_str();
            let custom_id = custom_id
                .ok_or_else(|| ActionError::new("that button is a link: Discord opens it itself"))?;
            let data = json!({"custom_id": custom_id, "component_type": 2, "id": found["id"]});
            Ok(state.create_interaction(self.id, InteractionKind::Component, data, Some(message)))
        })
    }

    /// Chooses `values` from the menu with this custom id.
    pub fn choose(
        &self,
        message: MessageId,
        menu: &str,
        values: &[&str],
    ) -> Result<InteractionId, ActionError> {
        self.discord.update(|state| {
            let found = self.find_component(state, message, |component| {
                component["custom_id"] == menu && component["type"] != 2
            })?;
            let options = found["options"].as_array().cloned().unwrap_or_default();
            if let Some(value) =
                values.iter().find(|value| !options.iter().any(|option| option["value"] == **value))
            {
                return Err(ActionError(format!("the menu {menu} has no option {value}")));
            }
            let min = found["min_values"].as_u64().unwrap_or(1) as usize;
            let max = found["max_values"].as_u64().unwrap_or(1) as usize;
            if !(min..=max).contains(&values.len()) {
                return Err(ActionError(format!("the menu {menu} takes {min} to {max} values")));
            }
            let data = json!({
                "custom_id": menu, "component_type": found["type"], "id": found["id"], "values": values,
            });
            Ok(state.create_interaction(self.id, InteractionKind::Component, data, Some(message)))
        })
    }

    /// Fills in and submits the modal that `opened_by` opened, with a text for each custom id.
    pub fn submit_modal(
        &self,
        opened_by: InteractionId,
        values: &[(&str, &str)],
    ) -> Result<InteractionId, ActionError> {
        self.discord.update(|state| {
            let interaction = state.app.interactions.get(&opened_by);
            let interaction = interaction.ok_or_else(|| ActionError::new("there is no such interaction"))?;
            let FirstResponse::Modal(modal) = &interaction.first_response else {
                return Err(ActionError::new("no modal was opened"));
            };
            let source = interaction.source;
            let rows = modal["components"].as_array().cloned().unwrap_or_default();
            let known = all_components(&rows);
            if let Some((id, _)) =
                values.iter().find(|(id, _)| !known.iter().any(|one| one["custom_id"] == *id))
            {
                return Err(ActionError(format!("the modal has no field {id}")));
            }
            let rows = rows.iter().enumerate().map(|(at, row)| row_data(at, row, values));
            let rows = rows.collect::<Result<Vec<_>, _>>()?;
            let data = json!({"custom_id": modal["custom_id"], "components": rows});
            Ok(state.create_interaction(self.id, InteractionKind::Modal, data, source))
        })
    }

    fn find_component(
        &self,
        state: &DiscordState,
        id: MessageId,
        fits: impl Fn(&Value) -> bool,
    ) -> Result<Value, ActionError> {
        let message = self.visible_message(state, id)?;
        let found =
            all_components(message.list("components")).into_iter().find(|component| fits(component)).cloned();
        let found = found.ok_or_else(|| ActionError::new("that message has no such button or menu"))?;
        if found["disabled"] == true {
            Err(ActionError::new("it is grey: it cannot be pressed"))
        } else {
            Ok(found)
        }
    }
}

/// Returns a row of a modal as it is submitted.
fn row_data(at: usize, row: &Value, values: &[(&str, &str)]) -> Result<Value, ActionError> {
    let id = 2 * at + 1;
    match row["type"].as_u64() {
        Some(1) => {
            let input = field_data(id + 1, &row["components"][0], values)?;
            Ok(json!({"type": 1, "id": id, "components": [input]}))
        }
        Some(18) => {
            let input = field_data(id + 1, &row["component"], values)?;
            Ok(json!({"type": 18, "id": id, "component": input}))
        }
        kind => Ok(json!({"type": kind, "id": id})),
    }
}

fn field_data(id: usize, field: &Value, values: &[(&str, &str)]) -> Result<Value, ActionError> {
    let custom_id = field["custom_id"].as_str().unwrap_or_default();
    let given = values.iter().find(|(id, _)| *id == custom_id).map(|(_, value)| *value);
    let value = given.or(field["value"].as_str()).unwrap_or_default();
    if field["type"] != 4 {
        let chosen: Vec<_> = value.split(',').filter(|value| !value.is_empty()).collect();
        return Ok(json!({"type": field["type"], "id": id, "custom_id": custom_id, "values": chosen}));
    }
    let length = value.chars().count() as u64;
    let min = field["min_length"].as_u64().unwrap_or(0).max(u64::from(field["required"] != false));
    let max = field["max_length"].as_u64().unwrap_or(4_000);
    let may_be_empty = field["required"] == false && length == 0;
    if !may_be_empty && !(min..=max).contains(&length) {
        return Err(ActionError(format!("the field {custom_id} takes {min} to {max} characters")));
    }
    Ok(json!({"type": 4, "id": id, "custom_id": custom_id, "value": value}))
}
