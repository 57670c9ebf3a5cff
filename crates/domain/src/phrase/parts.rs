//! The parts of a time phrase, and the rules for which of them can be combined.

use jiff::civil::Weekday;
use jiff::tz::TimeZone;

use super::clock::{ClockTime, DayPart};
use super::day::{Day, Period};
use super::frequency::Frequency;
use super::group::{Bound, Piece};
use super::length::Length;
use super::note::ParseNote;
use super::recurrence_spec::LocationCondition;

/// The parts of a time phrase.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PhraseParts {
    pub day: Option<Day>,
    /// The weekday that was given in addition to a date.
    pub weekday: Option<Weekday>,
    pub hours: Hours,
    pub frequency: Option<Frequency>,
    pub from: Option<Day>,
    pub until: Option<Day>,
    pub home: LocationCondition,
    pub lead: Option<Length>,
    pub error: Option<ParseNote>,
}

/// The parts that concern the time of day.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Hours {
    pub clocks: Vec<ClockTime>,
    pub part: Option<DayPart>,
    pub window: Option<(ClockTime, ClockTime)>,
    pub zone: Option<TimeZone>,
}

impl PhraseParts {
    /// Adds a piece; returns `None` if it contradicts an earlier one.
    pub fn add(&mut self, piece: Piece) -> Option<()> {
        match piece {
            Piece::Day(day) => self.add_day(day),
            Piece::Clock(clock) => self.add_clock(clock),
            Piece::Part(_) if self.is_exactly() => None,
            Piece::Part(part) => set_once(&mut self.hours.part, part),
            Piece::Moment(day, clock) => self.add_day(day).and_then(|()| self.add_clock(clock)),
            Piece::Tonight => {
                self.add_day(Day::Ahead(Length::default()))?;
                set_once(&mut self.hours.part, DayPart::Night)
            }
            Piece::Frequency(every) => self.add_frequency(every),
            Piece::Window(from, to) => set_once(&mut self.hours.window, (from, to)),
            Piece::Bound(Bound::From, day) => set_once(&mut self.from, day),
            Piece::Bound(Bound::Until, day) if self.may_repeat() => set_once(&mut self.until, day),
            Piece::Home if self.may_repeat() => {
                self.home = LocationCondition::AtHome;
                Some(())
            }
            Piece::Bound(Bound::To, day) if self.frequency.is_some() => set_once(&mut self.until, day),
            Piece::Bound(Bound::Until | Bound::To, _) | Piece::Home => None,
            Piece::Zone(zone) => set_once(&mut self.hours.zone, zone),
            Piece::Lead(length) => set_once(&mut self.lead, length),
            Piece::Invalid(note) => set_once(&mut self.error, note),
        }
    }

