//! JSON format of an outbox message's body.

use domain::embed::{Action, Button, Embed, Style};
use domain::post::{Menu, PostKey, Sheet};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::embed_body::EmbedBody;

#[derive(Serialize, Deserialize)]
pub struct SheetBody {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    words: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    embed: Option<EmbedBody>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    buttons: Vec<ButtonBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    menu: Option<MenuBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<i64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    foot: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
}

/// A button with the value that it sends when pressed.
#[derive(Serialize, Deserialize)]
struct ButtonBody {
    label: String,
    style: String,
    press: String,
}

#[derive(Serialize, Deserialize)]
struct MenuBody {
    label: String,
    press: String,
    options: Vec<String>,
}

impl From<&Sheet> for SheetBody {
    fn from(sheet: &Sheet) -> Self {
        let button = |button: &Button| ButtonBody {
            label: button.label.clone(),
            style: button.style.name().to_owned(),
            press: button.action.press().unwrap_or_default(),
        };
        let menu = sheet.menu.as_ref().map(|menu| MenuBody {
            label: menu.label.clone(),
            press: menu.press.clone(),
            options: menu.options.clone(),
        });
        // The buttons of an embed are stored with all others, by the value that they send.
        let embed = sheet.embed.as_ref().map(|embed| Embed { buttons: Vec::new(), ..embed.clone() });
        let buttons = sheet.buttons.iter().chain(sheet.embed.iter().flat_map(|embed| &embed.buttons));
        Self {
            words: sheet.words.clone(),
            embed: embed.as_ref().map(EmbedBody::from),
            buttons: buttons.map(button).collect(),
            menu,
            when: sheet.when.map(Timestamp::as_microsecond),
            foot: sheet.foot.clone(),
            to: sheet.to.as_ref().map(|key| key.0.clone()),
        }
    }
}

impl From<SheetBody> for Sheet {
    fn from(body: SheetBody) -> Self {
        let button = |button: ButtonBody| {
            let action = Action::pressed(&button.press)?;
            Some(Button { label: button.label, style: Style::read(&button.style), action })
        };
        Self {
            words: body.words,
            embed: body.embed.map(Into::into),
            buttons: body.buttons.into_iter().filter_map(button).collect(),
            menu: body.menu.map(|MenuBody { label, press, options }| Menu { label, press, options }),
            when: body.when.and_then(|when| Timestamp::from_microsecond(when).ok()),
            foot: body.foot,
            to: body.to.map(PostKey),
        }
    }
}
