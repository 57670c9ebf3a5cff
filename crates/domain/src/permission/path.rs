//! Classifies paths in calls: authority files, and files that may contain outside text.
//!
//! The data directory is not known here, and the tools do not follow links. So a name counts at any
//! position of a path, unless that would make a path look less dangerous.

use super::tool_action::{Capability, Destination, NoteOrigin, ToolAction};
use crate::label::{Label, Realm};
use crate::tool::ToolCall;

/// The directory that only the program writes to.
const STATE_DIR: &str = "state";

/// The directory for outside text. Text that is written after reading outside text goes there, and
/// reading it taints again.
pub const OUTSIDE_DIR: &str = "outside";

/// Files and directories that grant permissions or define jobs.
const AUTHORITY_NAMES: [&str; 13] = [
    "routines",
    "reminders",
    "webhooks",
    "skills",
    "agents",
    ".claude",
    ".git",
    "mcp.json",
    ".mcp.json",
    "claude.md",
    "agents.md",
    // These set the model, its endpoint, and the spending limits.
    "settings.toml",
    "prices.toml",
];

/// Plan files that other programs read too.
const PLAN_FILES: [&str; 2] = ["tasks.md", "calendar.ics"];

/// Returns whether `path` may lead into the program's directory.
pub fn is_protected(path: &str) -> bool {
    parts(path).any(|part| part == STATE_DIR)
}

/// Returns the label of the files that a reading call may return.
pub fn read_label(call: &ToolCall) -> Label {
    let given = ["file_path", "path", "pattern", "glob"].into_iter().filter_map(|key| call.input.text(key));
    let outside = given.into_iter().any(|path| parts(&path).any(|part| part == OUTSIDE_DIR));
    if outside { Label::both(Realm::Files) } else { Label::private(Realm::Files) }
}

/// Returns the action of an edit.
pub fn edit_action(call: &ToolCall) -> ToolAction {
    let path = call.input.text("file_path").unwrap_or_default();
    let among = |names: &[&str]| parts(&path).any(|part| names.contains(&part.as_str()));
    let power = match (among(&AUTHORITY_NAMES), among(&PLAN_FILES)) {
        (true, _) => Capability::Authority,
        (false, true) => Capability::Reversible,
        (false, false) => Capability::Notes,
    };
    let origin = if is_outside(&path) { NoteOrigin::Outside } else { NoteOrigin::User };
    ToolAction { capability: power, destination: Destination::File(origin), read_label: Label::PLAIN }
}

/// Returns whether `path` is certainly below the directory for outside text.
fn is_outside(path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path);
    let mut parts = path.split('/');
    parts.next() == Some(OUTSIDE_DIR) && path.len() > OUTSIDE_DIR.len() && !parts.any(|part| part == "..")
}

fn parts(path: &str) -> impl Iterator<Item = String> {
    path.split(['/', '\\']).map(|part| part.trim().trim_end_matches('.').to_lowercase())
}
