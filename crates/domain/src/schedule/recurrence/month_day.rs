//! Days of the month that cron cannot express: the last Friday, the 2nd Tuesday, the last day.

use std::fmt;

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::first_instant_of;

/// Weekday names in the file format.
const DAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];
/// Ordinals in the file format.
const ORDINALS: [&str; 5] = ["1st", "2nd", "3rd", "4th", "5th"];
/// The separator between day and time in the file format.
const SEPARATOR: &str = " of the month at ";
/// The search limit in months; a 5th weekday occurs at least every third month.
const MAX_MONTHS_SEARCHED: usize = 13;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MonthDay {
    /// The n-th such weekday, from 1; months without it are skipped.
    Nth(i8, Weekday),
    Last(Weekday),
    End,
}

impl fmt::Display for MonthDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |day: &Weekday| DAYS.iter().find(|(_, known)| known == day).map_or("", |(name, _)| name);
        match self {
            Self::Nth(nth, day) => {
                let nth = ORDINALS.get(usize::from((nth - 1).unsigned_abs())).unwrap_or(&"1st");
                write!(f, "{nth} {}", name(day))
            }
            Self::Last(day) => write!(f, "last {}", name(day)),
            Self::End => f.write_str("last day"),
        }
    }
}

impl MonthDay {
    /// Parses the file format: `last friday of the month at 09:00`.
    pub fn parse(text: &str) -> Option<(Self, Time)> {
        let (day, time) = text.trim().split_once(SEPARATOR)?;
        let (nth, day) = day.split_once(' ')?;
        let weekday = DAYS.iter().find(|(name, _)| *name == day).map(|(_, weekday)| *weekday);
        let day = match (nth, weekday) {
            ("last", None) if day == "day" => Self::End,
            ("last", weekday) => Self::Last(weekday?),
            (nth, weekday) => {
                let at = ORDINALS.iter().position(|known| *known == nth)?;
                Self::Nth(i8::try_from(at + 1).ok()?, weekday?)
            }
        };
        let time = Time::strptime("%H:%M", time.trim()).or_else(|_| Time::strptime("%H:%M:%S", time.trim()));
        Some((day, time.ok()?))
    }

    /// Formats the day and its time in the file format.
    pub fn format_with_time(self, at: Time) -> String {
        let form = if at.second() == 0 { "%H:%M" } else { "%H:%M:%S" };
        format!("{self}{SEPARATOR}{}", at.strftime(form))
    }

    /// The first fire after `after`.
    pub(super) fn next(self, at: Time, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let first = zone.to_datetime(after).date().first_of_month();
        // Starts one month early: a time skipped by a clock change can fire one day later.
        let first = first.checked_sub(1.month()).unwrap_or(first);
        let months = std::iter::successors(Some(first), |month| month.checked_add(1.month()).ok());
        let fires = months
            .take(MAX_MONTHS_SEARCHED)
            .filter_map(|month| self.in_month_of(month)?.to_datetime(at).into());
        let mut fires = fires.filter_map(|wall| first_instant_of(wall, zone));
        fires.find(|fire| *fire > after)
    }

    /// The date in the month of `day`.
    fn in_month_of(self, day: Date) -> Option<Date> {
        match self {
            Self::Nth(nth, weekday) => day.nth_weekday_of_month(nth, weekday).ok(),
            Self::Last(weekday) => day.nth_weekday_of_month(-1, weekday).ok(),
            Self::End => Some(day.last_of_month()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format_times(day: MonthDay, count: usize) -> String {
        let zone = TimeZone::get("Europe/Madrid").unwrap();
        let at = "09:00".parse().unwrap();
        let start = "2026-11-15T13:33Z".parse().unwrap();
        let next = |after: &Timestamp| day.next(at, *after, &zone);
        let fires = std::iter::successors(next(&start), next).take(count);
        let told: Vec<String> =
            fires.map(|fire| fire.to_zoned(zone.clone()).strftime("%a %-d %b %H:%M").to_string()).collect();
        told.join(", ")
    }

    #[test]
    fn a_month_day_fires_at_most_once_per_month() {
        assert_eq!(
            format_times(MonthDay::Last(Weekday::Friday), 3),
            "Fri 27 Nov 09:00, Fri 25 Dec 09:00, Fri 29 Jan 09:00"
        );
        assert_eq!(
            format_times(MonthDay::End, 4),
            "Mon 30 Nov 09:00, Thu 31 Dec 09:00, Sun 31 Jan 09:00, Sun 28 Feb 09:00"
        );
        assert_eq!(format_times(MonthDay::Nth(1, Weekday::Sunday), 2), "Sun 6 Dec 09:00, Sun 3 Jan 09:00");
        assert_eq!(
            format_times(MonthDay::Nth(5, Weekday::Monday), 3),
            "Mon 30 Nov 09:00, Mon 29 Mar 09:00, Mon 31 May 09:00"
        );
    }

    #[test]
    fn the_file_format_round_trips() {
        let days = [MonthDay::End, MonthDay::Last(Weekday::Friday), MonthDay::Nth(2, Weekday::Tuesday)];
        for (day, time) in days.into_iter().zip(["09:00", "23:59:30", "00:00"]) {
            let time: Time = time.parse().unwrap();
            assert_eq!(MonthDay::parse(&day.format_with_time(time)), Some((day, time)));
        }
        for wrong in
            ["3 days", "last", "last moonday of the month at 9", "6th friday of the month at 09:00", ""]
        {
            assert_eq!(MonthDay::parse(wrong), None, "{wrong}");
        }
    }
}
