//! Sessions of persistent routines, which continue from run to run.

use std::sync::Arc;

use super::{Assistant, Ending, Minutes};
use crate::conversation::{Branch, Head};
use crate::cost::Source;
use crate::place::Aside;
use crate::record::{PlanChange, Stand};
use crate::run::Run;
use crate::schedule::ItemId;

impl Assistant {
    /// RP-14: returns the session head of a routine, if it has one.
    pub(super) fn stand_of(&self, source: &Source) -> Option<Stand> {
        self.memory.plans.sessions.get(&routine(source)?).cloned()
    }

    /// RP-15, RP-16, RP-33: saves the session head after `run`, unless its routine was removed.
    pub(super) fn keep_stand(&mut self, run: &Run, minutes: &mut Minutes) {
        let Some(id) = routine(&run.source).filter(|_| run.aside == Aside::Persistent) else { return };
        let head = self.memory.conversation.head(&run.branch).cloned();
        let Some(Head { entry: Some(entry), session, label }) = head else { return };
        let plans = &mut self.memory.plans;
        if plans.agenda.get(&run.source).is_none() && !plans.known.contains_key(&run.source) {
            return;
        }
        let stand = Stand { session, entry, label };
        plans.sessions.insert(id.clone(), stand.clone());
        minutes.plan(Some(PlanChange::Session(id, Some(stand))));
    }

    /// RP-25, RP-26: starts the compaction that the run requested, once, before the run ends.
    /// Returns true if it did.
    pub(super) fn compacts_first(&mut self, branch: &Branch, ending: &Ending, minutes: &mut Minutes) -> bool {
        let run = self.memory.turns.runs.get(branch).filter(|_| *ending == Ending::Finished);
        let Some((run, words)) = run.and_then(|run| Some((Arc::clone(run), run.doings.compact.clone()?)))
        else {
            return false;
        };
        // Save the run's own result before the session changes.
        self.keep_stand(&run, minutes);
        self.begin_last_compaction(branch.clone(), words, minutes);
        true
    }

    /// Clears the compaction request, so that the run ends next.
    pub(super) fn compacted_last(&mut self, branch: &Branch) {
        if let Some(run) = self.memory.turns.runs.get_mut(branch).map(Arc::make_mut) {
            run.doings.compact = None;
        }
    }
}

fn routine(source: &Source) -> Option<ItemId> {
    match source {
        Source::Routine(id) => ItemId::parse(id).ok(),
        Source::Main
        | Source::Fork
        | Source::Compaction
        | Source::Reminder(_)
        | Source::Webhook(_)
        | Source::Agent(_)
        | Source::Reader
        | Source::Search => None,
    }
}
