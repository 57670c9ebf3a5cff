//! One event of a calendar with its times. Its texts are parsed only when they are shown.

use std::ops::Range;

use jiff::tz::TimeZone;

use super::line::{Line, lines, named_lines};
use super::moment::{Length, Moment};
use super::rule::Rule;
use super::text::unescaped;
use super::zone::Zones;
use crate::calendar::Details;

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The position in the file.
    pub(crate) at: Range<usize>,
    /// The UID, shared by all occurrences.
    pub(crate) uid: String,
    /// The occurrence of a series that this event overrides.
    pub(crate) instead: Option<Moment>,
    /// The first start.
    pub(crate) start: Moment,
    /// The duration.
    pub(crate) length: Length,
    pub(crate) again: Again,
    pub(crate) fate: Fate,
}

/// The recurrence of an event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Again {
    /// The rule, or why it is not supported.
    pub(crate) rule: Option<Result<Rule, String>>,
    /// Additional times (RDATE).
    pub(crate) also: Vec<Moment>,
    /// Excluded times (EXDATE).
    pub(crate) never: Vec<Moment>,
}

/// The status of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    #[default]
    On,
    Off,
}

/// Returns the lines of a component without those of nested components.
pub(crate) fn own(part: &[u8]) -> impl Iterator<Item = Line<'_>> {
    own_among(lines(part))
}

/// The properties that determine the times of an event, and the limits of nested components.
const TIMES: [&[u8]; 11] = [
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

fn tells_times(name: &[u8]) -> bool {
    TIMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn own_among<'a>(lines: impl Iterator<Item = Line<'a>>) -> impl Iterator<Item = Line<'a>> {
    let mut depth = 0_usize;
    lines.filter(move |line| {
        if line.is("BEGIN") {
            depth += 1;
            return false;
        }
        if line.is("END") {
            depth = depth.saturating_sub(1);
            return false;
        }
        depth == 1
    })
}

impl Entry {
    /// Parses the event at `at` of `bytes`. The error is a short reason.
    pub(crate) fn read(bytes: &[u8], at: Range<usize>, zones: &mut Zones<'_>) -> Result<Self, String> {
        let mut parts = Parts::default();
        for line in own_among(named_lines(&bytes[at.clone()], tells_times)) {
            parts.take(&line, zones)?;
        }
        let start = parts.start.ok_or("it has no beginning (DTSTART)")?;
        let length = match (parts.end, parts.length, &start) {
            (Some(end), ..) => between(&start, &end, zones.home()).ok_or("it ends before it begins")?,
            (None, Some(length), _) => length,
            (None, None, Moment::Day(_)) => Length::Days(1),
            (None, None, Moment::At(..) | Moment::Floating(_)) => Length::Exact(jiff::SignedDuration::ZERO),
        };
        let uid = parts.uid.unwrap_or_else(|| super::id::unnamed(&bytes[at.clone()]));
        Ok(Self { at, uid, instead: parts.instead, start, length, again: parts.again, fate: parts.fate })
    }

    /// Returns the texts of the event.
    pub(crate) fn words(&self, bytes: &[u8]) -> (String, Details) {
        let mut summary = String::new();
        let mut details = Details::default();
        for line in own(&bytes[self.at.clone()]) {
            let text = || Some(unescaped(line.value())).filter(|text| !text.trim().is_empty());
            match line.name().to_ascii_uppercase().as_str() {
                "SUMMARY" => summary = text().unwrap_or_default(),
                "LOCATION" => details.location = text(),
                "DESCRIPTION" => details.description = text(),
                "URL" => details.link = text(),
                "STATUS" => details.status = text().map(|status| status.to_ascii_lowercase()),
                "ATTENDEE" if details.attendees.len() < MOST_ATTENDEES => {
                    details.attendees.extend(address(&line))
                }
                _ => {}
            }
        }
        (summary, details)
    }
}

/// The maximum number of returned participants.
const MOST_ATTENDEES: usize = 200;

/// The maximum number of additional or excluded times of a series.
const MOST_DATES: usize = 20_000;

fn address(line: &Line<'_>) -> Option<String> {
    let value = line.value().trim();
    let mail =
        value.get(..7).filter(|start| start.eq_ignore_ascii_case("mailto:")).map_or(value, |_| &value[7..]);
    (!mail.is_empty()).then(|| mail.to_owned())
}

/// Returns the length from `start` to `end`, or `None` if it is negative.
fn between(start: &Moment, end: &Moment, home: &TimeZone) -> Option<Length> {
    match (start, end) {
        (Moment::Day(start), Moment::Day(end)) => {
            // An end on the first day means one day.
            let days =
                i64::from(start.until(*end).ok()?.get_days()).max(if start == end { 1 } else { i64::MIN });
            (days > 0).then_some(Length::Days(days))
        }
        (start, end) => {
            let length = end.instant(home)?.duration_since(start.instant(home)?);
            (!length.is_negative()).then_some(Length::Exact(length))
        }
    }
}

#[derive(Default)]
struct Parts {
    uid: Option<String>,
    instead: Option<Moment>,
    start: Option<Moment>,
    end: Option<Moment>,
    length: Option<Length>,
    again: Again,
    fate: Fate,
}

impl Parts {
    fn take(&mut self, line: &Line<'_>, zones: &mut Zones<'_>) -> Result<(), String> {
        let value = line.value();
        let one = |zones: &mut Zones<'_>| {
            let read = Moment::read(line, value, zones);
            let short: String = value.chars().take(40).collect();
            read.ok_or_else(|| format!("{} `{short}` is no day and no time", line.name()))
        };
        if line.is("UID") {
            self.uid = Some(value.trim().to_owned()).filter(|uid| !uid.is_empty());
        } else if line.is("DTSTART") {
            self.start = Some(one(zones)?);
        } else if line.is("DTEND") {
            self.end = Some(one(zones)?);
        } else if line.is("DURATION") {
            let bad =
                || format!("its DURATION `{}` is no length", value.chars().take(40).collect::<String>());
            self.length = Some(Length::read(value).ok_or_else(bad)?);
        } else if line.is("RECURRENCE-ID") {
            self.instead = Some(one(zones)?);
        } else if line.is("STATUS") && value.trim().eq_ignore_ascii_case("CANCELLED") {
            self.fate = Fate::Off;
        } else if line.is("RRULE") {
            self.again.rule = Some(match self.again.rule {
                None => Rule::read(value),
                Some(_) => Err("it has more than one rule".to_owned()),
            });
        } else if line.is("RDATE") {
            list(&mut self.again.also, line, zones);
        } else if line.is("EXDATE") {
            list(&mut self.again.never, line, zones);
        }
        Ok(())
    }
}

/// Adds the times listed in a line. Invalid ones are skipped; of a period only the start counts.
fn list(times: &mut Vec<Moment>, line: &Line<'_>, zones: &mut Zones<'_>) {
    let room = MOST_DATES.saturating_sub(times.len());
    let values = line.value().split(',').map(|value| value.split('/').next().unwrap_or(value));
    times.extend(values.filter_map(|value| Moment::read(line, value, zones)).take(room));
}
