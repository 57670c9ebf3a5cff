//! Lists the imported settings that decide which programs run and where keys are sent.
//!
//! An import takes them over, but the author of the archive may not be the user, so they are shown
//! for review.

use std::path::Path;

use journal::Paths;
use journal::disk::Disk;
use serde_json::Value;
use toml::Table;

use crate::settings::stored_environment;

/// The most names that are shown for one file, and the most characters of each.
const MAX_NAMED: usize = 6;
const MAX_NAME_LENGTH: usize = 40;

/// Returns each such file in `root`, with the names of its sensitive settings.
pub fn sensitive_settings(root: &Path, disk: &dyn Disk) -> Vec<String> {
    let read = |name: &str| disk.read(&root.join(name)).ok();
    let files = [
        ("state/environment", Some(in_environment(root))),
        ("settings.toml", read("settings.toml").map(|text| in_settings(&text))),
        ("mcp.json", read("mcp.json").map(|text| in_servers(&text))),
    ];
    files.into_iter().filter_map(|(name, found)| description(name, found?)).collect()
}

/// The sensitive settings of a file.
enum SensitiveNames {
    Names(Vec<String>),
    /// The file exists but cannot be read.
    Unreadable,
}

fn description(name: &str, found: SensitiveNames) -> Option<String> {
    match found {
        SensitiveNames::Unreadable => Some(format!("{name} (which i can't read)")),
        SensitiveNames::Names(names) if names.is_empty() => None,
        SensitiveNames::Names(names) => {
            let short = |name: &String| name.chars().take(MAX_NAME_LENGTH).collect::<String>();
            let first = names.iter().take(MAX_NAMED).map(short).collect::<Vec<_>>().join(", ");
            match names.len().saturating_sub(MAX_NAMED) {
                0 => Some(format!("{name} ({first})")),
                more => Some(format!("{name} ({first} and {more} more)")),
            }
        }
    }
}

fn in_environment(root: &Path) -> SensitiveNames {
    let decides = |name: &str| {
        name == "OLLIM_CLAUDE" || ["_URL", "_BASE", "_PROXY", "_FILE"].iter().any(|end| name.ends_with(end))
    };
    match stored_environment::read(&Paths::new(root)) {
        Ok(kept) => SensitiveNames::Names(
            kept.iter().filter(|(name, _)| decides(name)).map(|(name, _)| (*name).to_owned()).collect(),
        ),
        Err(_) => SensitiveNames::Unreadable,
    }
}

/// The `[update]` table: source, build command and target of the program's next version.
fn in_settings(text: &[u8]) -> SensitiveNames {
    let Ok(table) = String::from_utf8_lossy(text).parse::<Table>() else { return SensitiveNames::Unreadable };
    let update = table.get("update").and_then(|update| update.as_table());
    SensitiveNames::Names(
        update.into_iter().flat_map(Table::keys).map(|key| format!("update.{key}")).collect(),
    )
}

fn in_servers(text: &[u8]) -> SensitiveNames {
    let Ok(file) = serde_json::from_slice::<Value>(text) else { return SensitiveNames::Unreadable };
    let servers = file.get("mcpServers").and_then(Value::as_object);
    SensitiveNames::Names(servers.into_iter().flat_map(|servers| servers.keys().cloned()).collect())
}
