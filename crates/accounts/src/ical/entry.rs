//! One event of a calendar with its times. Its texts are parsed only when they are shown.

use std::ops::Range;

use jiff::tz::TimeZone;

use super::line::{ContentLine, content_lines, content_lines_named};
use super::moment::{Length, Moment};
use super::rule::RecurrenceRule;
use super::text::unescape;
use super::time_zones::TimeZones;
use crate::calendar::Details;

#[derive(Clone, Debug)]
pub(crate) struct EventEntry {
    /// The position in the file.
    pub(crate) range: Range<usize>,
    /// The UID, shared by all occurrences.
    pub(crate) uid: String,
    /// The occurrence of a series that this event overrides.
    pub(crate) recurrence_id: Option<Moment>,
    /// The first start.
    pub(crate) start: Moment,
    /// The duration.
    pub(crate) length: Length,
    pub(crate) recurrence: Recurrence,
    pub(crate) status: EventStatus,
}

/// The recurrence of an event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recurrence {
    /// The rule, or why it is not supported.
    pub(crate) rule: Option<Result<RecurrenceRule, String>>,
    /// Additional times (RDATE).
    pub(crate) extra_times: Vec<Moment>,
    /// Excluded times (EXDATE).
    pub(crate) excluded_times: Vec<Moment>,
}

/// The status of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EventStatus {
    #[default]
    Active,
    Cancelled,
}

/// Returns the lines of a component without those of nested components.
pub(crate) fn own_lines(part: &[u8]) -> impl Iterator<Item = ContentLine<'_>> {
    filter_own_lines(content_lines(part))
}

/// The properties that determine the times of an event, and the limits of nested components.
const TIME_PROPERTIES: [&[u8]; 11] = [
    b"BEGIN",
    b"END",
    b"UID",
    b"DTSTART",
    b"DTEND",
    b"DURATION",
    b"RECURRENCE-ID",
    b"STATUS",
    b"RRULE",
    b"RDATE",
    b"EXDATE",
];

fn is_time_property(name: &[u8]) -> bool {
    TIME_PROPERTIES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn filter_own_lines<'a>(
    lines: impl Iterator<Item = ContentLine<'a>>,
) -> impl Iterator<Item = ContentLine<'a>> {
    let mut depth = 0_usize;
    lines.filter(move |line| {
        if line.has_name("BEGIN") {
            depth += 1;
            return false;
        }
        if line.has_name("END") {
            depth = depth.saturating_sub(1);
            return false;
        }
        depth == 1
    })
}

impl EventEntry {
    /// Parses the event at `at` of `bytes`. The error is a short reason.
    pub(crate) fn parse(bytes: &[u8], at: Range<usize>, zones: &mut TimeZones<'_>) -> Result<Self, String> {
        let mut parts = EventBuilder::default();
        for line in filter_own_lines(content_lines_named(&bytes[at.clone()], is_time_property)) {
            parts.add_line(&line, zones)?;
        }
        let start = parts.start.ok_or("it has no beginning (DTSTART)")?;
        let length = match (parts.end, parts.length, &start) {
            (Some(end), ..) => {
                length_between(&start, &end, zones.user_zone()).ok_or("it ends before it begins")?
            }
            (None, Some(length), _) => length,
            (None, None, Moment::Day(_)) => Length::Days(1),
            (None, None, Moment::InZone(..) | Moment::Floating(_)) => {
                Length::Exact(jiff::SignedDuration::ZERO)
            }
        };
        let uid = parts.uid.unwrap_or_else(|| super::event_id::content_id(&bytes[at.clone()]));
        Ok(Self {
            range: at,
            uid,
            recurrence_id: parts.recurrence_id,
            start,
            length,
            recurrence: parts.recurrence,
            status: parts.status,
        })
    }

