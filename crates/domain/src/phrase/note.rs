//! Notes on how a time phrase was interpreted, and errors, for the user.

use std::fmt;

use jiff::civil::{Date, Time, Weekday};

use super::calendar::{date_name, day_name, format_time, full_date_name, ordinal, short_day};

/// A remark or error about a time phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseNote {
    /// A bare hour was interpreted as one of two.
    Hour {
        /// The time as written, on the 12-hour clock.
        written: Time,
        /// The time it was interpreted as.
        interpreted: Time,
    },
    /// The time is in quiet hours.
    Quiet(Time),
    /// The time does not exist on that day because the clocks change.
    Gap {
        /// The time as written.
        written: Time,
        /// The first minute after the change.
        rings: Time,
    },
    /// The weekday does not match the date; the date counts.
    OtherWeekday(Date, Weekday),
    /// The recurrence is limited to waking hours.
    Waking(Time, Time),
    /// Months without this day are skipped.
    ShortMonths(i8),
    /// The time to leave is over, the time itself is not.
    LeaveNow,
    /// The time is in the past; not interpreted.
    Past(String),
    /// The date with that weekday has passed; holds it and the next date with the same weekday. Not
    /// interpreted.
    PastWeekdayDate(Date, Date),
    /// The yearly date passed a few weeks ago; holds it and its next occurrence. Not interpreted.
    RecentlyPast(Date, Date),
    /// The phrase is invalid; a sentence with the reason and a valid example.
    Invalid(String),
}

impl ParseNote {
    /// Returns whether it explains why the text has no timing.
    pub fn is_error(&self) -> bool {
        match self {
            Self::Past(_) | Self::PastWeekdayDate(..) | Self::RecentlyPast(..) | Self::Invalid(_) => true,
            Self::Hour { .. }
            | Self::Quiet(_)
            | Self::Gap { .. }
            | Self::OtherWeekday(..)
            | Self::Waking(..)
            | Self::ShortMonths(_)
            | Self::LeaveNow => false,
        }
    }

    /// Returns whether the time is in the past.
    pub fn is_past(&self) -> bool {
        matches!(self, Self::Past(_) | Self::PastWeekdayDate(..) | Self::RecentlyPast(..))
    }
}

impl fmt::Display for ParseNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hour { written: said, interpreted: read } => write_hour(f, *said, *read),
            Self::Quiet(at) => write!(f, "{} is in your quiet hours", format_time(*at)),
            Self::Gap { written: said, rings } => {
                write!(
                    f,
                    "the clocks change and there is no {} that day, so {}",
                    format_time(*said),
                    format_time(*rings)
                )
            }
            Self::OtherWeekday(date, said) => {
                let (date, weekday) = (date_name(*date), day_name(date.weekday()));
                write!(f, "{date} is a {weekday}, not a {}; i took the date", day_name(*said))
            }
            Self::Waking(from, to) => {
                write!(f, "only from {} to {}, while you are awake", format_time(*from), format_time(*to))
            }
            Self::ShortMonths(day) => write!(f, "months without a {} are left out", ordinal(*day)),
            Self::LeaveNow => f.write_str("the time to leave is over; i ring at the time itself"),
            Self::Past(said) => write!(f, "{said} is over; say a time to come, like `tomorrow at 9`"),
            Self::PastWeekdayDate(over, next) => {
                let day = |date: &Date| format!("{} {}", short_day(date.weekday()), date_name(*date));
                write!(f, "that's already past ({}); say `{}` if you mean the next one", day(over), day(next))
            }
            Self::RecentlyPast(over, next) => {
                let over = date_name(*over);
                write!(
                    f,
                    "{over} is over; say `{}` for the next one, or a day to come",
                    full_date_name(*next)
                )
            }
            Self::Invalid(sentence) => f.write_str(sentence),
        }
    }
}

/// `3 = 15:00; say "3am" for the night`.
fn write_hour(f: &mut fmt::Formatter<'_>, said: Time, read: Time) -> fmt::Result {
    let minutes = match said.minute() {
        0 => String::new(),
        minute => format!(":{minute:02}"),
    };
    let (half, part) = match (said.hour(), read.hour()) {
        (12, 0) => ("pm", "noon"),
        (12, _) => ("am", "midnight"),
        (10 | 11, 0..12) => ("pm", "the night"),
        (_, 0..12) => ("pm", "the evening"),
        (..=5, _) => ("am", "the night"),
        (_, _) => ("am", "the morning"),
    };
    let said = format!("{}{minutes}", said.hour());
    write!(f, "{said} = {}; say \"{said}{half}\" for {part}", format_time(read))
}
