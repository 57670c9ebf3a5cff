//! Answers the user's buttons, menus and forms within Discord's limit of three seconds.

use std::ops::RangeInclusive;
use std::time::Duration;

use domain::approval::ApprovalId;
use domain::assistant::{Answer, Press, Request};
use domain::card::{Act, PICK};
use domain::embed::Action;
use domain::post::PostKey;
use domain::record::SurfaceName;

use super::Shared;
use super::hearing::sent_id;
use crate::discord::commands;
use crate::discord::events::{Asked, Interaction, Message};
use crate::discord::message::{Callback, Flags, Form, FormField, Lines, Outgoing};
use crate::discord::rest::Trouble;

/// Custom id of the time field.
const WHEN: &str = "when";
/// Attempts to find the receipt of a pressed message, and the delay between them.
const LOOKS_FOR_RECEIPT: usize = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Answers one interaction. Anyone but the user is refused.
pub(super) async fn answer(shared: &Shared, interaction: &Interaction) {
    if interaction.user != shared.signed.owner {
        return refuse(
            shared,
            interaction,
            "i am somebody else's assistant, and not authorized to help you.",
        )
        .await;
    }
    match &interaction.asked {
        Asked::Pressed { custom_id, .. } if commands::is_ours(custom_id) => {
            commands::answer(shared, interaction).await;
        }
        Asked::Pressed { custom_id, values, message } => {
            pressed(shared, interaction, custom_id, values.first(), message.as_deref()).await;
        }
        Asked::Filled { custom_id, fields, message } if custom_id.starts_with("act:") => {
            let when = fields.get(WHEN).and_then(|values| values.first());
            pressed(shared, interaction, custom_id, when.or(Some(&String::new())), message.as_deref()).await;
        }
        Asked::Command { .. } | Asked::Typing { .. } | Asked::Filled { .. } => {
            commands::answer(shared, interaction).await;
        }
        Asked::Unknown => refuse(shared, interaction, "i do not know what that is yet.").await,
    }
}

/// XB-7, XB-8: handles a button, or a choice from a menu.
async fn pressed(
    shared: &Shared,
    interaction: &Interaction,
    press: &str,
    chosen: Option<&String>,
    message: Option<&Message>,
) {
    let Some(action) = Action::pressed(press) else {
        return refuse(shared, interaction, "unknown action: that is no button of mine.").await;
    };
    let action = match (action, chosen) {
        // A "Move" button carries no time, so a form asks for one.
        (Action::Card(_, Act::Move(_)), chosen) if chosen.is_none_or(|chosen| chosen == PICK) => {
            let _ = acknowledge(shared, interaction, &Callback::Form(when_form(press))).await;
            return;
        }
        (Action::Card(card, Act::Move(_)), Some(chosen)) => Action::Card(card, Act::Move(chosen.clone())),
        (Action::Card(card, Act::Pick(_)), Some(chosen)) => Action::Card(card, Act::Pick(chosen.clone())),
        (action, _) => action,
    };
    // Acknowledged first, so the user sees in time that the press arrived.
    if acknowledge(shared, interaction, &Callback::Heard).await.is_err() {
        return;
    }
    let on = match message {
        Some(message) => sent_id(shared, message.id).await,
        None => domain::sent::SentId(0),
    };
    let answers = if let Action::Answer(ApprovalId(approval), _) = &action {
        Some(0..=*approval)
    } else if let Action::AnswerStep(ApprovalId(step), _) = &action {
        Some(*step..=*step)
    } else {
        None
    };
    if let Some(steps) = answers
        && !is_card_of(shared, message, steps).await
    {
        return whisper(shared, interaction, "that button belongs to another message.").await;
    }
    let dismissed = action == Action::Dismiss;
    let request = Request::Press(Press { surface: SurfaceName::Discord, on, action });
    match shared.ports.desk.ask(request).await {
        Answer::Refused(text) | Answer::Told(text) => whisper(shared, interaction, &text).await,
        Answer::Heard(id) => shared.asked(id),
        Answer::Noted
        | Answer::Begun(_)
        | Answer::Decided(_)
        | Answer::Results(_)
        | Answer::Plans(_)
        | Answer::Numbers(_)
        | Answer::Attention(_)
        | Answer::Overspent(_)
        | Answer::Shown(_) => {}
    }
    if let Some(message) = message.filter(|_| dismissed) {
        // XB-18: a failure means that it is deleted already.
        let _ = shared.rest.delete_message(shared.channel(), message.id).await;
    }
}