    /// Returns the texts of the event.
    pub(crate) fn texts(&self, bytes: &[u8]) -> (String, Details) {
        let mut summary = String::new();
        let mut details = Details::default();
        for line in own_lines(&bytes[self.range.clone()]) {
            let text = || Some(unescape(line.value())).filter(|text| !text.trim().is_empty());
            match line.name().to_ascii_uppercase().as_str() {
                "SUMMARY" => summary = text().unwrap_or_default(),
                "LOCATION" => details.location = text(),
                "DESCRIPTION" => details.description = text(),
                "URL" => details.link = text(),
                "STATUS" => details.status = text().map(|status| status.to_ascii_lowercase()),
                "ATTENDEE" if details.attendees.len() < MAX_ATTENDEES => {
                    details.attendees.extend(attendee_address(&line))
                }
                _ => {}
            }
        }
        (summary, details)
    }
}

/// The maximum number of returned participants.
const MAX_ATTENDEES: usize = 200;

/// The maximum number of additional or excluded times of a series.
const MAX_LISTED_TIMES: usize = 20_000;

fn attendee_address(line: &ContentLine<'_>) -> Option<String> {
    let value = line.value().trim();
    let mail =
        value.get(..7).filter(|start| start.eq_ignore_ascii_case("mailto:")).map_or(value, |_| &value[7..]);
    (!mail.is_empty()).then(|| mail.to_owned())
}

/// Returns the length from `start` to `end`, or `None` if it is negative.
fn length_between(start: &Moment, end: &Moment, home: &TimeZone) -> Option<Length> {
    match (start, end) {
        (Moment::Day(start), Moment::Day(end)) => {
            // An end on the first day means one day.
            let days =
                i64::from(start.until(*end).ok()?.get_days()).max(if start == end { 1 } else { i64::MIN });
            (days > 0).then_some(Length::Days(days))
        }
        (start, end) => {
            let length = end.to_timestamp(home)?.duration_since(start.to_timestamp(home)?);
            (!length.is_negative()).then_some(Length::Exact(length))
        }
    }
}

#[derive(Default)]
struct EventBuilder {
    uid: Option<String>,
    recurrence_id: Option<Moment>,
    start: Option<Moment>,
    end: Option<Moment>,
    length: Option<Length>,
    recurrence: Recurrence,
    status: EventStatus,
}

impl EventBuilder {
    fn add_line(&mut self, line: &ContentLine<'_>, zones: &mut TimeZones<'_>) -> Result<(), String> {
        let value = line.value();
        let one = |zones: &mut TimeZones<'_>| {
            let read = Moment::parse(line, value, zones);
            let short: String = value.chars().take(40).collect();
            read.ok_or_else(|| format!("{} `{short}` is no day and no time", line.name()))
        };
        if line.has_name("UID") {
            self.uid = Some(value.trim().to_owned()).filter(|uid| !uid.is_empty());
        } else if line.has_name("DTSTART") {
            self.start = Some(one(zones)?);
        } else if line.has_name("DTEND") {
            self.end = Some(one(zones)?);
        } else if line.has_name("DURATION") {
            let bad =
                || format!("its DURATION `{}` is no length", value.chars().take(40).collect::<String>());
            self.length = Some(Length::parse(value).ok_or_else(bad)?);
        } else if line.has_name("RECURRENCE-ID") {
            self.recurrence_id = Some(one(zones)?);
        } else if line.has_name("STATUS") && value.trim().eq_ignore_ascii_case("CANCELLED") {
            self.status = EventStatus::Cancelled;
        } else if line.has_name("RRULE") {
            self.recurrence.rule = Some(match self.recurrence.rule {
                None => RecurrenceRule::parse(value),
                Some(_) => Err("it has more than one rule".to_owned()),
            });
        } else if line.has_name("RDATE") {
            add_times(&mut self.recurrence.extra_times, line, zones);
        } else if line.has_name("EXDATE") {
            add_times(&mut self.recurrence.excluded_times, line, zones);
        }
        Ok(())
    }
}

/// Adds the times listed in a line. Invalid ones are skipped; of a period only the start counts.
fn add_times(times: &mut Vec<Moment>, line: &ContentLine<'_>, zones: &mut TimeZones<'_>) {
    let remaining = MAX_LISTED_TIMES.saturating_sub(times.len());
    let values = line.value().split(',').map(|value| value.split('/').next().unwrap_or(value));
    times.extend(values.filter_map(|value| Moment::parse(line, value, zones)).take(remaining));
}
