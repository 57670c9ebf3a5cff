//! Occurrences: one due time of one job, and its outcome.
//!
//! An occurrence is written before any action, and ends in exactly one way.

use jiff::{SignedDuration, Timestamp};

use crate::conversation::Branch;
use crate::cost::CostSource;
use crate::record::MessageId;
use crate::schedule::Lateness;

/// The maximum number of tries of a job.
pub const MAX_TRIES: u32 = 3;

/// The note on a reminder delivered verbatim because the model did not answer.
pub const VERBATIM_NOTE: &str = "the model did not answer, so its words went out as written";

/// The note on a job that was skipped because of the daily limit.
pub const OVER_LIMIT_NOTE: &str = "today's limit is used up";

/// The note on a reminder delivered verbatim together with others, without a model turn.
pub const VERBATIM_GROUP_NOTE: &str =
    "several reminders waited for the model, so its words stayed as written";

/// The note on a reminder delivered verbatim because of the daily limit.
pub const VERBATIM_OVER_LIMIT_NOTE: &str = "today's limit is used up, so its words went out as written";

/// The key of an occurrence: job and due time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OccurrenceKey {
    pub source: CostSource,
    pub due: Timestamp,
}

/// One due time of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    pub key: OccurrenceKey,
    /// The display name of the job.
    pub name: String,
    /// The prompt of the job, without additions of the program.
    pub prompt: String,
    pub lateness: Lateness,
    /// The number of tries so far.
    pub tries: u32,
    pub state: OccurrenceState,
    /// The time of the last state change.
    pub since: Timestamp,
    /// Whether the text of a reminder for main was already shown verbatim. The model may still
    /// rephrase it.
    pub shown_verbatim: bool,
}

/// The state of an occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OccurrenceState {
    /// The job runs on this branch.
    Running(Branch),
    /// The job was sent to main as this message.
    SentToMain(MessageId),
    /// The job failed and is retried at this time.
    Retrying(Timestamp),
    /// It waits for an earlier occurrence of the same job.
    Queued,
    Ended(OccurrenceEnd),
}

/// The outcome of an occurrence. The strings are notes or reasons for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OccurrenceEnd {
    Done(String),
    Failed(String),
    /// These times passed while the job could not run.
    Missed {
        /// The last missed time.
        last: Timestamp,
        /// The number of missed times.
        count: u32,
        reason: String,
    },
    Skipped(String),
    /// The job was removed from the schedule.
    Cancelled(String),
}

impl OccurrenceEnd {
    /// The stored name.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Failed(_) => "failed",
            Self::Missed { .. } => "missed",
            Self::Skipped(_) => "skipped",
            Self::Cancelled(_) => "cancelled",
        }
    }

    /// Returns whether it is a reminder that was delivered verbatim.
    pub fn is_verbatim(&self) -> bool {
        matches!(self, Self::Done(note) if note == VERBATIM_NOTE || note == VERBATIM_OVER_LIMIT_NOTE)
    }

    /// The note or reason.
    pub fn note(&self) -> &str {
        match self {
            Self::Done(why) | Self::Failed(why) | Self::Skipped(why) | Self::Cancelled(why) => why,
            Self::Missed { reason: why, .. } => why,
        }
    }
}

/// The delay before the next try after `tries` tries, randomized by up to 20 % with `roll`.
pub fn retry_delay(tries: u32, roll: u64) -> SignedDuration {
    let minutes = match tries {
        0 | 1 => 1,
        2 => 5,
        _ => 15,
    };
    let fifths = SignedDuration::from_mins(minutes).as_secs() * 2 / 5;
    let spread = i64::try_from(roll % (u64::try_from(fifths).unwrap_or(0) + 1)).unwrap_or(0);
    SignedDuration::from_mins(minutes) - SignedDuration::from_secs(fifths / 2 - spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A8: a failed job is retried after 1 and 5 minutes, plus or minus 20 %.
    #[test]
    fn retry_delays_are_randomized_by_a_fifth() {
        for (tries, least, most) in [(1, 48, 72), (2, 240, 360), (3, 720, 1080)] {
            let waits: Vec<i64> = (0..1_000).map(|roll| retry_delay(tries, roll * 7).as_secs()).collect();
            assert_eq!(waits.iter().min(), Some(&least));
            assert_eq!(waits.iter().max(), Some(&most));
        }
    }
}
