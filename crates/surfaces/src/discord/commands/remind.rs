//! Reminding: words that are planned as they are said, also about a message that somebody else wrote.

use domain::assistant::{Answer, Planning, Request, Shelf};
use domain::brain::{self, Meant};
use domain::phrase::{self, Habits, When, tell_exact};
use jiff::Zoned;

use super::asking::{ask, plan};
use super::card::{Card, PRESS};
use super::reply::{Reply, fit};
use super::written::{cut, plain};
use crate::discord::dm::Shared;
use crate::discord::events::Message;
use crate::discord::message::{Form, FormField, Lines, Outgoing, Row, Style};

/// The longest text that is planned from a message, in characters.
const LONGEST: usize = 300;
/// The fields of the form.
pub(super) const TEXT: &str = "text";
pub(super) const WHEN: &str = "when";
/// The name of the form that asks when.
pub(super) const FORM: &str = "about";

/// Plans what `text` says; without a time it is kept, so that nothing is lost.
pub(super) async fn remind(shared: &Shared, text: &str) -> Reply {
    let now = shared.ports.clock.now();
    let words = asked(text, &now);
    let reading = phrase::read(&words, &now, &Habits::default());
    if reading.when.is_none() && !reading.notes.iter().any(phrase::Note::is_trouble) {
        return keep(shared, text).await;
    }
    match plan(shared, Planning::Words(words)).await {
        Ok(told) => {
            let mut outgoing = Outgoing::words(fit(&told));
            outgoing.rows = vec![Row::Buttons(vec![Card::Words.button("Undo", Style::Secondary, "undo")])];
            Reply::Stays(outgoing)
        }
        Err(why) => Reply::glance(&why),
    }
}

/// Words that are certainly read as something to plan.
fn asked(text: &str, now: &Zoned) -> String {
    match brain::read(text, now, &Habits::default()) {
        Meant::Plan(reading) if reading.when.is_some() => text.to_owned(),
        _ => format!("remind me to {text}"),
    }
}

async fn keep(shared: &Shared, text: &str) -> Reply {
    match ask(shared, Request::Inbox(Shelf::Keep(text.to_owned()))).await {
        Answer::Told(_) | Answer::Noted => {
            let shown = plain(&cut(text, LONGEST));
            Reply::stays(&format!(
                "there is no time in that, so it is in the inbox: {shown}\n-# say when, like `tomorrow at 10`."
            ))
        }
        other => Reply::glance(&super::asking::refusal(other)),
    }
}

/// What is asked about a message.
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

/// The sentence that says what was filled in. What the text says of a time does not count.
pub(super) fn sentence(text: &str, when: &str, now: &Zoned) -> Result<String, String> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let reading = phrase::read(when, now, &Habits::default());
    let when = match reading.when {
        Some(When::Once(at)) => {
            let told = tell_exact(&at.with_time_zone(now.time_zone().clone()));
            // The day of the week would be taken for a part of a time before it.
            told.split_once(' ').map_or(told.clone(), |(_, date)| date.to_owned())
        }
        Some(When::Repeats(_) | When::Lead { .. } | When::Cue(_)) => when.to_owned(),
        None => {
            let why = reading.notes.iter().find(|note| note.is_trouble()).map(ToString::to_string);
            let right = || format!("`{when}` is no time. say one, like `tomorrow at 10` or `in 20 min`.");
            return Err(why.unwrap_or_else(right));
        }
    };
    Ok(format!("remind me to {}, {when}", cut(&words, 2 * LONGEST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Zoned {
        "2026-11-16T10:00[Europe/Madrid]".parse().unwrap()
    }

    #[test]
    fn a_message_is_planned_for_the_time_that_was_filled_in() {
        for (text, what) in [
            ("can you look at the invoice?", "look at the invoice?"),
            ("standup every monday at 9", "standup every monday at 9"),
            ("lunch tomorrow at 1?", "lunch tomorrow at 1?"),
            ("pause for 2 hours", "pause for 2 hours"),
            ("two\nlines", "two lines"),
        ] {
            let sentence = sentence(text, "fri 14:30", &now()).unwrap();
            let reading = match brain::read(&sentence, &now(), &Habits::default()) {
                Meant::Plan(reading) => reading,
                other => panic!("{sentence}: {other:?}"),
            };
            let Some(When::Once(at)) = reading.when else { panic!("{sentence}: {:?}", reading.when) };
            assert_eq!(at.strftime("%F %H:%M").to_string(), "2026-11-20 14:30", "{sentence}");
            assert_eq!(reading.what, what, "{sentence}");
        }
    }

    #[test]
    fn what_is_no_time_is_told() {
        assert!(sentence("x", "whenever", &now()).unwrap_err().contains("`whenever` is no time"));
    }

    #[test]
    fn words_with_a_time_are_planned_as_they_are() {
        assert_eq!(asked("timer 4 min tea", &now()), "timer 4 min tea");
        assert_eq!(asked("call mum tomorrow at 5", &now()), "call mum tomorrow at 5");
        assert_eq!(asked("is mum home at 5?", &now()), "remind me to is mum home at 5?");
    }
}
