//! Planned jobs: a routine or a reminder together with its file.

use std::sync::Arc;

use super::{FiringPolicy, ItemId, JobTarget, Prompt, Reminder, Routine, ToolRule, without_step};
use crate::cost::CostSource;
use crate::phrase::Cue;

/// The minimum number of leading characters of an id that identifies a job.
const ID_PART: usize = 4;

/// A job and its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedJob {
    pub spec: JobSpec,
    /// The path of its file, relative to the data directory: `routines/mail.md`.
    pub file: String,
}

/// The definition of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobSpec {
    Routine(Routine),
    Reminder(Reminder),
}

/// The result of reading a changed job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobFileChange {
    /// The file is valid and defines this job.
    Planned(Arc<PlannedJob>),
    /// The file was removed, and its job with it.
    Removed(CostSource),
    /// The file is invalid. An earlier version of the job stays planned.
    Invalid {
        /// The path of the file, relative to the data directory.
        file: String,
        /// The id of the job, if it can be read.
        source: Option<CostSource>,
        /// The line, the field, the problem, and a valid alternative.
        reason: String,
        /// Whether the user was notified before the last restart.
        reported_before: bool,
    },
    /// The file requests permissions that the user has not accepted. The job runs without them.
    Withheld {
        /// The path of the file, relative to the data directory.
        file: String,
        /// The requested permissions, and how to accept them.
        reason: String,
        /// Whether the user was notified before the last restart.
        reported_before: bool,
    },
    /// An earlier problem of the file is solved.
    Repaired(String),
}

impl PlannedJob {
    /// The source of its costs and runs, such as `routine:mail`.
    pub fn source(&self) -> CostSource {
        match &self.spec {
            JobSpec::Routine(routine) => CostSource::Routine(routine.id.to_string()),
            JobSpec::Reminder(reminder) => CostSource::Reminder(reminder.id.to_string()),
        }
    }

    pub fn id(&self) -> &ItemId {
        match &self.spec {
            JobSpec::Routine(routine) => &routine.id,
            JobSpec::Reminder(reminder) => &reminder.id,
        }
    }

    pub fn target(&self) -> &JobTarget {
        match &self.spec {
            JobSpec::Routine(routine) => &routine.target,
            JobSpec::Reminder(reminder) => reminder.target(),
        }
    }

    pub fn firing_policy(&self) -> &FiringPolicy {
        match &self.spec {
            JobSpec::Routine(routine) => &routine.firing_policy,
            JobSpec::Reminder(reminder) => &reminder.firing_policy,
        }
    }

    pub fn prompt(&self) -> &Prompt {
        match &self.spec {
            JobSpec::Routine(routine) => &routine.prompt,
            JobSpec::Reminder(reminder) => &reminder.prompt,
        }
    }

    /// The cue it waits for, if any.
    pub fn cue(&self) -> Option<&Cue> {
        match &self.spec {
            JobSpec::Routine(_) => None,
            JobSpec::Reminder(reminder) => reminder.cue.as_ref(),
        }
    }

    /// A one-line description; may be empty.
    pub fn description(&self) -> &str {
        match &self.spec {
            JobSpec::Routine(routine) => &routine.description,
            JobSpec::Reminder(reminder) => &reminder.description,
        }
    }

    /// Returns true if the job runs in the background and uses tools.
    pub fn brings_tools(&self) -> bool {
        self.target().options().is_some_and(|terms| terms.tools != ToolRule::SameAsMain)
    }

    /// Returns true if each of `words` is the start of a word of its name, or `words` is the start
    /// of its id.
    pub fn is_called(&self, words: &str) -> bool {
        let id = self.id().as_str();
        let by_id = words.len() >= ID_PART && id.starts_with(words);
        by_id || id == words || begins_words(&self.display_name(), words)
    }

    /// BF-19: the display name: the description, or the beginning of the prompt.
    pub fn display_name(&self) -> String {
        let words = match self.description() {
            "" => self.prompt().as_str(),
            description => description,
        };
        let line = without_step(words).lines().next().unwrap_or_default();
        match line.char_indices().nth(60) {
            Some((cut, _)) => format!("{}...", line[..cut].trim_end()),
            None => line.to_owned(),
        }
    }
}

/// Returns true if each of `words` is the start of a word of `name`.
pub(crate) fn begins_words(name: &str, words: &str) -> bool {
    let name = name.to_lowercase();
    let begins =
        |word: &str| name.split(|letter: char| !letter.is_alphanumeric()).any(|part| part.starts_with(word));
    words.to_lowercase().split_whitespace().all(begins)
}
