//! Rules about pending updates and the open fork.

use std::collections::BTreeSet;

use serde_json::Value;

use super::snapshot::{DataSnapshot, Entry, PendingUpdate};

/// The text that marks updates shown to main; forks get another text.
const MAIN_UPDATES_MARKER: &str = "you see them only this once";

/// An entry of main quotes and counts exactly the updates that were read in it. Only entries that
/// are no longer on main's path may contain updates that are pending again.
pub fn updates_are_read_once(snapshot: &DataSnapshot) -> Vec<String> {
    let mut violations = Vec::new();
    let main: BTreeSet<i64> =
        snapshot.path(snapshot.main().and_then(|head| head.entry)).into_iter().collect();
    for (id, entry) in &snapshot.entries {
        let quoted_updates = QuotedUpdates::from_entry(entry);
        let read: Vec<&PendingUpdate> =
            snapshot.pending_updates.iter().filter(|update| update.entry == Some(*id)).collect();
        let quoted = expected_quotes(read.iter().filter(|update| update.shown_as == "quoted"));
        let counted = read.iter().filter(|update| update.shown_as == "counted").count();
        let withdrawn = read.is_empty() && !main.contains(id);
        if (quoted_updates.quoted != quoted || quoted_updates.counted != counted) && !withdrawn {
            violations.push(format!(
                "entry {id} quotes {:?} and counts {}, but read in it were {quoted:?} and {counted}",
                quoted_updates.quoted, quoted_updates.counted
            ));
        }
    }
    let inconsistent = snapshot.pending_updates.iter().filter(|update| match (update.read, update.entry) {
        (None, entry) => entry.is_some() || !update.shown_as.is_empty(),
        (Some(_), entry) => entry.is_some_and(|entry| !snapshot.entries.contains_key(&entry)),
    });
    violations.extend(inconsistent.map(|update| format!("report {} was read and was not", update.id)));
    violations
}

/// Returns the expected quotes of `updates`: tainted text keeps its lines, in a data block.
fn expected_quotes<'a>(updates: impl Iterator<Item = &'a &'a PendingUpdate>) -> Vec<String> {
    let quote = |update: &&PendingUpdate| {
        if update.tainted {
            format!("(data) {}", update.text.trim_end().replace('‹', "<"))
        } else {
            single_line(&update.text)
        }
    };
    updates.map(quote).collect()
}

fn single_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The updates in the preamble of an entry.
struct QuotedUpdates {
    quoted: Vec<String>,
    counted: usize,
}

impl QuotedUpdates {
    fn from_entry(entry: &Entry) -> Self {
        let preface = entry.body["preface"].as_str().filter(|preface| preface.contains(MAIN_UPDATES_MARKER));
        let mut lines = preface.unwrap_or_default().lines().skip(1).peekable();
        let count = |line: &&str| {
            let line = line.strip_prefix("- (")?;
            line.split_once(" earlier ones").and_then(|(count, _)| count.parse().ok())
        };
        let counted = lines.peek().and_then(count);
        if counted.is_some() {
            lines.next();
        }
        let mut quoted = Vec::new();
        while let Some(line) = lines.next().and_then(|line| line.strip_prefix("- (")) {
            match line.split_once(") ") {
                Some((_, text)) => quoted.push(text.to_owned()),
                None => {
                    let name = lines.next().and_then(|opening| opening.strip_prefix('<'));
                    let end =
                        format!("</{}>", name.and_then(|name| name.split(' ').next()).unwrap_or_default());
                    let block: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
                    quoted.push(format!("(data) {}", block.join("\n").replace('‹', "<")));
                }
            }
        }
        Self { quoted, counted: counted.unwrap_or(0) }
    }
}

/// PU-4: the file matches the pending updates, unless the program was killed before it could write
/// the file.
pub fn updates_file_matches_pending_updates(snapshot: &DataSnapshot) -> Vec<String> {
    if snapshot.root.join("state/bot.pid").exists() {
        // It was killed; the next start updates the file.
        return Vec::new();
    }
    let file =
        std::fs::read_to_string(snapshot.root.join("state/pending_updates.json")).unwrap_or("[]".to_owned());
    let updates: Vec<Value> = serde_json::from_str(&file).unwrap_or_default();
    let listed: Vec<&str> = updates.iter().filter_map(|update| update["message"].as_str()).collect();
    let waiting = snapshot.pending_updates.iter().filter(|update| update.read.is_none());
    let waiting: Vec<&str> = waiting.map(|update| update.text.as_str()).collect();
    if listed == waiting {
        Vec::new()
    } else {
        vec![format!("pending_updates.json tells {listed:?}, and {waiting:?} wait")]
    }
}

/// At most one fork is open, and its branch exists.
pub fn open_fork_has_a_branch(snapshot: &DataSnapshot) -> Vec<String> {
    let missing = snapshot
        .background
        .forks
        .iter()
        .filter(|fork| !snapshot.heads.iter().any(|head| head.branch == **fork));
    let mut violations: Vec<String> =
        missing.map(|fork| format!("{fork} is open and has no place")).collect();
    if snapshot.background.forks.len() > 1 {
        violations.push(format!("{} forks are open at once", snapshot.background.forks.len()));
    }
    violations
}
