//! Plans on a card: one rehearsed sentence, `when this is over → that`, which one press makes true.
//!
//! It stands in the last line of what was said when the card rang, and is read back from there: what the human reads
//! is what is done.

use super::Card;
use crate::phrase::Cue;

const LEAD: &str = "a plan: when ";
const ARROW: &str = " → ";
const OVER: &str = " is over";
const TALK: &str = "we talk next";
/// The longest name that fits on a button.
pub const NAME: usize = 40;

/// `words`, planned for when `cue` comes.
pub fn rehearsed(cue: &Cue, words: &str) -> String {
    format!("{LEAD}{}{ARROW}{words}", told(cue))
}

/// When that is.
fn told(cue: &Cue) -> String {
    match cue {
        Cue::After(name) => format!("{name}{OVER}"),
        Cue::NextTalk => TALK.to_owned(),
    }
}

impl Card {
    /// What its plan waits for, if it has one.
    pub fn plan(&self) -> Option<Cue> {
        let line = self.said.lines().last()?.strip_prefix(LEAD)?;
        let (when, _) = line.split_once(ARROW)?;
        match when.strip_suffix(OVER) {
            _ if when == TALK => Some(Cue::NextTalk),
            Some(name) if !name.is_empty() && name.chars().count() <= NAME => {
                Some(Cue::After(name.to_owned()))
            }
            Some(_) | None => None,
        }
    }

    /// When its plan lets it ring.
    pub(super) fn planned_for(&self) -> String {
        self.plan().map_or_else(|| "later".to_owned(), |cue| format!("when {}", told(&cue)))
    }
}

/// What the button says that makes it true.
pub(super) fn label(cue: &Cue) -> String {
    match cue {
        Cue::After(name) => format!("After {name}"),
        Cue::NextTalk => "When we talk next".to_owned(),
    }
}
