//! Inspection of a story's results.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]

use domain::context::Context;
use domain::cost::LedgerEntry;
use engine::ports::{Clock, Journal, Queue};
use serde_json::Value;

use super::{Story, tree};

impl Story {
    /// Returns the transcript.
    pub fn transcript(&self) -> String {
        self.transcript.text()
    }

    /// Returns the tree of entries as text.
    pub fn tree(&self) -> String {
        tree::draw(&self.paths())
    }

    /// Returns the sessions in the format of `ollim-bot sessions tree`.
    pub fn sessions(&self) -> String {
        let lineage = self.block_on(self.live_program().journal.lineage(u32::MAX)).expect("a lineage");
        domain::conversation::draw(&lineage, self.clock.now().time_zone())
    }

    /// Returns the file `name` in `state`, one line per entry, without times.
    pub fn state_file(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.paths().state().join(name)).unwrap_or_default();
        let values = text.lines().flat_map(|line| match serde_json::from_str(line) {
            Ok(Value::Array(all)) => all,
            Ok(value) => vec![value],
            Err(_) => vec![Value::from(line)],
        });
        values.map(without_times).collect()
    }

    /// Returns the run of each sent entry according to the journal, one line per entry.
    /// `fork_messages.json` contains only messages sent by Discord.
    pub fn origins(&self) -> String {
        let log = rusqlite::Connection::open(self.paths().database()).expect("a journal");
        let mut rows = log
            .prepare("SELECT message, session, parent FROM origins ORDER BY at, message")
            .expect("a table");
        let line = |row: &rusqlite::Row<'_>| {
            let (message, session, parent): (u64, String, Option<String>) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(without_times(serde_json::json!({
                "message_id": message, "fork_session_id": session, "parent_session_id": parent
            })))
        };
        let lines = rows.query_map([], line).and_then(Iterator::collect);
        lines.expect("rows that can be read")
    }

    /// Returns every context of the model.
    pub fn contexts(&self) -> Vec<Context> {
        self.model.contexts()
    }

    /// Returns the texts of all posts in the outbox, oldest first.
    pub fn pending_posts(&self) -> Vec<String> {
        let database = journal::open_read_only(&self.paths()).expect("a journal that can be read");
        let database = database.expect("a journal");
        let both = [Queue::Reminders, Queue::Others]
            .map(|queue| database.waiting_messages_in(queue, u32::MAX).expect("posts"));
        let mut posts: Vec<_> = both.into_iter().flatten().collect();
        posts.sort_by_key(|outgoing| outgoing.id);
        posts.into_iter().map(|outgoing| outgoing.post.body.text).collect()
    }

    /// Returns every recorded model call, oldest first.
    pub fn spending(&self) -> Vec<LedgerEntry> {
        let database = journal::open_read_only(&self.paths()).expect("a journal that can be read");
        let mut all = Vec::new();
        let read =
            database.expect("a journal").for_each_call_since(jiff::Timestamp::MIN, |spent| all.push(spent));
        read.expect("a ledger");
        all
    }
}

fn without_times(mut value: Value) -> String {
    let inner = value.as_object_mut().into_iter().flat_map(|object| object.values_mut());
    inner.filter_map(Value::as_object_mut).for_each(|object| drop(object.remove("ts")));
    if let Some(object) = value.as_object_mut() {
        object.remove("ts");
        object.remove("timestamp");
    }
    format!("{value}\n")
}
