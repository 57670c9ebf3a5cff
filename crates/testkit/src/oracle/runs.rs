//! Rules about background runs: an active run has a branch and a turn, and sent entries exist.

use serde_json::Value;

use super::seen::Seen;

/// An active run has a branch and an open turn.
pub fn runs_go_on_somewhere(seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    for run in &seen.beside.runs {
        if !seen.heads.iter().any(|head| head.branch == *run) {
            wrong.push(format!("{run} runs and has no place"));
        }
        if !seen.turns.iter().any(|turn| turn.branch == *run && turn.closed.is_none()) {
            wrong.push(format!("{run} runs and has no turn"));
        }
    }
    wrong
}

/// A sent entry exists and contains tool results.
pub fn what_was_sent_is_there(seen: &Seen) -> Vec<String> {
    let lost =
        seen.beside.sent.iter().filter(|id| seen.entries.get(id).is_none_or(|entry| entry.kind != "tools"));
    lost.map(|id| format!("{id} was sent and holds nothing")).collect()
}

/// MT-6: the file records the run of every message that the journal does, unless the program was
/// killed before it could write the file.
pub fn the_file_knows_the_runs(seen: &Seen) -> Vec<String> {
    if seen.root.join("state/bot.pid").exists() {
        // It was killed; the next start updates the file.
        return Vec::new();
    }
    let file = std::fs::read_to_string(seen.root.join("state/fork_messages.json")).unwrap_or("[]".to_owned());
    let records: Vec<Value> = serde_json::from_str(&file).unwrap_or_default();
    let known = |(id, session): &&(i64, String)| {
        records
            .iter()
            .any(|record| record["message_id"] == *id && record["fork_session_id"] == session.as_str())
    };
    let unknown = seen.beside.origins.iter().filter(|origin| !known(origin));
    unknown
        .map(|(id, session)| format!("fork_messages.json does not know that {id} is of {session}"))
        .collect()
}
