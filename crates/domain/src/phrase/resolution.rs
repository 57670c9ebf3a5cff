//! Resolves a time phrase to an exact time, with the usual assumptions about ambiguous phrases.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, ToSpan, Zoned};

use super::calendar::{format_time, full_date_name, resolve_wall_time};
use super::clock::{ClockTime, DayPart};
use super::dates::{Dates, dates, past_date_note, too_far};
use super::day::Day;
use super::group::ChosenPhrase;
use super::habits::{Habits, Slots};
use super::length::Length;
use super::note::ParseNote;
use super::parts::PhraseParts;
use super::{Timing, recurrence};

/// The resolved timing, the alternative if the phrase is ambiguous, and notes.
pub(super) struct Resolution {
    pub when: Timing,
    pub alternative: Option<Timing>,
    pub notes: Vec<ParseNote>,
}

/// The hour of a phrase.
#[derive(Clone, Copy)]
pub(super) enum Hour {
    At(Time),
    /// One of two, twelve hours apart.
    Either(Time, Time),
    /// The beginning of a day, or of the next.
    Midnight,
    /// A time at a UTC offset.
    Offset(Time, Offset),
    /// After midnight, at the end of the given day.
    Late(Time),
    /// Only a part of the day was given.
    Part(DayPart),
    Unspecified,
}

/// A wall-clock time and its alternative.
struct WallTimes {
    first: DateTime,
    alternative: Option<DateTime>,
}

/// Resolves the chosen phrase: of two equally likely interpretations, the earlier one wins.
pub(super) fn resolve(chosen: &ChosenPhrase, now: &Zoned, habits: &Habits) -> Result<Resolution, ParseNote> {
    let first = resolve_phrase(&chosen.parts, now, habits)?;
    let Some(second) = chosen.alternative.as_ref().and_then(|or| resolve_phrase(or, now, habits).ok()) else {
        return Ok(first);
    };
    let later = matches!((&first.when, &second.when), (Timing::Once(one), Timing::Once(two)) if one > two);
    let (first, second) = if later { (second, first) } else { (first, second) };
    let other = Some(second.when).filter(|other| *other != first.when);
    Ok(Resolution { alternative: other.or(first.alternative), ..first })
}

/// Resolves one phrase relative to `now`.
fn resolve_phrase(said: &PhraseParts, now: &Zoned, habits: &Habits) -> Result<Resolution, ParseNote> {
    match (&said.error, said.day, &said.frequency) {
        (Some(note), _, _) => Err(note.clone()),
        (None, Some(Day::Past(past)), _) => Err(ParseNote::Past(past.phrase())),
        (None, _, Some(every)) => recurrence::resolve(every, said, now, habits),
        (None, Some(Day::Exactly(length)), None) => exactly(said, length, now),
        (None, _, None) => once(said, now, habits),
    }
}

fn exactly(said: &PhraseParts, length: Length, now: &Zoned) -> Result<Resolution, ParseNote> {
    let at = length.after(now).ok_or_else(too_far)?;
    within_reach(now, &at)?;
    with_lead(said, at, now, Vec::new())
}

