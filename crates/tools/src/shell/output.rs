//! The beginning and the end of a command's output, with a notice about the omitted middle.

use std::collections::VecDeque;

/// The maximum number of characters; below the engine's limit, so the engine does not cut off the
/// end.
const MAX_CHARS: usize = 29_500;
/// The maximum number of bytes of either part: a character has four at most.
const MAX_PART_BYTES: usize = MAX_CHARS / 2 * 4;

/// A buffer for the beginning and the end of a stream.
#[derive(Default)]
pub struct TruncatedOutput {
    beginning: Vec<u8>,
    end: VecDeque<u8>,
    omitted: usize,
}

impl TruncatedOutput {
    pub fn push(&mut self, bytes: &[u8]) {
        let count = MAX_PART_BYTES.saturating_sub(self.beginning.len()).min(bytes.len());
        self.beginning.extend_from_slice(&bytes[..count]);
        self.end.extend(&bytes[count..]);
        let excess = self.end.len().saturating_sub(MAX_PART_BYTES);
        self.end.drain(..excess);
        self.omitted += excess;
    }

    /// Returns the text, without its middle if it is too long.
    pub fn into_text(mut self) -> String {
        let beginning = self.beginning;
        let end = self.end.make_contiguous();
        if self.omitted == 0 {
            let whole = String::from_utf8_lossy(&[&beginning, &*end].concat()).into_owned();
            let length = whole.chars().count();
            return if length > MAX_CHARS { join_parts(&whole, &whole, length - MAX_CHARS) } else { whole };
        }
        let beginning = String::from_utf8_lossy(&beginning);
        let end = String::from_utf8_lossy(end);
        let kept = beginning.chars().count() + end.chars().count();
        join_parts(&beginning, &end, self.omitted + kept.saturating_sub(MAX_CHARS))
    }
}

fn join_parts(beginning: &str, end: &str, left_out: usize) -> String {
    let first: String = beginning.chars().take(MAX_CHARS / 2).collect();
    let last = end.char_indices().rev().nth(MAX_CHARS / 2 - 1).map_or(end, |(at, _)| &end[at..]);
    format!(
        "{first}\n(about {left_out} characters are left out here: write the output to a file to read all of it in parts)\n{last}"
    )
}

#[cfg(test)]
mod tests {
    use domain::context::TOOL_RESULT_CHARS;

    use super::*;

    fn output_of(parts: &[&str]) -> String {
        let mut ends = TruncatedOutput::default();
        parts.iter().for_each(|part| ends.push(part.as_bytes()));
        ends.into_text()
    }

    #[test]
    fn short_output_is_complete() {
        assert_eq!(output_of(&["a", "b\n", "ü"]), "ab\nü");
        assert_eq!(output_of(&[&"ü".repeat(MAX_CHARS)]), "ü".repeat(MAX_CHARS));
        assert_eq!(output_of(&[]), "");
    }

    #[test]
    fn middle_of_a_long_output_is_omitted_with_a_notice() {
        for count in [1_000, 100_000, 3_000_000] {
            let told = output_of(&["first", &"x".repeat(MAX_CHARS), &"ü".repeat(count), "last"]);
            assert!(told.starts_with("firstxxx") && told.ends_with("last"));
            // The engine cuts nothing more off.
            assert!(told.chars().count() <= TOOL_RESULT_CHARS, "{}", told.chars().count());
            assert!(told.contains("characters are left out here"));
        }
    }
}
