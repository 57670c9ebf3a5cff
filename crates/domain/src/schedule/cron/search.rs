//! Computes the fires of a cron expression in a time zone.
//!
//! Between two clock changes a zone has one fixed offset. The search goes from one such stretch to
//! the next, and handles skipped and repeated times only at the boundaries.

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp, ToSpan};

use super::fields::{ClockBasis, Fields, contains};

/// The search limit: the rarest date, 29 February, is at most eight years away.
const HORIZON: SignedDuration = SignedDuration::from_hours(24 * 366 * 9);

impl Fields {
    /// The first fire after `after`.
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let horizon = after.checked_add(HORIZON).unwrap_or(Timestamp::MAX);
        let mut offset = zone.to_offset(after);
        let mut from = minute_after(offset.to_datetime(after))?;
        let mut changes = zone.following(after);
        loop {
            let change = changes.next().filter(|change| change.timestamp() < horizon);
            let end = change.as_ref().map_or(horizon, |change| change.timestamp());
            if let Some(fire) = self.next_in_stretch(from, end, offset, zone) {
                return Some(fire);
            }
            let before = offset.to_datetime(end);
            offset = change?.offset();
            from = minute_at_or_after(offset.to_datetime(end))?;
            if self.basis == ClockBasis::Wall
                && self.next_on_calendar(minute_at_or_after(before)?, from).is_some()
            {
                return Some(end);
            }
        }
    }

    /// The first fire within a stretch of fixed offset.
    fn next_in_stretch(
        &self,
        mut from: DateTime,
        end: Timestamp,
        offset: Offset,
        zone: &TimeZone,
    ) -> Option<Timestamp> {
        let until = offset.to_datetime(end);
        loop {
            let wall = self.next_on_calendar(from, until)?;
            let fire = offset.to_timestamp(wall).ok()?;
            if self.basis == ClockBasis::Elapsed || first_shown(wall, zone) == Some(fire) {
                return Some(fire);
            }
            from = minute_after(wall)?;
        }
    }

    /// The first match from `from` (inclusive) to `until` (exclusive), without clock changes.
    fn next_on_calendar(&self, from: DateTime, until: DateTime) -> Option<DateTime> {
        let mut date = from.date();
        let mut hour = from.hour();
        let mut minute = from.minute();
        while date <= until.date() {
            if !contains(self.months, date.month()) {
                date = date.last_of_month().tomorrow().ok()?;
            } else {
                let time = self.matches_date(date).then(|| self.next_time_of_day(hour, minute)).flatten();
                if let Some((hour, minute)) = time {
                    return Some(date.at(hour, minute, 0, 0)).filter(|wall| *wall < until);
                }
                date = date.tomorrow().ok()?;
            }
            (hour, minute) = (0, 0);
        }
        None
    }

    /// The first matching time of a day, from `hour` and `minute` on.
    fn next_time_of_day(&self, hour: i8, minute: i8) -> Option<(i8, i8)> {
        let this_hour = contains(self.hours, hour).then(|| first_set_bit(self.minutes, minute)).flatten();
        match this_hour {
            Some(minute) => Some((hour, minute)),
            None => Some((first_set_bit(self.hours, hour + 1)?, first_set_bit(self.minutes, 0)?)),
        }
    }
}

/// The last fire from `not_before` to `at_or_before`, where `next` returns the first fire after an
/// instant.
///
/// Uses bisection: a year of minutes takes about two dozen calls of `next`.
pub fn last_fire(
    not_before: Timestamp,
    at_or_before: Timestamp,
    next: impl Fn(Timestamp) -> Option<Timestamp>,
) -> Option<Timestamp> {
    let until = |after| next(after).filter(|fire| *fire <= at_or_before);
    let mut newest = until(just_before(not_before))?;
    let mut none_after = at_or_before;
    while let Some(following) = until(newest) {
        newest = following;
        let middle = newest + none_after.duration_since(newest) / 2;
        match until(middle) {
            Some(fire) => newest = fire,
            None => none_after = middle,
        }
    }
    Some(newest)
}

/// The last instant before `at`.
pub fn just_before(at: Timestamp) -> Timestamp {
    at.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(at)
}

/// The instant at which a clock first shows `wall`.
fn first_shown(wall: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    zone.to_ambiguous_timestamp(wall).compatible().ok()
}

fn first_set_bit(bits: u64, from: i8) -> Option<i8> {
    let later = bits & (u64::MAX << from);
    (later != 0).then(|| later.trailing_zeros() as i8)
}

/// The first whole minute after `wall`.
fn minute_after(wall: DateTime) -> Option<DateTime> {
    whole_minute(wall).checked_add(1.minute()).ok()
}

/// The first whole minute that is not before `wall`.
fn minute_at_or_after(wall: DateTime) -> Option<DateTime> {
    if whole_minute(wall) == wall { Some(wall) } else { minute_after(wall) }
}

fn whole_minute(wall: DateTime) -> DateTime {
    wall.date().at(wall.hour(), wall.minute(), 0, 0)
}
