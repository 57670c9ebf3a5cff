//! Interprets plain text without a model: [`parse`] maps a message to an [`Intent`].
//!
//! Deterministic. It does not converse; text that it does not understand becomes an inbox item, so
//! that nothing is lost.

mod change;
mod ease;
mod list;
mod mood;
mod plan;
mod talk;

pub use list::Span;
pub use talk::Talk;

use jiff::Zoned;

use crate::attention::Ease;
use crate::inbox::KeptId;
use crate::phrase::{Habits, LONGEST, Note, Reading, Target};

/// The interpretation of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// A greeting or the like, which only needs a reply.
    Talk(Talk),
    Status,
    List(Span),
    /// An explicit request to keep a text in the inbox.
    Keep(String),
    /// Something with a time. The timing is missing only if a reminder was requested with an
    /// invalid or no time.
    Plan(Reading),
    /// A change to existing items, the inbox or the settings.
    Change(Change),
    /// Something to do or to get, without a time.
    Untimed,
    /// A request for fewer interruptions.
    Ease(Ease),
    /// Anything else, with the errors of time phrases in it.
    Unclear(Vec<Note>),
}

/// A requested change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Done(Which),
    Move {
        what: Which,
        /// The destination, or why it is not a time.
        to: Result<Target, Note>,
    },
    Cancel(Which),
    Undo,
    /// Pause all notifications.
    Pause(Until),
    /// End a pause.
    Resume,
    /// Keep the item in the inbox without a time.
    Leave,
    ClearInbox,
    /// Set the user's name.
    Name(String),
}

/// A reference to an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The item being answered, or the last one.
    This,
    /// The reminder that rang last.
    Rang,
    /// The item with this name.
    Called(String),
    /// The inbox item with this number.
    Kept(KeptId),
}

/// The end of a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    Then(Zoned),
    /// Until the user ends it.
    Told,
    /// The given time is invalid.
    Unread(Note),
}

/// Interprets `text`, received at `now`.
pub fn read(text: &str, now: &Zoned, habits: &Habits) -> Meant {
    if text.len() > LONGEST {
        return Meant::Unclear(Vec::new());
    }
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = Said::of(&words);
    talk::read(&said)
        .or_else(|| ease::read(&said, now, habits))
        .or_else(|| list::read(&said, now, habits))
        .or_else(|| change::read(&said, now, habits))
        .or_else(|| plan::read(&said, now, habits))
        .or_else(|| change::unread(&said))
        .unwrap_or_else(|| {
            plan::kept(&said).unwrap_or_else(|| match plan::mistakes(&said, now, habits) {
                mistakes if mistakes.is_empty() && plan::is_a_thing(&said) => Meant::Untimed,
                mistakes => Meant::Unclear(mistakes),
            })
        })
}

/// Returns `text` without a prefix such as `remember:` that asks to keep it.
pub fn without_lead(text: &str) -> &str {
    plan::after_lead(text.trim()).unwrap_or(text).trim()
}

/// A sentence, normalized for comparison.
struct Said<'a> {
    /// The original text with single spaces.
    words: &'a str,
    /// `words` without trailing punctuation.
    plain: &'a str,
    /// `plain` in lower case.
    lower: String,
}

impl<'a> Said<'a> {
    fn of(words: &'a str) -> Self {
        let plain = words.trim_end_matches(['.', '!', '?', ' ', ',']);
        let plain = if plain.is_empty() { words } else { plain };
        let straight = plain.chars().map(|letter| if letter == '’' { '\'' } else { letter });
        // ASCII only, because other letters may change their length in lower case and shift byte
        // offsets.
        Self { words, plain, lower: straight.map(|letter| letter.to_ascii_lowercase()).collect() }
    }

    /// Returns whether it equals one of `list`.
    fn is(&self, list: &[&str]) -> bool {
        list.contains(&self.lower.as_str())
    }

    /// Returns whether it ends with a question mark.
    fn asks(&self) -> bool {
        self.words.ends_with('?')
    }

    /// The original text after `head`.
    fn after(&self, head: &str) -> Option<&'a str> {
        let rest = strip(self.plain, head)?;
        Some(rest.trim()).filter(|rest| !rest.is_empty())
    }

    /// The original text after the first of `heads` that matches.
    fn after_any(&self, heads: &[&str]) -> Option<&'a str> {
        heads.iter().find_map(|head| self.after(head))
    }
}

/// Removes the prefix `head` from `text`, ignoring ASCII case; `head` must end at a word boundary.
fn strip<'a>(text: &'a str, head: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(head.len())?;
    let whole = head.ends_with([' ', ':']) || !rest.starts_with(char::is_alphanumeric);
    (whole && start.eq_ignore_ascii_case(head)).then_some(rest)
}

impl Which {
    /// The item named by `words` in a snooze: the last reminder that rang, if none is named.
    fn snoozed(words: &str) -> Self {
        match Self::of(words) {
            Self::This => Self::Rang,
            which @ (Self::Rang | Self::Called(_) | Self::Kept(_)) => which,
        }
    }

    /// The item named by `words`; `it` and the like mean the current one.
    fn of(words: &str) -> Self {
        let kept =
            strip(words, "inbox:").or_else(|| strip(words, "inbox ")).and_then(|id| id.trim().parse().ok());
        if let Some(id) = kept {
            return Self::Kept(KeptId(id));
        }
        let bare = ["the ", "my "].iter().find_map(|article| strip(words, article)).unwrap_or(words).trim();
        match bare.to_ascii_lowercase().as_str() {
            "" | "it" | "that" | "this" | "that one" | "this one" | "the last one" | "last one" => Self::This,
            _ => Self::Called(bare.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
