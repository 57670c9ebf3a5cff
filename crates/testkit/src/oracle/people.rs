//! Every message of the human is said once, in order, and has a turn that comes to an end.

use std::collections::{BTreeMap, BTreeSet};

use super::seen::{Entry, Message, Seen};

/// How often a turn may be begun.
const ATTEMPTS: i64 = 3;

/// A message that was taken is one entry of the human with the same words, and the other way round.
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

/// On main, what came first was said first, and what waits came last.
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
                // What we say ourselves, to a background run for one, has its own time.
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

/// A turn answers a message that was taken; one at a time goes on in a branch; those that ended say how.
pub fn turns_are_whole(seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut open: BTreeMap<&str, i64> = BTreeMap::new();
    let mut answered: BTreeMap<i64, u32> = BTreeMap::new();
    for turn in &seen.turns {
        *answered.entry(turn.message).or_default() += 1;
        // One that waits for the model has not been begun since.
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

/// Words of our own stand in what comes before the human's words; there are none of theirs.
fn says(entry: &Entry, message: &Message) -> bool {
    let preface = entry.body["preface"].as_str().unwrap_or_default();
    if message.ours {
        entry.body["text"] == "" && preface.ends_with(&message.text)
    } else {
        entry.body["text"] == message.text.as_str()
    }
}

/// What a webhook brings goes to the human without anybody having to answer it: it is no message.
fn came_from_a_webhook(entry: &Entry) -> bool {
    let preface = entry.body["preface"].as_str().unwrap_or_default();
    entry.body["text"] == ""
        && preface.contains("Somebody called this webhook, and what they brought went to the human")
}

fn is_human(entry: &Entry) -> bool {
    entry.kind == "human"
}
