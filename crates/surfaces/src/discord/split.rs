//! Splits text into Discord messages without loss; each part can be read alone.
//!
//! The end of a part depends only on the text before it, so growing text is always split the same
//! way and only the last part changes. A code block that continues is closed at the end of a part
//! and reopened in the next. No other part that is followed by one ends in a fence, so `join` knows
//! which fences were added.

mod grapheme;

use grapheme::is_inside_cluster;

/// Maximum length of a message in UTF-16 units, which is how Discord counts.
pub const MAX_UNITS: usize = 2000;
/// Maximum length of a part that is followed by another, so that the remainder is never just a word
/// or two.
const PART_UNITS: usize = MAX_UNITS - 40;
/// The number of units before its limit in which a part may end, to find a better position.
const SEARCH_WINDOW: usize = 200;

const FENCE: &str = "```";
const CLOSING: &str = "\n```";
/// Maximum length of a language name that is repeated.
const MAX_LANGUAGE: usize = 32;

/// Splits `text` into messages in order. Empty text gives none. A part may be only whitespace,
/// which Discord rejects; the caller leaves it out.
pub fn split(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut fence = Fence::Outside;
    let mut rest = text;
    while !rest.is_empty() {
        let opening = fence.opening();
        if fits(rest, MAX_UNITS - units(&opening)) {
            parts.push(opening + rest);
            break;
        }
        let cut = best_cut(rest, &fence, PART_UNITS - units(&opening) - units(CLOSING));
        let (piece, after) = rest.split_at(cut.at);
        fence = cut.fence;
        parts.push(match fence {
            Fence::Outside => opening + piece,
            Fence::Inside { .. } => opening + piece + CLOSING,
        });
        rest = after;
    }
    parts
}

/// Restores the text from the result of `split`.
pub fn join<S: AsRef<str>>(parts: &[S]) -> String {
    let mut text = String::new();
    let mut reopened = false;
    for (index, part) in parts.iter().enumerate() {
        let mut part = part.as_ref();
        if reopened {
            part = part.split_once('\n').map_or("", |(_, after)| after);
        }
        reopened = false;
        if index + 1 < parts.len()
            && let Some(piece) = part.strip_suffix(CLOSING)
        {
            part = piece;
            reopened = true;
        }
        text.push_str(part);
    }
    text
}

/// Returns the length as Discord counts it.
pub fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Returns true if `text` has at most `most` units. Stops there, so splitting a long text takes
/// linear time.
fn fits(text: &str, most: usize) -> bool {
    let mut left = most;
    text.chars().all(|c| match left.checked_sub(c.len_utf16()) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    })
}

/// Whether a position is in a code block.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fence {
    Outside,
    Inside { language: String },
}

impl Fence {
    /// Returns what a part that begins here has to begin with.
    fn opening(&self) -> String {
        match self {
            Self::Outside => String::new(),
            Self::Inside { language } => format!("{FENCE}{language}\n"),
        }
    }

    /// Returns the state after the fence at the start of `text`, and the bytes of the fence with
    /// its language.
    fn after_fence(&self, text: &str) -> (Self, usize) {
        match self {
            Self::Inside { .. } => (Self::Outside, FENCE.len()),
            Self::Outside => {
                let language = language(&text[FENCE.len()..]);
                let line = &text[FENCE.len() + language.len()..];
                // A language must be alone on its line.
                if line.starts_with('\n') {
                    (Self::Inside { language: language.to_owned() }, FENCE.len() + language.len() + 1)
                } else {
                    (Self::Inside { language: String::new() }, FENCE.len())
                }
            }
        }
    }
}

fn language(text: &str) -> &str {
    let belongs = |c: char| c.is_ascii_alphanumeric() || "_+-.#".contains(c);
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    if end <= MAX_LANGUAGE { &text[..end] } else { "" }
}

/// An end of a part, and whether it is in a code block.
#[derive(Clone, Debug)]
struct Cut {
    at: usize,
    fence: Fence,
}

/// Quality of a position; the lowest is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Paragraph,
    Line,
    Word,
    Character,
    /// Inside a grapheme cluster, as a last resort.
    Anywhere,
}

/// Returns the best end for a part of `text` that begins in `fence` and has `limit` units.
fn best_cut(text: &str, fence: &Fence, limit: usize) -> Cut {
    let mut best: [Option<Cut>; 5] = Default::default();
    let mut cursor = Cursor { at: 0, units: 0, fence: fence.clone() };
    while cursor.units < limit && cursor.at < text.len() {
        cursor.advance(text);
        if cursor.units > limit {
            break;
        }
        if cursor.units + SEARCH_WINDOW >= limit && cursor.is_unambiguous(text) {
            best[cursor.rank(text) as usize] = Some(Cut { at: cursor.at, fence: cursor.fence.clone() });
        }
    }
    let found = best.into_iter().flatten().next();
    found.unwrap_or(Cut { at: cursor.at, fence: cursor.fence })
}

/// A position while walking through a text.
struct Cursor {
    at: usize,
    units: usize,
    fence: Fence,
}

impl Cursor {
    /// Advances past the next character or a whole fence.
    fn advance(&mut self, text: &str) {
        let rest = &text[self.at..];
        let length = if rest.starts_with(FENCE) {
            let (fence, length) = self.fence.after_fence(rest);
            self.fence = fence;
            length
        } else {
            rest.chars().next().map_or(0, char::len_utf8)
        };
        self.units += units(&rest[..length]);
        self.at += length;
    }

    /// Returns true if a part that ends here cannot be mistaken for one whose code block was closed
    /// by `split`.
    fn is_unambiguous(&self, text: &str) -> bool {
        self.fence != Fence::Outside || !text[..self.at].ends_with(FENCE)
    }

    fn rank(&self, text: &str) -> Rank {
        let (before, after) = text.split_at(self.at);
        if is_inside_cluster(before, after) {
            Rank::Anywhere
        } else if before.ends_with("\n\n") {
            Rank::Paragraph
        } else if before.ends_with('\n') {
            Rank::Line
        } else if before.ends_with(' ') {
            Rank::Word
        } else {
            Rank::Character
        }
    }
}

#[cfg(test)]
mod tests;
