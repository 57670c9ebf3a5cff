//! Routines: jobs that run repeatedly.

use super::{FiringPolicy, ItemId, JobTarget, Prompt, Recurrence};

/// A job that runs repeatedly.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Routine {
    /// Its id, independent of the file name.
    pub id: ItemId,
    pub recurrence: Recurrence,
    pub target: JobTarget,
    pub firing_policy: FiringPolicy,
    /// A one-line description; may be empty.
    pub description: String,
    /// The skills it loads.
    pub skills: Vec<String>,
    pub prompt: Prompt,
}

impl Routine {
    /// A routine in the main conversation, with defaults for everything else.
    pub fn new(id: ItemId, rhythm: Recurrence, message: Prompt) -> Self {
        let charter = JobTarget::main();
        let manner = FiringPolicy::default();
        Self {
            id,
            recurrence: rhythm,
            target: charter,
            firing_policy: manner,
            description: String::new(),
            skills: Vec::new(),
            prompt: message,
        }
    }
}
