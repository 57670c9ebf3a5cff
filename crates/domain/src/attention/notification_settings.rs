//! Notification settings: quiet hours, digest times, caps, and follow-ups.

use std::fmt;

use jiff::civil::{Time, time};
use jiff::{Timestamp, Zoned};

use crate::phrase::Habits;

/// The notification settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotificationSettings {
    pub quiet_hours: QuietHours,
    pub digests: DigestTimes,
    pub caps: PushCaps,
    /// Minutes until an unanswered reminder is repeated once in other words; `None` for never.
    pub follow_up_minutes: Option<u32>,
}

impl Default for NotificationSettings {
    fn default() -> Self {
        let quiet = QuietHours::default();
        let digests = DigestTimes::default();
        let caps = PushCaps::default();
        Self { quiet_hours: quiet, digests, caps, follow_up_minutes: Some(20) }
    }
}

/// Daily hours without notifications that can wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuietHours {
    Never,
    /// From the first time (inclusive) to the second (exclusive).
    Between(Time, Time),
}

impl Default for QuietHours {
    fn default() -> Self {
        Self::Between(time(22, 0, 0, 0), time(8, 0, 0, 0))
    }
}

impl QuietHours {
    /// Parses `22-8`, `22:30 - 07:00` or `off`.
    pub fn parse(words: &str) -> Option<Self> {
        if is_off(words) {
            return Some(Self::Never);
        }
        let (from, to) = words.split_once(['-', '–'])?;
        let from = parse_time(from)?;
        let to = parse_time(to)?;
        (from != to).then_some(Self::Between(from, to))
    }

    /// The habits that follow from it: the user is awake outside quiet hours.
    pub fn habits(self) -> Habits {
        match self {
            Self::Never => Habits::default(),
            Self::Between(sleeps, wakes) => Habits { wakes, sleeps, ..Habits::default() },
        }
    }

    /// The end of the quiet hours if `now` is within them.
    pub fn until(&self, now: &Zoned) -> Option<Timestamp> {
        let Self::Between(from, to) = *self else { return None };
        let clock = now.time();
        let inside = if from < to { (from..to).contains(&clock) } else { clock >= from || clock < to };
        let day = if clock < to { now.date() } else { now.date().tomorrow().ok()? };
        let end = day.to_datetime(to).to_zoned(now.time_zone().clone()).ok()?;
        inside.then(|| end.timestamp())
    }
}

impl fmt::Display for QuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("off"),
            Self::Between(from, to) => write!(f, "{}-{}", format_time(*from), format_time(*to)),
        }
    }
}

/// The daily times of digests, in order; if empty, digests are shown only on request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestTimes(pub Vec<Time>);

impl Default for DigestTimes {
    fn default() -> Self {
        Self(vec![time(8, 30, 0, 0), time(17, 30, 0, 0)])
    }
}

impl DigestTimes {
    /// Parses one or two times (`8:30 17:30`) or `off`.
    pub fn parse(words: &str) -> Option<Self> {
        if is_off(words) {
            return Some(Self(Vec::new()));
        }
        let parts = words.split([' ', ',']).filter(|part| !part.is_empty());
        let mut times = parts.map(parse_time).collect::<Option<Vec<Time>>>()?;
        times.sort_unstable();
        times.dedup();
        (1..=2).contains(&times.len()).then_some(Self(times))
    }

    /// The first digest after `now`.
    pub fn next(&self, now: &Zoned) -> Option<Timestamp> {
        let days = [now.date(), now.date().tomorrow().ok()?];
        let times = days.iter().flat_map(|day| self.0.iter().map(|time| day.to_datetime(*time)));
        let times = times.filter_map(|time| time.to_zoned(now.time_zone().clone()).ok());
        times.map(|time| time.timestamp()).find(|time| *time > now.timestamp())
    }
}

impl fmt::Display for DigestTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("off"),
            times => f.write_str(&times.iter().map(|time| format_time(*time)).collect::<Vec<_>>().join(" ")),
        }
    }
}

/// The cap on notifications initiated by the assistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushCaps {
    /// Limited only by the ping budget.
    Unlimited,
    Limited {
        /// The maximum number per day.
        per_day: u32,
        /// The minimum distance in minutes.
        min_gap_minutes: u32,
    },
}

impl Default for PushCaps {
    fn default() -> Self {
        Self::Limited { per_day: 6, min_gap_minutes: 45 }
    }
}

impl PushCaps {
    /// Parses `6 45` or `off`.
    pub fn parse(words: &str) -> Option<Self> {
        if is_off(words) {
            return Some(Self::Unlimited);
        }
        let (a_day, apart) = words.trim().split_once(char::is_whitespace)?;
        let number = |word: &str| word.trim().parse::<u32>().ok().filter(|number| *number < 10_000);
        Some(Self::Limited { per_day: number(a_day)?, min_gap_minutes: number(apart)? })
    }
}

