//! Routines: jobs that run repeatedly.

use super::{Charter, ItemId, Manner, Prompt, Rhythm};

/// A job that runs repeatedly.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Routine {
    /// Its id, independent of the file name.
    pub id: ItemId,
    pub rhythm: Rhythm,
    pub charter: Charter,
    pub manner: Manner,
    /// A one-line description; may be empty.
    pub description: String,
    /// The skills it loads.
    pub skills: Vec<String>,
    pub message: Prompt,
}

impl Routine {
    /// A routine in the main conversation, with defaults for everything else.
    pub fn new(id: ItemId, rhythm: Rhythm, message: Prompt) -> Self {
        let charter = Charter::main();
        let manner = Manner::default();
        Self { id, rhythm, charter, manner, description: String::new(), skills: Vec::new(), message }
    }
}
