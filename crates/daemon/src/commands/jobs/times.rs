//! Parsing, computing and formatting of due times.

use domain::phrase::{self, Habits, Timing};
use domain::schedule::{JobSpec, Moment, PauseState, PlannedJob};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};
use journal::Paths;

use crate::exit::CommandError;

/// Parses a time in the future.
pub fn parse_future(text: &str, now: &Zoned, habits: &Habits) -> Result<Moment, CommandError> {
    let moment = Moment::parse(text, now.time_zone()).or_else(|_| parse_words(text, now, habits))?;
    if moment.at <= now.timestamp() {
        return Err(CommandError::Usage(format!(
            "{} is already past. name a time to come.",
            format_minute(moment)
        )));
    }
    Ok(moment)
}

/// Parses a time in words, such as `tomorrow at 9`.
fn parse_words(text: &str, now: &Zoned, habits: &Habits) -> Result<Moment, CommandError> {
    let reading = phrase::parse(text, now, habits);
    let trouble = reading.notes.iter().find(|note| note.is_error());
    match (&reading.when, reading.text.is_empty()) {
        (Some(Timing::Once(at)), true) => Ok(Moment::of(at)),
        (Some(Timing::Recurring(_)), _) => Err(CommandError::Usage(format!(
            "{text:?} comes again and again, and a time comes once. for that: ollim-bot routine add."
        ))),
        (Some(_) | None, _) => Err(CommandError::Usage(trouble.map_or_else(
            || format!("{text:?} is not a time i can read. write it like \"tomorrow at 9\" or \"2026-11-20 09:00\"."),
            |note| format!("{text:?}: {note}."),
        ))),
    }
}

/// Returns the pause of all routines; no pause if the journal cannot be read.
pub fn global_pause(paths: &Paths) -> PauseState {
    let log = journal::open_read_only(paths).ok().flatten();
    log.and_then(|log| log.pause_state().ok()).unwrap_or_default()
}

/// Describes a pause, if it is in effect at `now`.
pub fn paused_text(pause: PauseState, now: Timestamp, zone: &TimeZone) -> Option<String> {
    match pause {
        PauseState::Until(until) if now < until.at => {
            Some(format!("paused until {}", format_time(until.at, now, zone)))
        }
        PauseState::Indefinite => Some("paused".to_owned()),
        PauseState::Active | PauseState::Until(_) => None,
    }
}

/// Returns the due times of a job after `now`, in the user's `zone`. Skips its own pause and, for
/// routines, the `pause` of all routines.
pub fn due_times(
    what: &JobSpec,
    pause: PauseState,
    now: Timestamp,
    zone: &TimeZone,
) -> impl Iterator<Item = Timestamp> {
    let (rest, pause) = match what {
        JobSpec::Routine(routine) => (routine.firing_policy.pause, pause),
        JobSpec::Reminder(reminder) => (reminder.firing_policy.pause, PauseState::Active),
    };
    let end = |rest, after: Timestamp| match rest {
        PauseState::Active => Some(after),
        // The end of a pause is not paused any more.
        PauseState::Until(until) => Some(after.max(until.at.checked_sub(1.nanosecond()).unwrap_or(until.at))),
        PauseState::Indefinite => None,
    };
    let after = end(rest, now).and_then(|after| end(pause, after));
    let next = move |after: Timestamp| match what {
        JobSpec::Routine(routine) => routine.recurrence.next(after, zone),
        JobSpec::Reminder(reminder) => {
            Some(reminder.run_at.at).filter(|due| *due > after && reminder.cue.is_none())
        }
    };
    std::iter::successors(after.and_then(next), move |fire| next(*fire))
}

/// The next time of a reminder that is due but not delivered yet: otherwise its file would be gone.
pub const DUE_TEXT: &str = "due; rings at the next start";

/// Explains why a job has no next due time, and what resumes it.
pub fn never_text(planned: &PlannedJob, pause: PauseState) -> String {
    if let Some(cue) = planned.cue() {
        return format!("it waits: {cue}");
    }
    match (planned.firing_policy().pause, &planned.spec) {
        (PauseState::Indefinite, _) => {
            format!("it is paused. to go on: ollim-bot routine resume {}", planned.id())
        }
        (PauseState::Active | PauseState::Until(_), JobSpec::Reminder(_)) => DUE_TEXT.to_owned(),
        (PauseState::Active | PauseState::Until(_), JobSpec::Routine(_))
            if pause == PauseState::Indefinite =>
        {
            "all that repeats is paused. to go on: ollim-bot resume".to_owned()
        }
        (PauseState::Active | PauseState::Until(_), JobSpec::Routine(_)) => {
            "it does not come any more".to_owned()
        }
    }
}

/// Formats a time in `zone`, such as `mon 16 nov 08:30`. Includes the year if it differs from that
/// of `now`.
pub fn format_time(time: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let time = time.to_zoned(zone.clone());
    let now = now.to_zoned(zone.clone());
    let form = if time.year() == now.year() { "%a %-d %b %H:%M" } else { "%a %-d %b %Y %H:%M" };
    time.strftime(form).to_string().to_lowercase()
}

/// Formats a moment to the minute, such as `2026-11-20 09:00`.
pub fn format_minute(moment: Moment) -> String {
    moment.to_string().chars().take(16).collect::<String>().replace('T', " ")
}
