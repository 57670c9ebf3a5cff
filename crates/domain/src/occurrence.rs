//! Occurrences: one time at which one job was due, and what became of it.
//!
//! An occurrence is written down before anything is done about it, and ends in exactly one way. None disappears.

use jiff::{SignedDuration, Timestamp};

use crate::conversation::Branch;
use crate::cost::Source;
use crate::record::MessageId;
use crate::schedule::Lateness;

/// How often a job is tried.
pub const TRIES: u32 = 3;

/// What is said of a reminder that no model put in words.
pub const AS_WRITTEN: &str = "the model did not answer, so its words went out as written";

/// What is said of a job that was left out because nobody waits for it.
pub const LIMIT_REACHED: &str = "today's limit is used up";

/// The note on a reminder whose turn of the model was left out because other reminders waited for one too.
pub const SEVERAL: &str = "several reminders waited for the model, so its words stayed as written";

/// What is said of a reminder that the same befell.
pub const UNPAID: &str = "today's limit is used up, so its words went out as written";

/// Which occurrence: whose, and when it was due.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Whose.
    pub source: Source,
    /// When it was due.
    pub due: Timestamp,
}

/// One time at which one job was due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// Which.
    pub key: Key,
    /// What the human calls the job.
    pub name: String,
    /// What the job was told: its own words, without ours.
    pub words: String,
    /// Whether it was kept when it came.
    pub lateness: Lateness,
    /// How often it was tried.
    pub tries: u32,
    /// Where it stands.
    pub stage: Stage,
    /// Since when.
    pub since: Timestamp,
    /// Whether the words of a reminder for main were shown already, as written. The model may still put them otherwise.
    pub shown: bool,
}

/// Where an occurrence stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Its job is done on this branch.
    Running(Branch),
    /// Its job is put to main with this message.
    Asked(MessageId),
    /// Its job failed, and is tried again at this time.
    Again(Timestamp),
    /// It waits for an earlier one of the same job.
    Queued,
    /// It has ended.
    Ended(End),
}

/// How an occurrence ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Its job was done; what there is to say of it, if anything.
    Done(String),
    /// Its job could not be done, for this reason.
    Failed(String),
    /// Nobody was there to keep these times: so many, up to the last one, for this reason.
    Missed {
        /// The last of them.
        last: Timestamp,
        /// How many.
        count: u32,
        /// Why.
        why: String,
    },
    /// It was left out, for this reason.
    Skipped(String),
    /// Its job is not planned any more.
    Cancelled(String),
}

impl End {
    /// The word under which it is kept.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Failed(_) => "failed",
            Self::Missed { .. } => "missed",
            Self::Skipped(_) => "skipped",
            Self::Cancelled(_) => "cancelled",
        }
    }

    /// Whether it is a reminder whose words went out without a model.
    pub fn is_as_written(&self) -> bool {
        matches!(self, Self::Done(note) if note == AS_WRITTEN || note == UNPAID)
    }

    /// What there is to say of it.
    pub fn why(&self) -> &str {
        match self {
            Self::Done(why) | Self::Failed(why) | Self::Skipped(why) | Self::Cancelled(why) => why,
            Self::Missed { why, .. } => why,
        }
    }
}

/// How long after the try with this number a job is tried again, give or take a fifth as `roll` says.
pub fn wait_after(tries: u32, roll: u64) -> SignedDuration {
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

    /// A8: a job that failed is tried again after 1 and 5 minutes, give or take a fifth.
    #[test]
    fn a_failed_job_is_tried_again_after_a_while() {
        for (tries, least, most) in [(1, 48, 72), (2, 240, 360), (3, 720, 1080)] {
            let waits: Vec<i64> = (0..1_000).map(|roll| wait_after(tries, roll * 7).as_secs()).collect();
            assert_eq!(waits.iter().min(), Some(&least));
            assert_eq!(waits.iter().max(), Some(&most));
        }
    }
}
