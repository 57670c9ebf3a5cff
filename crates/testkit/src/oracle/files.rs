//! Rules about files: they agree with the database, are complete, and are readable only by their
//! owner.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use super::snapshot::DataSnapshot;

const KEYS: [&str; 4] = ["event", "parent_session_id", "session_id", "timestamp"];

/// `sessions.json` names main's session, unless a change of the file is still pending.
pub fn sessions_file_names_main(snapshot: &DataSnapshot) -> Vec<String> {
    if snapshot.pending_file_changes > 0 {
        return Vec::new();
    }
    let file = std::fs::read_to_string(snapshot.root.join("state/sessions.json")).ok();
    let file = file.as_deref().map(str::trim);
    let main = snapshot.main().map(|head| head.session.as_str());
    if file == main { Vec::new() } else { vec![format!("sessions.json names {file:?} and main is {main:?}")] }
}

/// Every line of the history is an event, none occurs twice, and every session that main had is
/// recorded.
pub fn session_history_is_complete(snapshot: &DataSnapshot) -> Vec<String> {
    let mut violations = Vec::new();
    let history =
        std::fs::read_to_string(snapshot.root.join("state/session_history.jsonl")).unwrap_or_default();
    let corrupt_lines =
        read_files_with_prefix(&snapshot.root.join("state"), "session_history.jsonl.corrupt-");
    let mut lines = BTreeSet::new();
    let mut events = Vec::new();
    for line in history.lines().filter(|line| !line.is_empty()) {
        if !lines.insert(line) {
            violations.push(format!("the history says twice: {line}"));
        }
        match serde_json::from_str::<Value>(line) {
            Ok(event) if sorted_keys(&event) == KEYS => events.push(event),
            // A line truncated by a crash is moved to a separate file, and the user was notified.
            Ok(_) | Err(_) if corrupt_lines.iter().any(|corrupt| corrupt == line) => {}
            Ok(_) | Err(_) => violations.push(format!("the history has a line that is no event: {line}")),
        }
    }
    if snapshot.pending_file_changes == 0 {
        violations.extend(unrecorded_sessions(snapshot, &events));
    }
    violations
}

fn unrecorded_sessions(snapshot: &DataSnapshot, events: &[Value]) -> Vec<String> {
    let mut violations = Vec::new();
    for moved in snapshot.moves.iter().filter(|moved| moved.branch == "main") {
        let Some(session) = &moved.to else { continue };
        let recorded: Vec<_> =
            events.iter().filter(|event| event["session_id"] == session.as_str()).collect();
        let created = recorded.iter().filter(|event| event["event"] == "created").count();
        if recorded.is_empty() {
            violations.push(format!("the history does not know {session}, which main was"));
        } else if moved.why == "created" && created != 1 {
            violations.push(format!("the history says {created} times that {session} was created"));
        }
    }
    violations
}

/// No temporary file is older than the last start.
pub fn no_temporary_files_remain(snapshot: &DataSnapshot) -> Vec<String> {
    let started = modified(&snapshot.root.join("state/bot.pid"));
    let temporary =
        all_paths(&snapshot.root).into_iter().filter(|path| path.extension().is_some_and(|end| end == "tmp"));
    let remaining = temporary.filter(|path| match (started, modified(path)) {
        (Some(started), Some(made)) => made < started,
        // The program exited normally, so no temporary file may exist.
        (None, _) | (_, None) => true,
    });
    remaining.map(|path| format!("{} was never finished nor taken away", path.display())).collect()
}

/// Files of the program are accessible only by their owner.
pub fn files_are_private(snapshot: &DataSnapshot) -> Vec<String> {
    let state = snapshot.root.join("state");
    let mut made = all_paths(&state);
    made.push(state);
    let accessible = made.iter().filter_map(|path| {
        let metadata = path.symlink_metadata().ok()?;
        let mode = metadata.permissions().mode() & 0o777;
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        (mode != expected).then(|| format!("{} has the mode {mode:o} and not {expected:o}", path.display()))
    });
    accessible.collect()
}

fn sorted_keys(event: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = event.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys
}

fn read_files_with_prefix(dir: &Path, start: &str) -> Vec<String> {
    let named =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start));
    let kept = all_paths(dir).into_iter().filter(named);
    kept.filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

/// Returns everything below `dir` without following links.
fn all_paths(dir: &Path) -> Vec<PathBuf> {
    let mut violations = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(entry.path());
            }
            violations.push(entry.path());
        }
    }
    violations
}
