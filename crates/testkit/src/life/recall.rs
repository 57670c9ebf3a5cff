//! Whether all that an assistant has in mind is read again from what is written, to the letter.

#![expect(clippy::expect_used, reason = "a journal that cannot be read stops the test at once")]

use std::fmt::Debug;

use domain::assistant::Memory;
use jiff::Zoned;
use journal::Paths;

/// How often it was looked at, and what differed.
#[derive(Debug, Default)]
pub struct Recalled {
    /// How often.
    pub times: u64,
    /// What was in mind and is written otherwise.
    pub otherwise: Vec<String>,
}

impl Recalled {
    /// Reads from the log what `live` should be.
    pub fn hold(&mut self, live: &Memory, paths: &Paths, now: &Zoned) {
        let database = journal::peek(paths).expect("a log").expect("a log that was begun");
        let written = database.memory().expect("a memory");
        self.times += 1;
        // A compaction that goes on has a number and no row yet, and a message that was taken back has none any more: a
        // mind may be ahead; what is written never is.
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

/// All that a start reads again and nothing else changes. What is not here is not the log's: settings and counters
/// of their own files, and what is known of this start alone.
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
