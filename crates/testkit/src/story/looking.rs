//! What there is to look at when a story has been told.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]

use domain::context::Context;
use domain::cost::Spent;
use engine::ports::{Clock, Journal};

use super::{Story, tree};

impl Story {
    /// All that was told.
    pub fn told(&self) -> String {
        self.teller.told()
    }

    /// The tree of entries, drawn.
    pub fn tree(&self) -> String {
        tree::draw(&self.paths())
    }

    /// The sessions, drawn as `ollim-bot sessions tree` draws them.
    pub fn sessions(&self) -> String {
        let lineage = self.runtime.block_on(self.living().journal.lineage(u32::MAX)).expect("a lineage");
        domain::conversation::draw(&lineage, self.clock.now().time_zone())
    }

    /// Every context the model was given.
    pub fn contexts(&self) -> Vec<Context> {
        self.cast.seen()
    }

    /// Every call of the model that is written down, oldest first.
    pub fn spending(&self) -> Vec<Spent> {
        let database = journal::peek(&self.paths()).expect("a journal that can be read");
        let mut all = Vec::new();
        let read = database.expect("a journal").spent_since(jiff::Timestamp::MIN, |spent| all.push(spent));
        read.expect("a ledger");
        all
    }
}
