//! Quiet hours, focus and deferred messages, as JSON for the page and the command line.

use domain::assistant::{Answer, Query, Request as Ask};
use domain::attention::{Attention, Deferred, PushCaps, QuietHours};
use domain::phrase::Habits;
use jiff::civil::{Date, Time};
use jiff::{Timestamp, ToSpan, Zoned};
use serde::Serialize;

use super::App;
use super::api::unexpected_answer;
use super::api_error::ApiError;
use super::schedule::dto::TimeDto;
use super::sessions::format_time;

/// Returns the current attention state.
pub(super) async fn fetch_attention(app: &App) -> Result<Box<Attention>, ApiError> {
    let answer = app.ports().assistant.ask(Ask::Query(Query::Attention)).await;
    let Answer::Attention(attention) = answer else { return Err(unexpected_answer(answer)) };
    Ok(attention)
}

/// Returns how the user's words for times are read.
pub(super) async fn habits(app: &App) -> Result<Habits, ApiError> {
    Ok(fetch_attention(app).await?.settings.quiet_hours.habits())
}

/// The attention state.
#[derive(Serialize)]
pub(super) struct AttentionDto {
    /// The quiet hours, or `off`.
    quiet: String,
    /// Quiet times of today.
    spans: Vec<SpanDto>,
    /// End of the current quiet time.
    quiet_until: Option<TimeDto>,
    focus: Option<FocusDto>,
    next_digest: Option<TimeDto>,
    #[serde(flatten)]
    pushes: PushesDto,
    /// Deferred messages, oldest first.
    held: Vec<DeferredDto>,
}

/// A time span.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct SpanDto {
    from: String,
    to: String,
}

/// The current focus.
#[derive(Serialize)]
struct FocusDto {
    on: String,
    until: TimeDto,
}

/// Unprompted pings of today, and their limits.
#[derive(Serialize)]
struct PushesDto {
    pushes: u32,
    a_day: Option<u32>,
    minutes_apart: Option<u32>,
}

/// A deferred message.
#[derive(Serialize)]
struct DeferredDto {
    id: u64,
    at: String,
    job: String,
    name: String,
    words: String,
    why: &'static str,
}

impl AttentionDto {
    pub(super) fn new(attention: &Attention, now: &Zoned) -> Self {
        let time = |at: Timestamp| TimeDto::new(at, now);
        let (a_day, minutes_apart) = match attention.settings.caps {
            PushCaps::Limited { per_day: a_day, min_gap_minutes: apart } => (Some(a_day), Some(apart)),
            PushCaps::Unlimited => (None, None),
        };
        let focus = attention.focus.as_ref();
        Self {
            quiet: attention.settings.quiet_hours.to_string(),
            spans: quiet_spans(attention.settings.quiet_hours, now),
            quiet_until: attention.quiet_until.map(time),
            focus: focus.map(|focus| FocusDto { on: focus.topic.clone(), until: time(focus.until) }),
            next_digest: attention.next_digest.map(time),
            pushes: PushesDto { pushes: attention.push_count.count, a_day, minutes_apart },
            held: attention.deferred.iter().map(|held| DeferredDto::new(held, now)).collect(),
        }
    }
}

impl DeferredDto {
    fn new(held: &Deferred, now: &Zoned) -> Self {
        Self {
            id: held.id.0,
            at: format_time(held.at, now.time_zone()),
            job: held.source.to_string(),
            name: held.name.clone(),
            words: held.text.clone(),
            why: held.reason.describe(),
        }
    }
}

/// Returns the quiet times of today, from midnight to midnight.
fn quiet_spans(quiet: QuietHours, now: &Zoned) -> Vec<SpanDto> {
    let QuietHours::Between(from, to) = quiet else { return Vec::new() };
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
        let told = |time: Zoned| format_time(time.timestamp(), now.time_zone());
        Some(SpanDto { from: told(from?), to: told(to?) })
    };
    pairs.into_iter().filter_map(span).filter(|span| span.from != span.to).collect()
}

#[cfg(test)]
mod tests {
    use jiff::civil::time;

    use super::*;

    #[test]
    fn quiet_hours_over_midnight_give_two_spans() {
        let now: Zoned = "2026-11-15T14:33[Europe/Berlin]".parse().unwrap();
        let told = |quiet| -> Vec<(String, String)> {
            let cut = |text: &str| text[5..16].to_owned();
            quiet_spans(quiet, &now).iter().map(|span| (cut(&span.from), cut(&span.to))).collect()
        };
        let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        let night = told(QuietHours::Between(time(22, 0, 0, 0), time(8, 0, 0, 0)));
        assert_eq!(night, [pair("11-15T00:00", "11-15T08:00"), pair("11-15T22:00", "11-16T00:00")]);
        let noon = told(QuietHours::Between(time(12, 0, 0, 0), time(13, 30, 0, 0)));
        assert_eq!(noon, [pair("11-15T12:00", "11-15T13:30")]);
        assert_eq!(told(QuietHours::Never), []);
    }
}
