//! Splitting text into messages that Discord takes, so that nothing is lost and every part can be read alone.
//!
//! Where a part ends depends only on what stands before that place, so text that is still growing is split the same
//! way each time: only the last part changes. A code block that goes on in the next part is closed at the end of the
//! one and opened again at the start of the other; no other part that is followed by one ends in a fence, so `joined`
//! knows which fences were added.

mod cluster;

use cluster::holds_together;

/// The most that one message holds, in UTF-16 units, which is how Discord counts.
pub const LONGEST: usize = 2000;
/// The most that a part holds if another follows. What is left over is then never just a word or two.
const ROOM: usize = LONGEST - 40;
/// How far from its end a part may end, for a better place.
const SEARCH: usize = 200;

const FENCE: &str = "```";
const CLOSING: &str = "\n```";
/// The longest name of a language that is kept.
const LANGUAGE: usize = 32;

/// `text` as messages, in order. No text is no message.
///
/// A part may be white space alone, which Discord does not take; it is up to the sender to leave it out.
pub fn split(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut fence = Fence::Outside;
    let mut rest = text;
    while !rest.is_empty() {
        let opening = fence.opening();
        if fits(rest, LONGEST - units(&opening)) {
            parts.push(opening + rest);
            break;
        }
        let cut = best_cut(rest, &fence, ROOM - units(&opening) - units(CLOSING));
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

/// The text that `split` made `parts` of.
pub fn joined<S: AsRef<str>>(parts: &[S]) -> String {
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

/// How long Discord thinks `text` is.
pub fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Whether `text` is at most `most` units long. No more of it is looked at, so that splitting a long text takes linear time.
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

/// Whether a place lies in a code block.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fence {
    Outside,
    Inside { language: String },
}

impl Fence {
    /// What a part that begins in it begins with.
    fn opening(&self) -> String {
        match self {
            Self::Outside => String::new(),
            Self::Inside { language } => format!("{FENCE}{language}\n"),
        }
    }

    /// What lies behind the fence that `text` begins with, and how many bytes the fence has with its language.
    fn crossed(&self, text: &str) -> (Self, usize) {
        match self {
            Self::Inside { .. } => (Self::Outside, FENCE.len()),
            Self::Outside => {
                let language = language(&text[FENCE.len()..]);
                let line = &text[FENCE.len() + language.len()..];
                // Only what stands alone on the line is a language.
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
    if end <= LANGUAGE { &text[..end] } else { "" }
}

/// A place where a part may end, and whether it lies in a code block.
#[derive(Clone, Debug)]
struct Cut {
    at: usize,
    fence: Fence,
}

/// How good a place is; the lowest is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Paragraph,
    Line,
    Word,
    Letter,
    /// In the middle of something that belongs together: better than no place at all.
    Anywhere,
}

/// The best place for a part of `text`, which begins in `fence`, to end before `room` is used up.
fn best_cut(text: &str, fence: &Fence, room: usize) -> Cut {
    let mut best: [Option<Cut>; 5] = Default::default();
    let mut place = Place { at: 0, units: 0, fence: fence.clone() };
    while place.units < room && place.at < text.len() {
        place.step(text);
        if place.units > room {
            break;
        }
        if place.units + SEARCH >= room && place.is_clear(text) {
            best[place.rank(text) as usize] = Some(Cut { at: place.at, fence: place.fence.clone() });
        }
    }
    let found = best.into_iter().flatten().next();
    found.unwrap_or(Cut { at: place.at, fence: place.fence })
}

/// A place in a text, as it is walked through.
struct Place {
    at: usize,
    units: usize,
    fence: Fence,
}

impl Place {
    /// Goes past the next character, or past a whole fence.
    fn step(&mut self, text: &str) {
        let rest = &text[self.at..];
        let length = if rest.starts_with(FENCE) {
            let (fence, length) = self.fence.crossed(rest);
            self.fence = fence;
            length
        } else {
            rest.chars().next().map_or(0, char::len_utf8)
        };
        self.units += units(&rest[..length]);
        self.at += length;
    }

    /// Whether a part that ends here cannot be mistaken for one whose code block we closed.
    fn is_clear(&self, text: &str) -> bool {
        self.fence != Fence::Outside || !text[..self.at].ends_with(FENCE)
    }

    fn rank(&self, text: &str) -> Rank {
        let (before, after) = text.split_at(self.at);
        if holds_together(before, after) {
            Rank::Anywhere
        } else if before.ends_with("\n\n") {
            Rank::Paragraph
        } else if before.ends_with('\n') {
            Rank::Line
        } else if before.ends_with(' ') {
            Rank::Word
        } else {
            Rank::Letter
        }
    }
}

#[cfg(test)]
mod tests;
