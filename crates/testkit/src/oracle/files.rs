//! Rules about files: they agree with the database, are complete, and are readable only by their
//! owner.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use super::seen::Seen;

const KEYS: [&str; 4] = ["event", "parent_session_id", "session_id", "timestamp"];

/// `sessions.json` names main's session, unless a change of the file is still pending.
pub fn main_is_who_the_file_says(seen: &Seen) -> Vec<String> {
    if seen.unmade > 0 {
        return Vec::new();
    }
    let file = std::fs::read_to_string(seen.root.join("state/sessions.json")).ok();
    let file = file.as_deref().map(str::trim);
    let main = seen.main().map(|head| head.session.as_str());
    if file == main { Vec::new() } else { vec![format!("sessions.json names {file:?} and main is {main:?}")] }
}

/// Every line of the history is an event, none occurs twice, and every session that main had is
/// recorded.
pub fn the_history_is_whole(seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    let history = std::fs::read_to_string(seen.root.join("state/session_history.jsonl")).unwrap_or_default();
    let aside = kept_aside(&seen.root.join("state"), "session_history.jsonl.corrupt-");
    let mut lines = BTreeSet::new();
    let mut events = Vec::new();
    for line in history.lines().filter(|line| !line.is_empty()) {
        if !lines.insert(line) {
            wrong.push(format!("the history says twice: {line}"));
        }
        match serde_json::from_str::<Value>(line) {
            Ok(event) if keys(&event) == KEYS => events.push(event),
            // A line truncated by a crash is moved to a separate file, and the user was notified.
            Ok(_) | Err(_) if aside.iter().any(|kept| kept == line) => {}
            Ok(_) | Err(_) => wrong.push(format!("the history has a line that is no event: {line}")),
        }
    }
    if seen.unmade == 0 {
        wrong.extend(untold(seen, &events));
    }
    wrong
}

fn untold(seen: &Seen, events: &[Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    for moved in seen.moves.iter().filter(|moved| moved.branch == "main") {
        let Some(session) = &moved.to else { continue };
        let told: Vec<_> = events.iter().filter(|event| event["session_id"] == session.as_str()).collect();
        let created = told.iter().filter(|event| event["event"] == "created").count();
        if told.is_empty() {
            wrong.push(format!("the history does not know {session}, which main was"));
        } else if moved.why == "created" && created != 1 {
            wrong.push(format!("the history says {created} times that {session} was created"));
        }
    }
    wrong
}

/// No temporary file is older than the last start.
pub fn nothing_is_left_over(seen: &Seen) -> Vec<String> {
    let started = modified(&seen.root.join("state/bot.pid"));
    let halves = all(&seen.root).into_iter().filter(|path| path.extension().is_some_and(|end| end == "tmp"));
    let left = halves.filter(|path| match (started, modified(path)) {
        (Some(started), Some(made)) => made < started,
        // The program exited normally, so no temporary file may exist.
        (None, _) | (_, None) => true,
    });
    left.map(|path| format!("{} was never finished nor taken away", path.display())).collect()
}

/// Files of the program are accessible only by their owner.
pub fn only_the_owner_reads(seen: &Seen) -> Vec<String> {
    let state = seen.root.join("state");
    let mut made = all(&state);
    made.push(state);
    let open = made.iter().filter_map(|path| {
        let metadata = path.symlink_metadata().ok()?;
        let mode = metadata.permissions().mode() & 0o777;
        let right = if metadata.is_dir() { 0o700 } else { 0o600 };
        (mode != right).then(|| format!("{} has the mode {mode:o} and not {right:o}", path.display()))
    });
    open.collect()
}

fn keys(event: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = event.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    keys
}

fn kept_aside(dir: &Path, start: &str) -> Vec<String> {
    let named =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start));
    let kept = all(dir).into_iter().filter(named);
    kept.filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

/// Returns everything below `dir` without following links.
fn all(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![dir.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}
