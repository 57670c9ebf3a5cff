//! Cues: events without a set time, such as `after standup: send notes`.

use std::fmt;
use std::ops::Range;

use super::Cue;
use super::group::time_phrases;
use super::words::Words;

/// The spelling of [`Cue::NextTalk`] in files.
const NEXT_TALK: &str = "next-talk";

impl Cue {
    /// Parses a cue as written in a file; the error says what would be valid.
    pub fn parse(text: &str) -> Result<Self, String> {
        match (text.trim(), text.trim().strip_prefix("after ")) {
            (NEXT_TALK, _) => Ok(Self::NextTalk),
            (_, Some(name)) if !name.trim().is_empty() => Ok(Self::After(name.trim().to_owned())),
            (other, _) => {
                Err(format!("{other:?} is nothing to wait for; write `{NEXT_TALK}` or `after standup`"))
            }
        }
    }
}

impl fmt::Display for Cue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(name) => write!(f, "after {name}"),
            Self::NextTalk => f.write_str(NEXT_TALK),
        }
    }
}

/// The maximum number of words in the name of an event.
const MAX_NAME_WORDS: usize = 6;

/// The cue of a sentence, and the range of words that express it.
pub(super) fn read(text: &str, words: &Words) -> Option<(Cue, Range<usize>)> {
    next_talk(words).or_else(|| after(text, words))
}

/// `next time we talk: ask about lisbon`, or the same at the end of a sentence.
fn next_talk(words: &Words) -> Option<(Cue, Range<usize>)> {
    let talk = |at: &usize| {
        words
            .after_sequence(*at, &["next", "time", "we"])
            .is_some_and(|end| words.is_any(end, &["talk", "speak", "chat"]))
    };
    let at = (0..words.len()).find(talk)?;
    let opens = at == 0 || words.after_sequence(0, &["remind", "me"]) == Some(at);
    (opens || words.ends_clause(at + 4)).then_some((Cue::NextTalk, at..at + 4))
}

/// `after X: Y`, `when X ends: Y`, `once X is over, Y`.
fn after(text: &str, words: &Words) -> Option<(Cue, Range<usize>)> {
    let mark = (2..words.len()).find(|at| words.is_any(*at, &[":", ","]))?;
    let end = match words.at(0) {
        "after" => mark,
        "when" | "once" if words.is_any(mark - 1, &["ends", "finishes"]) => mark - 1,
        "when" | "once" if words.at(mark - 2) == "is" && words.is_any(mark - 1, &["over", "done"]) => {
            mark - 2
        }
        _ => return None,
    };
    let name = text[words.byte_range(&(1..end))].trim();
    let is_time = !time_phrases(&Words::of(name)).is_empty()
        || name.starts_with(|letter: char| letter.is_ascii_digit());
    let something = mark + 1 < words.len() && !name.is_empty() && end <= MAX_NAME_WORDS + 1;
    (something && !is_time).then(|| (Cue::After(name.to_owned()), 0..mark + 1))
}
