//! Rules about messages of the user: each is delivered once, in order, and has a turn that ends.

use std::collections::{BTreeMap, BTreeSet};

use super::seen::{Entry, Message, Seen};

/// The maximum number of attempts of a turn.
const ATTEMPTS: i64 = 3;

/// A delivered message is one user entry with the same text, and vice versa.
pub fn messages_are_said_once(seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut taken: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for message in &seen.messages {
        let Some(id) = message.entry else { continue };
        taken.entry(id).or_default().push(message.id);
        match seen.entries.get(&id) {
            Some(entry) if is_human(entry) && says(entry, message) => {}
            Some(_) => wrong.push(format!("message {} is entry {id}, which says something else", message.id)),
            None => wrong.push(format!("message {} is entry {id}, which is not there", message.id)),
        }
    }
    for (id, _) in seen.entries.iter().filter(|(_, entry)| is_human(entry) && !came_from_a_webhook(entry)) {
        match taken.get(id).map(Vec::len) {
            Some(1) => {}
            Some(count) => wrong.push(format!("entry {id} is {count} messages at once")),
            None => wrong.push(format!("entry {id} of the human is no message")),
        }
    }
    wrong
}

/// On main, messages are delivered in order, and pending ones are the latest.
pub fn messages_keep_their_order(seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    let main: BTreeSet<i64> = seen.path(seen.main().and_then(|head| head.entry)).into_iter().collect();
    let mut before = None;
    for message in &seen.messages {
        match message.entry {
            Some(id) if message.ours || !main.contains(&id) => {}
            None if message.ours => {}
            Some(id) if before.is_some_and(|before| before > id) => {
                wrong.push(format!("message {} was said before one that came earlier", message.id));
            }
            Some(id) => before = Some(id),
            None => {
                // Messages of the program, for example to a background run, have no order relative
                // to the user's.
                let overtakes =
                    |later: &&Message| later.id > message.id && later.entry.is_some() && !later.ours;
                let later = seen.messages.iter().find(overtakes);
                wrong.extend(
                    later.map(|later| format!("message {} waits, and {} overtook it", message.id, later.id)),
                );
            }
        }
    }
    wrong
}

/// A turn answers a delivered message, a branch has at most one open turn, and closed turns have an
/// ending.
pub fn turns_are_whole(seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut open: BTreeMap<&str, i64> = BTreeMap::new();
    let mut answered: BTreeMap<i64, u32> = BTreeMap::new();
    for turn in &seen.turns {
        *answered.entry(turn.message).or_default() += 1;
        // A turn that waits for the model has zero attempts.
        if !(0..=ATTEMPTS).contains(&turn.attempts) {
            wrong.push(format!("turn {} was begun {} times", turn.id, turn.attempts));
        }
        match (turn.closed, turn.ending.as_deref()) {
            (Some(_), Some("finished" | "interrupted" | "failed")) => {}
            (None, None) => {
                if let Some(other) = open.insert(&turn.branch, turn.id) {
                    wrong.push(format!("turns {other} and {} go on at once in {}", turn.id, turn.branch));
                }
            }
            (_, ending) => wrong.push(format!("turn {} ended with {ending:?}", turn.id)),
        }
    }
    for message in &seen.messages {
        match (message.entry, answered.remove(&message.id)) {
            (Some(_), Some(1)) | (None, None) => {}
            (Some(_), None) => wrong.push(format!("message {} was taken and has no turn", message.id)),
            (_, Some(count)) => wrong.push(format!("message {} has {count} turns", message.id)),
        }
    }
    wrong.extend(answered.keys().map(|message| format!("a turn answers {message}, which nobody sent")));
    wrong
}

/// Text of the program is in the preamble, and the user's text is then empty.
fn says(entry: &Entry, message: &Message) -> bool {
    let preface = entry.body["preface"].as_str().unwrap_or_default();
    if message.ours {
        entry.body["text"] == "" && preface.ends_with(&message.text)
    } else {
        entry.body["text"] == message.text.as_str()
    }
}

/// A webhook's text is sent directly to the user without a message.
fn came_from_a_webhook(entry: &Entry) -> bool {
    let preface = entry.body["preface"].as_str().unwrap_or_default();
    entry.body["text"] == ""
        && preface.contains("Somebody called this webhook, and what they brought went to the human")
}

fn is_human(entry: &Entry) -> bool {
    entry.kind == "human"
}
