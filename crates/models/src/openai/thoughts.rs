//! Removes thinking from the text of a reply: many local models begin with `<think>…</think>`.
//!
//! Such thinking is neither streamed nor stored. Only the beginning of a reply is checked: later
//! tags are part of the answer.

use std::mem;

const OPENING: &str = "<think>";
const CLOSING: &str = "</think>";

/// The most bytes of leading white space that are buffered.
const BLANK_BYTES: usize = 1024;

/// Separates the text of a reply from the thinking before it, independent of the chunking.
#[derive(Debug, Default)]
pub struct Thoughts {
    state: State,
    /// Input that may be part of a tag.
    held: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// No text yet.
    #[default]
    Beginning,
    /// Between the tags.
    Thinking,
    /// After the closing tag.
    Thought,
    /// In the text of the answer.
    Speaking,
}

impl Thoughts {
    /// Adds more of the reply, and returns the new text.
    pub fn words(&mut self, more: String) -> String {
        if self.state == State::Speaking {
            return more;
        }
        self.held.push_str(&more);
        while self.step() {}
        match self.state {
            State::Speaking => mem::take(&mut self.held),
            State::Beginning | State::Thinking | State::Thought => String::new(),
        }
    }

    /// Returns the buffered input at the end of the reply, if it is text.
    pub fn rest(self) -> String {
        match self.state {
            State::Thinking => String::new(),
            State::Beginning | State::Thought | State::Speaking => self.held,
        }
    }

    /// Advances to the next state if the buffered input allows it.
    fn step(&mut self) -> bool {
        let next = match self.state {
            State::Speaking => None,
            State::Thinking => self.held.find(CLOSING).map(|at| (State::Thought, at + CLOSING.len())),
            State::Beginning | State::Thought => self.begin(),
        };
        match next {
            Some((state, passed)) => {
                self.held.drain(..passed);
                self.state = state;
            }
            None if self.state == State::Thinking => self.forget(),
            None => {}
        }
        next.is_some()
    }

    fn begin(&self) -> Option<(State, usize)> {
        let words = self.held.trim_start();
        let blank = self.held.len() - words.len();
        match words {
            _ if words.starts_with(OPENING) => Some((State::Thinking, blank + OPENING.len())),
            _ if OPENING.starts_with(words) && blank < BLANK_BYTES => None,
            // Blank lines after thinking belong to it.
            _ if self.state == State::Thought => Some((State::Speaking, blank)),
            _ => Some((State::Speaking, 0)),
        }
    }

    /// Drops all but a possible start of the closing tag.
    fn forget(&mut self) {
        let ends = |length: &usize| self.held.ends_with(&CLOSING[..*length]);
        let kept = (1..CLOSING.len()).rev().find(ends).unwrap_or_default();
        self.held.drain(..self.held.len() - kept);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&str]) -> String {
        let mut thoughts = Thoughts::default();
        let words: String = pieces.iter().map(|piece| thoughts.words((*piece).to_owned())).collect();
        words + &thoughts.rest()
    }

    #[test]
    fn thoughts_at_the_beginning_are_no_words() {
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
    fn blanks_without_end_are_not_looked_at_again_and_again() {
        let mut thoughts = Thoughts::default();
        let words: String = (0..BLANK_BYTES).map(|_| thoughts.words(" ".to_owned())).collect();
        assert_eq!(words.len(), BLANK_BYTES);
        assert_eq!(thoughts.state, State::Speaking);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn pieces_do_not_matter(parts in proptest::collection::vec(
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
