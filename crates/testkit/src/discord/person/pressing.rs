//! Buttons, menus and modals used by a simulated user.

use serde_json::{Value, json};

use super::{Person, Unfit};
use crate::discord::components::all;
use crate::discord::id::{InteractionId, MessageId};
use crate::discord::interactions::{Answered, Did};
use crate::discord::world::World;

impl Person {
    /// Clicks the button with this custom id or label.
    pub fn clicks(&self, message: MessageId, button: &str) -> Result<InteractionId, Unfit> {
        self.discord.within(|world| {
            let named = |component: &Value| component["custom_id"] == button || component["label"] == button;
            let found =
                self.pressable(world, message, |component| component["type"] == 2 && named(component))?;
            let custom_id = found["custom_id"].as_str();
            let custom_id =
                custom_id.ok_or_else(|| Unfit::new("that button is a link: Discord opens it itself"))?;
            let data = json!({"custom_id": custom_id, "component_type": 2, "id": found["id"]});
            Ok(world.interact(self.id, Did::Component, data, Some(message)))
        })
    }

    /// Chooses `values` from the menu with this custom id.
    pub fn chooses(&self, message: MessageId, menu: &str, values: &[&str]) -> Result<InteractionId, Unfit> {
        self.discord.within(|world| {
            let found = self.pressable(world, message, |component| {
                component["custom_id"] == menu && component["type"] != 2
            })?;
            let options = found["options"].as_array().cloned().unwrap_or_default();
            if let Some(value) =
                values.iter().find(|value| !options.iter().any(|option| option["value"] == **value))
            {
                return Err(Unfit(format!("the menu {menu} has no option {value}")));
            }
            let least = found["min_values"].as_u64().unwrap_or(1) as usize;
            let most = found["max_values"].as_u64().unwrap_or(1) as usize;
            if !(least..=most).contains(&values.len()) {
                return Err(Unfit(format!("the menu {menu} takes {least} to {most} values")));
            }
            let data = json!({
                "custom_id": menu, "component_type": found["type"], "id": found["id"], "values": values,
            });
            Ok(world.interact(self.id, Did::Component, data, Some(message)))
        })
    }

    /// Fills in and submits the modal that `opened_by` opened, with a text for each custom id.
    pub fn submits(&self, opened_by: InteractionId, values: &[(&str, &str)]) -> Result<InteractionId, Unfit> {
        self.discord.within(|world| {
            let interaction = world.desk.interactions.get(&opened_by);
            let interaction = interaction.ok_or_else(|| Unfit::new("there is no such interaction"))?;
            let Answered::Modal(modal) = &interaction.answered else {
                return Err(Unfit::new("no modal was opened"));
            };
            let source = interaction.source;
            let rows = modal["components"].as_array().cloned().unwrap_or_default();
            let known = all(&rows);
            if let Some((id, _)) =
                values.iter().find(|(id, _)| !known.iter().any(|one| one["custom_id"] == *id))
            {
                return Err(Unfit(format!("the modal has no field {id}")));
            }
            let rows = rows.iter().enumerate().map(|(at, row)| filled(at, row, values));
            let rows = rows.collect::<Result<Vec<_>, _>>()?;
            let data = json!({"custom_id": modal["custom_id"], "components": rows});
            Ok(world.interact(self.id, Did::Modal, data, source))
        })
    }

    fn pressable(&self, world: &World, id: MessageId, fits: impl Fn(&Value) -> bool) -> Result<Value, Unfit> {
        let message = self.seen(world, id)?;
        let found = all(message.list("components")).into_iter().find(|component| fits(component)).cloned();
        let found = found.ok_or_else(|| Unfit::new("that message has no such button or menu"))?;
        if found["disabled"] == true {
            Err(Unfit::new("it is grey: it cannot be pressed"))
        } else {
            Ok(found)
        }
    }
}

/// Returns a row of a modal as it is submitted.
fn filled(at: usize, row: &Value, values: &[(&str, &str)]) -> Result<Value, Unfit> {
    let id = 2 * at + 1;
    match row["type"].as_u64() {
        Some(1) => {
            let input = input(id + 1, &row["components"][0], values)?;
            Ok(json!({"type": 1, "id": id, "components": [input]}))
        }
        Some(18) => {
            let input = input(id + 1, &row["component"], values)?;
            Ok(json!({"type": 18, "id": id, "component": input}))
        }
        kind => Ok(json!({"type": kind, "id": id})),
    }
}

fn input(id: usize, field: &Value, values: &[(&str, &str)]) -> Result<Value, Unfit> {
    let custom_id = field["custom_id"].as_str().unwrap_or_default();
    let given = values.iter().find(|(id, _)| *id == custom_id).map(|(_, value)| *value);
    let value = given.or(field["value"].as_str()).unwrap_or_default();
    if field["type"] != 4 {
        let chosen: Vec<_> = value.split(',').filter(|value| !value.is_empty()).collect();
        return Ok(json!({"type": field["type"], "id": id, "custom_id": custom_id, "values": chosen}));
    }
    let length = value.chars().count() as u64;
    let least = field["min_length"].as_u64().unwrap_or(0).max(u64::from(field["required"] != false));
    let most = field["max_length"].as_u64().unwrap_or(4_000);
    let may_be_empty = field["required"] == false && length == 0;
    if !may_be_empty && !(least..=most).contains(&length) {
        return Err(Unfit(format!("the field {custom_id} takes {least} to {most} characters")));
    }
    Ok(json!({"type": 4, "id": id, "custom_id": custom_id, "value": value}))
}
