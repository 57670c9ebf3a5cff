//! Embeds as JSON.

use domain::embed::{Button, Embed, Field, FieldLayout};
use serde::Serialize;

#[derive(Serialize)]
pub struct EmbedDto {
    pub title: String,
    pub description: String,
    pub color: &'static str,
    pub fields: Vec<FieldDto>,
    pub buttons: Vec<ButtonDto>,
    pub footer: Option<&'static str>,
}

#[derive(Serialize)]
pub struct FieldDto {
    pub name: String,
    pub value: String,
    pub inline: bool,
}

/// A button. `press` is sent back when it is pressed; without it, the button is disabled.
#[derive(Serialize)]
pub struct ButtonDto {
    pub label: String,
    pub style: &'static str,
    pub press: Option<String>,
}

impl From<&Button> for ButtonDto {
    fn from(button: &Button) -> Self {
        Self { label: button.label.clone(), style: button.style.name(), press: button.action.button_id() }
    }
}

impl From<&Embed> for EmbedDto {
    fn from(embed: &Embed) -> Self {
        let field = |field: &Field| FieldDto {
            name: field.name.clone(),
            value: field.value.clone(),
            inline: field.layout == FieldLayout::Inline,
        };
        Self {
            title: embed.title.clone(),
            description: embed.description.clone(),
            color: embed.colour.name(),
            fields: embed.fields.iter().map(field).collect(),
            buttons: embed.buttons.iter().map(ButtonDto::from).collect(),
            footer: embed.footer.text(),
        }
    }
}
