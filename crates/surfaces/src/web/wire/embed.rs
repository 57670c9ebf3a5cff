//! Embeds as JSON.

use domain::embed::{Button, Embed, Field, Stands};
use serde::Serialize;

#[derive(Serialize)]
pub struct EmbedWire {
    pub title: String,
    pub description: String,
    pub color: &'static str,
    pub fields: Vec<FieldWire>,
    pub buttons: Vec<ButtonWire>,
    pub footer: Option<&'static str>,
}

#[derive(Serialize)]
pub struct FieldWire {
    pub name: String,
    pub value: String,
    pub inline: bool,
}

/// A button. `press` is sent back when it is pressed; without it, the button is disabled.
#[derive(Serialize)]
pub struct ButtonWire {
    pub label: String,
    pub style: &'static str,
    pub press: Option<String>,
}

impl From<&Button> for ButtonWire {
    fn from(button: &Button) -> Self {
        Self { label: button.label.clone(), style: button.style.name(), press: button.action.press() }
    }
}

impl From<&Embed> for EmbedWire {
    fn from(embed: &Embed) -> Self {
        let field = |field: &Field| FieldWire {
            name: field.name.clone(),
            value: field.value.clone(),
            inline: field.stands == Stands::Beside,
        };
        Self {
            title: embed.title.clone(),
            description: embed.description.clone(),
            color: embed.colour.name(),
            fields: embed.fields.iter().map(field).collect(),
            buttons: embed.buttons.iter().map(ButtonWire::from).collect(),
            footer: embed.footer.word(),
        }
    }
}
