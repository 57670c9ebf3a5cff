//! Answers the user's buttons, menus and forms within Discord's limit of three seconds.

use std::ops::RangeInclusive;
use std::time::Duration;

use domain::approval::ApprovalId;
use domain::assistant::{Answer, ButtonPress, Request};
use domain::card::{CardAction, PICK_TIME_OPTION};
use domain::embed::ButtonAction;
use domain::outbox::OutboxKey;
use domain::record::SurfaceName;

use super::Shared;
use super::inbound::sent_id;
use crate::discord::commands;
use crate::discord::events::{Interaction, InteractionKind, Message};
use crate::discord::message::{Callback, Flags, Form, FormField, OutgoingMessage, TextSize};
use crate::discord::rest::DiscordError;

/// Custom id of the time field.
const WHEN_FIELD: &str = "when";
/// Attempts to find the receipt of a pressed message, and the delay between them.
const RECEIPT_ATTEMPTS: usize = 50;
const RECEIPT_DELAY: Duration = Duration::from_millis(100);

/// Answers one interaction. Anyone but the user is refused.
pub(super) async fn answer(shared: &Shared, interaction: &Interaction) {
    if interaction.user != shared.identity.owner {
        return refuse(
            shared,
            interaction,
            "i am somebody else's assistant, and not authorized to help you.",
        )
        .await;
    }
    match &interaction.kind {
        InteractionKind::Component { custom_id, .. } if commands::is_command_component(custom_id) => {
            commands::answer(shared, interaction).await;
        }
        InteractionKind::Component { custom_id, values, message } => {
            on_press(shared, interaction, custom_id, values.first(), message.as_deref()).await;
        }
        InteractionKind::Form { custom_id, fields, message } if custom_id.starts_with("act:") => {
            let when = fields.get(WHEN_FIELD).and_then(|values| values.first());
            on_press(shared, interaction, custom_id, when.or(Some(&String::new())), message.as_deref()).await;
        }
        InteractionKind::Command { .. }
        | InteractionKind::Autocomplete { .. }
        | InteractionKind::Form { .. } => {
            commands::answer(shared, interaction).await;
        }
        InteractionKind::Unknown => refuse(shared, interaction, "i do not know what that is yet.").await,
    }
}

/// XB-7, XB-8: handles a button, or a choice from a menu.
async fn on_press(
    shared: &Shared,
    interaction: &Interaction,
    press: &str,
    chosen: Option<&String>,
    message: Option<&Message>,
) {
    let Some(action) = ButtonAction::from_button_id(press) else {
        return refuse(shared, interaction, "unknown action: that is no button of mine.").await;
    };
    let action = match (action, chosen) {
        // A "Move" button carries no time, so a form asks for one.
        (ButtonAction::Card(_, CardAction::Move(_)), chosen)
            if chosen.is_none_or(|chosen| chosen == PICK_TIME_OPTION) =>
        {
            let _ = acknowledge(shared, interaction, &Callback::Form(when_form(press))).await;
            return;
        }
        (ButtonAction::Card(card, CardAction::Move(_)), Some(chosen)) => {
            ButtonAction::Card(card, CardAction::Move(chosen.clone()))
        }
        (ButtonAction::Card(card, CardAction::Pick(_)), Some(chosen)) => {
            ButtonAction::Card(card, CardAction::Pick(chosen.clone()))
        }
        (action, _) => action,
    };
    // Acknowledged first, so the user sees in time that the press arrived.
    if acknowledge(shared, interaction, &Callback::Acknowledge).await.is_err() {
        return;
    }
    let on = match message {
        Some(message) => sent_id(shared, message.id).await,
        None => domain::sent_messages::SentId(0),
    };
    let answers = if let ButtonAction::AnswerApproval(ApprovalId(approval), _) = &action {
        Some(0..=*approval)
    } else if let ButtonAction::AnswerStep(ApprovalId(step), _) = &action {
        Some(*step..=*step)
    } else {
        None
    };
    if let Some(steps) = answers
        && !is_approval_message(shared, message, steps).await
    {
        return send_ephemeral(shared, interaction, "that button belongs to another message.").await;
    }
    let dismissed = action == ButtonAction::Dismiss;
    let request = Request::Press(ButtonPress { surface: SurfaceName::Discord, on, action });
    match shared.ports.assistant.ask(request).await {
        Answer::Refused(text) | Answer::Text(text) => send_ephemeral(shared, interaction, &text).await,
        Answer::MessageQueued(id) => shared.unanswered(id),
        Answer::Done
        | Answer::TurnStarted(_)
        | Answer::Rulings(_)
        | Answer::Results(_)
        | Answer::Plans(_)
        | Answer::Numbers(_)
        | Answer::Attention(_)
        | Answer::OverBudget(_)
        | Answer::Shown(_) => {}
    }
    if let Some(message) = message.filter(|_| dismissed) {
        // XB-18: a failure means that it is deleted already.
        let _ = shared.rest.delete_message(shared.channel(), message.id).await;
    }
}

