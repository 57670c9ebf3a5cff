//! Time phrases: pieces that stand together and say one thing, and which of several counts.

use std::ops::Range;

use jiff::civil::Weekday;
use jiff::tz::TimeZone;

use super::clock::{Clock, Part, clock};
use super::day::{Day, Period, day};
use super::every::{self, Every};
use super::length::{Length, length};
use super::note::Note;
use super::repeat::Home;
use super::words::{Found, Words};
use super::zone::zone;

/// A piece of a time phrase.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// A day.
    Day(Day),
    /// A time of day.
    Clock(Clock),
    /// A part of the day.
    Part(Part),
    /// A day and a time in one word.
    Moment(Day, Clock),
    /// The night of today.
    Tonight,
    /// How often.
    Every(Every),
    /// From one time of day to another.
    Window(Clock, Clock),
    /// The first or the last day of something that repeats.
    Bound(Bound, Day),
    /// Whose clock.
    Zone(TimeZone),
    /// Only while the human is at home.
    Home,
    /// So long before it.
    Lead(Length),
    /// Something that is no time.
    Wrong(Note),
}

/// Which end of something that repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    From,
    Until,
}

/// What stands before a word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Near {
    /// Another piece of the same phrase.
    Time,
    /// Other words.
    Words,
}

/// What a time phrase says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Said {
    pub day: Option<Day>,
    /// The weekday that was said beside a date.
    pub weekday: Option<Weekday>,
    pub hours: Hours,
    pub every: Option<Every>,
    pub from: Option<Day>,
    pub until: Option<Day>,
    pub home: Home,
    pub lead: Option<Length>,
    pub wrong: Option<Note>,
}

/// What a time phrase says about the time of day.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Hours {
    pub clocks: Vec<Clock>,
    pub part: Option<Part>,
    pub window: Option<(Clock, Clock)>,
    pub zone: Option<TimeZone>,
}

/// A time phrase, and the words it stands in.
pub(super) struct Group {
    pub said: Said,
    pub places: Vec<Range<usize>>,
}

const JOINTS: [&str; 11] = ["at", "on", "the", "by", "in", ",", "from", "for", "around", "·", "@"];
const LEAD_IN: [&str; 10] = ["on", "by", "for", "from", "at", "the", "due", "in", "till", "around"];

/// The time phrase that counts: the last one, with what belongs to it and stands before.
pub(super) fn last(words: &Words) -> Option<Group> {
    let mut groups: Vec<Group> = groups(words).into_iter().filter(|group| group.said.is_whole()).collect();
    if groups.iter().any(|group| !group.said.is_over()) {
        groups.retain(|group| !group.said.is_over());
    }
    let mut last = groups.pop()?;
    while let Some(before) = groups.pop() {
        match last.said.joined(&before, words) {
            Some(both) => {
                last.said = both;
                last.places.splice(0..0, before.places);
            }
            None if last.said.is_time() => break,
            None => last = before,
        }
    }
    last.said.is_time().then_some(last)
}

/// Every time phrase, in order.
pub(super) fn groups(words: &Words) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let (mut at, mut near) = (0, Near::Words);
    while at < words.len() {
        let added = groups.last_mut().filter(|_| near == Near::Time).and_then(|group| group.add(words, at));
        let floor = groups.last().map_or(0, Group::end);
        if let Some(next) = added {
            at = next;
        } else if let Some((piece, next)) = piece(words, at, Near::Words) {
            groups.push(Group::of(piece, lead_in(words, at, floor)..next));
            (at, near) = (next, Near::Time);
        } else {
            let and = words.at(at) == "and" && groups.last().is_some_and(|group| group.said.every.is_some());
            near =
                if near == Near::Time && (and || words.any(at, &JOINTS)) { Near::Time } else { Near::Words };
            at += 1;
        }
    }
    groups
}

/// Where the phrase at `at` begins, with the small words before it.
fn lead_in(words: &Words, at: usize, floor: usize) -> usize {
    let mut start = at;
    while start > floor && !words.any(start, &["at", "on", "in", "by"]) && words.any(start - 1, &LEAD_IN) {
        start -= 1;
    }
    start
}

/// The piece at `at`.
fn piece(words: &Words, at: usize, near: Near) -> Found<Piece> {
    lead(words, at)
        .or_else(|| every::window(words, at, near))
        .or_else(|| bound(words, at))
        .or_else(|| every::every(words, at, near))
        .or_else(|| day(words, at, near))
        .or_else(|| clock(words, at, near))
        .or_else(|| zone(words, at, near))
        .or_else(|| (words.at(at) == "@home").then_some((Piece::Home, at + 1)))
}

