//! What the human should see about how a time was read.

use std::fmt;

use jiff::civil::{Date, Time, Weekday};

use super::calendar::{clock, date_name, dated, day_name, ordinal, short_day};

/// Something to say about how a time was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A bare hour was read as one of the two there are.
    Hour {
        /// The hour and minute as said, on a clock of twelve hours.
        said: Time,
        /// How it was read.
        read: Time,
    },
    /// It rings in quiet hours.
    Quiet(Time),
    /// The clocks change over that time, so that it does not exist.
    Gap {
        /// What was said.
        said: Time,
        /// The first minute after the change.
        rings: Time,
    },
    /// The weekday that was said is not that of the date, which counts.
    OtherWeekday(Date, Weekday),
    /// It only rings while the human is awake.
    Waking(Time, Time),
    /// Months that have no such day are left out.
    ShortMonths(i8),
    /// The time to leave is over, the time itself is not.
    LeaveNow,
    /// What was said is over; nothing was understood.
    Past(String),
    /// The date with its weekday is over, and the same weekday to come; nothing was understood.
    Gone(Date, Date),
    /// The date is over since a few weeks at most, and comes again then; nothing was understood.
    Over(Date, Date),
    /// What was said is no time; a sentence that says why, and what would be right.
    Wrong(String),
}

impl Note {
    /// Whether it says why there is no time.
    pub fn is_trouble(&self) -> bool {
        match self {
            Self::Past(_) | Self::Gone(..) | Self::Over(..) | Self::Wrong(_) => true,
            Self::Hour { .. }
            | Self::Quiet(_)
            | Self::Gap { .. }
            | Self::OtherWeekday(..)
            | Self::Waking(..)
            | Self::ShortMonths(_)
            | Self::LeaveNow => false,
        }
    }

    /// Whether it says that the time is over.
    pub fn is_past(&self) -> bool {
        matches!(self, Self::Past(_) | Self::Gone(..) | Self::Over(..))
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hour { said, read } => hour(f, *said, *read),
            Self::Quiet(at) => write!(f, "{} is in your quiet hours", clock(*at)),
            Self::Gap { said, rings } => {
                write!(f, "the clocks change and there is no {} that day, so {}", clock(*said), clock(*rings))
            }
            Self::OtherWeekday(date, said) => {
                let (date, weekday) = (date_name(*date), day_name(date.weekday()));
                write!(f, "{date} is a {weekday}, not a {}; i took the date", day_name(*said))
            }
            Self::Waking(from, to) => {
                write!(f, "only from {} to {}, while you are awake", clock(*from), clock(*to))
            }
            Self::ShortMonths(day) => write!(f, "months without a {} are left out", ordinal(*day)),
            Self::LeaveNow => f.write_str("the time to leave is over; i ring at the time itself"),
            Self::Past(said) => write!(f, "{said} is over; say a time to come, like `tomorrow at 9`"),
            Self::Gone(over, next) => {
                let day = |date: &Date| format!("{} {}", short_day(date.weekday()), date_name(*date));
                write!(f, "that's already past ({}); say `{}` if you mean the next one", day(over), day(next))
            }
            Self::Over(over, next) => {
                let over = date_name(*over);
                write!(f, "{over} is over; say `{}` for the next one, or a day to come", dated(*next))
            }
            Self::Wrong(sentence) => f.write_str(sentence),
        }
    }
}

/// `3 = 15:00; say "3am" for the night`.
fn hour(f: &mut fmt::Formatter<'_>, said: Time, read: Time) -> fmt::Result {
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
    write!(f, "{said} = {}; say \"{said}{half}\" for {part}", clock(read))
}
