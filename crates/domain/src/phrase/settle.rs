//! Resolves a time phrase to an exact time, with the usual assumptions about ambiguous phrases.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, ToSpan, Zoned};

use super::calendar::{clock, dated, on_the_clock};
use super::clock::{Clock, Part};
use super::dates::{Dates, dates, gone, too_far};
use super::day::Day;
use super::group::Chosen;
use super::habits::{Habits, Slots};
use super::length::Length;
use super::note::Note;
use super::said::Said;
use super::{When, rhythm};

/// The resolved timing, the alternative if the phrase is ambiguous, and notes.
pub(super) struct Settled {
    pub when: When,
    pub other: Option<When>,
    pub notes: Vec<Note>,
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
    Part(Part),
    Unsaid,
}

/// A wall-clock time and its alternative.
struct Walls {
    first: DateTime,
    other: Option<DateTime>,
}

/// Resolves the chosen phrase: of two equally likely interpretations, the earlier one wins.
pub(super) fn choose(chosen: &Chosen, now: &Zoned, habits: &Habits) -> Result<Settled, Note> {
    let first = settle(&chosen.said, now, habits)?;
    let Some(second) = chosen.or.as_ref().and_then(|or| settle(or, now, habits).ok()) else {
        return Ok(first);
    };
    let later = matches!((&first.when, &second.when), (When::Once(one), When::Once(two)) if one > two);
    let (first, second) = if later { (second, first) } else { (first, second) };
    let other = Some(second.when).filter(|other| *other != first.when);
    Ok(Settled { other: other.or(first.other), ..first })
}

/// Resolves one phrase relative to `now`.
fn settle(said: &Said, now: &Zoned, habits: &Habits) -> Result<Settled, Note> {
    match (&said.wrong, said.day, &said.every) {
        (Some(note), _, _) => Err(note.clone()),
        (None, Some(Day::Over(past)), _) => Err(Note::Past(past.said())),
        (None, _, Some(every)) => rhythm::settle(every, said, now, habits),
        (None, Some(Day::Exactly(length)), None) => exactly(said, length, now),
        (None, _, None) => once(said, now, habits),
    }
}

fn exactly(said: &Said, length: Length, now: &Zoned) -> Result<Settled, Note> {
    let at = length.after(now).ok_or_else(too_far)?;
    within_reach(now, &at)?;
    with_lead(said, at, now, Vec::new())
}

