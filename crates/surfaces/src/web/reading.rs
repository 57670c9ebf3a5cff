//! Preview of how a text is read, before anything is done.

use axum::Json;
use axum::extract::{Request, State};
use domain::brain::{Change, Meant, Until, Which, read as meant};
use domain::phrase::{Habits, LONGEST, Note, Reading, When, tell};
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

use super::App;
use super::api::{BODY_BYTES, read};
use super::attention::habits;
use super::refusal::Refusal;

/// Number of next times shown.
const NEXT: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Typed {
    text: String,
}

pub(super) async fn show(State(app): State<App>, request: Request) -> Result<Json<ReadingWire>, Refusal> {
    let Typed { text } = read(&app, request, BODY_BYTES).await?;
    let habits = habits(&app).await?;
    Ok(Json(ReadingWire::of(&text, &app.ports().clock.now(), &habits)))
}

/// How a text is read.
#[derive(Debug, Serialize)]
pub(super) struct ReadingWire {
    /// Kind of effect: `plan`, `change`, `list`, `keep` or `wrong`.
    does: &'static str,
    /// Description of the effect in one line.
    words: String,
    /// The alternative time.
    other: Option<String>,
    /// Notes about how it was read.
    notes: Vec<String>,
}

impl ReadingWire {
    fn of(text: &str, now: &Zoned, habits: &Habits) -> Self {
        if text.len() > LONGEST {
            return Self::plain(
                "keep",
                "this is long, so no time is looked for in it: enter keeps it in the inbox",
            );
        }
        match meant(text, now, habits) {
            Meant::Plan(reading) => Self::planned(&reading, now),
            Meant::Unclear(notes) if notes.iter().any(Note::is_trouble) => Self::wrong(&notes),
            Meant::List(_) => Self::plain("list", "enter tells what is planned"),
            Meant::Change(Change::Done(which)) => Self::change("is done", &which),
            Meant::Change(Change::Move { what, to: Ok(_) }) => Self::change("moves", &what),
            Meant::Change(Change::Move { to: Err(note), .. } | Change::Pause(Until::Unread(note))) => {
                Self::plain("wrong", &note.to_string())
            }
            Meant::Change(Change::Cancel(which)) => Self::change("is cancelled", &which),
            Meant::Change(Change::Undo) => Self::plain("change", "enter takes the last change back"),
            Meant::Change(Change::Pause(_)) => Self::plain("change", "enter lets all routines rest"),
            Meant::Change(Change::Resume) => Self::plain("change", "enter lets all routines go on"),
            Meant::Keep(what) => Self::plain("keep", &format!("enter keeps it in the inbox: {what}")),
            Meant::Change(Change::ClearInbox) => Self::plain("change", "enter clears the inbox"),
            Meant::Change(Change::Name(name)) => {
                Self::plain("change", &format!("from enter on i call you {name}"))
            }
            Meant::Change(Change::Leave) => Self::plain("change", "enter leaves it in the inbox"),
            Meant::Ease(_) => Self::plain("change", "enter lets less reach you"),
            Meant::Talk(_) | Meant::Status | Meant::Untimed | Meant::Unclear(_) => {
                Self::plain("keep", "no time in that: enter keeps it in the inbox")
            }
        }
    }

    fn planned(reading: &Reading, now: &Zoned) -> Self {
        let Some(when) = &reading.when else {
            return if reading.notes.is_empty() {
                Self::plain("keep", "no time in that: enter keeps it in the inbox")
            } else {
                Self::wrong(&reading.notes)
            };
        };
        let told = |when: &When| tell(when, now, &fires(when, now));
        let what = Some(reading.what.as_str()).filter(|what| !what.is_empty()).unwrap_or("time is up");
        Self {
            does: "plan",
            words: format!("{} · {what}", told(when)),
            other: reading.other.as_ref().map(told),
            notes: reading.notes.iter().map(ToString::to_string).collect(),
        }
    }

    fn change(how: &str, which: &Which) -> Self {
        let what = match which {
            Which::This | Which::Rang => "the last one".to_owned(),
            Which::Called(words) => words.clone(),
            Which::Kept(id) => format!("what was kept as {}", id.0),
        };
        Self::plain("change", &format!("{what} {how}"))
    }

    fn wrong(notes: &[Note]) -> Self {
        let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
        Self::plain("wrong", &notes.join("; "))
    }

    fn plain(does: &'static str, words: &str) -> Self {
        Self { does, words: words.to_owned(), other: None, notes: Vec::new() }
    }
}

/// Returns the next times of a repetition.
fn fires(when: &When, now: &Zoned) -> Vec<Timestamp> {
    let When::Repeats(repeat) = when else { return Vec::new() };
    let Ok(rhythm) = repeat.rhythm() else { return Vec::new() };
    let next = |at: &Timestamp| rhythm.next(*at, now.time_zone());
    std::iter::successors(next(&now.timestamp()), next).take(NEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(text: &str) -> ReadingWire {
        ReadingWire::of(text, &"2026-11-15T14:33[Europe/Berlin]".parse().unwrap(), &Habits::default())
    }

    #[test]
    fn words_are_read_with_both_forms_of_time_before_anything_is_done() {
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
    fn a_second_reading_is_told() {
        let both = [reading("dentist at 3"), reading("call mum sunday at 10")];
        assert!(both.iter().any(|reading| reading.other.is_some() || !reading.notes.is_empty()), "{both:?}");
    }
}
