//! Actions of the buttons and menus on cards. The card is rendered again after each action.

use domain::assistant::{Answer, ScheduleCommand};
use domain::cost::CostSource;
use domain::schedule::{ItemId, PauseState};

use super::card::{CUSTOM_ID_PREFIX, Card};
use super::queries::{execute_plan, refusal_text, run_command};
use super::remind::WHEN_FIELD;
use super::reply::fit_message;
use crate::discord::dm::Shared;
use crate::discord::dm::interactions::{acknowledge, refuse, send_ephemeral};
use crate::discord::events::Interaction;
use crate::discord::message::{Button, Callback, Form, FormField, OutgoingMessage, Row, Style, TextSize};

/// A pressed component of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CardPress {
    verb: Verb,
    card: Card,
}

/// Action of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verb {
    /// Marks a reminder as done.
    Done(ItemId),
    /// Moves a reminder to another time.
    Move(ItemId),
    /// Runs the routine of the card now.
    RunNow,
    /// Pauses the routine of the card.
    PauseRoutine,
    /// Resumes the routine of the card.
    ResumeRoutine,
    /// Resumes all routines.
    ResumeAll,
    /// Undoes the last change of the schedule.
    Undo,
    /// Clears the conversation.
    Clear,
    /// Declines to clear the conversation.
    DeclineClear,
    /// Undoes the last change of the conversation.
    UndoConversation,
}

impl CardPress {
    /// Parses a custom id; `chosen` is the selected value of a menu.
    pub(super) fn parse(custom_id: &str, chosen: Option<&str>) -> Option<Self> {
        let (verb, card) = custom_id.strip_prefix(CUSTOM_ID_PREFIX)?.split_once(':')?;
        let (verb, id) = match verb.split_once('.') {
            Some((verb, id)) => (verb, Some(id)),
            None => (verb, chosen),
        };
        let id = id.and_then(|id| ItemId::parse(id).ok());
        let verb = match (verb, id) {
            ("done", Some(id)) => Verb::Done(id),
            ("move", Some(id)) => Verb::Move(id),
            ("run", _) => Verb::RunNow,
            ("rest", _) => Verb::PauseRoutine,
            ("wake", _) => Verb::ResumeRoutine,
            ("resume", _) => Verb::ResumeAll,
            ("undo", _) => Verb::Undo,
            ("clear", _) => Verb::Clear,
            ("keep", _) => Verb::DeclineClear,
            ("back", _) => Verb::UndoConversation,
            _ => return None,
        };
        Some(Self { verb, card: Card::parse(card)? })
    }

    /// Returns the routine of the card.
    fn routine(&self) -> Result<CostSource, String> {
        match &self.card {
            Card::Routine(id) => Ok(CostSource::Routine(id.to_string())),
            Card::TextOnly | Card::Now | Card::Day(_) | Card::Reminders | Card::Routines => {
                Err("there is no routine on that card.".to_owned())
            }
        }
    }
}

/// Handles a pressed button or menu.
pub(super) async fn on_press(shared: &Shared, interaction: &Interaction, pressed: &CardPress) {
    if let Verb::Move(id) = &pressed.verb {
        let form = when_form(pressed.card.custom_id(&format!("move.{id}")));
        let _ = acknowledge(shared, interaction, &Callback::Form(form)).await;
        return;
    }
    carry_out(shared, interaction, pressed, None).await;
}

/// Handles the form opened by a card.
pub(super) async fn on_form(shared: &Shared, interaction: &Interaction, pressed: &CardPress, when: &str) {
    carry_out(shared, interaction, pressed, Some(when)).await;
}

async fn carry_out(shared: &Shared, interaction: &Interaction, pressed: &CardPress, when: Option<&str>) {
    // Acknowledged first: Discord rejects a second acknowledgement, so a repeated press has no
    // effect.
    if acknowledge(shared, interaction, &Callback::Acknowledge).await.is_err() {
        return;
    }
    let result = match run_action(shared, pressed, when).await {
        Ok(result) => result,
        Err(why) => return send_ephemeral(shared, interaction, &why).await,
    };
    let mut card = match pressed.card.render(shared).await {
        Ok(card) => card,
        Err(why) => return send_ephemeral(shared, interaction, &why).await,
    };
    card.content = fit_message(format!("{result}\n{}", card.content).trim_end());
    card.rows.extend(undo_row(pressed));
    let application = shared.identity.application;
    if let Err(trouble) = shared.rest.edit_original(application, &interaction.token, &card).await {
        tracing::info!(%trouble, "A card could not be shown anew.");
        send_ephemeral(shared, interaction, &result).await;
    }
}

