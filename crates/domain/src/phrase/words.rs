//! Splits a text into words with their byte ranges. A quotation is one opaque word.

use std::ops::Range;

/// A word or punctuation mark in lower case, with its byte range.
struct Word {
    text: String,
    range: Range<usize>,
    kind: WordKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    Plain,
    Mark,
    Quoted,
}

/// A text split into words.
pub(super) struct Words {
    list: Vec<Word>,
}

/// A parsed value and the index of the word after it.
pub(super) type Match<T> = Option<(T, usize)>;

const OPENING: [char; 3] = ['(', '[', '{'];
const CLOSING: [char; 11] = [',', ';', ':', '!', '?', ')', ']', '}', '…', '·', '|'];
const QUOTES: [(char, &[char]); 7] = [
    ('"', &['"']),
    ('“', &['”', '“']),
    ('„', &['“', '”']),
    ('«', &['»']),
    ('`', &['`']),
    ('\'', &['\'']),
    ('‘', &['’']),
];

impl Words {
    /// Splits `text`.
    pub fn of(text: &str) -> Self {
        let mut words = Self { list: Vec::new() };
        let mut at = 0;
        while let Some(next) = text[at..].chars().next() {
            at = match (next.is_whitespace(), quotation_end(text, at)) {
                (true, _) => at + next.len_utf8(),
                (false, Some(end)) => words.push(text, at..end, WordKind::Quoted),
                (false, None) => words.push_chunk(text, at),
            };
        }
        words
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The word at index `at`; empty if it is quoted or out of range.
    pub fn at(&self, at: usize) -> &str {
        self.list.get(at).map_or("", |word| if word.kind == WordKind::Quoted { "" } else { &word.text })
    }

    /// Returns whether the word at `at` is one of `these`.
    pub fn is_any(&self, at: usize, these: &[&str]) -> bool {
        these.contains(&self.at(at)) && !self.at(at).is_empty()
    }

    /// The index after the sequence `these`, if it begins at `at`.
    pub fn after_sequence(&self, at: usize, these: &[&str]) -> Option<usize> {
        let all = these.iter().enumerate().all(|(nth, word)| self.at(at + nth) == *word);
        all.then_some(at + these.len())
    }

    /// The index after `at` if the word there is one of `these`, else `at`.
    pub fn skip(&self, at: usize, these: &[&str]) -> usize {
        at + usize::from(self.is_any(at, these))
    }

    /// Returns whether a clause or the text ends before `at`.
    pub fn ends_clause(&self, at: usize) -> bool {
        self.list.get(at).is_none_or(|word| word.kind == WordKind::Mark)
    }

    /// The byte range of a range of words.
    pub fn byte_range(&self, range: &Range<usize>) -> Range<usize> {
        let from = self.list.get(range.start).map_or(0, |word| word.range.start);
        let to = self.list.get(range.end.wrapping_sub(1)).map_or(from, |word| word.range.end);
        from..to.max(from)
    }

    /// Adds the text from `from` up to the next space or quotation, and returns its end.
    fn push_chunk(&mut self, text: &str, from: usize) -> usize {
        let ends = |(nth, letter): &(usize, char)| {
            letter.is_whitespace() || (*nth > 0 && quotation_end(text, from + nth).is_some())
        };
        let to = text[from..].char_indices().find(ends).map_or(text.len(), |(nth, _)| from + nth);
        self.push_trimmed(text, from..to);
        to
    }

    /// Splits punctuation off both ends of a chunk and adds all parts.
    fn push_trimmed(&mut self, text: &str, mut chunk: Range<usize>) {
        while let Some(mark) = text[chunk.clone()].chars().next().filter(|letter| OPENING.contains(letter)) {
            chunk.start = self.push(text, chunk.start..chunk.start + mark.len_utf8(), WordKind::Mark);
        }
        let whole = chunk.end;
        while let Some(mark) = trailing_mark(&text[chunk.clone()]) {
            chunk.end -= mark.len_utf8();
        }
        self.push_split(text, chunk.clone());
        for (nth, mark) in text[chunk.end..whole].char_indices() {
            let at = chunk.end + nth;
            self.push(text, at..at + mark.len_utf8(), WordKind::Mark);
        }
    }

    /// Splits `mon,wed` at the comma, but not `1,5`.
    fn push_split(&mut self, text: &str, chunk: Range<usize>) {
        let inside = &text[chunk.clone()];
        let digit = |side: Option<char>| side.is_some_and(|letter| letter.is_ascii_digit());
        let parts = |(nth, _): &(usize, &str)| {
            !(digit(inside[..*nth].chars().last()) && digit(inside[nth + 1..].chars().next()))
        };
        let comma = inside.match_indices(',').find(parts);
        let Some((nth, _)) = comma else {
            if !chunk.is_empty() {
                self.push(text, chunk, WordKind::Plain);
            }
            return;
        };
        let at = chunk.start + nth;
        self.push_split(text, chunk.start..at);
        self.push(text, at..at + 1, WordKind::Mark);
        self.push_split(text, at + 1..chunk.end);
    }

    fn push(&mut self, text: &str, place: Range<usize>, kind: WordKind) -> usize {
        let lower = text[place.clone()].chars().flat_map(char::to_lowercase);
        let plain = |letter| match letter {
            '–' | '—' | '‐' | '‑' => '-',
            '’' => '\'',
            other => other,
        };
        let end = place.end;
        self.list.push(Word { text: lower.map(plain).collect(), range: place, kind });
        end
    }
}

/// The punctuation mark at the end of `chunk`. The last dot of `24.12.` and of `p.m.` belongs to
/// the word.
fn trailing_mark(chunk: &str) -> Option<char> {
    let last = chunk.chars().last()?;
    let dotted = || {
        let before = &chunk[..chunk.len() - 1];
        before.contains('.') && !before.starts_with('.') && !before.ends_with('.')
    };
    match last {
        '.' => (!dotted()).then_some(last),
        _ => CLOSING.contains(&last).then_some(last),
    }
}

/// The end of the quotation that opens at `at`; `None` if none opens there or it is never closed.
fn quotation_end(text: &str, at: usize) -> Option<usize> {
    let opening = text[at..].chars().next()?;
    let (_, closing) = QUOTES.iter().find(|(open, _)| *open == opening)?;
    let begins = |letter: char| letter.is_whitespace() || OPENING.contains(&letter);
    let single = matches!(opening, '\'' | '‘');
    if single && !text[..at].chars().last().is_none_or(begins) {
        return None;
    }
    let inside = at + opening.len_utf8();
    let ends = |(nth, letter): &(usize, char)| {
        let after = text[inside + nth + letter.len_utf8()..].chars().next();
        closing.contains(letter) && !(single && after.is_some_and(char::is_alphanumeric))
    };
    let (nth, closed) = text[inside..].char_indices().find(ends)?;
    Some(inside + nth + closed.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, words: &[&str]) {
        let read = Words::of(text);
        let list: Vec<&str> = (0..read.len()).map(|at| read.at(at)).collect();
        assert_eq!(list, words, "{text}");
    }

    #[test]
    fn text_is_split_into_words_marks_and_quotations() {
        check("Mon,Wed at 9:45, please.", &["mon", ",", "wed", "at", "9:45", ",", "please", "."]);
        check("24.12. 5 p.m. end.", &["24.12.", "5", "p.m.", "end", "."]);
        check("in 1,5 hours (soon)", &["in", "1,5", "hours", "(", "soon", ")"]);
        check(r#"say "see you at 5", ok"#, &["say", "", ",", "ok"]);
        check("what's 'at 5' o'clock", &["what's", "", "o'clock"]);
        check("an \"open one at 5", &["an", "\"open", "one", "at", "5"]);
        check("x:“morgen um 5”y", &["x", ":", "", "y"]);
    }
}
