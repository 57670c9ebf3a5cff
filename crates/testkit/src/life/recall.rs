//! Compares the assistant's state in memory with the state loaded from the journal.

#![expect(clippy::expect_used, reason = "a journal that cannot be read stops the test at once")]

use std::fmt::Debug;

use domain::assistant::Memory;
use jiff::Zoned;
use journal::Paths;

/// The number of comparisons and their differences.
#[derive(Debug, Default)]
pub struct Recalled {
    pub times: u64,
    /// The differences found.
    pub otherwise: Vec<String>,
}

impl Recalled {
    /// Loads the state from the journal and compares it with `live`.
    pub fn hold(&mut self, live: &Memory, paths: &Paths, now: &Zoned) {
        let database = journal::peek(paths).expect("a log").expect("a log that was begun");
        let written = database.memory().expect("a memory");
        self.times += 1;
        // A running compaction has a number but no row yet, and a withdrawn message no longer has a
        // row: the counters in memory may be ahead of the journal, never behind.
        if written.turns.next > live.turns.next {
            self.otherwise.push(format!("at {now}: the next turn in mind was begun before"));
        }
        if written.messages.next > live.messages.next {
            self.otherwise.push(format!("at {now}: the next message in mind was written before"));
        }
        for ((what, live), (_, written)) in parts(live).into_iter().zip(parts(&written)) {
            if live != written {
                self.otherwise.push(format!("at {now}: {what} is {live} in mind, and written as {written}"));
            }
        }
    }
}

/// Returns the parts that are restored from the journal and change only through records. The other
/// parts are settings and counters with files of their own, and data of the current process.
fn parts(memory: &Memory) -> [(&'static str, String); 10] {
    let open: Vec<_> = memory.plans.open.values().collect();
    [
        ("the conversation", text(&memory.conversation)),
        ("the runs", text(&memory.turns.runs)),
        ("what waits", text(&memory.messages.waiting)),
        ("the cards", text(&memory.messages.cards)),
        ("what is held", text(&memory.messages.attending)),
        ("the reports", text(&(&memory.reports.waiting, memory.reports.next))),
        ("the inbox", text(&memory.inbox)),
        ("the approvals", text(&memory.approvals)),
        ("the fork", text(&memory.fork)),
        ("the open times", text(&open)),
    ]
}

fn text(part: &impl Debug) -> String {
    format!("{part:?}")
}