impl fmt::Display for PushCaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlimited => f.write_str("off"),
            Self::Limited { per_day: a_day, min_gap_minutes: apart } => write!(f, "{a_day} {apart}"),
        }
    }
}

fn is_off(words: &str) -> bool {
    ["off", "none", "never"].iter().any(|word| words.trim().eq_ignore_ascii_case(word))
}

/// Parses a time of day: `8`, `08:30`, `22.15`, `10pm`.
fn parse_time(words: &str) -> Option<Time> {
    let words = words.trim().to_ascii_lowercase();
    let (digits, later) = match (words.strip_suffix("am"), words.strip_suffix("pm")) {
        (Some(digits), _) => (digits.trim(), Some(0)),
        (_, Some(digits)) => (digits.trim(), Some(12)),
        (None, None) => (words.as_str(), None),
    };
    let (hour, minute) = digits.split_once([':', '.']).unwrap_or((digits, "0"));
    let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse::<i8>().ok());
    let hour = number(hour).flatten()?;
    let minute = number(minute).flatten()?;
    let hour = match later {
        None if hour == 24 => 0,
        None => hour,
        Some(half) => (1..=12).contains(&hour).then_some(hour % 12 + half)?,
    };
    Time::new(hour, minute, 0, 0).ok()
}

fn format_time(time: Time) -> String {
    time.strftime("%H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Zoned {
        format!("2026-11-{time}[Europe/Madrid]").parse().unwrap()
    }

    /// Quiet hours are parsed in common notations and formatted in one.
    #[test]
    fn quiet_hours_are_parsed_and_formatted() {
        let check = |words: &str, told: Option<&str>| {
            assert_eq!(QuietHours::parse(words).map(|quiet| quiet.to_string()).as_deref(), told, "{words}");
        };
        check("22-8", Some("22:00-08:00"));
        check(" 23:30 - 7 ", Some("23:30-07:00"));
        check("10pm-6.30", Some("22:00-06:30"));
        check("1-5", Some("01:00-05:00"));
        check("24-7", Some("00:00-07:00"));
        check("12am-12pm", Some("00:00-12:00"));
        check("OFF", Some("off"));
        for wrong in ["", "22", "8-8", "25-7", "22-7-8", "late", "22:61-7", "-", "13pm-7", "+1-7"] {
            check(wrong, None);
        }
    }

    /// Quiet hours include their start and exclude their end, over midnight and by day.
    #[test]
    fn quiet_hours_include_start_and_exclude_end() {
        let check = |quiet: &str, now: &str, until: Option<&str>| {
            let until = until.map(|until| at(until).timestamp());
            assert_eq!(QuietHours::parse(quiet).unwrap().until(&at(now)), until, "{quiet} at {now}");
        };
        check("22-8", "16T21:59", None);
        check("22-8", "16T22:00", Some("17T08:00"));
        check("22-8", "17T00:30", Some("17T08:00"));
        check("22-8", "17T08:00", None);
        check("13-14", "16T13:30", Some("16T14:00"));
        check("13-14", "16T14:00", None);
        check("off", "16T23:00", None);
    }

    /// There are one or two digests per day, and the next may be tomorrow.
    #[test]
    fn the_next_digest_is_today_or_tomorrow() {
        let usual = DigestTimes::default();
        assert_eq!(usual.to_string(), "08:30 17:30");
        assert_eq!(DigestTimes::parse("17:30, 8:30"), Some(usual.clone()));
        assert_eq!(usual.next(&at("16T08:30")), Some(at("16T17:30").timestamp()));
        assert_eq!(usual.next(&at("16T17:30")), Some(at("17T08:30").timestamp()));
        assert_eq!(DigestTimes::parse("off").unwrap().next(&at("16T08:00")), None);
        for wrong in ["", "8 12 17", "noon", "8:30 25"] {
            assert_eq!(DigestTimes::parse(wrong), None, "{wrong}");
        }
    }

    /// A cap is two numbers or `off`.
    #[test]
    fn caps_are_two_numbers() {
        assert_eq!(PushCaps::parse(" 4  60 "), Some(PushCaps::Limited { per_day: 4, min_gap_minutes: 60 }));
        assert_eq!(PushCaps::parse("off").unwrap().to_string(), "off");
        assert_eq!(PushCaps::default().to_string(), "6 45");
        for wrong in ["", "6", "six 45", "6 45 1", "-1 3"] {
            assert_eq!(PushCaps::parse(wrong), None, "{wrong}");
        }
    }
}
