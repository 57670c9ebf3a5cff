//! The offline brain: what plain words mean when no model is there to read them.
//!
//! Deterministic, and honest about what it is: it never pretends to converse. What it does not understand
//! it keeps, so that nothing the human says is lost.

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

/// What the human meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// A greeting and the like, which wants an answer and nothing more.
    Talk(Talk),
    /// How do things stand?
    Status,
    /// What is there?
    List(Span),
    /// Keep this, plainly asked for.
    Keep(String),
    /// Something with a time. The time is missing only if it was asked for and not understood.
    Plan(Reading),
    /// Something there is becomes otherwise.
    Change(Change),
    /// Something to do or to get, without a time.
    Untimed,
    /// Let less reach me.
    Ease(Ease),
    /// Anything else, and what is wrong with a time in it.
    Unclear(Vec<Note>),
}

/// What the human wants otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// That is done.
    Done(Which),
    /// That is for another time.
    Move {
        /// What.
        what: Which,
        /// To when, or why that is no time.
        to: Result<Target, Note>,
    },
    /// That is not wanted any more.
    Cancel(Which),
    /// Take the last change back.
    Undo,
    /// Be quiet.
    Pause(Until),
    /// Go on as always.
    Resume,
    /// That has no time, and stays without one.
    Leave,
    /// All that was kept is dealt with.
    ClearInbox,
    /// The human is called so.
    Name(String),
}

/// Which thing the human speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one that is being answered, or the last one.
    This,
    /// The one that rang last.
    Rang,
    /// The one that is called so.
    Called(String),
    /// The one that was kept under this number.
    Kept(KeptId),
}

/// How long to be quiet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// Until then.
    Then(Zoned),
    /// Until the human says otherwise.
    Told,
    /// Until something that is no time, and why.
    Unread(Note),
}

/// Reads what the human wrote at `now`.
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

/// `text` as it was written, without the words that ask to keep it.
pub fn without_lead(text: &str) -> &str {
    plan::after_lead(text.trim()).unwrap_or(text).trim()
}

/// A sentence as it was written, and as it is compared.
struct Said<'a> {
    /// As it was written, with single spaces.
    words: &'a str,
    /// The same without the marks at its end.
    plain: &'a str,
    /// The same in lower case.
    lower: String,
}

impl<'a> Said<'a> {
    fn of(words: &'a str) -> Self {
        let plain = words.trim_end_matches(['.', '!', '?', ' ', ',']);
        let plain = if plain.is_empty() { words } else { plain };
        let straight = plain.chars().map(|letter| if letter == '’' { '\'' } else { letter });
        // Letters that change their length in lower case would shift the places of all that follows.
        Self { words, plain, lower: straight.map(|letter| letter.to_ascii_lowercase()).collect() }
    }

    /// Whether it is one of `list`.
    fn is(&self, list: &[&str]) -> bool {
        list.contains(&self.lower.as_str())
    }

    /// Whether a mark or its first word makes it a question.
    fn asks(&self) -> bool {
        self.words.ends_with('?')
    }

    /// What follows `head`, as it was written.
    fn after(&self, head: &str) -> Option<&'a str> {
        let rest = strip(self.plain, head)?;
        Some(rest.trim()).filter(|rest| !rest.is_empty())
    }

    /// What follows the first of `heads` that it begins with.
    fn after_any(&self, heads: &[&str]) -> Option<&'a str> {
        heads.iter().find_map(|head| self.after(head))
    }
}

/// What follows `head` in `text`, whatever the case of its letters; `head` must end where a word ends.
fn strip<'a>(text: &'a str, head: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(head.len())?;
    let whole = head.ends_with([' ', ':']) || !rest.starts_with(char::is_alphanumeric);
    (whole && start.eq_ignore_ascii_case(head)).then_some(rest)
}

impl Which {
    /// What `words` name of what is snoozed: something that rang, if they do not say.
    fn snoozed(words: &str) -> Self {
        match Self::of(words) {
            Self::This => Self::Rang,
            which @ (Self::Rang | Self::Called(_) | Self::Kept(_)) => which,
        }
    }

    /// What `words` name: `it` and the like is the one at hand.
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
