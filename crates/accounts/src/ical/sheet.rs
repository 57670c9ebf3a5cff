//! Locates the components of a calendar document.

use std::ops::Range;

use super::line::lines;
use crate::Trouble;

/// The kinds of components in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Event,
    Todo,
    /// A time zone definition.
    Zone,
}

const KINDS: [(&[u8], Kind); 3] =
    [(b"VEVENT", Kind::Event), (b"VTODO", Kind::Todo), (b"VTIMEZONE", Kind::Zone)];

/// A calendar with the positions of its components.
#[derive(Debug)]
pub(crate) struct Sheet<'a> {
    pub(crate) bytes: &'a [u8],
    blocks: Vec<(Kind, Range<usize>)>,
    /// Components without an end.
    pub(crate) unclosed: Vec<Range<usize>>,
    /// The position of the final `END:VCALENDAR`, if there is one.
    end: Option<usize>,
}

impl<'a> Sheet<'a> {
    /// Parses a calendar; `name` is for error messages.
    pub(crate) fn read(name: &str, bytes: &'a [u8]) -> Result<Self, Trouble> {
        let mut sheet = Self { bytes, blocks: Vec::new(), unclosed: Vec::new(), end: None };
        let mut from = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut open = None;
        let mut calendars = 0;
        while from < bytes.len() {
            let at = from;
            from = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end + 1);
            let line = &bytes[at..from];
            match border(line) {
                Some(Border::Begin(b"VCALENDAR")) => {
                    calendars += 1;
                    sheet.leave(open.take(), at);
                }
                Some(Border::End(b"VCALENDAR")) => {
                    sheet.leave(open.take(), at);
                    sheet.end = Some(at);
                }
                Some(Border::Begin(name)) => {
                    if let Some((_, kind)) = KINDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))
                    {
                        sheet.leave(open.replace((*kind, at)), at);
                    }
                }
                Some(Border::End(name)) => {
                    let known = KINDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                    if let (Some((kind, start)), Some((_, ended))) = (open, known)
                        && kind == *ended
                    {
                        sheet.blocks.push((kind, start..from));
                        open = None;
                    }
                }
                None => {}
            }
        }
        sheet.leave(open, bytes.len());
        match calendars {
            0 => Err(Trouble::Garbled(format!(
                "{name} is no calendar: BEGIN:VCALENDAR stands nowhere in it. move it away, or put an iCalendar file there."
            ))),
            _ => Ok(sheet),
        }
    }

    fn leave(&mut self, open: Option<(Kind, usize)>, end: usize) {
        if let Some((_, start)) = open {
            self.unclosed.push(start..end);
        }
    }

    /// Returns the positions of all components of one kind.
    pub(crate) fn blocks(&self, kind: Kind) -> impl Iterator<Item = Range<usize>> {
        self.blocks.iter().filter(move |(of, _)| *of == kind).map(|(_, at)| at.clone())
    }

    /// Returns the position for a new component.
    pub(crate) fn end(&self) -> Result<usize, Trouble> {
        self.end.filter(|end| self.unclosed.iter().all(|open| open.end < *end)).ok_or_else(|| {
            Trouble::Garbled(
                "the calendar breaks off before its END:VCALENDAR, so nothing can be added. repair its end first."
                    .to_owned(),
            )
        })
    }

    /// Returns the title or UID of a component for error messages.
    pub(crate) fn called(&self, at: Range<usize>) -> String {
        let part = &self.bytes[at];
        let word = |name: &str| {
            let found = lines(part).take(200).find(|line| line.is(name));
            found.map(|line| super::text::unescaped(line.value())).filter(|text| !text.trim().is_empty())
        };
        let words =
            word("SUMMARY").or_else(|| word("UID")).unwrap_or_else(|| "an event without a name".to_owned());
        let short: String = words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
        format!("`{short}`")
    }
}

enum Border<'a> {
    Begin(&'a [u8]),
    End(&'a [u8]),
}

fn border(line: &[u8]) -> Option<Border<'_>> {
    let after = |mark: &[u8]| {
        line.get(..mark.len())
            .filter(|start| start.eq_ignore_ascii_case(mark))
            .map(|_| line[mark.len()..].trim_ascii())
    };
    let name = |name: &'_ [u8]| name.eq_ignore_ascii_case(b"VCALENDAR");
    if let Some(begun) = after(b"BEGIN:") {
        return Some(Border::Begin(if name(begun) { b"VCALENDAR" } else { begun }));
    }
    after(b"END:").map(|ended| Border::End(if name(ended) { b"VCALENDAR" } else { ended }))
}
