//! Creates VTIMEZONE definitions for other programs, with yearly rules where they apply.

use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan, Zoned};

use super::moment::written;
use super::rule::day_name;

/// A change of the UTC offset.
struct Turn {
    /// In local time before the change.
    at: Zoned,
    from: Offset,
    to: Offset,
    kind: &'static str,
    name: String,
}

/// Returns the VTIMEZONE component of `zone` for times around `at`, or `None` for zones without a
/// name and UTC.
pub(crate) fn explained(zone: &TimeZone, at: &Zoned) -> Option<String> {
    let name = zone.iana_name().filter(|name| *name != "UTC")?;
    let before = at.timestamp().checked_sub(SEARCHED).ok()?;
    let turns: Vec<_> =
        zone.following(before).take(4).filter_map(|turn| self::turn(zone, turn.timestamp())).collect();
    let parts: String = match turns.as_slice() {
        [] => steady(zone, at),
        [.., _] => turns.iter().take(2).map(|turn| told(zone, turn)).collect(),
    };
    Some(format!("BEGIN:VTIMEZONE\r\nTZID:{name}\r\n{parts}END:VTIMEZONE\r\n"))
}

/// The time before an event in which its offset change is searched.
const SEARCHED: jiff::SignedDuration = jiff::SignedDuration::from_hours(24 * 366);

fn turn(zone: &TimeZone, at: Timestamp) -> Option<Turn> {
    let from = zone.to_offset(at.checked_sub(jiff::SignedDuration::from_secs(1)).ok()?);
    let info = zone.to_offset_info(at);
    let kind = if info.dst().is_dst() { "DAYLIGHT" } else { "STANDARD" };
    let to = info.offset();
    let name = info.abbreviation().to_owned();
    Some(Turn { at: at.to_zoned(TimeZone::fixed(from)), from, to, kind, name })
}

fn told(zone: &TimeZone, turn: &Turn) -> String {
    let rule = yearly(zone, turn).map(|rule| format!("RRULE:{rule}\r\n")).unwrap_or_default();
    part(turn.kind, &written(turn.at.datetime()), turn.from, turn.to, &turn.name, &rule)
}

fn steady(zone: &TimeZone, at: &Zoned) -> String {
    let info = zone.to_offset_info(at.timestamp());
    part("STANDARD", "19700101T000000", info.offset(), info.offset(), info.abbreviation(), "")
}

fn part(kind: &str, start: &str, from: Offset, to: Offset, name: &str, rule: &str) -> String {
    format!(
        "BEGIN:{kind}\r\nDTSTART:{start}\r\nTZOFFSETFROM:{}\r\nTZOFFSETTO:{}\r\nTZNAME:{name}\r\n{rule}END:{kind}\r\n",
        signed(from),
        signed(to),
    )
}

fn signed(offset: Offset) -> String {
    let sign = if offset.seconds() < 0 { '-' } else { '+' };
    let seconds = offset.seconds().abs();
    let rest = if seconds % 60 == 0 { String::new() } else { format!("{:02}", seconds % 60) };
    format!("{sign}{:02}{:02}{rest}", seconds / 3600, seconds / 60 % 60)
}

/// Returns the yearly rule of the change if it holds for the next years.
fn yearly(zone: &TimeZone, turn: &Turn) -> Option<String> {
    let day = turn.at.date();
    let ordinals = [(day.day() - 1) / 7 + 1, -1];
    let found =
        ordinals.into_iter().find(|nth| (0..6).all(|years| changes_so(zone, turn, *nth, years).is_some()))?;
    Some(format!("FREQ=YEARLY;BYMONTH={};BYDAY={found}{}", day.month(), day_name(day.weekday())))
}

/// Returns the date of the same change `years` later, if it follows the pattern.
fn changes_so(zone: &TimeZone, turn: &Turn, nth: i8, years: i64) -> Option<Date> {
    let day = turn.at.date();
    let month = day.first_of_month().checked_add(years.years()).ok()?;
    let then = month.nth_weekday_of_month(nth, day.weekday()).ok()?;
    let at = turn.from.to_timestamp(then.to_datetime(turn.at.time())).ok()?;
    let before = at.checked_sub(jiff::SignedDuration::from_secs(1)).ok()?;
    (zone.to_offset(before) == turn.from && zone.to_offset(at) == turn.to).then_some(then)
}
