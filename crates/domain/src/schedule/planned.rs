//! Planned jobs: a routine or a reminder together with its file.

use std::sync::Arc;

use super::{Charter, ItemId, Manner, Prompt, Reminder, Routine, ToolRule, without_step};
use crate::cost::Source;
use crate::phrase::Cue;

/// The least of an id that names it.
const ID_PART: usize = 4;

/// A job and its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub what: What,
    /// The path of its file, relative to the data directory: `routines/mail.md`.
    pub file: String,
}

/// The definition of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Routine(Routine),
    Reminder(Reminder),
}

/// The result of reading a changed job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileNews {
    /// The file is valid and defines this job.
    Plans(Arc<Planned>),
    /// The file was removed, and its job with it.
    Gone(Source),
    /// The file is invalid. An earlier version of the job stays planned.
    Broken {
        /// The path of the file, relative to the data directory.
        file: String,
        /// The id of the job, if it can be read.
        source: Option<Source>,
        /// The line, the field, the problem, and a valid alternative.
        why: String,
        /// Whether the user was notified before the last restart.
        told_before: bool,
    },
    /// The file requests permissions that the user has not accepted. The job runs without them.
    Held {
        /// The path of the file, relative to the data directory.
        file: String,
        /// The requested permissions, and how to accept them.
        why: String,
        /// Whether the user was notified before the last restart.
        told_before: bool,
    },
    /// An earlier problem of the file is solved.
    Mended(String),
}

impl Planned {
    /// The source of its costs and runs, such as `routine:mail`.
    pub fn source(&self) -> Source {
        match &self.what {
            What::Routine(routine) => Source::Routine(routine.id.to_string()),
            What::Reminder(reminder) => Source::Reminder(reminder.id.to_string()),
        }
    }

    pub fn id(&self) -> &ItemId {
        match &self.what {
            What::Routine(routine) => &routine.id,
            What::Reminder(reminder) => &reminder.id,
        }
    }

    pub fn charter(&self) -> &Charter {
        match &self.what {
            What::Routine(routine) => &routine.charter,
            What::Reminder(reminder) => reminder.charter(),
        }
    }

    pub fn manner(&self) -> &Manner {
        match &self.what {
            What::Routine(routine) => &routine.manner,
            What::Reminder(reminder) => &reminder.manner,
        }
    }

    pub fn message(&self) -> &Prompt {
        match &self.what {
            What::Routine(routine) => &routine.message,
            What::Reminder(reminder) => &reminder.message,
        }
    }

    /// The cue it waits for, if any.
    pub fn cue(&self) -> Option<&Cue> {
        match &self.what {
            What::Routine(_) => None,
            What::Reminder(reminder) => reminder.cue.as_ref(),
        }
    }

    /// A one-line description; may be empty.
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

    /// BF-19: the display name: the description, or the beginning of the prompt.
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
