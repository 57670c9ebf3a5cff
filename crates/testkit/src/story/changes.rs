//! Changes to the tree like those of commands, for [`super::Story::change`].

use domain::conversation::{Branch, Conversation, SessionId};
use domain::pending_update::PendingUpdate;
use domain::record::{Record, SessionChange, UpdateChange};
use engine::ports::{Clock, Journal as _};
use jiff::Zoned;

use super::{OpenedJournal, Story};

impl Story {
    /// Leaves a pending update for main, while the program is stopped.
    pub fn leave_update(&mut self, from: &str, text: &str) -> &mut Self {
        self.leave_update_with_label(from, text, domain::label::Label::PLAIN)
    }

    /// Leaves a pending update with a label.
    pub fn leave_update_with_label(
        &mut self,
        from: &str,
        text: &str,
        label: domain::label::Label,
    ) -> &mut Self {
        self.stop();
        let OpenedJournal { journal, state: memory, .. } = self.open_journal();
        let id = memory.updates.next;
        let at = self.clock.now().timestamp();
        let report = PendingUpdate { id, at, source: from.to_owned(), text: text.to_owned(), label };
        let written = journal.write(vec![Record::Update(UpdateChange::Left(report))]);
        self.block_on(written).expect("room for the report");
        drop(journal);
        self.start();
        self
    }
}

/// Forks main, for [`super::Story::change`].
pub fn fork_main(conversation: &mut Conversation, name: &str, now: &Zoned) -> Vec<Record> {
    let fork = Branch::fork(name).expect("a name");
    let session = SessionId::parse(&format!("session-of-{name}")).expect("a session");
    let moved = conversation.fork(&Branch::Main, fork, session, now.timestamp());
    moved.map(Record::BranchMoved).into_iter().collect()
}

/// Compacts main, for [`super::Story::change`].
pub fn compact_main(conversation: &mut Conversation, summary: &str, now: &Zoned) -> Vec<Record> {
    let session = SessionId::parse("compacted-session").expect("a session");
    let at = now.timestamp();
    let compacted = conversation.compact(&Branch::Main, summary.to_owned(), session.clone(), at);
    let (entry, moved) = compacted.expect("a main conversation");
    vec![
        Record::EntryAppended(Branch::Main, entry),
        Record::BranchMoved(moved),
        Record::Session(SessionChange::Saved(session, at)),
    ]
}
