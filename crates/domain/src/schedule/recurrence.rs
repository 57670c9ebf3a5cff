//! Recurrence of a routine: rule, time zone, and last day.

mod description;
mod month_day;
mod zone;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, ToSpan};

pub use month_day::MonthDay;
pub use zone::Zone;

use super::Cron;
use super::cron::{just_before, last_fire};

/// When a routine fires.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recurrence {
    pub rule: RecurrenceRule,
    /// The last day on which it may fire, in its zone.
    pub until: Option<Date>,
    /// The zone of the rule; `None` follows the user's current zone.
    pub zone: Option<Zone>,
}

/// The rule of a recurrence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RecurrenceRule {
    Cron(Cron),
    /// A number of days; a week is seven days.
    Days {
        /// The interval in days; 0 counts as 1.
        every: u32,
        /// The first fire in local time.
        from: DateTime,
    },
    /// A day of every month.
    Monthly {
        day: MonthDay,
        at: Time,
    },
}

impl Recurrence {
    /// A recurrence without end in the user's zone.
    pub fn new(cron: Cron) -> Self {
        Self { rule: RecurrenceRule::Cron(cron), until: None, zone: None }
    }

    /// The first fire after `after`; `zone` is the user's.
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let zone = self.zone(zone);
        let may = |fire: &Timestamp| self.until.is_none_or(|until| zone.to_datetime(*fire).date() <= until);
        self.rule.next(after, zone).filter(may)
    }

    /// The last fire from `not_before` to `at_or_before`, both inclusive.
    pub fn last(&self, at_or_before: Timestamp, not_before: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        last_fire(not_before, at_or_before, |after| self.next(after, zone))
    }

    /// The time between the first fire at or after `at` and the next one, ignoring the last day.
    pub fn period(&self, at: Timestamp, zone: &TimeZone) -> Option<SignedDuration> {
        let zone = self.zone(zone);
        let first = self.rule.next(just_before(at), zone)?;
        Some(self.rule.next(first, zone)?.duration_since(first))
    }

    /// A text that identifies its times: two recurrences with equal texts have the same times.
    pub fn rule_text(&self, zone: &TimeZone) -> String {
        let zone = self.zone.as_ref().map_or_else(|| zone.iana_name().unwrap_or("?"), Zone::name);
        let beat = match &self.rule {
            RecurrenceRule::Cron(cron) => cron.as_str().to_owned(),
            RecurrenceRule::Days { every, from } => format!("every {every} days from {from}"),
            RecurrenceRule::Monthly { day, at } => day.format_with_time(*at),
        };
        match self.until {
            Some(until) => format!("{beat} until {until} in {zone}"),
            None => format!("{beat} in {zone}"),
        }
    }

    fn zone<'z>(&'z self, human: &'z TimeZone) -> &'z TimeZone {
        self.zone.as_ref().map_or(human, Zone::time_zone)
    }
}

impl RecurrenceRule {
    fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Cron(cron) => cron.next(after, zone),
            Self::Days { every, from } => next_interval_day((*every).max(1), *from, after, zone),
            Self::Monthly { day, at } => day.next(*at, after, zone),
        }
    }
}

/// The first fire after `after` of an interval of `every` days that begins at `from`.
fn next_interval_day(every: u32, from: DateTime, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let every = i64::from(every);
    let days = zone.to_datetime(after).date().duration_since(from.date()).as_hours() / 24;
    // Starts one day early: a time skipped by a clock change can fire one day later.
    let mut count = ((days - 1) / every).max(0);
    loop {
        let wall = from.checked_add(count.checked_mul(every)?.days()).ok()?;
        let fire = first_instant_of(wall, zone)?;
        if fire > after {
            return Some(fire);
        }
        count += 1;
    }
}

/// The instant at which a clock first shows `wall`, or the end of the gap if it is skipped.
fn first_instant_of(wall: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    let shown = zone.to_ambiguous_timestamp(wall);
    match shown.offset() {
        AmbiguousOffset::Gap { before, .. } => {
            let past_the_gap = before.to_timestamp(wall).ok()?;
            let change = zone.preceding(past_the_gap.checked_add(1.nanosecond()).ok()?).next()?;
            Some(change.timestamp())
        }
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => shown.compatible().ok(),
    }
}
