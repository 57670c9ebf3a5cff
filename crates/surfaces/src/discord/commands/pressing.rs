//! Actions of the buttons and menus on cards. The card is rendered again after each action.

use domain::assistant::{Answer, Planning};
use domain::cost::Source;
use domain::schedule::{ItemId, Rest};

use super::asking::{command, plan, refusal};
use super::card::{Card, PRESS};
use super::remind::WHEN;
use super::reply::fit;
use crate::discord::dm::Shared;
use crate::discord::dm::pressing::{acknowledge, refuse, whisper};
use crate::discord::events::Interaction;
use crate::discord::message::{Button, Callback, Form, FormField, Lines, Outgoing, Row, Style};

/// A pressed component of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pressed {
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
    Run,
    /// Pauses the routine of the card.
    Rest,
    /// Resumes the routine of the card.
    Wake,
    /// Resumes all routines.
    Resume,
    /// Undoes the last change of the schedule.
    Undo,
    /// Clears the conversation.
    Clear,
    /// Declines to clear the conversation.
    Keep,
    /// Undoes the last change of the conversation.
    Back,
}

impl Pressed {
    /// Parses a custom id; `chosen` is the selected value of a menu.
    pub(super) fn read(custom_id: &str, chosen: Option<&str>) -> Option<Self> {
        let (verb, card) = custom_id.strip_prefix(PRESS)?.split_once(':')?;
        let (verb, id) = match verb.split_once('.') {
            Some((verb, id)) => (verb, Some(id)),
            None => (verb, chosen),
        };
        let id = id.and_then(|id| ItemId::parse(id).ok());
        let verb = match (verb, id) {
            ("done", Some(id)) => Verb::Done(id),
            ("move", Some(id)) => Verb::Move(id),
            ("run", _) => Verb::Run,
            ("rest", _) => Verb::Rest,
            ("wake", _) => Verb::Wake,
            ("resume", _) => Verb::Resume,
            ("undo", _) => Verb::Undo,
            ("clear", _) => Verb::Clear,
            ("keep", _) => Verb::Keep,
            ("back", _) => Verb::Back,
            _ => return None,
        };
        Some(Self { verb, card: Card::read(card)? })
    }

    /// Returns the routine of the card.
    fn routine(&self) -> Result<Source, String> {
        match &self.card {
            Card::Routine(id) => Ok(Source::Routine(id.to_string())),
            Card::Words | Card::Now | Card::Day(_) | Card::Reminders | Card::Routines => {
                Err("there is no routine on that card.".to_owned())
            }
        }
    }
}

/// Handles a pressed button or menu.
pub(super) async fn pressed(shared: &Shared, interaction: &Interaction, pressed: &Pressed) {
    if let Verb::Move(id) = &pressed.verb {
        let form = when_form(pressed.card.press(&format!("move.{id}")));
        let _ = acknowledge(shared, interaction, &Callback::Form(form)).await;
        return;
    }
    carry_out(shared, interaction, pressed, None).await;
}

/// Handles the form opened by a card.
pub(super) async fn filled(shared: &Shared, interaction: &Interaction, pressed: &Pressed, when: &str) {
    carry_out(shared, interaction, pressed, Some(when)).await;
}

async fn carry_out(shared: &Shared, interaction: &Interaction, pressed: &Pressed, when: Option<&str>) {
    // Acknowledged first: Discord rejects a second acknowledgement, so a repeated press has no
    // effect.
    if acknowledge(shared, interaction, &Callback::Heard).await.is_err() {
        return;
    }
    let told = match act(shared, pressed, when).await {
        Ok(told) => told,
        Err(why) => return whisper(shared, interaction, &why).await,
    };
    let mut card = match pressed.card.show(shared).await {
        Ok(card) => card,
        Err(why) => return whisper(shared, interaction, &why).await,
    };
    card.content = fit(format!("{told}\n{}", card.content).trim_end());
    card.rows.extend(takes_back(pressed));
    let application = shared.signed.application;
    if let Err(trouble) = shared.rest.edit_original(application, &interaction.token, &card).await {
        tracing::info!(%trouble, "A card could not be shown anew.");
        whisper(shared, interaction, &told).await;
    }
}

