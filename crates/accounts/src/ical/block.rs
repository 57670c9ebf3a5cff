//! One part of a calendar while it is changed: its lines are set, and all others stay as they are.

use std::ops::Range;

use super::line::lines;
use super::text::folded;

/// A part: its own bytes.
#[derive(Clone, Debug)]
pub(crate) struct Block(Vec<u8>);

impl Block {
    /// The part that these bytes are.
    pub(crate) fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// What its lines called `name` say, up to the first.
    pub(crate) fn value(&self, name: &str) -> Option<String> {
        super::entry::own(&self.0).find(|line| line.is(name)).map(|line| line.value().to_owned())
    }

    /// What stands between the name and the value of a line, such as `;TZID=Europe/Berlin`.
    pub(crate) fn parameters(&self, name: &str) -> Option<String> {
        super::entry::own(&self.0).find(|line| line.is(name)).map(|line| line.parameters().to_owned())
    }

    /// Sets the line called `name` to `line`, which is written out; another one of that name goes.
    pub(crate) fn set(&mut self, name: &str, line: &str) {
        let (found, end) = self.places(name);
        let place = found.first().map_or(end..end, Clone::clone);
        let mut bytes = self.0[..place.start].to_vec();
        if bytes.last().is_some_and(|last| *last != b'\n') {
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(folded(line).as_bytes());
        let mut from = place.end;
        for other in found.iter().skip(1) {
            bytes.extend_from_slice(&self.0[from..other.start]);
            from = other.end;
        }
        bytes.extend_from_slice(&self.0[from..]);
        self.0 = bytes;
    }

    /// Adds a line beside others that may have the same name.
    pub(crate) fn add(&mut self, line: &str) {
        let (_, end) = self.places("");
        let rest = self.0.split_off(end);
        self.0.extend_from_slice(folded(line).as_bytes());
        self.0.extend_from_slice(&rest);
    }

    /// Removes the lines called `name`.
    pub(crate) fn remove(&mut self, name: &str) {
        let (found, _) = self.places(name);
        for place in found.into_iter().rev() {
            self.0.drain(place);
        }
    }

    /// Where its own lines of that name stand, and where a new one can: before the parts inside it, or its end.
    fn places(&self, name: &str) -> (Vec<Range<usize>>, usize) {
        let mut depth = 0_usize;
        let mut found = Vec::new();
        let mut end = None;
        for line in lines(&self.0) {
            if line.is("BEGIN") {
                end = end.or((depth == 1).then_some(line.at.start));
                depth += 1;
            } else if line.is("END") {
                end = end.or((depth == 1).then_some(line.at.start));
                depth = depth.saturating_sub(1);
            } else if depth == 1 && line.is(name) {
                found.push(line.at);
            }
        }
        (found, end.unwrap_or(self.0.len()))
    }
}
