//! Removes thinking from the text of a reply: many local models begin with `<think>…</think>`.
//!
//! Such thinking is neither streamed nor stored. Only the beginning of a reply is checked: later
//! tags are part of the answer.

use std::mem;

const OPENING_TAG: &str = "<think>";
const CLOSING_TAG: &str = "</think>";

/// The most bytes of leading white space that are buffered.
const MAX_BLANK_BYTES: usize = 1024;

/// Separates the text of a reply from the thinking before it, independent of the chunking.
#[derive(Debug, Default)]
pub struct ThinkTagFilter {
    state: State,
    /// Input that may be part of a tag.
    buffer: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// No text yet.
    #[default]
    Beginning,
    /// Between the tags.
    Thinking,
    /// After the closing tag.
    AfterThinking,
    /// In the text of the answer.
    Text,
}

impl ThinkTagFilter {
    /// Adds more of the reply, and returns the new text.
    pub fn push(&mut self, more: String) -> String {
        if self.state == State::Text {
            return more;
        }
        self.buffer.push_str(&more);
        while self.advance() {}
        match self.state {
            State::Text => mem::take(&mut self.buffer),
            State::Beginning | State::Thinking | State::AfterThinking => String::new(),
        }
    }

    /// Returns the buffered input at the end of the reply, if it is text.
    pub fn finish(self) -> String {
        match self.state {
            State::Thinking => String::new(),
            State::Beginning | State::AfterThinking | State::Text => self.buffer,
        }
    }

    /// Advances to the next state if the buffered input allows it.
    fn advance(&mut self) -> bool {
        let next = match self.state {
            State::Text => None,
            State::Thinking => {
                self.buffer.find(CLOSING_TAG).map(|at| (State::AfterThinking, at + CLOSING_TAG.len()))
            }
            State::Beginning | State::AfterThinking => self.parse_start(),
        };
        match next {
            Some((state, passed)) => {
                self.buffer.drain(..passed);
                self.state = state;
            }
            None if self.state == State::Thinking => self.drop_thinking(),
            None => {}
        }
        next.is_some()
    }

    fn parse_start(&self) -> Option<(State, usize)> {
        let text = self.buffer.trim_start();
        let blank = self.buffer.len() - text.len();
        match text {
            _ if text.starts_with(OPENING_TAG) => Some((State::Thinking, blank + OPENING_TAG.len())),
            _ if OPENING_TAG.starts_with(text) && blank < MAX_BLANK_BYTES => None,
            // Blank lines after thinking belong to it.
            _ if self.state == State::AfterThinking => Some((State::Text, blank)),
            _ => Some((State::Text, 0)),
        }
    }

    /// Drops all but a possible start of the closing tag.
    fn drop_thinking(&mut self) {
        let ends = |length: &usize| self.buffer.ends_with(&CLOSING_TAG[..*length]);
        let kept_bytes = (1..CLOSING_TAG.len()).rev().find(ends).unwrap_or_default();
        self.buffer.drain(..self.buffer.len() - kept_bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&str]) -> String {
        let mut thoughts = ThinkTagFilter::default();
        let words: String = pieces.iter().map(|piece| thoughts.push((*piece).to_owned())).collect();
        words + &thoughts.finish()
    }

    #[test]
    fn leading_thinking_is_not_text() {
        let check = |reply: &str, expected: &str| assert_eq!(read(&[reply]), expected, "{reply}");
        check("hello", "hello");
        check(" \n hello", " \n hello");
        check("<think>hm</think>hello", "hello");
        check("\n<think>\nhm < 3 </thin </think>\n\nhello", "hello");
        check("<think></think>\n\n<think>again</think>hello", "hello");
        check("<think>hm", "");
        check("<think>hm</thi", "");
        check("<thi", "<thi");
        check("<thinker> is a word", "<thinker> is a word");
        check("i write <think>x</think>", "i write <think>x</think>");
        check("<think>a</think>b <think>c</think>", "b <think>c</think>");
        check("", "");
    }

    #[test]
    fn leading_blanks_are_buffered_up_to_a_limit() {
        let mut thoughts = ThinkTagFilter::default();
        let words: String = (0..MAX_BLANK_BYTES).map(|_| thoughts.push(" ".to_owned())).collect();
        assert_eq!(words.len(), MAX_BLANK_BYTES);
        assert_eq!(thoughts.state, State::Text);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn chunking_does_not_change_the_text(parts in proptest::collection::vec(
            prop_oneof![Just("<think>"), Just("</think>"), Just("<"), Just("</t"), Just(" \n"), Just("é"), Just("k>")], 0..8,
        ), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6)) {
            let reply = parts.concat();
            let places: Vec<_> = reply.char_indices().map(|(at, _)| at).chain([reply.len()]).collect();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| *cut.get(&places)).chain([0, reply.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<_> = cuts.windows(2).map(|cut| &reply[cut[0]..cut[1]]).collect();
            prop_assert_eq!(read(&pieces), read(&[&reply]));
        }
    }
}