/// I5: returns true if `message` shows an approval step among `steps`. A quick press may arrive
/// before the receipt is stored.
async fn is_card_of(shared: &Shared, message: Option<&Message>, steps: RangeInclusive<u64>) -> bool {
    let Some(message) = message else { return false };
    for _ in 0..LOOKS_FOR_RECEIPT {
        match shared.ports.outbox.posted_as(message.id.0).await {
            Ok(Some((PostKey(posted), _))) => {
                let step = posted.strip_prefix("approval:").and_then(|step| step.parse().ok());
                return step.is_some_and(|step: u64| steps.contains(&step));
            }
            Ok(None) => tokio::time::sleep(BETWEEN_LOOKS).await,
            Err(_) => return false,
        }
    }
    false
}

fn when_form(press: &str) -> Form {
    let field = FormField::Text {
        custom_id: WHEN.to_owned(),
        lines: Lines::One,
        value: String::new(),
        placeholder: "tomorrow 9 · in 2 hours · friday 14:30".to_owned(),
        optional: false,
    };
    let fields = vec![("When?".to_owned(), field)];
    Form { custom_id: press.to_owned(), title: "Move to".to_owned(), fields }
}

/// Sends the first answer. Discord rejects it if there was one before or it is too late.
pub(in crate::discord) async fn acknowledge(
    shared: &Shared,
    interaction: &Interaction,
    callback: &Callback,
) -> Result<(), Trouble> {
    let mut answered = shared.rest.answer(interaction.id, &interaction.token, callback).await;
    if let Err(Trouble::Away(_)) = answered {
        answered = shared.rest.answer(interaction.id, &interaction.token, callback).await;
    }
    match answered {
        // It may have arrived and the user waits, so work continues.
        Ok(()) | Err(Trouble::Unknown(_)) => Ok(()),
        Err(trouble) => {
            tracing::info!(%trouble, "An interaction could not be answered, and nothing is done about it.");
            Err(trouble)
        }
    }
}

/// Sends an ephemeral message after the first answer.
pub(in crate::discord) async fn whisper(shared: &Shared, interaction: &Interaction, text: &str) {
    let mut outgoing = Outgoing::words(cut(text));
    outgoing.flags = Flags::EPHEMERAL.and(Flags::NO_EMBEDS);
    let application = shared.signed.application;
    if let Err(trouble) = shared.rest.follow_up(application, &interaction.token, &outgoing).await {
        tracing::info!(%trouble, "A whisper was not heard.");
    }
}

/// SL-2: sends an ephemeral message as the first answer.
pub(in crate::discord) async fn refuse(shared: &Shared, interaction: &Interaction, text: &str) {
    let mut outgoing = Outgoing::words(cut(text));
    outgoing.flags = Flags::EPHEMERAL.and(Flags::NO_EMBEDS);
    let callback = match interaction.asked {
        Asked::Typing { .. } => Callback::Choices(Vec::new()),
        Asked::Command { .. } | Asked::Pressed { .. } | Asked::Filled { .. } | Asked::Unknown => {
            Callback::Message(outgoing)
        }
    };
    let _ = acknowledge(shared, interaction, &callback).await;
}

/// Returns as much as fits into one message.
fn cut(text: &str) -> String {
    crate::discord::split::split(text).into_iter().next().unwrap_or_default()
}
