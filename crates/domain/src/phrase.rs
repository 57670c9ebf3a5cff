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
mod every;
mod group;
mod habits;
mod length;
mod note;
mod number;
mod repeat;
mod rhythm;
mod said;
mod seam;
mod settle;
mod target;
mod tell;
mod words;
mod zone;

pub use habits::{Habits, Quick, Slots};
pub use note::Note;
pub use repeat::{Beat, Home, MonthDay, Repeat};
pub use target::Target;
pub(crate) use target::{span, target};
pub use tell::{tell, tell_exact, tell_times};

use jiff::Zoned;

use settle::Settled;
use words::Words;

/// The result of parsing a text: its subject and its timing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The text without the time phrase, as the user wrote it.
    pub what: String,
    /// `None` if the text has no time phrase or an invalid one.
    pub when: Option<When>,
    /// The second interpretation of an ambiguous phrase.
    pub other: Option<When>,
    /// Remarks for the user on how the phrase was interpreted.
    pub notes: Vec<Note>,
}

/// When something is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Once, in the zone that was named, else in the user's.
    Once(Zoned),
    /// Once, with an earlier notification.
    Lead {
        /// When to set off.
        leave: Zoned,
        /// The time itself.
        at: Zoned,
    },
    Repeats(Repeat),
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
pub const LONGEST: usize = 4_000;

/// Parses the time phrase of `text`, relative to `now`.
///
/// Quoted text is never searched, and the last time phrase wins. A phrase may be split, as in
/// `tomorrow call mum at 5`.
pub fn read(text: &str, now: &Zoned, habits: &Habits) -> Reading {
    if text.len() > LONGEST {
        return Reading::untimed(text, Vec::new());
    }
    let words = Words::of(text);
    if let Some((cue, taken)) = cue::read(text, &words) {
        let what = seam::close(text, &words, &[taken]);
        return Reading { what, when: Some(When::Cue(cue)), other: None, notes: Vec::new() };
    }
    let Some(chosen) = group::last(&words) else { return Reading::untimed(text, Vec::new()) };
    match settle::choose(&chosen, now, habits) {
        Ok(Settled { when, other, notes }) => {
            Reading { what: seam::close(text, &words, &chosen.places), when: Some(when), other, notes }
        }
        Err(note) => Reading::untimed(text, vec![note]),
    }
}

impl Reading {
    fn untimed(text: &str, notes: Vec<Note>) -> Self {
        Self { what: seam::close(text, &Words::of(""), &[]), when: None, other: None, notes }
    }
}

#[cfg(test)]
pub(crate) mod tests;
