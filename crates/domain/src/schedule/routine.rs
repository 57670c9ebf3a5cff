//! A routine: a job that the clock sets off every so often.

use super::{Charter, ItemId, Manner, Prompt, Rhythm};

/// A job that recurs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Routine {
    /// Who it is, whatever its file is called.
    pub id: ItemId,
    /// When it recurs.
    pub rhythm: Rhythm,
    /// Where it runs and what it may do there.
    pub charter: Charter,
    /// How it deals with the clock.
    pub manner: Manner,
    /// One line about it; may be empty.
    pub description: String,
    /// The skills it loads.
    pub skills: Vec<String>,
    /// What it is told.
    pub message: Prompt,
}

impl Routine {
    /// A routine in the main conversation, without skills and without a session of its own.
    pub fn new(id: ItemId, rhythm: Rhythm, message: Prompt) -> Self {
        let charter = Charter::main();
        let manner = Manner::default();
        Self { id, rhythm, charter, manner, description: String::new(), skills: Vec::new(), message }
    }
}
