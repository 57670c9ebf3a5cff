//! Rehearsed plans: a card can offer one sentence, `when this is over → that`, which one press
//! accepts.
//!
//! The plan is the last line of the card's message and is parsed from there, so that exactly what
//! the user reads is done.

use super::Card;
use crate::phrase::Cue;

const LEAD: &str = "a plan: when ";
const ARROW: &str = " → ";
const OVER: &str = " is over";
const TALK: &str = "we talk next";
/// The longest name of an event that fits on a button, in characters.
pub const MAX_EVENT_NAME: usize = 40;

/// The line that offers to do `words` when `cue` occurs.
pub fn rehearsed_plan(cue: &Cue, words: &str) -> String {
    format!("{LEAD}{}{ARROW}{words}", describe_cue(cue))
}

fn describe_cue(cue: &Cue) -> String {
    match cue {
        Cue::After(name) => format!("{name}{OVER}"),
        Cue::NextTalk => TALK.to_owned(),
    }
}

impl Card {
    /// The cue of the offered plan, if there is one.
    pub fn planned_cue(&self) -> Option<Cue> {
        let line = self.text.lines().last()?.strip_prefix(LEAD)?;
        let (when, _) = line.split_once(ARROW)?;
        match when.strip_suffix(OVER) {
            _ if when == TALK => Some(Cue::NextTalk),
            Some(name) if !name.is_empty() && name.chars().count() <= MAX_EVENT_NAME => {
                Some(Cue::After(name.to_owned()))
            }
            Some(_) | None => None,
        }
    }

    /// Describes when the planned reminder fires.
    pub(super) fn plan_description(&self) -> String {
        self.planned_cue().map_or_else(|| "later".to_owned(), |cue| format!("when {}", describe_cue(&cue)))
    }
}

/// The label of the button that accepts the plan.
pub(super) fn button_label(cue: &Cue) -> String {
    match cue {
        Cue::After(name) => format!("After {name}"),
        Cue::NextTalk => "When we talk next".to_owned(),
    }
}
