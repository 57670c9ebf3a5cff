//! Changes to the tree like those of commands, for [`super::Story::change`].

use domain::conversation::{Branch, Conversation, SessionId};
use domain::record::{Record, ReportChange, SessionChange};
use domain::report::Report;
use engine::ports::{Clock, Journal as _};
use jiff::Zoned;

use super::{Opened, Story};

impl Story {
    /// Leaves a pending update for main, while the program is stopped.
    pub fn leaves_for_main(&mut self, from: &str, text: &str) -> &mut Self {
        self.leaves_with_label(from, text, domain::label::Label::PLAIN)
    }

    /// Leaves a pending update with a label.
    pub fn leaves_with_label(&mut self, from: &str, text: &str, label: domain::label::Label) -> &mut Self {
        self.die();
        let Opened { journal, memory, .. } = self.open();
        let id = memory.reports.next;
        let at = self.clock.now().timestamp();
        let report = Report { id, at, from: from.to_owned(), text: text.to_owned(), label };
        let written = journal.write(vec![Record::Report(ReportChange::Left(report))]);
        self.at_once(written).expect("room for the report");
        drop(journal);
        self.wake();
        self
    }
}

/// Forks main, for [`super::Story::change`].
pub fn fork(conversation: &mut Conversation, name: &str, now: &Zoned) -> Vec<Record> {
    let fork = Branch::fork(name).expect("a name");
    let session = SessionId::read(&format!("session-of-{name}")).expect("a session");
    let moved = conversation.fork(&Branch::Main, fork, session, now.timestamp());
    moved.map(Record::Moved).into_iter().collect()
}

/// Compacts main, for [`super::Story::change`].
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
