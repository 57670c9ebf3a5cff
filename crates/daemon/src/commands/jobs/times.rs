//! Parsing, computing and formatting of due times.

use domain::phrase::{self, Habits, When};
use domain::schedule::{Moment, Planned, Rest, What};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};
use journal::Paths;

use crate::exit::Failed;

/// Parses a time in the future.
pub fn when(text: &str, now: &Zoned, habits: &Habits) -> Result<Moment, Failed> {
    let moment = Moment::parse(text, now.time_zone()).or_else(|_| in_words(text, now, habits))?;
    if moment.at <= now.timestamp() {
        return Err(Failed::Usage(format!("{} is already past. name a time to come.", short(moment))));
    }
    Ok(moment)
}

/// Parses a time in words, such as `tomorrow at 9`.
fn in_words(text: &str, now: &Zoned, habits: &Habits) -> Result<Moment, Failed> {
    let reading = phrase::read(text, now, habits);
    let trouble = reading.notes.iter().find(|note| note.is_trouble());
    match (&reading.when, reading.what.is_empty()) {
        (Some(When::Once(at)), true) => Ok(Moment::of(at)),
        (Some(When::Repeats(_)), _) => Err(Failed::Usage(format!(
            "{text:?} comes again and again, and a time comes once. for that: ollim-bot routine add."
        ))),
        (Some(_) | None, _) => Err(Failed::Usage(trouble.map_or_else(
            || format!("{text:?} is not a time i can read. write it like \"tomorrow at 9\" or \"2026-11-20 09:00\"."),
            |note| format!("{text:?}: {note}."),
        ))),
    }
}

/// Returns the pause of all routines; no pause if the journal cannot be read.
pub fn pause(paths: &Paths) -> Rest {
    let log = journal::peek(paths).ok().flatten();
    log.and_then(|log| log.rest().ok()).unwrap_or_default()
}

/// Describes a pause, if it is in effect at `now`.
pub fn paused(pause: Rest, now: Timestamp, zone: &TimeZone) -> Option<String> {
    match pause {
        Rest::Until(until) if now < until.at => {
            Some(format!("paused until {}", day_and_time(until.at, now, zone)))
        }
        Rest::ForNow => Some("paused".to_owned()),
        Rest::Never | Rest::Until(_) => None,
    }
}

/// Returns the due times of a job after `now`, in the user's `zone`. Skips its own pause and, for
/// routines, the `pause` of all routines.
pub fn fires(what: &What, pause: Rest, now: Timestamp, zone: &TimeZone) -> impl Iterator<Item = Timestamp> {
    let (rest, pause) = match what {
        What::Routine(routine) => (routine.manner.rest, pause),
        What::Reminder(reminder) => (reminder.manner.rest, Rest::Never),
    };
    let end = |rest, after: Timestamp| match rest {
        Rest::Never => Some(after),
        // The end of a pause is not paused any more.
        Rest::Until(until) => Some(after.max(until.at.checked_sub(1.nanosecond()).unwrap_or(until.at))),
        Rest::ForNow => None,
    };
    let after = end(rest, now).and_then(|after| end(pause, after));
    let next = move |after: Timestamp| match what {
        What::Routine(routine) => routine.rhythm.next(after, zone),
        What::Reminder(reminder) => {
            Some(reminder.run_at.at).filter(|due| *due > after && reminder.cue.is_none())
        }
    };
    std::iter::successors(after.and_then(next), move |fire| next(*fire))
}

/// The next time of a reminder that is due but not delivered yet: otherwise its file would be gone.
pub const DUE: &str = "due; rings at the next start";

/// Explains why a job has no next due time, and what resumes it.
pub fn never(planned: &Planned, pause: Rest) -> String {
    if let Some(cue) = planned.cue() {
        return format!("it waits: {cue}");
    }
    match (planned.manner().rest, &planned.what) {
        (Rest::ForNow, _) => format!("it is paused. to go on: ollim-bot routine resume {}", planned.id()),
        (Rest::Never | Rest::Until(_), What::Reminder(_)) => DUE.to_owned(),
        (Rest::Never | Rest::Until(_), What::Routine(_)) if pause == Rest::ForNow => {
            "all that repeats is paused. to go on: ollim-bot resume".to_owned()
        }
        (Rest::Never | Rest::Until(_), What::Routine(_)) => "it does not come any more".to_owned(),
    }
}

/// Formats a time in `zone`, such as `mon 16 nov 08:30`. Includes the year if it differs from that
/// of `now`.
pub fn day_and_time(time: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let time = time.to_zoned(zone.clone());
    let now = now.to_zoned(zone.clone());
    let form = if time.year() == now.year() { "%a %-d %b %H:%M" } else { "%a %-d %b %Y %H:%M" };
    time.strftime(form).to_string().to_lowercase()
}

/// Formats a moment to the minute, such as `2026-11-20 09:00`.
pub fn short(moment: Moment) -> String {
    moment.to_string().chars().take(16).collect::<String>().replace('T', " ")
}