    fn add_day(&mut self, day: Day) -> Option<()> {
        if let Some(every) = &mut self.frequency {
            return every.absorb(day);
        }
        let weeks = |length: Length| {
            (length.months == 0 && length.days > 0 && length.days % 7 == 0).then_some(length.days / 7)
        };
        let both = match (self.day, day) {
            (None, day) => Some(day),
            (Some(Day::Weekday(said)), Day::Date(_)) => {
                self.weekday = Some(said);
                Some(day)
            }
            (Some(Day::Weekday(said)), Day::OfMonth(_)) => {
                self.weekday = Some(said);
                Some(day)
            }
            (Some(Day::Date(dated)), Day::Weekday(said)) => {
                self.weekday = Some(said);
                Some(Day::Date(dated))
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

    fn add_clock(&mut self, clock: ClockTime) -> Option<()> {
        if let (ClockTime::Lone(day @ 25..=31), Some(Day::Weekday(said))) = (clock, self.day) {
            (self.day, self.weekday) = (Some(Day::OfMonth(day)), Some(said));
            return Some(());
        }
        let room = self.hours.clocks.is_empty() || self.frequency.is_some();
        (room && !self.is_exactly()).then(|| self.hours.clocks.push(clock))
    }

    fn add_frequency(&mut self, mut every: Frequency) -> Option<()> {
        if let Some(day) = self.day.filter(|_| self.frequency.is_none()) {
            every.absorb(day)?;
            self.day = None;
        }
        if let Some(both) = self.frequency.as_ref().and_then(|said| said.with_days(&every)) {
            self.frequency = Some(both);
            return Some(());
        }
        set_once(&mut self.frequency, every)
    }

    /// Returns a copy with the day or time of day of `other` where it has none.
    pub fn completed_from(&self, other: &Self) -> Self {
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
        self.frequency.is_some() || (self.day.is_none() && self.hours.is_empty())
    }

    fn is_exactly(&self) -> bool {
        matches!(self.day, Some(Day::Exactly(_)))
    }

    /// Returns whether its day is in the past.
    pub fn is_past(&self) -> bool {
        matches!(self.day, Some(Day::Past(_)))
    }

    /// Returns whether it gives a time, and not only an end or a lead.
    pub fn has_time(&self) -> bool {
        let from = self.from.is_some() && self.until.is_none();
        let when = self.day.is_some() || self.frequency.is_some() || from;
        when || self.error.is_some() || !self.hours.clocks.is_empty() || self.hours.part.is_some()
    }

    /// Returns whether it is complete or can be completed by another phrase of the sentence.
    pub fn is_complete(&self) -> bool {
        let of_a_repeat = self.until.is_some() || self.home == LocationCondition::AtHome;
        self.is_modifier() || (self.has_time() && (self.frequency.is_some() || !of_a_repeat))
    }

    /// Returns whether it only modifies another phrase.
    fn is_modifier(&self) -> bool {
        let remark = self.lead.is_some()
            || self.home == LocationCondition::AtHome
            || self.until.is_some()
            || self.from.is_some();
        remark && self.day.is_none() && self.frequency.is_none() && self.hours.is_empty()
    }

    /// Returns whether it has a day and nothing else.
    pub fn is_day_only(&self) -> bool {
        self.day.is_some() && !self.is_exactly() && self.hours.is_empty() && self.frequency.is_none()
    }

    /// Returns whether it has a time of day and nothing else.
    pub fn is_hours_only(&self) -> bool {
        !self.hours.is_empty() && self.day.is_none() && self.frequency.is_none()
    }

    /// Merges with an earlier phrase if they express one time together.
    pub fn merged_with(&self, early: &Self) -> Option<Self> {
        let adds = |remark: &Self, to: &Self| {
            remark.is_modifier() && (remark.lead.is_some() || to.frequency.is_some())
        };
        let together = adds(self, early)
            || adds(early, self)
            || (early.frequency.is_some() && self.is_hours_only() && early.hours.is_empty())
            || (self.frequency.is_some() && early.is_hours_only() && self.hours.is_empty())
            || (early.is_day_only() && self.is_hours_only())
            || (early.is_hours_only() && self.is_day_only());
        if !together || early.error.is_some() || self.error.is_some() {
            return None;
        }
        let mut both = self.clone();
        merge_once(&mut both.day, early.day)?;
        merge_once(&mut both.weekday, early.weekday)?;
        merge_once(&mut both.frequency, early.frequency.clone())?;
        merge_once(&mut both.from, early.from)?;
        merge_once(&mut both.until, early.until)?;
        if early.home == LocationCondition::AtHome {
            both.home = LocationCondition::AtHome;
        }
        merge_once(&mut both.lead, early.lead)?;
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
fn set_once<T>(place: &mut Option<T>, thing: T) -> Option<()> {
    place.is_none().then(|| *place = Some(thing))
}

/// Like [`set_once`], where `None` is no change.
fn merge_once<T>(place: &mut Option<T>, thing: Option<T>) -> Option<()> {
    match thing {
        Some(thing) => set_once(place, thing),
        None => Some(()),
    }
}
