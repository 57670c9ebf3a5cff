//! Edits the lines of one component and leaves all others as they are.

use std::ops::Range;

use super::line::content_lines;
use super::text::fold;

/// The bytes of a component.
#[derive(Clone, Debug)]
pub(crate) struct Component(Vec<u8>);

impl Component {
    pub(crate) fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the value of the first line `name`.
    pub(crate) fn value(&self, name: &str) -> Option<String> {
        super::entry::own_lines(&self.0).find(|line| line.has_name(name)).map(|line| line.value().to_owned())
    }

    /// Returns the parameters of a line, such as `;TZID=Europe/Berlin`.
    pub(crate) fn parameters(&self, name: &str) -> Option<String> {
        super::entry::own_lines(&self.0)
            .find(|line| line.has_name(name))
            .map(|line| line.parameters().to_owned())
    }

    /// Sets the line `name` to `line`, a complete content line, and removes duplicates.
    pub(crate) fn set(&mut self, name: &str, line: &str) {
        let (found, end) = self.positions(name);
        let place = found.first().map_or(end..end, Clone::clone);
        let mut bytes = self.0[..place.start].to_vec();
        if bytes.last().is_some_and(|last| *last != b'\n') {
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(fold(line).as_bytes());
        let mut from = place.end;
        for other in found.iter().skip(1) {
            bytes.extend_from_slice(&self.0[from..other.start]);
            from = other.end;
        }
        bytes.extend_from_slice(&self.0[from..]);
        self.0 = bytes;
    }

    /// Adds a line; others of the same name stay.
    pub(crate) fn add(&mut self, line: &str) {
        let (_, end) = self.positions("");
        let rest = self.0.split_off(end);
        self.0.extend_from_slice(fold(line).as_bytes());
        self.0.extend_from_slice(&rest);
    }

    /// Removes the lines `name`.
    pub(crate) fn remove(&mut self, name: &str) {
        let (found, _) = self.positions(name);
        for place in found.into_iter().rev() {
            self.0.drain(place);
        }
    }

    /// Returns the ranges of the component's own lines `name`, and the position for a new line:
    /// before nested components or the end.
    fn positions(&self, name: &str) -> (Vec<Range<usize>>, usize) {
        let mut depth = 0_usize;
        let mut found = Vec::new();
        let mut end = None;
        for line in content_lines(&self.0) {
            if line.has_name("BEGIN") {
                end = end.or((depth == 1).then_some(line.range.start));
                depth += 1;
            } else if line.has_name("END") {
                end = end.or((depth == 1).then_some(line.range.start));
                depth = depth.saturating_sub(1);
            } else if depth == 1 && line.has_name(name) {
                found.push(line.range);
            }
        }
        (found, end.unwrap_or(self.0.len()))
    }
}
