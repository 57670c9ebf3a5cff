//! The parts of a time phrase, and the rules for which of them can be combined.

use jiff::civil::Weekday;
use jiff::tz::TimeZone;

use super::clock::{Clock, Part};
use super::day::{Day, Period};
use super::every::Every;
use super::group::{Bound, Piece};
use super::length::Length;
use super::note::Note;
use super::repeat::Home;

/// The parts of a time phrase.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Said {
    pub day: Option<Day>,
    /// The weekday that was given in addition to a date.
    pub weekday: Option<Weekday>,
    pub hours: Hours,
    pub every: Option<Every>,
    pub from: Option<Day>,
    pub until: Option<Day>,
    pub home: Home,
    pub lead: Option<Length>,
    pub wrong: Option<Note>,
}

/// The parts that concern the time of day.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Hours {
    pub clocks: Vec<Clock>,
    pub part: Option<Part>,
    pub window: Option<(Clock, Clock)>,
    pub zone: Option<TimeZone>,
}

impl Said {
    /// Adds a piece; returns `None` if it contradicts an earlier one.
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
            Piece::Bound(Bound::To, day) if self.every.is_some() => put(&mut self.until, day),
            Piece::Bound(Bound::Until | Bound::To, _) | Piece::Home => None,
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
            (Some(Day::Weekday(said)), Day::OfMonth(_)) => {
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

    /// Returns a copy with the day or time of day of `other` where it has none.
    pub fn completed(&self, other: &Self) -> Self {
        let mut whole = self.clone();
        if whole.day.is_none() {
            (whole.day, whole.weekday) = (other.day, other.weekday);
        }
        if whole.hours.is_empty() && !whole.is_exactly() {
            whole.hours = other.hours.clone();
        }
        whole
    }

    /// Returns whether it repeats or may still become a recurrence.
    fn may_repeat(&self) -> bool {
        self.every.is_some() || (self.day.is_none() && self.hours.is_empty())
    }

    fn is_exactly(&self) -> bool {
        matches!(self.day, Some(Day::Exactly(_)))
    }

    /// Returns whether its day is in the past.
    pub fn is_over(&self) -> bool {
        matches!(self.day, Some(Day::Over(_)))
    }

    /// Returns whether it gives a time, and not only an end or a lead.
    pub fn is_time(&self) -> bool {
        let from = self.from.is_some() && self.until.is_none();
        let when = self.day.is_some() || self.every.is_some() || from;
        when || self.wrong.is_some() || !self.hours.clocks.is_empty() || self.hours.part.is_some()
    }

    /// Returns whether it is complete or can be completed by another phrase of the sentence.
    pub fn is_whole(&self) -> bool {
        let of_a_repeat = self.until.is_some() || self.home == Home::Only;
        self.is_remark() || (self.is_time() && (self.every.is_some() || !of_a_repeat))
    }

    /// Returns whether it only modifies another phrase.
    fn is_remark(&self) -> bool {
        let remark =
            self.lead.is_some() || self.home == Home::Only || self.until.is_some() || self.from.is_some();
        remark && self.day.is_none() && self.every.is_none() && self.hours.is_empty()
    }

    /// Returns whether it has a day and nothing else.
    pub fn is_day_only(&self) -> bool {
        self.day.is_some() && !self.is_exactly() && self.hours.is_empty() && self.every.is_none()
    }

    /// Returns whether it has a time of day and nothing else.
    pub fn is_hours_only(&self) -> bool {
        !self.hours.is_empty() && self.day.is_none() && self.every.is_none()
    }

    /// Merges with an earlier phrase if they express one time together.
    pub fn joined(&self, early: &Self) -> Option<Self> {
        let adds =
            |remark: &Self, to: &Self| remark.is_remark() && (remark.lead.is_some() || to.every.is_some());
        let together = adds(self, early)
            || adds(early, self)
            || (early.every.is_some() && self.is_hours_only() && early.hours.is_empty())
            || (self.every.is_some() && early.is_hours_only() && self.hours.is_empty())
            || (early.is_day_only() && self.is_hours_only())
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

/// Sets an empty option; returns `None` if it is already set.
fn put<T>(place: &mut Option<T>, thing: T) -> Option<()> {
    place.is_none().then(|| *place = Some(thing))
}

/// Like [`set_once`], where `None` is no change.
fn merge<T>(place: &mut Option<T>, thing: Option<T>) -> Option<()> {
    match thing {
        Some(thing) => put(place, thing),
        None => Some(()),
    }
}
