//! Creates VTIMEZONE definitions for other programs, with yearly rules where they apply.

use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan, Zoned};

use super::moment::format_local;
use super::rule::weekday_code;

/// A change of the UTC offset.
struct OffsetChange {
    /// In local time before the change.
    at: Zoned,
    from: Offset,
    to: Offset,
    kind: &'static str,
    name: String,
}

/// Returns the VTIMEZONE component of `zone` for times around `at`, or `None` for zones without a
/// name and UTC.
pub(crate) fn vtimezone_for(zone: &TimeZone, at: &Zoned) -> Option<String> {
    let name = zone.iana_name().filter(|name| *name != "UTC")?;
    let before = at.timestamp().checked_sub(SEARCH_BACK).ok()?;
    let changes: Vec<_> = zone
        .following(before)
        .take(4)
        .filter_map(|turn| self::offset_change(zone, turn.timestamp()))
        .collect();
    let parts: String = match changes.as_slice() {
        [] => fixed_offset(zone, at),
        [.., _] => changes.iter().take(2).map(|turn| format_change(zone, turn)).collect(),
    };
    Some(format!("BEGIN:VTIMEZONE\r\nTZID:{name}\r\n{parts}END:VTIMEZONE\r\n"))
}

/// The time before an event in which its offset change is searched.
const SEARCH_BACK: jiff::SignedDuration = jiff::SignedDuration::from_hours(24 * 366);

fn offset_change(zone: &TimeZone, at: Timestamp) -> Option<OffsetChange> {
    let from = zone.to_offset(at.checked_sub(jiff::SignedDuration::from_secs(1)).ok()?);
    let info = zone.to_offset_info(at);
    let kind = if info.dst().is_dst() { "DAYLIGHT" } else { "STANDARD" };
    let to = info.offset();
    let name = info.abbreviation().to_owned();
    Some(OffsetChange { at: at.to_zoned(TimeZone::fixed(from)), from, to, kind, name })
}

fn format_change(zone: &TimeZone, turn: &OffsetChange) -> String {
    let rule = yearly_rule(zone, turn).map(|rule| format!("RRULE:{rule}\r\n")).unwrap_or_default();
    format_component(turn.kind, &format_local(turn.at.datetime()), turn.from, turn.to, &turn.name, &rule)
}

fn fixed_offset(zone: &TimeZone, at: &Zoned) -> String {
    let info = zone.to_offset_info(at.timestamp());
    format_component("STANDARD", "19700101T000000", info.offset(), info.offset(), info.abbreviation(), "")
}

fn format_component(kind: &str, start: &str, from: Offset, to: Offset, name: &str, rule: &str) -> String {
    format!(
        "BEGIN:{kind}\r\nDTSTART:{start}\r\nTZOFFSETFROM:{}\r\nTZOFFSETTO:{}\r\nTZNAME:{name}\r\n{rule}END:{kind}\r\n",
        format_offset(from),
        format_offset(to),
    )
}

fn format_offset(offset: Offset) -> String {
    let sign = if offset.seconds() < 0 { '-' } else { '+' };
    let seconds = offset.seconds().abs();
    let rest = if seconds % 60 == 0 { String::new() } else { format!("{:02}", seconds % 60) };
    format!("{sign}{:02}{:02}{rest}", seconds / 3600, seconds / 60 % 60)
}

/// Returns the yearly rule of the change if it holds for the next years.
fn yearly_rule(zone: &TimeZone, turn: &OffsetChange) -> Option<String> {
    let day = turn.at.date();
    let ordinals = [(day.day() - 1) / 7 + 1, -1];
    let found = ordinals
        .into_iter()
        .find(|nth| (0..6).all(|years| matching_change(zone, turn, *nth, years).is_some()))?;
    Some(format!("FREQ=YEARLY;BYMONTH={};BYDAY={found}{}", day.month(), weekday_code(day.weekday())))
}

/// Returns the date of the same change `years` later, if it follows the pattern.
fn matching_change(zone: &TimeZone, turn: &OffsetChange, nth: i8, years: i64) -> Option<Date> {
    let day = turn.at.date();
    let month = day.first_of_month().checked_add(years.years()).ok()?;
    let then = month.nth_weekday_of_month(nth, day.weekday()).ok()?;
    let at = turn.from.to_timestamp(then.to_datetime(turn.at.time())).ok()?;
    let before = at.checked_sub(jiff::SignedDuration::from_secs(1)).ok()?;
    (zone.to_offset(before) == turn.from && zone.to_offset(at) == turn.to).then_some(then)
}