/// I5: returns true if `message` shows an approval step among `steps`. A quick press may arrive
/// before the receipt is stored.
async fn is_approval_message(shared: &Shared, message: Option<&Message>, steps: RangeInclusive<u64>) -> bool {
    let Some(message) = message else { return false };
    for _ in 0..RECEIPT_ATTEMPTS {
        match shared.ports.outbox.posted_as(message.id.0).await {
            Ok(Some((OutboxKey(posted), _))) => {
                let step = posted.strip_prefix("approval:").and_then(|step| step.parse().ok());
                return step.is_some_and(|step: u64| steps.contains(&step));
            }
            Ok(None) => tokio::time::sleep(RECEIPT_DELAY).await,
            Err(_) => return false,
        }
    }
    false
}

fn when_form(press: &str) -> Form {
    let field = FormField::Text {
        custom_id: WHEN_FIELD.to_owned(),
        size: TextSize::One,
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
) -> Result<(), DiscordError> {
    let mut answered = shared.rest.answer(interaction.id, &interaction.token, callback).await;
    if let Err(DiscordError::Unavailable(_)) = answered {
        answered = shared.rest.answer(interaction.id, &interaction.token, callback).await;
    }
    match answered {
        // It may have arrived and the user waits, so work continues.
        Ok(()) | Err(DiscordError::OutcomeUnknown(_)) => Ok(()),
        Err(trouble) => {
            tracing::info!(%trouble, "An interaction could not be answered, and nothing is done about it.");
            Err(trouble)
        }
    }
}

/// Sends an ephemeral message after the first answer.
pub(in crate::discord) async fn send_ephemeral(shared: &Shared, interaction: &Interaction, text: &str) {
    let mut outgoing = OutgoingMessage::text(first_part(text));
    outgoing.flags = Flags::EPHEMERAL.union(Flags::NO_EMBEDS);
    let application = shared.identity.application;
    if let Err(trouble) = shared.rest.follow_up(application, &interaction.token, &outgoing).await {
        tracing::info!(%trouble, "A whisper was not heard.");
    }
}

/// SL-2: sends an ephemeral message as the first answer.
pub(in crate::discord) async fn refuse(shared: &Shared, interaction: &Interaction, text: &str) {
    let mut outgoing = OutgoingMessage::text(first_part(text));
    outgoing.flags = Flags::EPHEMERAL.union(Flags::NO_EMBEDS);
    let callback = match interaction.kind {
        InteractionKind::Autocomplete { .. } => Callback::Choices(Vec::new()),
        InteractionKind::Command { .. }
        | InteractionKind::Component { .. }
        | InteractionKind::Form { .. }
        | InteractionKind::Unknown => Callback::Message(outgoing),
    };
    let _ = acknowledge(shared, interaction, &callback).await;
}

/// Returns as much as fits into one message.
fn first_part(text: &str) -> String {
    crate::discord::split::split(text).into_iter().next().unwrap_or_default()
}
