//! Rules about background runs: an active run has a branch and a turn, and sent entries exist.

use serde_json::Value;

use super::snapshot::DataSnapshot;

/// An active run has a branch and an open turn.
pub fn active_runs_have_a_branch_and_turn(snapshot: &DataSnapshot) -> Vec<String> {
    let mut violations = Vec::new();
    for run in &snapshot.background.runs {
        if !snapshot.heads.iter().any(|head| head.branch == *run) {
            violations.push(format!("{run} runs and has no place"));
        }
        if !snapshot.turns.iter().any(|turn| turn.branch == *run && turn.closed.is_none()) {
            violations.push(format!("{run} runs and has no turn"));
        }
    }
    violations
}

/// A sent entry exists and contains tool results.
pub fn sent_entries_exist(snapshot: &DataSnapshot) -> Vec<String> {
    let lost = snapshot
        .background
        .sent
        .iter()
        .filter(|id| snapshot.entries.get(id).is_none_or(|entry| entry.kind != "tools"));
    lost.map(|id| format!("{id} was sent and holds nothing")).collect()
}

/// MT-6: the file records the run of every message that the journal does, unless the program was
/// killed before it could write the file.
pub fn origins_file_is_complete(snapshot: &DataSnapshot) -> Vec<String> {
    if snapshot.root.join("state/bot.pid").exists() {
        // It was killed; the next start updates the file.
        return Vec::new();
    }
    let file =
        std::fs::read_to_string(snapshot.root.join("state/fork_messages.json")).unwrap_or("[]".to_owned());
    let records: Vec<Value> = serde_json::from_str(&file).unwrap_or_default();
    let known = |(id, session): &&(i64, String)| {
        records
            .iter()
            .any(|record| record["message_id"] == *id && record["fork_session_id"] == session.as_str())
    };
    let unknown = snapshot.background.origins.iter().filter(|origin| !known(origin));
    unknown
        .map(|(id, session)| format!("fork_messages.json does not know that {id} is of {session}"))
        .collect()
}
