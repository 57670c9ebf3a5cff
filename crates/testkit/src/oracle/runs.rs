//! Background runs: one that goes on has a place and a turn, and what it sent can be found again.

use serde_json::Value;

use super::seen::Seen;

/// A run that goes on has a place in the tree and a turn that has not ended.
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

/// What was sent is an entry that holds results.
pub fn what_was_sent_is_there(seen: &Seen) -> Vec<String> {
    let lost =
        seen.beside.sent.iter().filter(|id| seen.entries.get(id).is_none_or(|entry| entry.kind != "tools"));
    lost.map(|id| format!("{id} was sent and holds nothing")).collect()
}

/// MT-6: the file knows the run of every message that the log does, unless nobody could write it before the end.
pub fn the_file_knows_the_runs(seen: &Seen) -> Vec<String> {
    if seen.root.join("state/bot.pid").exists() {
        // It was killed; the next start lets the file follow.
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
