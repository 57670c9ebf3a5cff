//! Slash commands in Discord. A command that exists on other surfaces behaves as it does there;
//! only the interactive cards are specific to Discord.

mod autocomplete;
mod card;
mod card_actions;
mod gauge;
mod handlers;
mod markup;
mod picture;
mod queries;
mod registration;
mod remind;
mod reply;
mod routine;
mod schedule;
mod table;

pub(super) use queries::{habits, run_command as obey};
pub(super) use registration::register;

use std::collections::BTreeMap;

use self::card_actions::CardPress;
use self::reply::{Reply, respond};
use self::table::{CONNECT_ACCOUNT, CommandSpec, REMIND_ABOUT, ReplyMode, SERVICE_OPTION};
use super::dm::interactions::{acknowledge, refuse};
use super::dm::{Shared, google_connection};
use super::events::{Interaction, InteractionKind};
use super::message::Callback;

/// Returns true if `custom_id` belongs to a component of a command's card.
pub(super) fn is_command_component(custom_id: &str) -> bool {
    custom_id.starts_with(card::CUSTOM_ID_PREFIX)
}

/// Answers a command, an autocompletion, a pressed component or a submitted form.
pub(super) async fn answer(shared: &Shared, interaction: &Interaction) {
    match &interaction.kind {
        InteractionKind::Command { name, target: Some(message), .. } if name == REMIND_ABOUT => {
            let form = Callback::Form(remind::reminder_form(message));
            let _ = acknowledge(shared, interaction, &form).await;
        }
        InteractionKind::Command { name, options: given, .. } if name == CONNECT_ACCOUNT => {
            let service =
                given.iter().find(|given| given.name == SERVICE_OPTION).map(|given| given.value.as_str());
            connect(shared, interaction, service).await;
        }
        InteractionKind::Command { name, options: given, .. } => match CommandSpec::find(name) {
            Some(command) => {
                let manner = command.reply_mode(given.len());
                respond(shared, interaction, manner, handlers::run(shared, command, given)).await;
            }
            None => refuse(shared, interaction, "that command is older than i am. try it again later.").await,
        },
        InteractionKind::Autocomplete { name, options: given, focused } => {
            let offers = autocomplete::completions(shared, name, given, focused).await;
            let _ = acknowledge(shared, interaction, &Callback::Choices(offers)).await;
        }
        InteractionKind::Component { custom_id, values, .. } => {
            match CardPress::parse(custom_id, values.first().map(String::as_str)) {
                Some(pressed) => card_actions::on_press(shared, interaction, &pressed).await,
                None => card_actions::refuse_unknown(shared, interaction).await,
            }
        }
        InteractionKind::Form { custom_id, fields, .. } => {
            on_form(shared, interaction, custom_id, fields).await
        }
        InteractionKind::Unknown => {}
    }
}

/// GO-8, GO-9: the address is shown to the user only; the result is sent when the attempt ends.
async fn connect(shared: &Shared, interaction: &Interaction, service: Option<&str>) {
    let mut ends = None;
    let begins = async {
        let (text, ended) = google_connection::start(shared, service).await;
        ends = ended;
        Reply::ephemeral(&text)
    };
    respond(shared, interaction, ReplyMode::DeferredEphemeral, begins).await;
    if let Some(ended) = ends {
        google_connection::announce_outcome(shared, ended).await;
    }
}

/// Handles a submitted form about a message or an item on a card.
async fn on_form(
    shared: &Shared,
    interaction: &Interaction,
    custom_id: &str,
    fields: &BTreeMap<String, Vec<String>>,
) {
    let field = |name: &str| fields.get(name).and_then(|values| values.first()).map_or("", String::as_str);
    if let Some(pressed) = CardPress::parse(custom_id, None) {
        return card_actions::on_form(shared, interaction, &pressed, field(remind::WHEN_FIELD)).await;
    }
    if custom_id.strip_prefix(card::CUSTOM_ID_PREFIX) != Some(remind::FORM_ID) {
        return card_actions::refuse_unknown(shared, interaction).await;
    }
    let work = remind::remind_about(shared, field(remind::TEXT_FIELD), field(remind::WHEN_FIELD));
    respond(shared, interaction, ReplyMode::DeferredVisible, work).await;
}
