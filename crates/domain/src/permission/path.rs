//! Paths as a call names them: which of them bear authority, and which may hold anybody's words.
//!
//! Nobody here knows where the data directory is, and links are for the tool not to follow. So a name counts wherever
//! it stands in a path, unless that would make something less dangerous than it may be.

use super::deed::{Corner, Deed, Power, To};
use crate::label::{Label, Realm};
use crate::tool::ToolCall;

/// The folder that only the program itself writes to.
const STATE: &str = "state";

/// The folder for words that nobody here wrote. What is written after reading such words goes there, and whoever reads
/// something there has read them.
pub const OUTSIDE: &str = "outside";

/// What says who may do what, or what runs by itself.
const AUTHORITY: [&str; 13] = [
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
    // Where the model is and who answers for it, and what work may cost.
    "settings.toml",
    "prices.toml",
];

/// What is planned in files that other programs read too.
const PLANS: [&str; 2] = ["tasks.md", "calendar.ics"];

/// Whether `path` may lead into the folder of the program.
pub fn is_protected(path: &str) -> bool {
    parts(path).any(|part| part == STATE)
}

/// What is known of what a reading call will find, before it has: what lies outside is not ours.
pub fn read_label(call: &ToolCall) -> Label {
    let given = ["file_path", "path", "pattern", "glob"].into_iter().filter_map(|key| call.input.text(key));
    let outside = given.into_iter().any(|path| parts(&path).any(|part| part == OUTSIDE));
    if outside { Label::both(Realm::Files) } else { Label::private(Realm::Files) }
}

/// What an edit would do.
pub fn edit(call: &ToolCall) -> Deed {
    let path = call.input.text("file_path").unwrap_or_default();
    let among = |names: &[&str]| parts(&path).any(|part| names.contains(&part.as_str()));
    let power = match (among(&AUTHORITY), among(&PLANS)) {
        (true, _) => Power::Authority,
        (false, true) => Power::Reversible,
        (false, false) => Power::Notes,
    };
    let corner = if is_outside(&path) { Corner::Outside } else { Corner::Ours };
    Deed { power, to: To::File(corner), reads: Label::PLAIN }
}

/// Whether `path` is certainly beneath the folder for words from outside.
fn is_outside(path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path);
    let mut parts = path.split('/');
    parts.next() == Some(OUTSIDE) && path.len() > OUTSIDE.len() && !parts.any(|part| part == "..")
}

fn parts(path: &str) -> impl Iterator<Item = String> {
    path.split(['/', '\\']).map(|part| part.trim().trim_end_matches('.').to_lowercase())
}
