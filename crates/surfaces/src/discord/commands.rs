//! Slash commands in Discord. A command that exists on other surfaces behaves as it does there;
//! only the interactive cards are specific to Discord.

mod asking;
mod card;
mod gauge;
mod picture;
mod pressing;
mod registering;
mod remind;
mod reply;
mod routine;
mod running;
mod schedule;
mod table;
mod typing;
mod written;

pub(super) use asking::{command as obey, habits};
pub(super) use registering::register;

use std::collections::BTreeMap;

use self::pressing::Pressed;
use self::reply::{Reply, give};
use self::table::{ABOUT, CONNECT, Command, Manner, SERVICE};
use super::dm::pressing::{acknowledge, refuse};
use super::dm::{Shared, connecting};
use super::events::{Asked, Interaction};
use super::message::Callback;

/// Returns true if `custom_id` belongs to a component of a command's card.
pub(super) fn is_ours(custom_id: &str) -> bool {
    custom_id.starts_with(card::PRESS)
}

/// Answers a command, an autocompletion, a pressed component or a submitted form.
pub(super) async fn answer(shared: &Shared, interaction: &Interaction) {
    match &interaction.asked {
        Asked::Command { name, target: Some(message), .. } if name == ABOUT => {
            let form = Callback::Form(remind::form(message));
            let _ = acknowledge(shared, interaction, &form).await;
        }
        Asked::Command { name, given, .. } if name == CONNECT => {
            let service = given.iter().find(|given| given.name == SERVICE).map(|given| given.value.as_str());
            connect(shared, interaction, service).await;
        }
        Asked::Command { name, given, .. } => match Command::named(name) {
            Some(command) => {
                let manner = command.manner(given.len());
                give(shared, interaction, manner, running::run(shared, command, given)).await;
            }
            None => refuse(shared, interaction, "that command is older than i am. try it again later.").await,
        },
        Asked::Typing { name, given, focused } => {
            let offers = typing::offers(shared, name, given, focused).await;
            let _ = acknowledge(shared, interaction, &Callback::Choices(offers)).await;
        }
        Asked::Pressed { custom_id, values, .. } => {
            match Pressed::read(custom_id, values.first().map(String::as_str)) {
                Some(pressed) => pressing::pressed(shared, interaction, &pressed).await,
                None => pressing::unknown(shared, interaction).await,
            }
        }
        Asked::Filled { custom_id, fields, .. } => filled(shared, interaction, custom_id, fields).await,
        Asked::Unknown => {}
    }
}

/// GO-8, GO-9: the address is shown to the user only; the result is sent when the attempt ends.
async fn connect(shared: &Shared, interaction: &Interaction, service: Option<&str>) {
    let mut ends = None;
    let begins = async {
        let (text, ended) = connecting::begin(shared, service).await;
        ends = ended;
        Reply::glance(&text)
    };
    give(shared, interaction, Manner::LookUp, begins).await;
    if let Some(ended) = ends {
        connecting::end(shared, ended).await;
    }
}

/// Handles a submitted form about a message or an item on a card.
async fn filled(
    shared: &Shared,
    interaction: &Interaction,
    custom_id: &str,
    fields: &BTreeMap<String, Vec<String>>,
) {
    let field = |name: &str| fields.get(name).and_then(|values| values.first()).map_or("", String::as_str);
    if let Some(pressed) = Pressed::read(custom_id, None) {
        return pressing::filled(shared, interaction, &pressed, field(remind::WHEN)).await;
    }
    if custom_id.strip_prefix(card::PRESS) != Some(remind::FORM) {
        return pressing::unknown(shared, interaction).await;
    }
    let work = remind::about(shared, field(remind::TEXT), field(remind::WHEN));
    give(shared, interaction, Manner::Work, work).await;
}
