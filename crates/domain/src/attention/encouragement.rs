//! Encouragements: a short line when a task is done, at most twice a day.

use jiff::civil::Date;

use crate::card::MANY_SNOOZES;

/// The maximum number per day.
const MAX_PER_DAY: u32 = 2;
/// After more days than this without a finished task the user is welcomed back.
const AWAY_DAYS: i32 = 3;

/// The last active day and its encouragements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encouragements {
    /// The last day with a finished task, in the user's zone.
    pub last: Date,
    /// The number of lines on that day.
    pub count: u32,
}

impl Default for Encouragements {
    fn default() -> Self {
        Self { last: Date::ZERO, count: 0 }
    }
}

impl Encouragements {
    /// All possible lines.
    pub const LINES: [&'static str; 3] =
        ["good to have you back.", "that one kept moving, and now it is done.", "first one today."];

    /// Records that a task that was snoozed `snoozes` times was done; returns the new state and a
    /// line, if one is due.
    pub fn on_task_done(self, today: Date, snoozes: u32) -> (Self, Option<&'static str>) {
        let [back, moved, first] = Self::LINES;
        let known = self.last != Date::ZERO;
        let away = today.since(self.last).map_or(0, |span| span.get_days());
        let count = if self.last == today { self.count } else { 0 };
        let line = match () {
            () if count >= MAX_PER_DAY => None,
            () if known && away > AWAY_DAYS => Some(back),
            () if snoozes >= MANY_SNOOZES => Some(moved),
            () if self.last != today => Some(first),
            () => None,
        };
        (Self { last: today, count: count + u32::from(line.is_some()) }, line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    /// The first task of a day, one that was snoozed often, and a return get a line, but not a
    /// third one on a day.
    #[test]
    fn notable_tasks_get_a_line_at_most_twice_a_day() {
        let [back, moved, first] = Encouragements::LINES;
        let monday = date(2026, 11, 16);
        let friday = date(2026, 11, 20);
        let (cheers, line) = Encouragements::default().on_task_done(monday, 0);
        assert_eq!(line, Some(first));
        let (cheers, line) = cheers.on_task_done(monday, 0);
        assert_eq!(line, None);
        let (cheers, line) = cheers.on_task_done(monday, 2);
        assert_eq!(line, Some(moved));
        let (cheers, line) = cheers.on_task_done(monday, 5);
        assert_eq!(line, None);
        assert_eq!(cheers.on_task_done(friday, 0).1, Some(back));
        assert_eq!(cheers.on_task_done(date(2026, 11, 17), 0).1, Some(first));
    }
}
