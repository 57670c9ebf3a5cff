//! Compares the assistant's state in memory with the state loaded from the journal.

#![expect(clippy::expect_used, reason = "a journal that cannot be read stops the test at once")]

use std::fmt::Debug;

use domain::assistant::State;
use jiff::Zoned;
use journal::Paths;

/// The number of comparisons and their differences.
#[derive(Debug, Default)]
pub struct RecallCheck {
    pub count: u64,
    /// The differences found.
    pub differences: Vec<String>,
}

impl RecallCheck {
    /// Loads the state from the journal and compares it with `live`.
    pub fn compare(&mut self, live: &State, paths: &Paths, now: &Zoned) {
        let database = journal::open_read_only(paths).expect("a log").expect("a log that was begun");
        let written = database.load_state().expect("a memory");
        self.count += 1;
        // A running compaction has a number but no row yet, and a withdrawn message no longer has a
        // row: the counters in memory may be ahead of the journal, never behind.
        if written.turns.next > live.turns.next {
            self.differences.push(format!("at {now}: the next turn in mind was begun before"));
        }
        if written.messages.next > live.messages.next {
            self.differences.push(format!("at {now}: the next message in mind was written before"));
        }
        for ((part, live), (_, written)) in parts(live).into_iter().zip(parts(&written)) {
            if live != written {
                self.differences
                    .push(format!("at {now}: {part} is {live} in mind, and written as {written}"));
            }
        }
    }
}

/// Returns the parts that are restored from the journal and change only through records. The other
/// parts are settings and counters with files of their own, and data of the current process.
fn parts(memory: &State) -> [(&'static str, String); 10] {
    let open: Vec<_> = memory.plans.open.values().collect();
    [
        ("the conversation", debug_text(&memory.conversation)),
        ("the runs", debug_text(&memory.turns.runs)),
        ("what waits", debug_text(&memory.messages.waiting)),
        ("the cards", debug_text(&memory.messages.cards)),
        ("what is held", debug_text(&memory.messages.attention)),
        ("the reports", debug_text(&(&memory.updates.waiting, memory.updates.next))),
        ("the inbox", debug_text(&memory.inbox)),
        ("the approvals", debug_text(&memory.approvals)),
        ("the fork", debug_text(&memory.fork)),
        ("the open times", debug_text(&open)),
    ]
}

fn debug_text(part: &impl Debug) -> String {
    format!("{part:?}")
}
