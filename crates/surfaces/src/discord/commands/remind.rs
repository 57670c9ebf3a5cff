//! The `/remind` command, and the form for reminders about any message.

use domain::assistant::{Answer, Planning, Request, Shelf};
use domain::brain::{self, Meant};
use domain::phrase::{self, Habits};
use jiff::Zoned;

use super::asking::{ask, habits, plan, refusal};
use super::card::{Card, PRESS};
use super::reply::{Reply, fit};
use super::written::{cut, plain};
use crate::discord::dm::Shared;
use crate::discord::events::Message;
use crate::discord::message::{Form, FormField, Lines, Outgoing, Row, Style};

/// Maximum number of characters taken from a message.
const LONGEST: usize = 300;
/// Custom ids of the form's fields.
pub(super) const TEXT: &str = "text";
pub(super) const WHEN: &str = "when";
/// Name of the form.
pub(super) const FORM: &str = "about";

/// Plans `text`. Without a time it is put in the inbox, so that nothing is lost.
pub(super) async fn remind(shared: &Shared, text: &str) -> Reply {
    let now = shared.ports.clock.now();
    let habits = habits(shared).await;
    let words = asked(text, &now, &habits);
    let reading = phrase::read(&words, &now, &habits);
    if reading.when.is_none() && !reading.notes.iter().any(phrase::Note::is_trouble) {
        return keep(shared, text).await;
    }
    planned(shared, Planning::Words(words)).await
}

/// Plans a reminder from the submitted form.
pub(super) async fn about(shared: &Shared, text: &str, when: &str) -> Reply {
    planned(shared, Planning::Remind(text.trim().to_owned(), when.to_owned())).await
}

async fn planned(shared: &Shared, planning: Planning) -> Reply {
    match plan(shared, planning).await {
        Ok(told) => {
            let mut outgoing = Outgoing::words(fit(&told));
            outgoing.rows = vec![Row::Buttons(vec![Card::Words.button("Undo", Style::Secondary, "undo")])];
            Reply::Stays(outgoing)
        }
        Err(why) => Reply::glance(&why),
    }
}

/// Returns a text that is certainly read as something to plan.
fn asked(text: &str, now: &Zoned, habits: &Habits) -> String {
    let meant = brain::read(text, now, habits);
    if matches!(&meant, Meant::Plan(reading) if reading.when.is_some()) {
        text.to_owned()
    } else {
        format!("remind me to {text}")
    }
}

async fn keep(shared: &Shared, text: &str) -> Reply {
    let answer = ask(shared, Request::Inbox(Shelf::Keep(text.to_owned()))).await;
    if !matches!(answer, Answer::Told(_) | Answer::Noted) {
        return Reply::glance(&refusal(answer));
    }
    let shown = plain(&cut(text, LONGEST));
    Reply::stays(&format!(
        "there is no time in that, so it is in the inbox: {shown}\n-# say when, like `tomorrow at 10`."
    ))
}

/// Returns the form for a reminder about a message.
pub(super) fn form(about: &Message) -> Form {
    let words = match (about.content.trim(), about.embed.trim()) {
        ("", "") => "look at that message",
        ("", embed) => embed,
        (words, _) => words,
    };
    let text = FormField::Text {
        custom_id: TEXT.to_owned(),
        lines: Lines::Many,
        value: cut(words, LONGEST),
        placeholder: String::new(),
        optional: false,
    };
    let when = FormField::Text {
        custom_id: WHEN.to_owned(),
        lines: Lines::One,
        value: String::new(),
        placeholder: "tomorrow 9 · in 2 hours · friday 14:30".to_owned(),
        optional: false,
    };
    let fields = vec![("Remind me of".to_owned(), text), ("When?".to_owned(), when)];
    Form { custom_id: format!("{PRESS}{FORM}"), title: "Remind me about this".to_owned(), fields }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Zoned {
        "2026-11-16T10:00[Europe/Madrid]".parse().unwrap()
    }

    #[test]
    fn words_with_a_time_are_planned_as_they_are() {
        assert_eq!(asked("timer 4 min tea", &now(), &Habits::default()), "timer 4 min tea");
        assert_eq!(asked("call mum tomorrow at 5", &now(), &Habits::default()), "call mum tomorrow at 5");
        assert_eq!(asked("is mum home at 5?", &now(), &Habits::default()), "remind me to is mum home at 5?");
    }
}
