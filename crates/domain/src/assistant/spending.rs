//! What the assistant writes down of calls, and what it remembers of them.

use super::{Assistant, Minutes, Record, Running};
use crate::conversation::Branch;
use crate::cost::{Call, Source, Spent};

impl Assistant {
    /// Writes down the calls that the turn `running` made on `branch`.
    pub(super) fn spend(
        &mut self,
        branch: &Branch,
        running: &Running,
        calls: Vec<Call>,
        minutes: &mut Minutes,
    ) {
        let Running { turn, errand, .. } = running;
        let mut day = self.memory.day.on(minutes.date);
        for call in calls {
            self.fill(branch, &errand.source, &call);
            let cost = self.purse.prices.of(&call);
            let (branch, errand) = (branch.clone(), errand.clone());
            let spent = Spent { at: minutes.at, branch, turn: *turn, errand, call, cost };
            day.count(&spent);
            minutes.records.push(Record::Spent(spent));
        }
        self.memory.day = day;
    }

    /// Remembers how full the context of `branch` was. The call for a summary is about to be replaced by it,
    /// and a call that broke off before it was counted tells nothing.
    fn fill(&mut self, branch: &Branch, source: &Source, call: &Call) {
        let held = call.usage.held();
        if held > 0 && *source != Source::Compaction {
            self.memory.filled.insert(branch.clone(), held);
        }
    }
}