fn within_reach(now: &Zoned, at: &Zoned) -> Result<(), Note> {
    match now.checked_add(100.years()) {
        Ok(end) if *at > end => Err(too_far()),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn once(said: &Said, now: &Zoned, habits: &Habits) -> Result<Settled, Note> {
    let hour = hour(said);
    let zone = match hour {
        Hour::Offset(_, offset) => TimeZone::fixed(offset),
        Hour::At(_) | Hour::Either(..) | Hour::Midnight | Hour::Late(_) | Hour::Part(_) | Hour::Unsaid => {
            said.hours.zone.clone().unwrap_or_else(|| now.time_zone().clone())
        }
    };
    let here = now.with_time_zone(zone);
    let walls = match said.day.or(said.from) {
        None => any_day(hour, &here, habits)?,
        Some(day) => on_day(said, day, hour, &here, habits)?,
    };
    let at = still_to_come(walls.first, &here).ok_or_else(too_far)?;
    let other = walls.other.and_then(|wall| still_to_come(wall, &here)).filter(|other| other > now);
    let home = |at: Zoned| {
        if matches!(hour, Hour::Offset(..)) { at.with_time_zone(now.time_zone().clone()) } else { at }
    };
    let at = home(at);
    let other = other.map(home);
    if at <= *now {
        return Err(Note::Past(dated(at.date())));
    }
    within_reach(now, &at)?;
    let notes = remarks(said, hour, &walls, &at, now, habits);
    let settled = with_lead(said, at, now, notes)?;
    Ok(Settled { other: other.map(When::Once), ..settled })
}

/// The instant at which a clock shows `wall`; in a fold the second one if the first has passed.
fn still_to_come(wall: DateTime, here: &Zoned) -> Option<Zoned> {
    let first = on_the_clock(here.time_zone(), wall)?;
    if first > *here { Some(first) } else { here.time_zone().to_ambiguous_zoned(wall).later().ok() }
}

/// The notes for the user on a resolved time.
fn remarks(said: &Said, hour: Hour, walls: &Walls, at: &Zoned, now: &Zoned, habits: &Habits) -> Vec<Note> {
    let mut notes = Vec::new();
    let wall = at.datetime();
    let day_meant = matches!(said.day, Some(Day::Weekday(_))) && is_day_of_month(said, wall.date());
    if let (Hour::Either(am, _), false) = (hour, day_meant) {
        notes.push(bare(am, wall.time()));
    }
    let same_clock = !matches!(hour, Hour::Offset(..));
    if same_clock && wall != walls.first {
        notes.push(Note::Gap { said: walls.first.time(), rings: wall.time() });
    }
    if let Some(weekday) = said.weekday.filter(|weekday| *weekday != wall.date().weekday()) {
        notes.push(Note::OtherWeekday(wall.date(), weekday));
    }
    let rings = at.with_time_zone(now.time_zone().clone()).time();
    if !habits.awake(rings) {
        notes.push(Note::Quiet(rings));
    }
    notes
}

/// The note on a bare hour; both noon and midnight are written 12.
pub(super) fn bare(am: Time, read: Time) -> Note {
    let twelve = am.hour() == 0;
    let said = if twelve { Time::new(12, am.minute(), 0, 0).unwrap_or(am) } else { am };
    Note::Hour { said, read }
}

fn with_lead(said: &Said, at: Zoned, now: &Zoned, mut notes: Vec<Note>) -> Result<Settled, Note> {
    let Some(lead) = said.lead else { return Ok(Settled { when: When::Once(at), other: None, notes }) };
    let leave = lead.before(&at).ok_or_else(too_far)?;
    let when = if leave > *now {
        When::Lead { leave, at }
    } else {
        notes.push(Note::LeaveNow);
        When::Once(at)
    };
    Ok(Settled { when, other: None, notes })
}

/// The hour, as far as the phrase determines it.
fn hour(said: &Said) -> Hour {
    let window = said.hours.window.map(|(from, _)| from);
    let first = match said.hours.clocks.first().copied().or(window) {
        Some(Clock::Lone(number)) => Clock::of_number(number),
        other => other,
    };
    match (first, said.hours.part) {
        (None, None) | (Some(Clock::Lone(_)), _) => Hour::Unsaid,
        (None, Some(part)) => Hour::Part(part),
        (Some(Clock::Exact(time)), _) => Hour::At(time),
        (Some(Clock::Offset(time, offset)), _) => Hour::Offset(time, offset),
        (Some(Clock::Midnight), _) => Hour::Midnight,
        (Some(Clock::Bare(time)), part) => in_part(time, part),
    }
}

/// Resolves a bare hour within a part of the day.
pub(super) fn in_part(time: Time, part: Option<Part>) -> Hour {
    let half = |hours: i8| Time::new(time.hour() % 12 + hours, time.minute(), 0, 0).unwrap_or(time);
    let am = half(0);
    let pm = half(12);
    match (part, time.hour()) {
        (None, _) => Hour::Either(am, pm),
        (Some(Part::Morning), _) => Hour::At(am),
        (Some(Part::Night), 12 | 1..=4) => Hour::Late(am),
        (Some(Part::Noon | Part::Afternoon | Part::EndOfDay | Part::Evening | Part::Night), _) => {
            Hour::At(pm)
        }
    }
}

/// The configured time of a part of the day.
pub(super) fn slot(slots: &Slots, part: Part) -> Time {
    match part {
        Part::Morning => slots.morning,
        Part::Noon => slots.noon,
        Part::Afternoon => slots.afternoon,
        Part::EndOfDay => slots.end_of_day,
        Part::Evening => slots.evening,
        Part::Night => slots.tonight,
    }
}

/// The next time at which a clock shows the hour.
fn any_day(hour: Hour, here: &Zoned, habits: &Habits) -> Result<Walls, Note> {
    let today = here.date();
    let days = [today, today.tomorrow().map_err(|_| too_far())?];
    let next =
        |time: Time| days.into_iter().map(|day| day.to_datetime(time)).find(|wall| *wall > here.datetime());
    let found = match hour {
        Hour::At(time) | Hour::Offset(time, _) | Hour::Late(time) => next(time).map(Walls::only),
        Hour::Midnight => next(Time::midnight()).map(Walls::only),
        Hour::Part(part) => next(slot(&habits.slots, part)).map(Walls::only),
        Hour::Unsaid => next(habits.slots.morning).map(Walls::only),
        Hour::Either(am, pm) => next(am).zip(next(pm)).map(|(am, pm)| Walls::choose(am, pm, here, habits)),
    };
    found.ok_or_else(too_far)
}

/// The hour on the given day.
fn on_day(said: &Said, day: Day, hour: Hour, here: &Zoned, habits: &Habits) -> Result<Walls, Note> {
    if let Some(gone) = gone(said.weekday, day, here.date()) {
        return Err(gone);
    }
    let Dates { list, other } = dates(day, here.date())?;
    let ahead = |date: &Date| at_hour(*date, hour, here, habits);
    let Some(first) = list.iter().find_map(ahead) else {
        return match list.last() {
            Some(date) if *date < here.date() => Err(Note::Past(dated(*date))),
            Some(_) | None => left_today(day, hour, here, habits),
        };
    };
    let other_day = other.and_then(|date| at_hour(date, hour, here, habits));
    match (other_day, is_day_of_month(said, first.first.date())) {
        // `mon 16` on the 15th: the date is more likely, and also earlier.
        (None, true) => {
            let morning = first.first.date().to_datetime(habits.slots.morning);
            Ok(Walls { first: morning.min(first.first), other: Some(first.first.max(morning)) })
        }
        (Some(other), _) => Ok(Walls { other: Some(other.first), ..first }),
        (None, false) => Ok(first),
    }
}

/// Returns whether the bare number after a weekday equals the day of the month of `date`.
fn is_day_of_month(said: &Said, date: Date) -> bool {
    let number = said.hours.clocks.first() == Some(&Clock::Lone(date.day()));
    number && matches!(said.day, Some(Day::Weekday(_)))
}

/// The hour on `date`, if it is still to come.
fn at_hour(date: Date, hour: Hour, here: &Zoned, habits: &Habits) -> Option<Walls> {
    let ahead = |wall: DateTime| Some(wall).filter(|wall| *wall > here.datetime());
    match hour {
        Hour::At(time) | Hour::Offset(time, _) => ahead(date.to_datetime(time)).map(Walls::only),
        Hour::Late(time) => ahead(date.tomorrow().ok()?.to_datetime(time)).map(Walls::only),
        Hour::Part(part) => ahead(date.to_datetime(slot(&habits.slots, part))).map(Walls::only),
        Hour::Unsaid => ahead(date.to_datetime(habits.slots.morning)).map(Walls::only),
        Hour::Midnight => {
            let end = date.tomorrow().ok()?.to_datetime(Time::midnight());
            match ahead(date.to_datetime(Time::midnight())) {
                Some(first) => Some(Walls { first, other: Some(end) }),
                None => ahead(end).map(Walls::only),
            }
        }
        Hour::Either(am, pm) => match (ahead(date.to_datetime(am)), ahead(date.to_datetime(pm))) {
            (Some(am), Some(pm)) => Some(Walls::choose(am, pm, here, habits)),
            (only, other) => only.or(other).map(Walls::only),
        },
    }
}

/// The rest of today, if the morning or the given part of the day has begun.
fn left_today(day: Day, hour: Hour, here: &Zoned, habits: &Habits) -> Result<Walls, Note> {
    let slots = &habits.slots;
    let (name, over) = match hour {
        Hour::Unsaid => ("today", false),
        Hour::Part(Part::Morning) => ("this morning", here.time() >= slots.noon),
        Hour::Part(Part::Noon) => ("noon", true),
        Hour::Part(Part::Afternoon) => ("this afternoon", here.time() >= slots.evening),
        Hour::Part(Part::EndOfDay | Part::Evening | Part::Night) => ("tonight", false),
        Hour::At(time) if time.hour() < 12 => return Err(over_today(time, here.time())),
        Hour::At(_) | Hour::Either(..) | Hour::Midnight | Hour::Offset(..) | Hour::Late(_) => {
            ("that time", true)
        }
    };
    if over || day != Day::Ahead(Length::default()) {
        return Err(Note::Past(name.to_owned()));
    }
    let slot = slots.all().into_iter().find(|slot| *slot > here.time());
    let soon = || here.checked_add(SignedDuration::from_hours(1)).ok().map(|soon| soon.datetime());
    slot.map(|slot| here.date().to_datetime(slot)).or_else(soon).map(Walls::only).ok_or_else(too_far)
}

/// The error for a morning hour that has passed today, which suggests the afternoon.
fn over_today(time: Time, now: Time) -> Note {
    let said = clock(time);
    let later = time.wrapping_add(SignedDuration::from_hours(12));
    let later =
        if later > now { format!("`{}` for the later one, or ", clock(later)) } else { String::new() };
    Note::Wrong(format!("{said} is over today; say {later}`tomorrow {said}`"))
}

impl Walls {
    fn only(first: DateTime) -> Self {
        Self { first, other: None }
    }

    /// Prefers the earlier of two times unless only the later is in waking hours; the other becomes
    /// the alternative if it is in waking hours and within 24 hours.
    fn choose(am: DateTime, pm: DateTime, here: &Zoned, habits: &Habits) -> Self {
        let (next, later) = if am < pm { (am, pm) } else { (pm, am) };
        let awake = |wall: DateTime| habits.awake(wall.time());
        let (first, second) = if !awake(next) && awake(later) { (later, next) } else { (next, later) };
        let day_on = here.datetime().saturating_add(24.hours());
        Self { first, other: Some(second).filter(|second| awake(*second) && *second <= day_on) }
    }
}
