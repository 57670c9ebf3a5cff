//! Changes to the tree, as commands make them, for [`super::Story::change`].

use domain::conversation::{Branch, Conversation, SessionId};
use domain::record::{Record, SessionChange};
use jiff::Zoned;

/// A fork of main as a command would make it, for [`super::Story::change`].
pub fn fork(conversation: &mut Conversation, name: &str, now: &Zoned) -> Vec<Record> {
    let fork = Branch::fork(name).expect("a name");
    let session = SessionId::read(&format!("session-of-{name}")).expect("a session");
    let moved = conversation.fork(&Branch::Main, fork, session, now.timestamp());
    moved.map(Record::Moved).into_iter().collect()
}

/// A compaction of main as a command would make it, for [`super::Story::change`].
pub fn compact(conversation: &mut Conversation, summary: &str, now: &Zoned) -> Vec<Record> {
    let session = SessionId::read("compacted-session").expect("a session");
    let at = now.timestamp();
    let compacted = conversation.compact(&Branch::Main, summary.to_owned(), session.clone(), at);
    let (entry, moved) = compacted.expect("a main conversation");
    vec![
        Record::Said(Branch::Main, entry),
        Record::Moved(moved),
        Record::Session(SessionChange::Saved(session, at)),
    ]
}