/// Executes the action and returns its result text.
async fn run_action(shared: &Shared, pressed: &CardPress, when: Option<&str>) -> Result<String, String> {
    let planning = match &pressed.verb {
        Verb::Done(id) => ScheduleCommand::PlanText(format!("done {id}")),
        Verb::Move(id) => {
            ScheduleCommand::PlanText(format!("move {id} to {}", when.unwrap_or_default().trim()))
        }
        Verb::RunNow => ScheduleCommand::FireNow(pressed.routine()?),
        Verb::PauseRoutine => ScheduleCommand::Pause(pressed.routine()?, PauseState::Indefinite),
        Verb::ResumeRoutine => ScheduleCommand::Pause(pressed.routine()?, PauseState::Active),
        Verb::ResumeAll => ScheduleCommand::PlanText("resume".to_owned()),
        Verb::Undo => ScheduleCommand::PlanText("undo".to_owned()),
        Verb::DeclineClear => return Ok("kept: we go on where we were.".to_owned()),
        Verb::Clear => return answer_text(run_command(shared, "/clear").await),
        Verb::UndoConversation => return answer_text(run_command(shared, "/undo").await),
    };
    execute_plan(shared, planning).await
}

fn answer_text(answer: Answer) -> Result<String, String> {
    let Answer::Text(text) = answer else { return Err(refusal_text(answer)) };
    Ok(text)
}

/// Returns the button that undoes the action, if there is one.
fn undo_row(pressed: &CardPress) -> Option<Row> {
    let verb = match pressed.verb {
        Verb::Done(_) | Verb::Move(_) | Verb::PauseRoutine | Verb::ResumeRoutine => "undo",
        Verb::Clear => "back",
        Verb::RunNow | Verb::ResumeAll | Verb::Undo | Verb::DeclineClear | Verb::UndoConversation => {
            return None;
        }
    };
    Some(Row::Buttons(vec![pressed.card.button("Undo", Style::Secondary, verb)]))
}

/// SL-4: returns the confirmation shown before the conversation is cleared.
pub(super) fn clear_confirmation() -> OutgoingMessage {
    let mut question = OutgoingMessage::text(
        "start our conversation over? what was said stays in the tree, and `/undo` brings it back for 30 days.",
    );
    question.rows = vec![Row::Buttons(vec![
        Card::TextOnly.button("Clear", Style::Danger, "clear"),
        Card::TextOnly.button("Keep", Style::Secondary, "keep"),
    ])];
    question
}

/// Returns the button that ends a pause.
pub(super) fn resume_button() -> Button {
    Card::TextOnly.button("Go on", Style::Secondary, "resume")
}

fn when_form(custom_id: String) -> Form {
    let field = FormField::Text {
        custom_id: WHEN_FIELD.to_owned(),
        size: TextSize::One,
        value: String::new(),
        placeholder: "tomorrow 9 · in 2 hours · friday 14:30".to_owned(),
        optional: false,
    };
    Form { custom_id, title: "Move to".to_owned(), fields: vec![("When?".to_owned(), field)] }
}

/// XB-7: refuses a component that is not known.
pub(super) async fn refuse_unknown(shared: &Shared, interaction: &Interaction) {
    refuse(shared, interaction, "unknown action: that is no button of mine.").await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn custom_ids_are_parsed_back() {
        let id = ItemId::parse("mail.v2").unwrap();
        for card in [
            Card::TextOnly,
            Card::Now,
            Card::Day("2026-11-16".parse().unwrap()),
            Card::Reminders,
            Card::Routines,
            Card::Routine(id.clone()),
        ] {
            let name = card.custom_id(&format!("done.{id}"));
            let read = CardPress::parse(&name, None).unwrap();
            assert_eq!(read, CardPress { verb: Verb::Done(id.clone()), card: card.clone() }, "{name}");
            let chosen = CardPress::parse(&card.custom_id("move"), Some("abc")).unwrap();
            assert_eq!(chosen.verb, Verb::Move(ItemId::parse("abc").unwrap()));
        }
        for wrong in ["", "cmd:", "cmd:done:now", "cmd:fly:now", "cmd:undo:moon", "cmd:undo", "act:dismiss:_"]
        {
            assert_eq!(CardPress::parse(wrong, None), None, "{wrong}");
        }
    }

    /// XB-4: the longest custom id is within Discord's limit.
    #[test]
    fn the_longest_custom_id_fits() {
        let id = ItemId::parse(&"x".repeat(64)).unwrap();
        let day = Card::Day("2026-11-16".parse().unwrap());
        for name in [day.custom_id(&format!("move.{id}")), Card::Routine(id).custom_id("wake")] {
            assert!(name.len() <= 100, "{name}");
        }
    }
}
