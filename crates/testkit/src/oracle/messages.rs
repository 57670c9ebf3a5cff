//! Rules about messages of the user: each is delivered once, in order, and has a turn that ends.

use std::collections::{BTreeMap, BTreeSet};

use super::snapshot::{DataSnapshot, Entry, Message};

/// The maximum number of attempts of a turn.
const MAX_ATTEMPTS: i64 = 3;

/// A delivered message is one user entry with the same text, and vice versa.
pub fn messages_are_delivered_once(snapshot: &DataSnapshot) -> Vec<String> {
    let mut violations = Vec::new();
    let mut taken: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for message in &snapshot.messages {
        let Some(id) = message.entry else { continue };
        taken.entry(id).or_default().push(message.id);
        match snapshot.entries.get(&id) {
            Some(entry) if is_user_entry(entry) && matches_text(entry, message) => {}
            Some(_) => {
                violations.push(format!("message {} is entry {id}, which says something else", message.id))
            }
            None => violations.push(format!("message {} is entry {id}, which is not there", message.id)),
        }
    }
    for (id, _) in
        snapshot.entries.iter().filter(|(_, entry)| is_user_entry(entry) && !is_from_webhook(entry))
    {
        match taken.get(id).map(Vec::len) {
            Some(1) => {}
            Some(count) => violations.push(format!("entry {id} is {count} messages at once")),
            None => violations.push(format!("entry {id} of the human is no message")),
        }
    }
    violations
}

/// On main, messages are delivered in order, and pending ones are the latest.
pub fn messages_keep_their_order(snapshot: &DataSnapshot) -> Vec<String> {
    let mut violations = Vec::new();
    let main: BTreeSet<i64> =
        snapshot.path(snapshot.main().and_then(|head| head.entry)).into_iter().collect();
    let mut before = None;
    for message in &snapshot.messages {
        match message.entry {
            Some(id) if message.from_program || !main.contains(&id) => {}
            None if message.from_program => {}
            Some(id) if before.is_some_and(|before| before > id) => {
                violations.push(format!("message {} was said before one that came earlier", message.id));
            }
            Some(id) => before = Some(id),
            None => {
                // Messages of the program, for example to a background run, have no order relative
                // to the user's.
                let is_later_delivery =
                    |later: &&Message| later.id > message.id && later.entry.is_some() && !later.from_program;
                let later = snapshot.messages.iter().find(is_later_delivery);
                violations.extend(
                    later.map(|later| format!("message {} waits, and {} overtook it", message.id, later.id)),
                );
            }
        }
    }
    violations
}

/// A turn answers a delivered message, a branch has at most one open turn, and closed turns have an
/// ending.
pub fn turns_are_consistent(snapshot: &DataSnapshot) -> Vec<String> {
    let mut violations = Vec::new();
    let mut open: BTreeMap<&str, i64> = BTreeMap::new();
    let mut answered: BTreeMap<i64, u32> = BTreeMap::new();
    for turn in &snapshot.turns {
        *answered.entry(turn.message).or_default() += 1;
        // A turn that waits for the model has zero attempts.
        if !(0..=MAX_ATTEMPTS).contains(&turn.attempts) {
            violations.push(format!("turn {} was begun {} times", turn.id, turn.attempts));
        }
        match (turn.closed, turn.ending.as_deref()) {
            (Some(_), Some("finished" | "interrupted" | "failed")) => {}
            (None, None) => {
                if let Some(other) = open.insert(&turn.branch, turn.id) {
                    violations
                        .push(format!("turns {other} and {} go on at once in {}", turn.id, turn.branch));
                }
            }
            (_, ending) => violations.push(format!("turn {} ended with {ending:?}", turn.id)),
        }
    }
    for message in &snapshot.messages {
        match (message.entry, answered.remove(&message.id)) {
            (Some(_), Some(1)) | (None, None) => {}
            (Some(_), None) => violations.push(format!("message {} was taken and has no turn", message.id)),
            (_, Some(count)) => violations.push(format!("message {} has {count} turns", message.id)),
        }
    }
    violations.extend(answered.keys().map(|message| format!("a turn answers {message}, which nobody sent")));
    violations
}

/// Text of the program is in the preamble, and the user's text is then empty.
fn matches_text(entry: &Entry, message: &Message) -> bool {
    let preface = entry.body["preface"].as_str().unwrap_or_default();
    if message.from_program {
        entry.body["text"] == "" && preface.ends_with(&message.text)
    } else {
        entry.body["text"] == message.text.as_str()
    }
}

/// A webhook's text is sent directly to the user without a message.
fn is_from_webhook(entry: &Entry) -> bool {
    let preface = entry.body["preface"].as_str().unwrap_or_default();
    entry.body["text"] == ""
        && preface.contains("Somebody called this webhook, and what they brought went to the human")
}

fn is_user_entry(entry: &Entry) -> bool {
    entry.kind == "human"
}
