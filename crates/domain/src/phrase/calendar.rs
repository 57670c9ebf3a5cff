//! Names of days and months, and conversion of wall-clock times.

use jiff::Zoned;
use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};

const DAYS: [(&str, &str); 7] = [
    ("mon", "monday"),
    ("tue", "tuesday"),
    ("wed", "wednesday"),
    ("thu", "thursday"),
    ("fri", "friday"),
    ("sat", "saturday"),
    ("sun", "sunday"),
];
const MONTHS: [(&str, &str); 12] = [
    ("jan", "january"),
    ("feb", "february"),
    ("mar", "march"),
    ("apr", "april"),
    ("may", "may"),
    ("jun", "june"),
    ("jul", "july"),
    ("aug", "august"),
    ("sep", "september"),
    ("oct", "october"),
    ("nov", "november"),
    ("dec", "december"),
];

/// Parses the name of a weekday.
pub(super) fn weekday(text: &str) -> Option<Weekday> {
    let text = match text.trim_end_matches('.') {
        "tues" => "tue",
        "weds" => "wed",
        "thur" | "thurs" => "thu",
        other => other,
    };
    let at = DAYS.iter().position(|(short, long)| text == *short || text == *long)?;
    Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok()
}

/// Parses the plural of a weekday: `mondays`.
pub(super) fn weekdays(text: &str) -> Option<Weekday> {
    let single = text.strip_suffix('s')?;
    (single.len() > 4).then(|| weekday(single))?
}

/// Parses the name of a month.
pub(super) fn month(text: &str) -> Option<i8> {
    let text = match text.trim_end_matches('.') {
        "sept" => "sep",
        other => other,
    };
    let at = MONTHS.iter().position(|(short, long)| text == *short || text == *long)?;
    i8::try_from(at + 1).ok()
}

/// `thursday`.
pub(super) fn day_name(day: Weekday) -> &'static str {
    DAYS[usize::from(day.to_monday_zero_offset().unsigned_abs())].1
}

/// `thu`.
pub(super) fn short_day(day: Weekday) -> &'static str {
    DAYS[usize::from(day.to_monday_zero_offset().unsigned_abs())].0
}

/// `december`, for 12.
pub(super) fn month_name(month: i8) -> &'static str {
    MONTHS.get(usize::from((month - 1).unsigned_abs())).map_or("", |(_, long)| long)
}

/// `24 dec`.
pub(super) fn date_name(date: Date) -> String {
    format!("{} {}", date.day(), short_month(date.month()))
}

/// `24 dec 2026`.
pub(super) fn full_date_name(date: Date) -> String {
    format!("{} {}", date_name(date), date.year())
}

/// `1st`, for 1.
pub(super) fn ordinal(number: i8) -> String {
    let end = match (number % 10, number) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        (_, _) => "th",
    };
    format!("{number}{end}")
}

/// `dec`, for 12.
pub(super) fn short_month(month: i8) -> &'static str {
    MONTHS.get(usize::from((month - 1).unsigned_abs())).map_or("", |(short, _)| short)
}

/// `09:30`, with seconds if there are any.
pub(super) fn format_time(time: Time) -> String {
    match time.second() {
        0 => format!("{:02}:{:02}", time.hour(), time.minute()),
        second => format!("{:02}:{:02}:{second:02}", time.hour(), time.minute()),
    }
}

/// The next such weekday after `today`.
pub(super) fn following_weekday(today: Date, day: Weekday) -> Option<Date> {
    today.nth_weekday(1, day).ok()
}

/// The instant at which a clock in `zone` shows `wall`: the first of two in a fold, the first
/// instant after the change in a gap.
pub(super) fn resolve_wall_time(zone: &TimeZone, wall: DateTime) -> Option<Zoned> {
    let ambiguous = zone.to_ambiguous_zoned(wall);
    if !matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. }) {
        return ambiguous.compatible().ok();
    }
    let before = ambiguous.earlier().ok()?;
    let change = zone.following(before.timestamp()).next()?;
    Some(change.timestamp().to_zoned(zone.clone()))
}