/// Executes the action and returns its result text.
async fn act(shared: &Shared, pressed: &Pressed, when: Option<&str>) -> Result<String, String> {
    let planning = match &pressed.verb {
        Verb::Done(id) => Planning::Words(format!("done {id}")),
        Verb::Move(id) => Planning::Words(format!("move {id} to {}", when.unwrap_or_default().trim())),
        Verb::Run => Planning::Now(pressed.routine()?),
        Verb::Rest => Planning::Rest(pressed.routine()?, Rest::ForNow),
        Verb::Wake => Planning::Rest(pressed.routine()?, Rest::Never),
        Verb::Resume => Planning::Words("resume".to_owned()),
        Verb::Undo => Planning::Words("undo".to_owned()),
        Verb::Keep => return Ok("kept: we go on where we were.".to_owned()),
        Verb::Clear => return said(command(shared, "/clear").await),
        Verb::Back => return said(command(shared, "/undo").await),
    };
    plan(shared, planning).await
}

fn said(answer: Answer) -> Result<String, String> {
    let Answer::Told(text) = answer else { return Err(refusal(answer)) };
    Ok(text)
}

/// Returns the button that undoes the action, if there is one.
fn takes_back(pressed: &Pressed) -> Option<Row> {
    let verb = match pressed.verb {
        Verb::Done(_) | Verb::Move(_) | Verb::Rest | Verb::Wake => "undo",
        Verb::Clear => "back",
        Verb::Run | Verb::Resume | Verb::Undo | Verb::Keep | Verb::Back => return None,
    };
    Some(Row::Buttons(vec![pressed.card.button("Undo", Style::Secondary, verb)]))
}

/// SL-4: returns the confirmation shown before the conversation is cleared.
pub(super) fn asks_to_clear() -> Outgoing {
    let mut question = Outgoing::words(
        "start our conversation over? what was said stays in the tree, and `/undo` brings it back for 30 days.",
    );
    question.rows = vec![Row::Buttons(vec![
        Card::Words.button("Clear", Style::Danger, "clear"),
        Card::Words.button("Keep", Style::Secondary, "keep"),
    ])];
    question
}

/// Returns the button that ends a pause.
pub(super) fn go_on() -> Button {
    Card::Words.button("Go on", Style::Secondary, "resume")
}

fn when_form(custom_id: String) -> Form {
    let field = FormField::Text {
        custom_id: WHEN.to_owned(),
        lines: Lines::One,
        value: String::new(),
        placeholder: "tomorrow 9 · in 2 hours · friday 14:30".to_owned(),
        optional: false,
    };
    Form { custom_id, title: "Move to".to_owned(), fields: vec![("When?".to_owned(), field)] }
}

/// XB-7: refuses a component that is not known.
pub(super) async fn unknown(shared: &Shared, interaction: &Interaction) {
    refuse(shared, interaction, "unknown action: that is no button of mine.").await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_card_sends_is_read_as_what_it_means() {
        let id = ItemId::parse("mail.v2").unwrap();
        for card in [
            Card::Words,
            Card::Now,
            Card::Day("2026-11-16".parse().unwrap()),
            Card::Reminders,
            Card::Routines,
            Card::Routine(id.clone()),
        ] {
            let name = card.press(&format!("done.{id}"));
            let read = Pressed::read(&name, None).unwrap();
            assert_eq!(read, Pressed { verb: Verb::Done(id.clone()), card: card.clone() }, "{name}");
            let chosen = Pressed::read(&card.press("move"), Some("abc")).unwrap();
            assert_eq!(chosen.verb, Verb::Move(ItemId::parse("abc").unwrap()));
        }
        for wrong in ["", "cmd:", "cmd:done:now", "cmd:fly:now", "cmd:undo:moon", "cmd:undo", "act:dismiss:_"]
        {
            assert_eq!(Pressed::read(wrong, None), None, "{wrong}");
        }
    }

    /// XB-4: the longest custom id is within Discord's limit.
    #[test]
    fn the_longest_name_fits() {
        let id = ItemId::parse(&"x".repeat(64)).unwrap();
        let day = Card::Day("2026-11-16".parse().unwrap());
        for name in [day.press(&format!("move.{id}")), Card::Routine(id).press("wake")] {
            assert!(name.len() <= 100, "{name}");
        }
    }
}
