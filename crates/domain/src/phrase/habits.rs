//! The user's daily rhythm: waking hours and the times of the named parts of the day.

use jiff::Zoned;
use jiff::civil::{Time, time};

use super::calendar::resolve_wall_time;

/// The user's waking hours and named times of day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Habits {
    pub wakes: Time,
    /// The beginning of quiet hours.
    pub sleeps: Time,
    pub slots: Slots,
}

/// The times of the named parts of the day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Also used for a day without a time.
    pub morning: Time,
    pub noon: Time,
    pub afternoon: Time,
    /// The end of the working day.
    pub end_of_day: Time,
    pub evening: Time,
    pub tonight: Time,
}

/// A suggested time, offered when the text has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuickTime {
    /// Its label: `1h`, `tonight`, `tomorrow`.
    pub name: &'static str,
    pub at: Zoned,
}

impl Default for Habits {
    fn default() -> Self {
        Self { wakes: time(8, 0, 0, 0), sleeps: time(22, 0, 0, 0), slots: Slots::default() }
    }
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            morning: time(9, 0, 0, 0),
            noon: time(12, 0, 0, 0),
            afternoon: time(14, 0, 0, 0),
            end_of_day: time(17, 0, 0, 0),
            evening: time(18, 0, 0, 0),
            tonight: time(20, 0, 0, 0),
        }
    }
}

impl Slots {
    /// Every slot, in default order.
    pub(super) fn all(&self) -> [Time; 6] {
        [self.morning, self.noon, self.afternoon, self.end_of_day, self.evening, self.tonight]
    }
}

impl Habits {
    /// Returns whether `clock` is in waking hours: from `wakes` (inclusive) to `sleeps`
    /// (exclusive).
    pub fn is_awake(&self, clock: Time) -> bool {
        if self.wakes <= self.sleeps {
            (self.wakes..self.sleeps).contains(&clock)
        } else {
            clock >= self.wakes || clock < self.sleeps
        }
    }

    /// The times to offer for an item without one; the caller adds `no time` as the last choice.
    pub fn quick_times(&self, now: &Zoned) -> Vec<QuickTime> {
        let hour = now.checked_add(jiff::SignedDuration::from_hours(1)).ok();
        let tonight = resolve_wall_time(now.time_zone(), now.date().to_datetime(self.slots.tonight));
        let tomorrow = now.date().tomorrow().ok();
        let tomorrow =
            tomorrow.and_then(|day| resolve_wall_time(now.time_zone(), day.to_datetime(self.slots.morning)));
        let named = [("1h", hour), ("tonight", tonight), ("tomorrow", tomorrow)];
        let ahead = |(name, at): (&'static str, Option<Zoned>)| {
            at.filter(|at| at > now).map(|at| QuickTime { name, at })
        };
        named.into_iter().filter_map(ahead).collect()
    }
}
