//! Locates the components of a calendar document.

use std::ops::Range;

use super::line::content_lines;
use crate::AccountError;

/// The kinds of components in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComponentKind {
    Event,
    Todo,
    /// A time zone definition.
    TimeZone,
}

const COMPONENT_NAMES: [(&[u8], ComponentKind); 3] = [
    (b"VEVENT", ComponentKind::Event),
    (b"VTODO", ComponentKind::Todo),
    (b"VTIMEZONE", ComponentKind::TimeZone),
];

/// A calendar with the positions of its components.
#[derive(Debug)]
pub(crate) struct CalendarDocument<'a> {
    pub(crate) bytes: &'a [u8],
    components: Vec<(ComponentKind, Range<usize>)>,
    /// Components without an end.
    pub(crate) unclosed: Vec<Range<usize>>,
    /// The position of the final `END:VCALENDAR`, if there is one.
    end: Option<usize>,
}

impl<'a> CalendarDocument<'a> {
    /// Parses a calendar; `name` is for error messages.
    pub(crate) fn parse(name: &str, bytes: &'a [u8]) -> Result<Self, AccountError> {
        let mut sheet = Self { bytes, components: Vec::new(), unclosed: Vec::new(), end: None };
        let mut from = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut open = None;
        let mut calendars = 0;
        while from < bytes.len() {
            let at = from;
            from = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end + 1);
            let line = &bytes[at..from];
            match parse_delimiter(line) {
                Some(Delimiter::Begin(b"VCALENDAR")) => {
                    calendars += 1;
                    sheet.mark_unclosed(open.take(), at);
                }
                Some(Delimiter::End(b"VCALENDAR")) => {
                    sheet.mark_unclosed(open.take(), at);
                    sheet.end = Some(at);
                }
                Some(Delimiter::Begin(name)) => {
                    if let Some((_, kind)) =
                        COMPONENT_NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))
                    {
                        sheet.mark_unclosed(open.replace((*kind, at)), at);
                    }
                }
                Some(Delimiter::End(name)) => {
                    let known = COMPONENT_NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                    if let (Some((kind, start)), Some((_, ended))) = (open, known)
                        && kind == *ended
                    {
                        sheet.components.push((kind, start..from));
                        open = None;
                    }
                }
                None => {}
            }
        }
        sheet.mark_unclosed(open, bytes.len());
        match calendars {
            0 => Err(AccountError::Unreadable(format!(
                "{name} is no calendar: BEGIN:VCALENDAR stands nowhere in it. move it away, or put an iCalendar file there."
            ))),
            _ => Ok(sheet),
        }
    }

    fn mark_unclosed(&mut self, open: Option<(ComponentKind, usize)>, end: usize) {
        if let Some((_, start)) = open {
            self.unclosed.push(start..end);
        }
    }

    /// Returns the positions of all components of one kind.
    pub(crate) fn components(&self, kind: ComponentKind) -> impl Iterator<Item = Range<usize>> {
        self.components.iter().filter(move |(of, _)| *of == kind).map(|(_, at)| at.clone())
    }

    /// Returns the position for a new component.
    pub(crate) fn end(&self) -> Result<usize, AccountError> {
        self.end.filter(|end| self.unclosed.iter().all(|open| open.end < *end)).ok_or_else(|| {
            AccountError::Unreadable(
                "the calendar breaks off before its END:VCALENDAR, so nothing can be added. repair its end first."
                    .to_owned(),
            )
        })
    }

    /// Returns the title or UID of a component for error messages.
    pub(crate) fn display_name(&self, at: Range<usize>) -> String {
        let part = &self.bytes[at];
        let word = |name: &str| {
            let found = content_lines(part).take(200).find(|line| line.has_name(name));
            found.map(|line| super::text::unescape(line.value())).filter(|text| !text.trim().is_empty())
        };
        let words =
            word("SUMMARY").or_else(|| word("UID")).unwrap_or_else(|| "an event without a name".to_owned());
        let short: String = words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
        format!("`{short}`")
    }
}

enum Delimiter<'a> {
    Begin(&'a [u8]),
    End(&'a [u8]),
}

fn parse_delimiter(line: &[u8]) -> Option<Delimiter<'_>> {
    let after = |mark: &[u8]| {
        line.get(..mark.len())
            .filter(|start| start.eq_ignore_ascii_case(mark))
            .map(|_| line[mark.len()..].trim_ascii())
    };
    let name = |name: &'_ [u8]| name.eq_ignore_ascii_case(b"VCALENDAR");
    if let Some(begun) = after(b"BEGIN:") {
        return Some(Delimiter::Begin(if name(begun) { b"VCALENDAR" } else { begun }));
    }
    after(b"END:").map(|ended| Delimiter::End(if name(ended) { b"VCALENDAR" } else { ended }))
}
