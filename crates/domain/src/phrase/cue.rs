//! Cues: times that no clock shows, such as `after standup: send notes`.

use std::ops::Range;

use super::Cue;
use super::group::groups;
use super::words::Words;

/// The most words that something is called by.
const NAME: usize = 6;

/// The cue that a sentence gives, and the words it stands in.
pub(super) fn read(text: &str, words: &Words) -> Option<(Cue, Range<usize>)> {
    next_talk(words).or_else(|| after(text, words))
}

/// `next time we talk: ask about lisbon`, or at the end of a sentence.
fn next_talk(words: &Words) -> Option<(Cue, Range<usize>)> {
    let talk = |at: &usize| {
        words
            .after(*at, &["next", "time", "we"])
            .is_some_and(|end| words.any(end, &["talk", "speak", "chat"]))
    };
    let at = (0..words.len()).find(talk)?;
    let opens = at == 0 || words.after(0, &["remind", "me"]) == Some(at);
    (opens || words.closes(at + 4)).then_some((Cue::NextTalk, at..at + 4))
}

/// `after X: Y`, `when X ends: Y`, `once X is over, Y`.
fn after(text: &str, words: &Words) -> Option<(Cue, Range<usize>)> {
    let mark = (2..words.len()).find(|at| words.any(*at, &[":", ","]))?;
    let end = match words.at(0) {
        "after" => mark,
        "when" | "once" if words.any(mark - 1, &["ends", "finishes"]) => mark - 1,
        "when" | "once" if words.at(mark - 2) == "is" && words.any(mark - 1, &["over", "done"]) => mark - 2,
        _ => return None,
    };
    let name = text[words.place(&(1..end))].trim();
    let is_time =
        !groups(&Words::of(name)).is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit());
    let something = mark + 1 < words.len() && !name.is_empty() && end <= NAME + 1;
    (something && !is_time).then(|| (Cue::After(name.to_owned()), 0..mark + 1))
}
