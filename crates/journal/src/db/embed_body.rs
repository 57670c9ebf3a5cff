//! JSON format of an embed inside the result of the tool that showed it.
//!
//! Colours and actions are spelled as the model writes them, so that an older version can read
//! values that a newer one added.

use domain::embed::{Button, ButtonAction, ButtonStyle, Colour, Embed, Field, FieldLayout, Footer};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct EmbedBody {
    title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
    color: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fields: Vec<FieldBody>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    buttons: Vec<ButtonBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    footer: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct FieldBody {
    name: String,
    value: String,
    inline: bool,
}

#[derive(Serialize, Deserialize)]
struct ButtonBody {
    label: String,
    style: String,
    action: String,
}

impl From<&Embed> for EmbedBody {
    fn from(embed: &Embed) -> Self {
        let field = |field: &Field| FieldBody {
            name: field.name.clone(),
            value: field.value.clone(),
            inline: field.layout == FieldLayout::Inline,
        };
        let button = |button: &Button| ButtonBody {
            label: button.label.clone(),
            style: button.style.name().to_owned(),
            action: button.action.to_text(),
        };
        Self {
            title: embed.title.clone(),
            description: embed.description.clone(),
            color: embed.colour.name().to_owned(),
            fields: embed.fields.iter().map(field).collect(),
            buttons: embed.buttons.iter().map(button).collect(),
            footer: embed.footer.text().map(str::to_owned),
        }
    }
}

impl From<EmbedBody> for Embed {
    fn from(body: EmbedBody) -> Self {
        let field = |FieldBody { name, value, inline }| {
            let stands = if inline { FieldLayout::Inline } else { FieldLayout::FullLine };
            Field { name, value, layout: stands }
        };
        let button = |body: ButtonBody| Button {
            label: body.label,
            style: ButtonStyle::from_name(&body.style),
            action: ButtonAction::from_stored(&body.action),
        };
        Self {
            title: body.title,
            description: body.description,
            colour: Colour::from_name(&body.color),
            fields: body.fields.into_iter().map(field).collect(),
            buttons: body.buttons.into_iter().map(button).collect(),
            footer: Footer::from_text(&body.footer.unwrap_or_default()),
        }
    }
}
