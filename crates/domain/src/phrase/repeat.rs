//! What repeats: how often, from when and until when, and by whose clock.

use jiff::civil::{Date, DateTime, Time, Weekday};

/// Something that comes again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// How often, and at what time of day.
    pub beat: Beat,
    /// The first day it may come; nothing, if it begins at once.
    pub from: Option<Date>,
    /// The last day it may come; nothing, if it never ends.
    pub until: Option<Date>,
    /// The zone whose clock counts; nothing, for that of wherever the human is.
    pub zone: Option<String>,
    /// Whether it rests while the human is away.
    pub home: Home,
}

/// How often something comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beat {
    /// By five fields.
    Cron(String),
    /// Every so many days, counted from a first time.
    Days {
        /// How many.
        every: u32,
        /// The first time.
        from: DateTime,
    },
    /// On a day of every month that five fields cannot name.
    Monthly {
        /// Which.
        day: MonthDay,
        /// At what time.
        at: Time,
    },
}

/// A day of every month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonthDay {
    /// Such a weekday, counted from the first; a month that has no such day is left out.
    Nth(i8, Weekday),
    /// The last such weekday.
    Last(Weekday),
    /// The last day.
    End,
}

/// Where something that repeats may come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Home {
    /// Wherever the human is.
    #[default]
    Anywhere,
    /// Only at home.
    Only,
}
