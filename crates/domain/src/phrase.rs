//! Parser for times in natural language: [`parse`] splits `call the dentist tomorrow at 10` into a
//! [`Timing`] and the remaining text; [`describe`] turns a timing back into text.
//!
//! Deterministic and the same on every surface. It never guesses silently: a bare hour, a second
//! interpretation or a date that does not exist is returned as a [`ParseNote`] or as the
//! alternative.

mod calendar;
mod clock;
mod cue;
mod date;
mod dates;
mod day;
mod description;
mod frequency;
mod group;
mod habits;
mod length;
mod move_target;
mod note;
mod number;
mod parts;
mod recurrence;
mod recurrence_spec;
mod remainder;
mod resolution;
mod words;
mod zone;

pub use description::{describe, describe_times, format_exact};
pub use habits::{Habits, QuickTime, Slots};
pub use move_target::MoveTarget;
pub(crate) use move_target::{parse_duration, parse_target};
pub use note::ParseNote;
pub use recurrence_spec::{LocationCondition, MonthDay, RecurrenceSpec, RuleSpec};

use jiff::Zoned;

use resolution::Resolution;
use words::Words;

/// The result of parsing a text: its subject and its timing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedPhrase {
    /// The text without the time phrase, as the user wrote it.
    pub text: String,
    /// `None` if the text has no time phrase or an invalid one.
    pub when: Option<Timing>,
    /// The second interpretation of an ambiguous phrase.
    pub alternative: Option<Timing>,
    /// Remarks for the user on how the phrase was interpreted.
    pub notes: Vec<ParseNote>,
}

/// When something is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Once, in the zone that was named, else in the user's.
    Once(Zoned),
    /// Once, with an earlier notification.
    Lead {
        /// When to set off.
        leave: Zoned,
        /// The time itself.
        at: Zoned,
    },
    Recurring(RecurrenceSpec),
    /// When an event happens.
    Cue(Cue),
}

/// An event without a set time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cue {
    /// The end of the job or appointment with this name.
    After(String),
    /// The next message of the user.
    NextTalk,
}

/// The longest text, in bytes, that is searched for a time phrase.
pub const MAX_TEXT_LEN: usize = 4_000;

/// Parses the time phrase of `text`, relative to `now`.
///
/// Quoted text is never searched, and the last time phrase wins. A phrase may be split, as in
/// `tomorrow call mum at 5`.
pub fn parse(text: &str, now: &Zoned, habits: &Habits) -> ParsedPhrase {
    if text.len() > MAX_TEXT_LEN {
        return ParsedPhrase::untimed(text, Vec::new());
    }
    let words = Words::of(text);
    if let Some((cue, taken)) = cue::read(text, &words) {
        let what = remainder::remove_ranges(text, &words, &[taken]);
        return ParsedPhrase {
            text: what,
            when: Some(Timing::Cue(cue)),
            alternative: None,
            notes: Vec::new(),
        };
    }
    let Some(chosen) = group::choose_phrase(&words) else { return ParsedPhrase::untimed(text, Vec::new()) };
    match resolution::resolve(&chosen, now, habits) {
        Ok(Resolution { when, alternative: other, notes }) => ParsedPhrase {
            text: remainder::remove_ranges(text, &words, &chosen.ranges),
            when: Some(when),
            alternative: other,
            notes,
        },
        Err(note) => ParsedPhrase::untimed(text, vec![note]),
    }
}

impl ParsedPhrase {
    fn untimed(text: &str, notes: Vec<ParseNote>) -> Self {
        Self {
            text: remainder::remove_ranges(text, &Words::of(""), &[]),
            when: None,
            alternative: None,
            notes,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