/// `leave 25 min before`.
fn lead(words: &Words, at: usize) -> Found<Piece> {
    let start = match words.after(at, &["remind", "me"]).or(words.after(at, &["set", "off"])) {
        Some(next) => next,
        None => words.past(at, &["leave", "go", "ring", "start", "ping"]),
    };
    let (length, next) = length(words, start)?;
    words
        .any(next, &["before", "earlier", "ahead", "early", "prior"])
        .then_some((Piece::Lead(length), next + 1))
}

/// `until friday`, `from monday`.
fn bound(words: &Words, at: usize) -> Found<Piece> {
    let which = match words.at(at) {
        "until" | "till" | "til" | "through" | "thru" => Bound::Until,
        "from" | "starting" | "beginning" | "since" => Bound::From,
        _ => return None,
    };
    match day(words, words.past(at + 1, &["on"]), Near::Words)? {
        (Piece::Day(Day::Exactly(_)), _) => None,
        (Piece::Day(day), next) => Some((Piece::Bound(which, day), next)),
        (wrong @ Piece::Wrong(_), next) => Some((wrong, next)),
        (_, _) => None,
    }
}

impl Group {
    fn of(piece: Piece, place: Range<usize>) -> Self {
        let mut said = Said::default();
        // Nothing is said yet, so that nothing can stand in the way.
        let _first = said.take(piece);
        Self { said, places: vec![place] }
    }

    /// Takes the piece at `at` in, if it belongs to the phrase; says where it ends.
    fn add(&mut self, words: &Words, at: usize) -> Option<usize> {
        let (piece, next) = piece(words, at, Near::Time)?;
        self.said.take(piece)?;
        if let Some(place) = self.places.last_mut() {
            place.end = next;
        }
        Some(next)
    }

    /// Whether it takes up all of `words`.
    pub fn is_all(&self, words: &Words) -> bool {
        matches!(&self.places[..], [all] if all.start == 0 && all.end == words.len())
    }

    fn end(&self) -> usize {
        self.places.last().map_or(0, |place| place.end)
    }

    /// Whether its day was said as a time, and is not the name of something: `monday meeting`.
    fn is_loose(&self, words: &Words) -> bool {
        let start = self.places.first().map_or(0, |place| place.start);
        let opens = start == 0 || words.after(0, &["remind", "me"]) == Some(start);
        opens || !matches!(self.said.day, Some(Day::Weekday(_))) || words.any(start, &["on", "by"])
    }
}

impl Said {
    /// Takes a piece in, unless it contradicts what is said already.
    pub fn take(&mut self, piece: Piece) -> Option<()> {
        match piece {
            Piece::Day(day) => self.take_day(day),
            Piece::Clock(clock) => self.take_clock(clock),
            Piece::Part(_) if self.is_exactly() => None,
            Piece::Part(part) => put(&mut self.hours.part, part),
            Piece::Moment(day, clock) => self.take_day(day).and_then(|()| self.take_clock(clock)),
            Piece::Tonight => {
                self.take_day(Day::Ahead(Length::default()))?;
                put(&mut self.hours.part, Part::Night)
            }
            Piece::Every(every) => self.take_every(every),
            Piece::Window(from, to) => put(&mut self.hours.window, (from, to)),
            Piece::Bound(Bound::From, day) => put(&mut self.from, day),
            Piece::Bound(Bound::Until, day) if self.may_repeat() => put(&mut self.until, day),
            Piece::Home if self.may_repeat() => {
                self.home = Home::Only;
                Some(())
            }
            Piece::Bound(Bound::Until, _) | Piece::Home => None,
            Piece::Zone(zone) => put(&mut self.hours.zone, zone),
            Piece::Lead(length) => put(&mut self.lead, length),
            Piece::Wrong(note) => put(&mut self.wrong, note),
        }
    }

    fn take_day(&mut self, day: Day) -> Option<()> {
        if let Some(every) = &mut self.every {
            return every.absorb(day);
        }
        let weeks = |length: Length| {
            (length.months == 0 && length.days > 0 && length.days % 7 == 0).then_some(length.days / 7)
        };
        let both = match (self.day, day) {
            (None, day) => Some(day),
            (Some(Day::Weekday(said)), Day::Dated(_)) => {
                self.weekday = Some(said);
                Some(day)
            }
            (Some(Day::Dated(dated)), Day::Weekday(said)) => {
                self.weekday = Some(said);
                Some(Day::Dated(dated))
            }
            (Some(Day::Ahead(length)), Day::Weekday(said))
            | (Some(Day::Weekday(said)), Day::Ahead(length)) => {
                weeks(length).map(|weeks| Day::WeekdayIn(said, weeks))
            }
            (Some(Day::Start(Period::Week)), Day::Weekday(said)) => Some(Day::WeekdayIn(said, 1)),
            (Some(Day::Ahead(length)), Day::Ahead(other)) if length == other => Some(day),
            (Some(_), _) => None,
        };
        let exact_beside_hours = matches!(day, Day::Exactly(_)) && !self.hours.is_empty();
        self.day = Some(both.filter(|_| !exact_beside_hours)?);
        Some(())
    }

