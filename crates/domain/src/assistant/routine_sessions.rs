//! Sessions of persistent routines, which continue from run to run.

use std::sync::Arc;

use super::{Assistant, Transaction, TurnEnding};
use crate::conversation::{Branch, Head};
use crate::cost::CostSource;
use crate::place::BackgroundPlace;
use crate::record::{PlanChange, SessionHead};
use crate::run::Run;
use crate::schedule::ItemId;

impl Assistant {
    /// RP-14: returns the session head of a routine, if it has one.
    pub(super) fn session_head(&self, source: &CostSource) -> Option<SessionHead> {
        self.state.plans.sessions.get(&routine_id(source)?).cloned()
    }

    /// RP-15, RP-16, RP-33: saves the session head after `run`, unless its routine was removed.
    pub(super) fn save_session_head(&mut self, run: &Run, tx: &mut Transaction) {
        let Some(id) = routine_id(&run.source).filter(|_| run.place == BackgroundPlace::Persistent) else {
            return;
        };
        let head = self.state.conversation.head(&run.branch).cloned();
        let Some(Head { entry: Some(entry), session, label }) = head else { return };
        let plans = &mut self.state.plans;
        if plans.agenda.get(&run.source).is_none() && !plans.known_watermarks.contains_key(&run.source) {
            return;
        }
        let session_head = SessionHead { session, entry, label };
        plans.sessions.insert(id.clone(), session_head.clone());
        tx.record_plan(Some(PlanChange::SessionHead(id, Some(session_head))));
    }

    /// RP-25, RP-26: starts the compaction that the run requested, once, before the run ends.
    /// Returns true if it did.
    pub(super) fn start_requested_session_compaction(
        &mut self,
        branch: &Branch,
        ending: &TurnEnding,
        tx: &mut Transaction,
    ) -> bool {
        let run = self.state.turns.runs.get(branch).filter(|_| *ending == TurnEnding::Finished);
        let Some((run, instructions)) =
            run.and_then(|run| Some((Arc::clone(run), run.progress.compaction_instructions.clone()?)))
        else {
            return false;
        };
        // Save the run's own result before the session changes.
        self.save_session_head(&run, tx);
        self.start_session_compaction(branch.clone(), instructions, tx);
        true
    }

    /// Clears the compaction request, so that the run ends next.
    pub(super) fn clear_compaction_request(&mut self, branch: &Branch) {
        if let Some(run) = self.state.turns.runs.get_mut(branch).map(Arc::make_mut) {
            run.progress.compaction_instructions = None;
        }
    }
}

fn routine_id(source: &CostSource) -> Option<ItemId> {
    match source {
        CostSource::Routine(id) => ItemId::parse(id).ok(),
        CostSource::Main
        | CostSource::Fork
        | CostSource::Compaction
        | CostSource::Reminder(_)
        | CostSource::Webhook(_)
        | CostSource::Agent(_)
        | CostSource::Reader
        | CostSource::Search => None,
    }
}
