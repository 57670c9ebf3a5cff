//! Openings of conversations (instructions and tools), stored as JSON under the id of the first
//! entry.

use domain::context::{InstructionChange, PromptPrefix, ToolText};
use domain::conversation::EntryId;
use serde::{Deserialize, Serialize};

use super::Database;

/// Number of openings that are stored: enough to undo the latest compactions.
const OPENINGS_RETAINED: u32 = 8;

#[derive(Serialize, Deserialize)]
struct OpeningBody {
    instructions: String,
    tools: Vec<ToolBody>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<ChangeBody>,
}

#[derive(Serialize, Deserialize)]
struct ToolBody {
    name: String,
    description: String,
    schema: String,
}

#[derive(Serialize, Deserialize)]
struct ChangeBody {
    after: u64,
    instructions: String,
    note: String,
}

impl Database {
    /// The opening of the conversation whose first entry is `root`. An unreadable one counts as
    /// missing.
    pub fn opening(&self, root: EntryId) -> rusqlite::Result<Option<PromptPrefix>> {
        let text = self.get_kv(&opening_key(root))?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).map(|body| decode_opening(root, body)))
    }

    /// Stores the opening of a conversation and removes the oldest ones.
    pub fn save_opening(&mut self, opening: &PromptPrefix) -> rusqlite::Result<()> {
        let text = serde_json::to_string(&encode_opening(opening)).unwrap_or_default();
        self.set_kv(&opening_key(opening.root), &text)?;
        self.prune_openings(OPENINGS_RETAINED)
    }
}

/// The digits have a fixed length, so that the keys sort in the order of the entries.
fn opening_key(root: EntryId) -> String {
    format!("opening:{:020}", root.0)
}

fn encode_opening(opening: &PromptPrefix) -> OpeningBody {
    let tool = |tool: &ToolText| ToolBody {
        name: tool.name.clone(),
        description: tool.description.clone(),
        schema: tool.schema.clone(),
    };
    let change = |change: &InstructionChange| ChangeBody {
        after: change.after.0,
        instructions: change.instructions.to_string(),
        note: change.note.to_string(),
    };
    OpeningBody {
        instructions: opening.instructions.to_string(),
        tools: opening.tools.iter().map(tool).collect(),
        changes: opening.changes.iter().map(change).collect(),
    }
}

fn decode_opening(root: EntryId, body: OpeningBody) -> PromptPrefix {
    let tool =
        |tool: ToolBody| ToolText { name: tool.name, description: tool.description, schema: tool.schema };
    let change = |change: ChangeBody| InstructionChange {
        after: EntryId(change.after),
        instructions: change.instructions.into(),
        note: change.note.into(),
    };
    PromptPrefix {
        root,
        instructions: body.instructions.into(),
        tools: body.tools.into_iter().map(tool).collect(),
        changes: body.changes.into_iter().map(change).collect(),
    }
}
