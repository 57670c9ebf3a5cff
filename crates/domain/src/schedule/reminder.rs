//! Reminders: jobs that run once, with optional follow-ups.

use jiff::{SignedDuration, Zoned};

use super::{FiringPolicy, InvalidField, ItemId, JobTarget, Moment, Prompt, RunOptions, ToolRule};
use crate::phrase::Cue;

/// A job that runs once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reminder {
    /// Its id, independent of the file name.
    pub id: ItemId,
    /// The due time; for a reminder with a cue, the time of its creation.
    pub run_at: Moment,
    /// The cue it waits for instead of the clock.
    pub cue: Option<Cue>,
    target: JobTarget,
    pub firing_policy: FiringPolicy,
    /// Its position among follow-ups.
    pub chain: Chain,
    /// A one-line description; may be empty.
    pub description: String,
    /// The skills it loads.
    pub skills: Vec<String>,
    pub prompt: Prompt,
    /// The lists in the file, if they differ because some permissions are withheld.
    written: Option<Box<WrittenLists>>,
}

/// The lists of tools and skills in the file of a job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WrittenLists {
    pub tools: ToolRule,
    pub skills: Vec<String>,
}

impl Reminder {
    /// A reminder for `run_at` without follow-ups.
    pub fn new(
        id: ItemId,
        run_at: Moment,
        charter: JobTarget,
        message: Prompt,
    ) -> Result<Self, InvalidField> {
        if matches!(charter, JobTarget::Persistent(_)) {
            let reason =
                "a reminder runs once and has no session of its own; leave it out, or make it a routine";
            return Err(InvalidField::new("session", reason));
        }
        let description = String::new();
        let skills = Vec::new();
        let manner = FiringPolicy::default();
        let chain = Chain::default();
        let as_written = None;
        Ok(Self {
            id,
            run_at,
            cue: None,
            target: charter,
            firing_policy: manner,
            chain,
            description,
            skills,
            prompt: message,
            written: as_written,
        })
    }

    /// Makes it wait for `cue` instead of the clock.
    #[must_use]
    pub fn with_cue(self, cue: Cue) -> Self {
        Self { cue: Some(cue), ..self }
    }

    /// Changes the run options.
    #[must_use]
    pub(super) fn with_options(self, change: impl FnOnce(RunOptions) -> RunOptions) -> Self {
        Self { target: self.target.with_options(change), ..self }
    }

    /// Returns the lists in the file, including withheld permissions, so that a follow-up requests
    /// them too.
    pub fn written_lists(&self) -> WrittenLists {
        self.written.as_deref().cloned().unwrap_or_else(|| self.lists())
    }

    fn lists(&self) -> WrittenLists {
        let tools = self.target.written_options().tools.clone();
        WrittenLists { tools, skills: self.skills.clone() }
    }

    /// Records the lists that are in the file.
    #[must_use]
    pub(super) fn with_written_lists(self, written: WrittenLists) -> Self {
        let as_written = (self.lists() != written).then(|| Box::new(written));
        Self { written: as_written, ..self }
    }

    pub fn target(&self) -> &JobTarget {
        &self.target
    }
}

impl Moment {
    /// `minutes` of elapsed time after `now`.
    pub fn minutes_after(now: &Zoned, minutes: u32) -> Result<Self, InvalidField> {
        let later = now.checked_add(SignedDuration::from_mins(i64::from(minutes)));
        let later = later.map_err(|_| {
            InvalidField::new(
                "run-at",
                format!("{minutes} minutes from now is beyond the calendar; choose fewer"),
            )
        });
        later.map(|later| Self::of(&later))
    }
}

/// The position of a reminder among its follow-ups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Chain {
    /// The number of reminders before it.
    pub depth: u32,
    /// The maximum number of follow-ups of the first reminder.
    pub max: u32,
    /// The id of the first reminder.
    pub parent: Option<String>,
}

impl Chain {
    /// The chain of a new reminder with id `own`. The first reminder of a chain is its own parent.
    pub fn new(depth: u32, max: u32, parent: Option<String>, own: &ItemId) -> Result<Self, InvalidField> {
        if depth > max {
            let reason =
                format!("{depth} is more than `max-chain`, which is {max}; lower it or raise `max-chain`");
            return Err(InvalidField::new("chain-depth", reason));
        }
        let parent = parent.or_else(|| (max > 0).then(|| own.to_string()));
        Ok(Self { depth, max, parent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::RunOptions;

    fn id() -> ItemId {
        ItemId::parse("c4f5e6a7").unwrap()
    }

    /// DD-44, DD-45: a chain has a maximum length, and its first reminder is its parent.
    #[test]
    fn the_first_reminder_of_a_chain_is_its_own_parent() {
        assert_eq!(Chain::new(0, 0, None, &id()).unwrap().parent, None);
        assert_eq!(Chain::new(0, 3, None, &id()).unwrap().parent.as_deref(), Some("c4f5e6a7"));
        assert_eq!(Chain::new(1, 3, Some("b0".into()), &id()).unwrap().parent.as_deref(), Some("b0"));
        let wrong = Chain::new(4, 3, None, &id()).unwrap_err().to_string();
        assert!(wrong.contains("chain-depth") && wrong.contains("max-chain"), "{wrong}");
    }

    /// DD-43: a delay is elapsed time, also across a clock change.
    #[test]
    fn a_delay_is_elapsed_time_across_clock_changes() {
        let now: Zoned = "2026-03-08T01:30-08:00[America/Los_Angeles]".parse().unwrap();
        assert_eq!(Moment::minutes_after(&now, 60).unwrap().to_string(), "2026-03-08T03:30:00-07:00");
        assert!(Moment::minutes_after(&"9999-12-30T22:00Z[UTC]".parse().unwrap(), u32::MAX).is_err());
    }

    /// DD-46: only routines have a persistent session.
    #[test]
    fn a_reminder_cannot_be_persistent() {
        let due = Moment::parse("2026-03-05T14:00:00-08:00", &jiff::tz::TimeZone::UTC).unwrap();
        let persistent = JobTarget::Persistent(RunOptions::default());
        assert!(Reminder::new(id(), due, persistent, Prompt::new("x")).is_err());
    }
}
