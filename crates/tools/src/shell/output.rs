//! The beginning and the end of a command's output, with a notice about the omitted middle.

use std::collections::VecDeque;

/// The maximum number of characters; below the engine's limit, so the engine does not cut off the
/// end.
const CHARS: usize = 29_500;
/// The maximum number of bytes of either part: a character has four at most.
const BYTES: usize = CHARS / 2 * 4;

/// A buffer for the beginning and the end of a stream.
#[derive(Default)]
pub struct Ends {
    beginning: Vec<u8>,
    end: VecDeque<u8>,
    left_out: usize,
}

impl Ends {
    pub fn take(&mut self, bytes: &[u8]) {
        let room = BYTES.saturating_sub(self.beginning.len()).min(bytes.len());
        self.beginning.extend_from_slice(&bytes[..room]);
        self.end.extend(&bytes[room..]);
        let over = self.end.len().saturating_sub(BYTES);
        self.end.drain(..over);
        self.left_out += over;
    }

    /// Returns the text, without its middle if it is too long.
    pub fn told(mut self) -> String {
        let beginning = self.beginning;
        let end = self.end.make_contiguous();
        if self.left_out == 0 {
            let whole = String::from_utf8_lossy(&[&beginning, &*end].concat()).into_owned();
            let length = whole.chars().count();
            return if length > CHARS { joined(&whole, &whole, length - CHARS) } else { whole };
        }
        let beginning = String::from_utf8_lossy(&beginning);
        let end = String::from_utf8_lossy(end);
        let kept = beginning.chars().count() + end.chars().count();
        joined(&beginning, &end, self.left_out + kept.saturating_sub(CHARS))
    }
}

fn joined(beginning: &str, end: &str, left_out: usize) -> String {
    let first: String = beginning.chars().take(CHARS / 2).collect();
    let last = end.char_indices().rev().nth(CHARS / 2 - 1).map_or(end, |(at, _)| &end[at..]);
    format!(
        "{first}\n(about {left_out} characters are left out here: write the output to a file to read all of it in parts)\n{last}"
    )
}

#[cfg(test)]
mod tests {
    use domain::context::TOOL_RESULT_CHARS;

    use super::*;

    fn told(parts: &[&str]) -> String {
        let mut ends = Ends::default();
        parts.iter().for_each(|part| ends.take(part.as_bytes()));
        ends.told()
    }

    #[test]
    fn a_short_output_is_told_whole() {
        assert_eq!(told(&["a", "b\n", "ü"]), "ab\nü");
        assert_eq!(told(&[&"ü".repeat(CHARS)]), "ü".repeat(CHARS));
        assert_eq!(told(&[]), "");
    }

    #[test]
    fn the_middle_of_a_long_output_is_left_out_and_it_is_said() {
        for count in [1_000, 100_000, 3_000_000] {
            let told = told(&["first", &"x".repeat(CHARS), &"ü".repeat(count), "last"]);
            assert!(told.starts_with("firstxxx") && told.ends_with("last"));
            // The engine cuts nothing more off.
            assert!(told.chars().count() <= TOOL_RESULT_CHARS, "{}", told.chars().count());
            assert!(told.contains("characters are left out here"));
        }
    }
}
