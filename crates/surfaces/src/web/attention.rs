//! Quiet hours, focus and deferred messages, as JSON for the page and the command line.

use domain::assistant::{Answer, Question, Request as Ask};
use domain::attention::{Attention, Caps, Held, Quiet};
use domain::phrase::Habits;
use jiff::civil::{Date, Time};
use jiff::{Timestamp, ToSpan, Zoned};
use serde::Serialize;

use super::App;
use super::api::unexpected;
use super::refusal::Refusal;
use super::schedule::wire::TimeWire;
use super::sessions::moment;

/// Returns the current attention state.
pub(super) async fn attention(app: &App) -> Result<Box<Attention>, Refusal> {
    let answer = app.ports().desk.ask(Ask::Tell(Question::Attention)).await;
    let Answer::Attention(attention) = answer else { return Err(unexpected(answer)) };
    Ok(attention)
}

/// Returns how the user's words for times are read.
pub(super) async fn habits(app: &App) -> Result<Habits, Refusal> {
    Ok(attention(app).await?.calm.quiet.habits())
}

/// The attention state.
#[derive(Serialize)]
pub(super) struct AttentionWire {
    /// The quiet hours, or `off`.
    quiet: String,
    /// Quiet times of today.
    spans: Vec<SpanWire>,
    /// End of the current quiet time.
    quiet_until: Option<TimeWire>,
    focus: Option<FocusWire>,
    next_digest: Option<TimeWire>,
    #[serde(flatten)]
    pushes: PushesWire,
    /// Deferred messages, oldest first.
    held: Vec<HeldWire>,
}

/// A time span.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct SpanWire {
    from: String,
    to: String,
}

/// The current focus.
#[derive(Serialize)]
struct FocusWire {
    on: String,
    until: TimeWire,
}

/// Unprompted pings of today, and their limits.
#[derive(Serialize)]
struct PushesWire {
    pushes: u32,
    a_day: Option<u32>,
    minutes_apart: Option<u32>,
}

/// A deferred message.
#[derive(Serialize)]
struct HeldWire {
    id: u64,
    at: String,
    job: String,
    name: String,
    words: String,
    why: &'static str,
}

impl AttentionWire {
    pub(super) fn new(attention: &Attention, now: &Zoned) -> Self {
        let time = |at: Timestamp| TimeWire::new(at, now);
        let (a_day, minutes_apart) = match attention.calm.caps {
            Caps::Rare { a_day, apart } => (Some(a_day), Some(apart)),
            Caps::None => (None, None),
        };
        let focus = attention.focus.as_ref();
        Self {
            quiet: attention.calm.quiet.to_string(),
            spans: spans(attention.calm.quiet, now),
            quiet_until: attention.quiet_until.map(time),
            focus: focus.map(|focus| FocusWire { on: focus.on.clone(), until: time(focus.until) }),
            next_digest: attention.next_digest.map(time),
            pushes: PushesWire { pushes: attention.pushes.count, a_day, minutes_apart },
            held: attention.held.iter().map(|held| HeldWire::new(held, now)).collect(),
        }
    }
}

impl HeldWire {
    fn new(held: &Held, now: &Zoned) -> Self {
        Self {
            id: held.id.0,
            at: moment(held.at, now.time_zone()),
            job: held.source.to_string(),
            name: held.name.clone(),
            words: held.words.clone(),
            why: held.why.tell(),
        }
    }
}

/// Returns the quiet times of today, from midnight to midnight.
fn spans(quiet: Quiet, now: &Zoned) -> Vec<SpanWire> {
    let Quiet::Between(from, to) = quiet else { return Vec::new() };
    let today = now.date();
    let midnight = Time::midnight();
    let Ok(tomorrow) = today.checked_add(1.day()) else { return Vec::new() };
    let at = |day: Date, time: Time| day.to_datetime(time).to_zoned(now.time_zone().clone()).ok();
    let pairs = if from < to {
        vec![(at(today, from), at(today, to))]
    } else {
        vec![(at(today, midnight), at(today, to)), (at(today, from), at(tomorrow, midnight))]
    };
    let span = |(from, to): (Option<Zoned>, Option<Zoned>)| {
        let told = |time: Zoned| moment(time.timestamp(), now.time_zone());
        Some(SpanWire { from: told(from?), to: told(to?) })
    };
    pairs.into_iter().filter_map(span).filter(|span| span.from != span.to).collect()
}

#[cfg(test)]
mod tests {
    use jiff::civil::time;

    use super::*;

    #[test]
    fn quiet_hours_are_the_night_on_both_sides_of_a_day() {
        let now: Zoned = "2026-11-15T14:33[Europe/Berlin]".parse().unwrap();
        let told = |quiet| -> Vec<(String, String)> {
            let cut = |text: &str| text[5..16].to_owned();
            spans(quiet, &now).iter().map(|span| (cut(&span.from), cut(&span.to))).collect()
        };
        let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        let night = told(Quiet::Between(time(22, 0, 0, 0), time(8, 0, 0, 0)));
        assert_eq!(night, [pair("11-15T00:00", "11-15T08:00"), pair("11-15T22:00", "11-16T00:00")]);
        let noon = told(Quiet::Between(time(12, 0, 0, 0), time(13, 30, 0, 0)));
        assert_eq!(noon, [pair("11-15T12:00", "11-15T13:30")]);
        assert_eq!(told(Quiet::Never), []);
    }
}
