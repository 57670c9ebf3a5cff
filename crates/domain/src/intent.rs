//! Interprets plain text without a model: [`parse`] maps a message to an [`Intent`].
//!
//! Deterministic. It does not converse; text that it does not understand becomes an inbox item, so
//! that nothing is lost.

mod change;
mod list;
mod plan;
mod quiet;
mod sentence_kind;
mod small_talk;

pub use list::ListRange;
pub use small_talk::SmallTalk;

use jiff::Zoned;

use crate::attention::QuietCommand;
use crate::inbox::InboxItemId;
use crate::phrase::{Habits, MAX_TEXT_LEN, MoveTarget, ParseNote, ParsedPhrase};

/// The interpretation of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// A greeting or the like, which only needs a reply.
    SmallTalk(SmallTalk),
    Status,
    List(ListRange),
    /// An explicit request to keep a text in the inbox.
    Keep(String),
    /// Something with a time. The timing is missing only if a reminder was requested with an
    /// invalid or no time.
    Plan(ParsedPhrase),
    /// A change to existing items, the inbox or the settings.
    Change(ChangeRequest),
    /// Something to do or to get, without a time.
    Untimed,
    /// A request for fewer interruptions.
    Quiet(QuietCommand),
    /// Anything else, with the errors of time phrases in it.
    Unclear(Vec<ParseNote>),
}

/// A requested change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeRequest {
    Done(ItemRef),
    Move {
        item: ItemRef,
        /// The destination, or why it is not a time.
        to: Result<MoveTarget, ParseNote>,
    },
    Cancel(ItemRef),
    Undo,
    /// Pause all notifications.
    Pause(PauseEnd),
    /// End a pause.
    Resume,
    /// Keep the item in the inbox without a time.
    LeaveUntimed,
    ClearInbox,
    /// Set the user's name.
    SetUserName(String),
}

/// A reference to an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemRef {
    /// The item being answered, or the last one.
    Current,
    /// The reminder that rang last.
    LastRung,
    /// The item with this name.
    Named(String),
    /// The inbox item with this number.
    InboxItem(InboxItemId),
}

/// The end of a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseEnd {
    At(Zoned),
    /// Until the user ends it.
    Indefinite,
    /// The given time is invalid.
    Invalid(ParseNote),
}

/// Interprets `text`, received at `now`.
pub fn parse(text: &str, now: &Zoned, habits: &Habits) -> Intent {
    if text.len() > MAX_TEXT_LEN {
        return Intent::Unclear(Vec::new());
    }
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = Sentence::of(&words);
    small_talk::parse(&said)
        .or_else(|| quiet::parse(&said, now, habits))
        .or_else(|| list::parse(&said, now, habits))
        .or_else(|| change::parse(&said, now, habits))
        .or_else(|| plan::parse(&said, now, habits))
        .or_else(|| change::with_invalid_time(&said))
        .unwrap_or_else(|| {
            plan::parse_keep(&said).unwrap_or_else(|| match plan::time_errors(&said, now, habits) {
                mistakes if mistakes.is_empty() && plan::is_thing(&said) => Intent::Untimed,
                mistakes => Intent::Unclear(mistakes),
            })
        })
}

/// Returns `text` without a prefix such as `remember:` that asks to keep it.
pub fn strip_keep_prefix(text: &str) -> &str {
    plan::after_keep_prefix(text.trim()).unwrap_or(text).trim()
}

/// A sentence, normalized for comparison.
struct Sentence<'a> {
    /// The original text with single spaces.
    words: &'a str,
    /// `words` without trailing punctuation.
    plain: &'a str,
    /// `plain` in lower case.
    lower: String,
}

impl<'a> Sentence<'a> {
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
    fn ends_with_question_mark(&self) -> bool {
        self.words.ends_with('?')
    }

    /// The original text after `head`.
    fn after(&self, head: &str) -> Option<&'a str> {
        let rest = strip_prefix_ignore_case(self.plain, head)?;
        Some(rest.trim()).filter(|rest| !rest.is_empty())
    }

    /// The original text after the first of `heads` that matches.
    fn after_any(&self, heads: &[&str]) -> Option<&'a str> {
        heads.iter().find_map(|head| self.after(head))
    }
}

/// Removes the prefix `head` from `text`, ignoring ASCII case; `head` must end at a word boundary.
fn strip_prefix_ignore_case<'a>(text: &'a str, head: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(head.len())?;
    let whole = head.ends_with([' ', ':']) || !rest.starts_with(char::is_alphanumeric);
    (whole && start.eq_ignore_ascii_case(head)).then_some(rest)
}

impl ItemRef {
    /// The item named by `words` in a snooze: the last reminder that rang, if none is named.
    fn of_snooze(words: &str) -> Self {
        match Self::of(words) {
            Self::Current => Self::LastRung,
            which @ (Self::LastRung | Self::Named(_) | Self::InboxItem(_)) => which,
        }
    }

    /// The item named by `words`; `it` and the like mean the current one.
    fn of(words: &str) -> Self {
        let kept = strip_prefix_ignore_case(words, "inbox:")
            .or_else(|| strip_prefix_ignore_case(words, "inbox "))
            .and_then(|id| id.trim().parse().ok());
        if let Some(id) = kept {
            return Self::InboxItem(InboxItemId(id));
        }
        let bare = ["the ", "my "]
            .iter()
            .find_map(|article| strip_prefix_ignore_case(words, article))
            .unwrap_or(words)
            .trim();
        match bare.to_ascii_lowercase().as_str() {
            "" | "it" | "that" | "this" | "that one" | "this one" | "the last one" | "last one" => {
                Self::Current
            }
            _ => Self::Named(bare.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
