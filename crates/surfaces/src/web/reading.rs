//! Preview of how a text is read, before anything is done.

use axum::Json;
use axum::extract::{Request, State};
use domain::intent::{ChangeRequest, Intent, ItemRef, PauseEnd, parse as meant};
use domain::phrase::{Habits, MAX_TEXT_LEN, ParseNote, ParsedPhrase, Timing, describe};
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

use super::App;
use super::api::{MAX_BODY_BYTES, read_body};
use super::api_error::ApiError;
use super::attention::habits;

/// Number of next times shown.
const SHOWN_TIMES: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadingRequest {
    text: String,
}

pub(super) async fn show(State(app): State<App>, request: Request) -> Result<Json<ReadingDto>, ApiError> {
    let ReadingRequest { text } = read_body(&app, request, MAX_BODY_BYTES).await?;
    let habits = habits(&app).await?;
    Ok(Json(ReadingDto::new(&text, &app.ports().clock.now(), &habits)))
}

/// The interpretation of a text.
#[derive(Debug, Serialize)]
pub(super) struct ReadingDto {
    /// Kind of effect: `plan`, `change`, `list`, `keep` or `wrong`.
    does: &'static str,
    /// Description of the effect in one line.
    words: String,
    /// The alternative time.
    other: Option<String>,
    /// Notes about how it was read.
    notes: Vec<String>,
}

impl ReadingDto {
    fn new(text: &str, now: &Zoned, habits: &Habits) -> Self {
        if text.len() > MAX_TEXT_LEN {
            return Self::plain(
                "keep",
                "this is long, so no time is looked for in it: enter keeps it in the inbox",
            );
        }
        match meant(text, now, habits) {
            Intent::Plan(reading) => Self::planned(&reading, now),
            Intent::Unclear(notes) if notes.iter().any(ParseNote::is_error) => Self::wrong(&notes),
            Intent::List(_) => Self::plain("list", "enter tells what is planned"),
            Intent::Change(ChangeRequest::Done(which)) => Self::change("is done", &which),
            Intent::Change(ChangeRequest::Move { item: what, to: Ok(_) }) => Self::change("moves", &what),
            Intent::Change(
                ChangeRequest::Move { to: Err(note), .. } | ChangeRequest::Pause(PauseEnd::Invalid(note)),
            ) => Self::plain("wrong", &note.to_string()),
            Intent::Change(ChangeRequest::Cancel(which)) => Self::change("is cancelled", &which),
            Intent::Change(ChangeRequest::Undo) => Self::plain("change", "enter takes the last change back"),
            Intent::Change(ChangeRequest::Pause(_)) => Self::plain("change", "enter lets all routines rest"),
            Intent::Change(ChangeRequest::Resume) => Self::plain("change", "enter lets all routines go on"),
            Intent::Keep(what) => Self::plain("keep", &format!("enter keeps it in the inbox: {what}")),
            Intent::Change(ChangeRequest::ClearInbox) => Self::plain("change", "enter clears the inbox"),
            Intent::Change(ChangeRequest::SetUserName(name)) => {
                Self::plain("change", &format!("from enter on i call you {name}"))
            }
            Intent::Change(ChangeRequest::LeaveUntimed) => {
                Self::plain("change", "enter leaves it in the inbox")
            }
            Intent::Quiet(_) => Self::plain("change", "enter lets less reach you"),
            Intent::SmallTalk(_) | Intent::Status | Intent::Untimed | Intent::Unclear(_) => {
                Self::plain("keep", "no time in that: enter keeps it in the inbox")
            }
        }
    }

    fn planned(reading: &ParsedPhrase, now: &Zoned) -> Self {
        let Some(when) = &reading.when else {
            return if reading.notes.is_empty() {
                Self::plain("keep", "no time in that: enter keeps it in the inbox")
            } else {
                Self::wrong(&reading.notes)
            };
        };
        let told = |when: &Timing| describe(when, now, &next_times(when, now));
        let what = Some(reading.text.as_str()).filter(|what| !what.is_empty()).unwrap_or("time is up");
        Self {
            does: "plan",
            words: format!("{} · {what}", told(when)),
            other: reading.alternative.as_ref().map(told),
            notes: reading.notes.iter().map(ToString::to_string).collect(),
        }
    }

    fn change(how: &str, which: &ItemRef) -> Self {
        let what = match which {
            ItemRef::Current | ItemRef::LastRung => "the last one".to_owned(),
            ItemRef::Named(words) => words.clone(),
            ItemRef::InboxItem(id) => format!("what was kept as {}", id.0),
        };
        Self::plain("change", &format!("{what} {how}"))
    }

    fn wrong(notes: &[ParseNote]) -> Self {
        let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
        Self::plain("wrong", &notes.join("; "))
    }

    fn plain(does: &'static str, words: &str) -> Self {
        Self { does, words: words.to_owned(), other: None, notes: Vec::new() }
    }
}

/// Returns the next times of a repetition.
fn next_times(when: &Timing, now: &Zoned) -> Vec<Timestamp> {
    let Timing::Recurring(repeat) = when else { return Vec::new() };
    let Ok(rhythm) = repeat.recurrence() else { return Vec::new() };
    let next = |at: &Timestamp| rhythm.next(*at, now.time_zone());
    std::iter::successors(next(&now.timestamp()), next).take(SHOWN_TIMES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(text: &str) -> ReadingDto {
        ReadingDto::new(text, &"2026-11-15T14:33[Europe/Berlin]".parse().unwrap(), &Habits::default())
    }

    #[test]
    fn text_is_previewed_with_absolute_and_relative_time() {
        let call = reading("call tom fri 10");
        assert_eq!((call.does, call.words.as_str()), ("plan", "fri 20 nov 10:00 · in 5 days · call tom"));
        let bins = reading("every tuesday 19:00 take out bins");
        assert!(bins.words.contains("17 nov") && bins.words.ends_with("take out bins"), "{bins:?}");
        for (text, does) in [
            ("locker 214", "keep"),
            ("remember: locker 214", "keep"),
            ("done dentist", "change"),
            ("undo", "change"),
            ("week", "list"),
            ("call tom on 31 feb at 10", "wrong"),
            ("", "keep"),
        ] {
            assert_eq!(reading(text).does, does, "{text}");
        }
        assert_eq!(reading(&"x".repeat(100_000)).does, "keep");
    }

    #[test]
    fn an_ambiguous_time_has_an_alternative_or_a_note() {
        let both = [reading("dentist at 3"), reading("call mum sunday at 10")];
        assert!(both.iter().any(|reading| reading.other.is_some() || !reading.notes.is_empty()), "{both:?}");
    }
}