fn within_reach(now: &Zoned, at: &Zoned) -> Result<(), ParseNote> {
    match now.checked_add(100.years()) {
        Ok(end) if *at > end => Err(too_far()),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn once(said: &PhraseParts, now: &Zoned, habits: &Habits) -> Result<Resolution, ParseNote> {
    let hour = hour(said);
    let zone = match hour {
        Hour::Offset(_, offset) => TimeZone::fixed(offset),
        Hour::At(_)
        | Hour::Either(..)
        | Hour::Midnight
        | Hour::Late(_)
        | Hour::Part(_)
        | Hour::Unspecified => said.hours.zone.clone().unwrap_or_else(|| now.time_zone().clone()),
    };
    let here = now.with_time_zone(zone);
    let walls = match said.day.or(said.from) {
        None => on_any_day(hour, &here, habits)?,
        Some(day) => on_day(said, day, hour, &here, habits)?,
    };
    let at = still_to_come(walls.first, &here).ok_or_else(too_far)?;
    let other = walls.alternative.and_then(|wall| still_to_come(wall, &here)).filter(|other| other > now);
    let home = |at: Zoned| {
        if matches!(hour, Hour::Offset(..)) { at.with_time_zone(now.time_zone().clone()) } else { at }
    };
    let at = home(at);
    let other = other.map(home);
    if at <= *now {
        return Err(ParseNote::Past(full_date_name(at.date())));
    }
    within_reach(now, &at)?;
    let notes = collect_notes(said, hour, &walls, &at, now, habits);
    let settled = with_lead(said, at, now, notes)?;
    Ok(Resolution { alternative: other.map(Timing::Once), ..settled })
}

/// The instant at which a clock shows `wall`; in a fold the second one if the first has passed.
fn still_to_come(wall: DateTime, here: &Zoned) -> Option<Zoned> {
    let first = resolve_wall_time(here.time_zone(), wall)?;
    if first > *here { Some(first) } else { here.time_zone().to_ambiguous_zoned(wall).later().ok() }
}

/// The notes for the user on a resolved time.
fn collect_notes(
    said: &PhraseParts,
    hour: Hour,
    walls: &WallTimes,
    at: &Zoned,
    now: &Zoned,
    habits: &Habits,
) -> Vec<ParseNote> {
    let mut notes = Vec::new();
    let wall = at.datetime();
    let day_meant = matches!(said.day, Some(Day::Weekday(_))) && is_day_of_month(said, wall.date());
    if let (Hour::Either(am, _), false) = (hour, day_meant) {
        notes.push(bare_hour_note(am, wall.time()));
    }
    let same_clock = !matches!(hour, Hour::Offset(..));
    if same_clock && wall != walls.first {
        notes.push(ParseNote::Gap { written: walls.first.time(), rings: wall.time() });
    }
    if let Some(weekday) = said.weekday.filter(|weekday| *weekday != wall.date().weekday()) {
        notes.push(ParseNote::OtherWeekday(wall.date(), weekday));
    }
    let rings = at.with_time_zone(now.time_zone().clone()).time();
    if !habits.is_awake(rings) {
        notes.push(ParseNote::Quiet(rings));
    }
    notes
}

/// The note on a bare hour; both noon and midnight are written 12.
pub(super) fn bare_hour_note(am: Time, read: Time) -> ParseNote {
    let twelve = am.hour() == 0;
    let said = if twelve { Time::new(12, am.minute(), 0, 0).unwrap_or(am) } else { am };
    ParseNote::Hour { written: said, interpreted: read }
}

fn with_lead(
    said: &PhraseParts,
    at: Zoned,
    now: &Zoned,
    mut notes: Vec<ParseNote>,
) -> Result<Resolution, ParseNote> {
    let Some(lead) = said.lead else {
        return Ok(Resolution { when: Timing::Once(at), alternative: None, notes });
    };
    let leave = lead.before(&at).ok_or_else(too_far)?;
    let when = if leave > *now {
        Timing::Lead { leave, at }
    } else {
        notes.push(ParseNote::LeaveNow);
        Timing::Once(at)
    };
    Ok(Resolution { when, alternative: None, notes })
}

/// The hour, as far as the phrase determines it.
fn hour(said: &PhraseParts) -> Hour {
    let window = said.hours.window.map(|(from, _)| from);
    let first = match said.hours.clocks.first().copied().or(window) {
        Some(ClockTime::Lone(number)) => ClockTime::from_number(number),
        other => other,
    };
    match (first, said.hours.part) {
        (None, None) | (Some(ClockTime::Lone(_)), _) => Hour::Unspecified,
        (None, Some(part)) => Hour::Part(part),
        (Some(ClockTime::Exact(time)), _) => Hour::At(time),
        (Some(ClockTime::Offset(time, offset)), _) => Hour::Offset(time, offset),
        (Some(ClockTime::Midnight), _) => Hour::Midnight,
        (Some(ClockTime::Bare(time)), part) => in_part(time, part),
    }
}

/// Resolves a bare hour within a part of the day.
pub(super) fn in_part(time: Time, part: Option<DayPart>) -> Hour {
    let half = |hours: i8| Time::new(time.hour() % 12 + hours, time.minute(), 0, 0).unwrap_or(time);
    let am = half(0);
    let pm = half(12);
    match (part, time.hour()) {
        (None, _) => Hour::Either(am, pm),
        (Some(DayPart::Morning), _) => Hour::At(am),
        (Some(DayPart::Night), 12 | 1..=4) => Hour::Late(am),
        (
            Some(DayPart::Noon | DayPart::Afternoon | DayPart::EndOfDay | DayPart::Evening | DayPart::Night),
            _,
        ) => Hour::At(pm),
    }
}

/// The configured time of a part of the day.
pub(super) fn slot_time(slots: &Slots, part: DayPart) -> Time {
    match part {
        DayPart::Morning => slots.morning,
        DayPart::Noon => slots.noon,
        DayPart::Afternoon => slots.afternoon,
        DayPart::EndOfDay => slots.end_of_day,
        DayPart::Evening => slots.evening,
        DayPart::Night => slots.tonight,
    }
}

/// The next time at which a clock shows the hour.
fn on_any_day(hour: Hour, here: &Zoned, habits: &Habits) -> Result<WallTimes, ParseNote> {
    let today = here.date();
    let days = [today, today.tomorrow().map_err(|_| too_far())?];
    let next =
        |time: Time| days.into_iter().map(|day| day.to_datetime(time)).find(|wall| *wall > here.datetime());
    let found = match hour {
        Hour::At(time) | Hour::Offset(time, _) | Hour::Late(time) => next(time).map(WallTimes::only),
        Hour::Midnight => next(Time::midnight()).map(WallTimes::only),
        Hour::Part(part) => next(slot_time(&habits.slots, part)).map(WallTimes::only),
        Hour::Unspecified => next(habits.slots.morning).map(WallTimes::only),
        Hour::Either(am, pm) => {
            next(am).zip(next(pm)).map(|(am, pm)| WallTimes::choose(am, pm, here, habits))
        }
    };
    found.ok_or_else(too_far)
}

/// Resolves `hour` on the given day.
fn on_day(
    said: &PhraseParts,
    day: Day,
    hour: Hour,
    here: &Zoned,
    habits: &Habits,
) -> Result<WallTimes, ParseNote> {
    if let Some(gone) = past_date_note(said.weekday, day, here.date()) {
        return Err(gone);
    }
    let Dates { candidates: list, alternative: other } = dates(day, here.date())?;
    let ahead = |date: &Date| at_hour(*date, hour, here, habits);
    let Some(first) = list.iter().find_map(ahead) else {
        return match list.last() {
            Some(date) if *date < here.date() => Err(ParseNote::Past(full_date_name(*date))),
            Some(_) | None => rest_of_today(day, hour, here, habits),
        };
    };
    let other_day = other.and_then(|date| at_hour(date, hour, here, habits));
    match (other_day, is_day_of_month(said, first.first.date())) {
        // `mon 16` on the 15th: the date is more likely, and also earlier.
        (None, true) => {
            let morning = first.first.date().to_datetime(habits.slots.morning);
            Ok(WallTimes { first: morning.min(first.first), alternative: Some(first.first.max(morning)) })
        }
        (Some(other), _) => Ok(WallTimes { alternative: Some(other.first), ..first }),
        (None, false) => Ok(first),
    }
}

/// Returns whether the bare number after a weekday equals the day of the month of `date`.
fn is_day_of_month(said: &PhraseParts, date: Date) -> bool {
    let number = said.hours.clocks.first() == Some(&ClockTime::Lone(date.day()));
    number && matches!(said.day, Some(Day::Weekday(_)))
}

/// The hour on `date`, if it is still to come.
fn at_hour(date: Date, hour: Hour, here: &Zoned, habits: &Habits) -> Option<WallTimes> {
    let ahead = |wall: DateTime| Some(wall).filter(|wall| *wall > here.datetime());
    match hour {
        Hour::At(time) | Hour::Offset(time, _) => ahead(date.to_datetime(time)).map(WallTimes::only),
        Hour::Late(time) => ahead(date.tomorrow().ok()?.to_datetime(time)).map(WallTimes::only),
        Hour::Part(part) => ahead(date.to_datetime(slot_time(&habits.slots, part))).map(WallTimes::only),
        Hour::Unspecified => ahead(date.to_datetime(habits.slots.morning)).map(WallTimes::only),
        Hour::Midnight => {
            let end = date.tomorrow().ok()?.to_datetime(Time::midnight());
            match ahead(date.to_datetime(Time::midnight())) {
                Some(first) => Some(WallTimes { first, alternative: Some(end) }),
                None => ahead(end).map(WallTimes::only),
            }
        }
        Hour::Either(am, pm) => match (ahead(date.to_datetime(am)), ahead(date.to_datetime(pm))) {
            (Some(am), Some(pm)) => Some(WallTimes::choose(am, pm, here, habits)),
            (only, other) => only.or(other).map(WallTimes::only),
        },
    }
}

/// Resolves `hour` for the rest of today, after the morning or the given part of the day has begun.
fn rest_of_today(day: Day, hour: Hour, here: &Zoned, habits: &Habits) -> Result<WallTimes, ParseNote> {
    let slots = &habits.slots;
    let (name, over) = match hour {
        Hour::Unspecified => ("today", false),
        Hour::Part(DayPart::Morning) => ("this morning", here.time() >= slots.noon),
        Hour::Part(DayPart::Noon) => ("noon", true),
        Hour::Part(DayPart::Afternoon) => ("this afternoon", here.time() >= slots.evening),
        Hour::Part(DayPart::EndOfDay | DayPart::Evening | DayPart::Night) => ("tonight", false),
        Hour::At(time) if time.hour() < 12 => return Err(past_today_note(time, here.time())),
        Hour::At(_) | Hour::Either(..) | Hour::Midnight | Hour::Offset(..) | Hour::Late(_) => {
            ("that time", true)
        }
    };
    if over || day != Day::Ahead(Length::default()) {
        return Err(ParseNote::Past(name.to_owned()));
    }
    let slot = slots.all().into_iter().find(|slot| *slot > here.time());
    let soon = || here.checked_add(SignedDuration::from_hours(1)).ok().map(|soon| soon.datetime());
    slot.map(|slot| here.date().to_datetime(slot)).or_else(soon).map(WallTimes::only).ok_or_else(too_far)
}

/// The error for a morning hour that has passed today, which suggests the afternoon.
fn past_today_note(time: Time, now: Time) -> ParseNote {
    let said = format_time(time);
    let later = time.wrapping_add(SignedDuration::from_hours(12));
    let later =
        if later > now { format!("`{}` for the later one, or ", format_time(later)) } else { String::new() };
    ParseNote::Invalid(format!("{said} is over today; say {later}`tomorrow {said}`"))
}

impl WallTimes {
    fn only(first: DateTime) -> Self {
        Self { first, alternative: None }
    }

    /// Prefers the earlier of two times unless only the later is in waking hours; the other becomes
    /// the alternative if it is in waking hours and within 24 hours.
    fn choose(am: DateTime, pm: DateTime, here: &Zoned, habits: &Habits) -> Self {
        let (next, later) = if am < pm { (am, pm) } else { (pm, am) };
        let awake = |wall: DateTime| habits.is_awake(wall.time());
        let (first, second) = if !awake(next) && awake(later) { (later, next) } else { (next, later) };
        let day_on = here.datetime().saturating_add(24.hours());
        Self { first, alternative: Some(second).filter(|second| awake(*second) && *second <= day_on) }
    }
}