    fn take_clock(&mut self, clock: Clock) -> Option<()> {
        if let (Clock::Lone(day @ 25..=31), Some(Day::Weekday(said))) = (clock, self.day) {
            (self.day, self.weekday) = (Some(Day::OfMonth(day)), Some(said));
            return Some(());
        }
        let room = self.hours.clocks.is_empty() || self.every.is_some();
        (room && !self.is_exactly()).then(|| self.hours.clocks.push(clock))
    }

    fn take_every(&mut self, mut every: Every) -> Option<()> {
        if let Some(day) = self.day.filter(|_| self.every.is_none()) {
            every.absorb(day)?;
            self.day = None;
        }
        if let Some(both) = self.every.as_ref().and_then(|said| said.with_days(&every)) {
            self.every = Some(both);
            return Some(());
        }
        put(&mut self.every, every)
    }

    /// Whether it repeats, or does not say yet.
    fn may_repeat(&self) -> bool {
        self.every.is_some() || (self.day.is_none() && self.hours.is_empty())
    }

    fn is_exactly(&self) -> bool {
        matches!(self.day, Some(Day::Exactly(_)))
    }

    /// Whether it is about a day that is over.
    fn is_over(&self) -> bool {
        matches!(self.day, Some(Day::Over(_)))
    }

    /// Whether it says when, and not only until when or how long before.
    fn is_time(&self) -> bool {
        let when = self.day.is_some() || self.every.is_some() || self.from.is_some();
        when || self.wrong.is_some() || !self.hours.clocks.is_empty() || self.hours.part.is_some()
    }

    /// Whether what it says about a repeat has one, or may find one elsewhere in the sentence.
    fn is_whole(&self) -> bool {
        let of_a_repeat = self.until.is_some() || self.home == Home::Only;
        self.is_remark() || (self.is_time() && (self.every.is_some() || !of_a_repeat))
    }

    /// Whether it only adds to another phrase.
    fn is_remark(&self) -> bool {
        let remark =
            self.lead.is_some() || self.home == Home::Only || self.until.is_some() || self.from.is_some();
        remark && self.day.is_none() && self.every.is_none() && self.hours.is_empty()
    }

    pub fn is_day_only(&self) -> bool {
        self.day.is_some() && !self.is_exactly() && self.hours.is_empty() && self.every.is_none()
    }

    fn is_hours_only(&self) -> bool {
        !self.hours.is_empty() && self.day.is_none() && self.every.is_none()
    }

    /// This and what was said before it, if they say one thing together.
    fn joined(&self, before: &Group, words: &Words) -> Option<Self> {
        let early = &before.said;
        let adds =
            |remark: &Self, to: &Self| remark.is_remark() && (remark.lead.is_some() || to.every.is_some());
        let together = adds(self, early)
            || adds(early, self)
            || (early.every.is_some() && self.is_hours_only() && early.hours.is_empty())
            || (self.every.is_some() && early.is_hours_only() && self.hours.is_empty())
            || (early.is_day_only() && self.is_hours_only() && before.is_loose(words))
            || (early.is_hours_only() && self.is_day_only());
        if !together || early.wrong.is_some() || self.wrong.is_some() {
            return None;
        }
        let mut both = self.clone();
        merge(&mut both.day, early.day)?;
        merge(&mut both.weekday, early.weekday)?;
        merge(&mut both.every, early.every.clone())?;
        merge(&mut both.from, early.from)?;
        merge(&mut both.until, early.until)?;
        if early.home == Home::Only {
            both.home = Home::Only;
        }
        merge(&mut both.lead, early.lead)?;
        if !early.hours.is_empty() {
            both.hours = Some(&early.hours).filter(|_| self.hours.is_empty())?.clone();
        }
        Some(both)
    }
}

impl Hours {
    fn is_empty(&self) -> bool {
        self.clocks.is_empty() && self.part.is_none() && self.window.is_none()
    }
}

/// Puts something where nothing is.
fn put<T>(place: &mut Option<T>, thing: T) -> Option<()> {
    place.is_none().then(|| *place = Some(thing))
}

/// Puts what there is where nothing is.
fn merge<T>(place: &mut Option<T>, thing: Option<T>) -> Option<()> {
    match thing {
        Some(thing) => put(place, thing),
        None => Some(()),
    }
}
