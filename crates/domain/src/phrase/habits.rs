//! The human's day: when it begins and ends, and what its parts are called.

use jiff::Zoned;
use jiff::civil::{Time, time};

use super::calendar::on_the_clock;

/// What the human's words for times of day mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Habits {
    /// When the human wakes.
    pub wakes: Time,
    /// When quiet hours begin.
    pub sleeps: Time,
    /// The times that have names.
    pub slots: Slots,
}

/// The times of day that have names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    /// In the morning, and on a day of which nothing more is said.
    pub morning: Time,
    /// At noon.
    pub noon: Time,
    /// In the afternoon.
    pub afternoon: Time,
    /// At the end of the working day.
    pub end_of_day: Time,
    /// In the evening.
    pub evening: Time,
    /// Tonight.
    pub tonight: Time,
}

/// A time that is offered when none was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quick {
    /// What it is called: `1h`, `tonight`, `tomorrow`.
    pub name: &'static str,
    /// When that is.
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
    /// Every slot, in the order of the usual day.
    pub(super) fn all(&self) -> [Time; 6] {
        [self.morning, self.noon, self.afternoon, self.end_of_day, self.evening, self.tonight]
    }
}

impl Habits {
    /// Whether the human is awake at `clock`: from waking on, until before quiet hours.
    pub fn awake(&self, clock: Time) -> bool {
        if self.wakes <= self.sleeps {
            (self.wakes..self.sleeps).contains(&clock)
        } else {
            clock >= self.wakes || clock < self.sleeps
        }
    }

    /// The times to offer for something that came without one; `no time` is always the last choice.
    pub fn quick(&self, now: &Zoned) -> Vec<Quick> {
        let hour = now.checked_add(jiff::SignedDuration::from_hours(1)).ok();
        let tonight = on_the_clock(now.time_zone(), now.date().to_datetime(self.slots.tonight));
        let tomorrow = now.date().tomorrow().ok();
        let tomorrow =
            tomorrow.and_then(|day| on_the_clock(now.time_zone(), day.to_datetime(self.slots.morning)));
        let named = [("1h", hour), ("tonight", tonight), ("tomorrow", tomorrow)];
        let ahead =
            |(name, at): (&'static str, Option<Zoned>)| at.filter(|at| at > now).map(|at| Quick { name, at });
        named.into_iter().filter_map(ahead).collect()
    }
}
