//! Formats times for the user: always both the clock time and the distance.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::calendar::{date_name, format_time, full_date_name, short_day};
use super::recurrence_spec::{LocationCondition, RecurrenceSpec, RuleSpec};
use super::zone::city;
use super::{Cue, Timing};

/// The maximum number of times of one day that are listed.
const MAX_LISTED_TIMES: usize = 3;
/// Days further away than this include the year.
const MAX_DAYS_WITHOUT_YEAR: i32 = 300;
/// Times nearer than this (in seconds) that are not whole minutes away include seconds.
const MAX_SECONDS_EXACT: i64 = 600;

/// Formats `when` for the user: `mon 16 nov 10:00 · in 19 h 27 min`.
///
/// `fires` are the next times of a recurrence.
pub fn describe(when: &Timing, now: &Zoned, fires: &[Timestamp]) -> String {
    match when {
        Timing::Once(at) => once(at, now),
        Timing::Lead { leave, at } => {
            let leave = leave.with_time_zone(now.time_zone().clone());
            format!("{}, leave at {}", once(at, now), format_time(leave.time()))
        }
        Timing::Recurring(repeat) => describe_recurrence(repeat, now, fires),
        Timing::Cue(Cue::After(what)) => format!("after {what}"),
        Timing::Cue(Cue::NextTalk) => "next time we talk".to_owned(),
    }
}

/// Formats `at` so that parsing returns exactly this second: `thu 24 dec 2026 17:00`.
pub fn format_exact(at: &Zoned) -> String {
    let zone = at.time_zone();
    let first = zone.to_ambiguous_zoned(at.datetime()).compatible();
    let date = at.date();
    let time = at.time();
    let told = match first {
        Ok(first) if first.timestamp() == at.timestamp() => format_time(time),
        // With seconds, so that the offset is not parsed as the end of a time window.
        Ok(_) | Err(_) => time.strftime("%H:%M:%S").to_string() + &offset(at.offset().seconds()),
    };
    format!("{} {} {told}", short_day(date.weekday()), full_date_name(date))
}

fn offset(seconds: i32) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    format!("{sign}{:02}:{:02}", seconds.abs() / 3600, seconds.abs() / 60 % 60)
}

fn once(at: &Zoned, now: &Zoned) -> String {
    let here = at.with_time_zone(now.time_zone().clone());
    let zone = match other_city(at.time_zone(), now.time_zone()) {
        Some(city) => format!(" ({} {city})", format_time(at.time())),
        None => String::new(),
    };
    let time = if needs_seconds(&here, now) { format_time(here.time()) } else { format_minutes(here.time()) };
    format!("{} {time}{zone} · {}", day(here.date(), now.date()), distance(&here, now))
}

/// Formats several times of one day: `wed 18 nov 10:00, 11:00, 12:00 and 4 more · in 10 h`.
pub fn describe_times(times: &[Zoned], now: &Zoned) -> Option<String> {
    let (first, rest) = times.split_first()?;
    if rest.is_empty() {
        return Some(once(first, now));
    }
    let clocks: Vec<String> =
        times.iter().take(MAX_LISTED_TIMES).map(|at| format_minutes(at.time())).collect();
    let more = match times.len().saturating_sub(MAX_LISTED_TIMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let day = day(first.date(), now.date());
    Some(format!("{day} {}{more} · {}", clocks.join(", "), distance(first, now)))
}

/// Returns whether `at` needs seconds: a delay in minutes ends at the second at which it was
/// requested.
fn needs_seconds(at: &Zoned, now: &Zoned) -> bool {
    let away = at.timestamp().duration_since(now.timestamp());
    let seconds = away.as_secs() + i64::from(away.subsec_nanos() > 0);
    seconds < MAX_SECONDS_EXACT && seconds % 60 != 0
}

fn format_minutes(time: Time) -> String {
    time.strftime("%H:%M").to_string()
}

fn other_city(zone: &TimeZone, home: &TimeZone) -> Option<String> {
    let name = zone.iana_name()?;
    (home.iana_name() != Some(name)).then(|| city(name))
}

/// `today`, `mon 16 nov`, or with the year if it is far away.
fn day(date: Date, today: Date) -> String {
    let days = (date - today).get_days();
    match days {
        0 => "today".to_owned(),
        _ if days > MAX_DAYS_WITHOUT_YEAR => {
            format!("{} {}", short_day(date.weekday()), full_date_name(date))
        }
        _ => format!("{} {}", short_day(date.weekday()), date_name(date)),
    }
}

/// `in 4 min`, `in 19 h 27 min`, `in 5 days`.
fn distance(at: &Zoned, now: &Zoned) -> String {
    let seconds = at.timestamp().duration_since(now.timestamp()).as_secs();
    let minutes = (seconds + 59) / 60;
    match (seconds, minutes / 60, minutes % 60) {
        (..=0, _, _) => "now".to_owned(),
        (1..60, _, _) => format!("in {seconds} s"),
        (_, 0, minutes) => format!("in {minutes} min"),
        (_, hours @ 1..48, 0) => format!("in {hours} h"),
        (_, hours @ 1..48, minutes) => format!("in {hours} h {minutes} min"),
        (_, _, _) => format!("in {} days", (at.date() - now.date()).get_days()),
    }
}

fn describe_recurrence(repeat: &RecurrenceSpec, now: &Zoned, fires: &[Timestamp]) -> String {
    let mut told = match (&repeat.rule, repeat.recurrence()) {
        (_, Ok(rhythm)) => rhythm.describe(),
        (RuleSpec::Cron(_) | RuleSpec::Days { .. } | RuleSpec::Monthly { .. }, Err(why)) => why.reason,
    };
    if let Some(from) = repeat.from {
        told += &format!(", from {from}");
    }
    if repeat.location == LocationCondition::AtHome {
        told += " · only at home";
    }
    let fires: Vec<Zoned> = fires.iter().map(|fire| fire.to_zoned(now.time_zone().clone())).collect();
    if fires.is_empty() {
        told
    } else {
        format!("{told} · next {}", describe_next(&fires, now.date()).join(", "))
    }
}

/// The next times: only days, or days with hours where several are on one day.
fn describe_next(fires: &[Zoned], today: Date) -> Vec<String> {
    let several = fires.windows(2).any(|pair| pair[0].date() == pair[1].date());
    let near = |date: Date| date.first_of_month() == today.first_of_month();
    let all_near = fires.iter().all(|fire| near(fire.date()));
    let mut last = None;
    let mut told = |fire: &Zoned| {
        let date = fire.date();
        let name = match (date == today, all_near) {
            (true, _) => "today".to_owned(),
            (false, true) => format!("{} {}", short_day(date.weekday()), date.day()),
            (false, false) => format!("{} {}", short_day(date.weekday()), date_name(date)),
        };
        let known = last.replace(date) == Some(date);
        match (several, known) {
            (false, _) => name,
            (true, false) => format!("{name} {}", format_time(fire.time())),
            (true, true) => format_time(fire.time()),
        }
    };
    fires.iter().map(&mut told).collect()
}
