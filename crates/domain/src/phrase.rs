//! Time in words: what `call the dentist tomorrow at 10` says about when, and what is left of it without that.
//!
//! Deterministic, and the same on every surface. It never guesses silently: a bare hour, a second reading or
//! a date that does not exist comes back as a note or as the other reading, for the human to see.

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

/// What a sentence says: what it is about, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The words without the time, as the human wrote them.
    pub what: String,
    /// When; nothing, if no time was said or what was said is no time.
    pub when: Option<When>,
    /// The other reading, where there are two.
    pub other: Option<When>,
    /// What the human should see about how it was read.
    pub notes: Vec<Note>,
}

/// When something is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Once. It stands in its own zone if one was named, else in the human's.
    Once(Zoned),
    /// Once, with a ring before it.
    Lead {
        /// When to set off.
        leave: Zoned,
        /// When it is.
        at: Zoned,
    },
    /// Again and again.
    Repeats(Repeat),
    /// When something happens, whenever that is.
    Cue(Cue),
}

/// Something that happens at no set time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cue {
    /// The end of what the human calls by these words.
    After(String),
    /// The next words of the human.
    NextTalk,
}

/// The longest text, in bytes, in which a time is looked for: what is longer is no phrase but a letter.
pub const LONGEST: usize = 4_000;

/// Reads `text` as somebody would who hears it at `now`.
///
/// What stands in quotation marks is never searched for a time, and the last time phrase wins. A phrase may
/// stand in two places, such as `tomorrow call mum at 5`.
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
