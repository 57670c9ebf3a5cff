//! JSON format of an outbox message's body.

use domain::embed::{Button, ButtonAction, ButtonStyle, Embed};
use domain::outbox::{Menu, MessageBody, OutboxKey};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::embed_body::EmbedBody;

#[derive(Serialize, Deserialize)]
pub struct OutboxBody {
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

impl From<&MessageBody> for OutboxBody {
    fn from(sheet: &MessageBody) -> Self {
        let button = |button: &Button| ButtonBody {
            label: button.label.clone(),
            style: button.style.name().to_owned(),
            press: button.action.button_id().unwrap_or_default(),
        };
        let menu = sheet.menu.as_ref().map(|menu| MenuBody {
            label: menu.label.clone(),
            press: menu.action_id.clone(),
            options: menu.options.clone(),
        });
        // The buttons of an embed are stored with all others, by the value that they send.
        let embed = sheet.embed.as_ref().map(|embed| Embed { buttons: Vec::new(), ..embed.clone() });
        let buttons = sheet.buttons.iter().chain(sheet.embed.iter().flat_map(|embed| &embed.buttons));
        Self {
            words: sheet.text.clone(),
            embed: embed.as_ref().map(EmbedBody::from),
            buttons: buttons.map(button).collect(),
            menu,
            when: sheet.time.map(Timestamp::as_microsecond),
            foot: sheet.footer.clone(),
            to: sheet.reply_to.as_ref().map(|key| key.0.clone()),
        }
    }
}

impl From<OutboxBody> for MessageBody {
    fn from(body: OutboxBody) -> Self {
        let button = |button: ButtonBody| {
            let action = ButtonAction::from_button_id(&button.press)?;
            Some(Button { label: button.label, style: ButtonStyle::from_name(&button.style), action })
        };
        Self {
            text: body.words,
            embed: body.embed.map(Into::into),
            buttons: body.buttons.into_iter().filter_map(button).collect(),
            menu: body.menu.map(|MenuBody { label, press, options }| Menu {
                label,
                action_id: press,
                options,
            }),
            time: body.when.and_then(|when| Timestamp::from_microsecond(when).ok()),
            footer: body.foot,
            reply_to: body.to.map(OutboxKey),
        }
    }
}
