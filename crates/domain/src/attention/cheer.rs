//! Cheers: a line when something is done that is worth one, at most twice a day.

use jiff::civil::Date;

use crate::card::SNOOZES;

/// The most cheers of a day.
const A_DAY: u32 = 2;
/// After how many days without anything done the human is back.
const AWAY_DAYS: i32 = 3;

/// How often something done was worth a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cheers {
    /// The last day on which something was done, where the human lives.
    pub last: Date,
    /// How many lines were said that day.
    pub count: u32,
}

impl Default for Cheers {
    fn default() -> Self {
        Self { last: Date::ZERO, count: 0 }
    }
}

impl Cheers {
    /// The lines that can be said.
    pub const LINES: [&'static str; 3] =
        ["good to have you back.", "that one kept moving, and now it is done.", "first one today."];

    /// Something was done `today` that had been put off so often: what is kept, and the line, if it is worth one.
    pub fn done(self, today: Date, snoozes: u32) -> (Self, Option<&'static str>) {
        let [back, moved, first] = Self::LINES;
        let known = self.last != Date::ZERO;
        let away = today.since(self.last).map_or(0, |span| span.get_days());
        let count = if self.last == today { self.count } else { 0 };
        let line = match () {
            () if count >= A_DAY => None,
            () if known && away > AWAY_DAYS => Some(back),
            () if snoozes >= SNOOZES => Some(moved),
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

    /// The first of a day, one that kept moving, and a return are worth a line; the third line of a day is not said.
    #[test]
    fn a_line_is_said_now_and_then() {
        let [back, moved, first] = Cheers::LINES;
        let monday = date(2026, 11, 16);
        let friday = date(2026, 11, 20);
        let (cheers, line) = Cheers::default().done(monday, 0);
        assert_eq!(line, Some(first));
        let (cheers, line) = cheers.done(monday, 0);
        assert_eq!(line, None);
        let (cheers, line) = cheers.done(monday, 2);
        assert_eq!(line, Some(moved));
        let (cheers, line) = cheers.done(monday, 5);
        assert_eq!(line, None);
        assert_eq!(cheers.done(friday, 0).1, Some(back));
        assert_eq!(cheers.done(date(2026, 11, 17), 0).1, Some(first));
    }
}
