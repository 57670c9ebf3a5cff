//! What is planned: a routine or a reminder, and the file that says so.

use std::sync::Arc;

use super::{Charter, ItemId, Manner, Prompt, Reminder, Routine, ToolRule, without_step};
use crate::cost::Source;
use crate::phrase::Cue;

/// The least of an id that names it.
const ID_PART: usize = 4;

/// Something planned, and its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// What it is.
    pub what: What,
    /// Its file, as it is called from the data directory on: `routines/mail.md`.
    pub file: String,
}

/// A routine or a reminder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A routine.
    Routine(Routine),
    /// A reminder.
    Reminder(Reminder),
}

/// What became of a file that plans something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileNews {
    /// It plans this now.
    Plans(Arc<Planned>),
    /// It is gone, and so is what it planned.
    Gone(Source),
    /// It cannot be read: what it planned before stays as it was, and this is why.
    Broken {
        /// Its file, as it is called from the data directory on.
        file: String,
        /// Who it says it is, as far as that can be read.
        source: Option<Source>,
        /// The line, the field, what is wrong and what would be right.
        why: String,
        /// Whether the user was told of it before the last start.
        told_before: bool,
    },
    /// It asks for more than the human has accepted: what it plans is done without that.
    Held {
        /// Its file, as it is called from the data directory on.
        file: String,
        /// What it asks for, and how that is accepted.
        why: String,
        /// Whether the user was told of it before the last start.
        told_before: bool,
    },
    /// Nothing is wrong with it any more.
    Mended(String),
}

impl Planned {
    /// Whose it is: `routine:mail`.
    pub fn source(&self) -> Source {
        match &self.what {
            What::Routine(routine) => Source::Routine(routine.id.to_string()),
            What::Reminder(reminder) => Source::Reminder(reminder.id.to_string()),
        }
    }

    /// Who it is.
    pub fn id(&self) -> &ItemId {
        match &self.what {
            What::Routine(routine) => &routine.id,
            What::Reminder(reminder) => &reminder.id,
        }
    }

    /// Where it runs and what it may do there.
    pub fn charter(&self) -> &Charter {
        match &self.what {
            What::Routine(routine) => &routine.charter,
            What::Reminder(reminder) => reminder.charter(),
        }
    }

    /// How it deals with the clock.
    pub fn manner(&self) -> &Manner {
        match &self.what {
            What::Routine(routine) => &routine.manner,
            What::Reminder(reminder) => &reminder.manner,
        }
    }

    /// What it is told.
    pub fn message(&self) -> &Prompt {
        match &self.what {
            What::Routine(routine) => &routine.message,
            What::Reminder(reminder) => &reminder.message,
        }
    }

    /// What it waits for, if not for the clock.
    pub fn cue(&self) -> Option<&Cue> {
        match &self.what {
            What::Routine(_) => None,
            What::Reminder(reminder) => reminder.cue.as_ref(),
        }
    }

    /// One line about it; may be empty.
    pub fn description(&self) -> &str {
        match &self.what {
            What::Routine(routine) => &routine.description,
            What::Reminder(reminder) => &reminder.description,
        }
    }

    /// Returns true if it is a job in the background that uses tools.
    pub fn brings_tools(&self) -> bool {
        self.charter().terms().is_some_and(|terms| terms.tools != ToolRule::Usual)
    }

    /// Whether each of `words` begins a word of its name, or they begin its id.
    pub fn is_called(&self, words: &str) -> bool {
        let id = self.id().as_str();
        let by_id = words.len() >= ID_PART && id.starts_with(words);
        by_id || id == words || begins_words(&self.name(), words)
    }

    /// BF-19: what the human calls it: its description, or the beginning of what it is told.
    pub fn name(&self) -> String {
        let words = match self.description() {
            "" => self.message().as_str(),
            description => description,
        };
        let line = without_step(words).lines().next().unwrap_or_default();
        match line.char_indices().nth(60) {
            Some((cut, _)) => format!("{}...", line[..cut].trim_end()),
            None => line.to_owned(),
        }
    }
}

/// Whether each of `words` begins a word of `name`.
pub(crate) fn begins_words(name: &str, words: &str) -> bool {
    let name = name.to_lowercase();
    let begins =
        |word: &str| name.split(|letter: char| !letter.is_alphanumeric()).any(|part| part.starts_with(word));
    words.to_lowercase().split_whitespace().all(begins)
}
