//! The `/remind` command, and the form for reminders about any message.

use domain::assistant::{Answer, InboxCommand, Request, ScheduleCommand};
use domain::intent::{self, Intent};
use domain::phrase::{self, Habits};
use jiff::Zoned;

use super::card::{CUSTOM_ID_PREFIX, Card};
use super::markup::{escape, truncate};
use super::queries::{ask_as_user, execute_plan, habits, refusal_text};
use super::reply::{Reply, fit_message};
use crate::discord::dm::Shared;
use crate::discord::events::Message;
use crate::discord::message::{Form, FormField, OutgoingMessage, Row, Style, TextSize};

/// Maximum number of characters taken from a message.
const MAX_TEXT: usize = 300;
/// Custom ids of the form's fields.
pub(super) const TEXT_FIELD: &str = "text";
pub(super) const WHEN_FIELD: &str = "when";
/// Name of the form.
pub(super) const FORM_ID: &str = "about";

/// Plans `text`. Without a time it is put in the inbox, so that nothing is lost.
pub(super) async fn remind(shared: &Shared, text: &str) -> Reply {
    let now = shared.ports.clock.now();
    let habits = habits(shared).await;
    let words = plannable(text, &now, &habits);
    let reading = phrase::parse(&words, &now, &habits);
    if reading.when.is_none() && !reading.notes.iter().any(phrase::ParseNote::is_error) {
        return keep_in_inbox(shared, text).await;
    }
    plan_reply(shared, ScheduleCommand::PlanText(words)).await
}

/// Plans a reminder from the submitted form.
pub(super) async fn remind_about(shared: &Shared, text: &str, when: &str) -> Reply {
    plan_reply(shared, ScheduleCommand::Remind(text.trim().to_owned(), when.to_owned())).await
}

async fn plan_reply(shared: &Shared, planning: ScheduleCommand) -> Reply {
    match execute_plan(shared, planning).await {
        Ok(told) => {
            let mut outgoing = OutgoingMessage::text(fit_message(&told));
            outgoing.rows = vec![Row::Buttons(vec![Card::TextOnly.button("Undo", Style::Secondary, "undo")])];
            Reply::Visible(outgoing)
        }
        Err(why) => Reply::ephemeral(&why),
    }
}

/// Returns a text that is certainly read as something to plan.
fn plannable(text: &str, now: &Zoned, habits: &Habits) -> String {
    let meant = intent::parse(text, now, habits);
    if matches!(&meant, Intent::Plan(reading) if reading.when.is_some()) {
        text.to_owned()
    } else {
        format!("remind me to {text}")
    }
}

async fn keep_in_inbox(shared: &Shared, text: &str) -> Reply {
    let answer = ask_as_user(shared, Request::Inbox(InboxCommand::Keep(text.to_owned()))).await;
    if !matches!(answer, Answer::Text(_) | Answer::Done) {
        return Reply::ephemeral(&refusal_text(answer));
    }
    let shown = escape(&truncate(text, MAX_TEXT));
    Reply::visible(&format!(
        "there is no time in that, so it is in the inbox: {shown}\n-# say when, like `tomorrow at 10`."
    ))
}

/// Returns the form for a reminder about a message.
pub(super) fn reminder_form(about: &Message) -> Form {
    let words = match (about.content.trim(), about.embed.trim()) {
        ("", "") => "look at that message",
        ("", embed) => embed,
        (words, _) => words,
    };
    let text = FormField::Text {
        custom_id: TEXT_FIELD.to_owned(),
        size: TextSize::Many,
        value: truncate(words, MAX_TEXT),
        placeholder: String::new(),
        optional: false,
    };
    let when = FormField::Text {
        custom_id: WHEN_FIELD.to_owned(),
        size: TextSize::One,
        value: String::new(),
        placeholder: "tomorrow 9 · in 2 hours · friday 14:30".to_owned(),
        optional: false,
    };
    let fields = vec![("Remind me of".to_owned(), text), ("When?".to_owned(), when)];
    Form {
        custom_id: format!("{CUSTOM_ID_PREFIX}{FORM_ID}"),
        title: "Remind me about this".to_owned(),
        fields,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Zoned {
        "2026-11-16T10:00[Europe/Madrid]".parse().unwrap()
    }

    #[test]
    fn text_with_a_time_is_planned_unchanged() {
        assert_eq!(plannable("timer 4 min tea", &now(), &Habits::default()), "timer 4 min tea");
        assert_eq!(plannable("call mum tomorrow at 5", &now(), &Habits::default()), "call mum tomorrow at 5");
        assert_eq!(
            plannable("is mum home at 5?", &now(), &Habits::default()),
            "remind me to is mum home at 5?"
        );
    }
}
