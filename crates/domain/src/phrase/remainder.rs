//! Removes a time phrase from a text and repairs spacing and punctuation.

use std::ops::Range;

use super::words::Words;

/// Openings of a sentence that are not part of its subject.
const OPENINGS: [&str; 15] = [
    "please",
    "pls",
    "can you",
    "could you",
    "remind me to",
    "remind me about",
    "remind me of",
    "remind me that",
    "remind me",
    "set a reminder to",
    "set a reminder for",
    "set a reminder",
    "set reminder",
    "reminder to",
    "don't forget to",
];
const SEPARATORS: [char; 7] = [' ', ',', ';', ':', '-', '–', '·'];

/// Returns `text` without the given ranges of words.
pub(super) fn remove_ranges(text: &str, words: &Words, places: &[Range<usize>]) -> String {
    let mut kept = String::new();
    let mut from = 0;
    for place in places {
        let cut = words.byte_range(place);
        append_after_cut(&mut kept, text.get(from..cut.start).unwrap_or_default());
        kept.truncate(kept.trim_end_matches(SEPARATORS).len());
        from = cut.end.max(from);
    }
    append_after_cut(&mut kept, text.get(from..).unwrap_or_default());
    strip_opening(&kept).to_owned()
}

/// Appends the text that follows a removed range.
fn append_after_cut(kept: &mut String, rest: &str) {
    let rest = rest.trim();
    let only_marks = !rest.chars().any(|letter| letter.is_alphanumeric() || !letter.is_ascii());
    if kept.is_empty() {
        kept.push_str(rest.trim_start_matches(SEPARATORS));
        return;
    }
    if kept.ends_with('(') && rest.starts_with(')') {
        kept.pop();
        kept.truncate(kept.trim_end().len());
        return append_after_cut(kept, &rest[1..]);
    }
    if only_marks && !rest.contains(['"', '\'', '`']) {
        return;
    }
    if !rest.starts_with([',', '.', '!', '?', ';', ':', ')']) {
        kept.push(' ');
    }
    kept.push_str(rest);
}

/// Removes the polite opening of a sentence.
fn strip_opening(text: &str) -> &str {
    let text = text.trim();
    let after = |opening: &&str| {
        let head = text.get(..opening.len())?;
        let rest = &text[opening.len()..];
        let whole = !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '\'');
        (head.eq_ignore_ascii_case(opening) && whole).then(|| rest.trim_start_matches(SEPARATORS))
    };
    match OPENINGS.iter().find_map(after) {
        Some(rest) => strip_opening(rest),
        None => text,
    }
}
