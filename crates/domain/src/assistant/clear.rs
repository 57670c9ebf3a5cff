//! The `/clear` command: main starts over with an empty context. The old entries stay in the tree.

use jiff::Zoned;

use super::fork_exit::ExitCause;
use super::{
    Answer, Assistant, CompactionUpdate, Effect, MainChangeKind, Transaction, TurnState, TurnWork, Update,
};
use crate::conversation::{Branch, MoveReason, Usage};
use crate::fork::ForkExit;
use crate::record::{Record, SessionChange};
use crate::turn::TurnEnding;

impl Assistant {
    /// MC-17, MC-21 to MC-24: clears the conversation without waiting for an active turn.
    pub(super) fn clear(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut tx = Transaction::at(now);
        let mut stopped = Vec::new();
        self.drop_fork_request(&mut tx);
        self.transient.compaction_requests.clear();
        self.forget_approvals(&mut tx);
        while let Some((branch, turn)) =
            self.user_turn().map(|(branch, running)| (branch.clone(), running.turn))
        {
            self.abandon_turn(&branch, &mut tx);
            stopped.push(Effect::Interrupt(turn));
        }
        // A withdrawn approval must not carry over to the next conversation.
        self.drop_messages_for(&Branch::Main, &mut tx);
        let had_main = self.state.conversation.head(&Branch::Main).is_some();
        let had_fork = self.state.fork.is_some();
        self.end_fork(ForkExit::Discard, ExitCause::Cleared, &mut tx);
        self.clear_main(&mut tx);
        let text = match (had_fork, had_main) {
            (true, _) => {
                "cleared: both the side conversation and the conversation were dropped. /undo brings the conversation back."
            }
            (false, false) => "there was nothing to clear: nothing was said yet.",
            (false, true) => {
                "cleared: we start over with the next message. /undo brings the conversation back."
            }
        };
        self.start_next_turn(&mut tx);
        (Answer::Text(text.to_owned()), tx.into_effects().into_iter().chain(stopped).collect())
    }

    fn clear_main(&mut self, tx: &mut Transaction) {
        let at = tx.at;
        self.state.turns.context_tokens.remove(&Branch::Main);
        self.transient.failed_compaction_sizes.remove(&Branch::Main);
        let Some(moved) = self.state.conversation.end(&Branch::Main, MoveReason::Cleared, at) else { return };
        self.push_main_undo(MainChangeKind::Cleared, &moved);
        let session = moved.from.as_ref().map(|head| head.session.clone());
        tx.records.push(Record::BranchMoved(moved));
        tx.records.extend(session.map(|session| Record::Session(SessionChange::Cleared(session, at))));
        tx.updates.push(Update::MainMoved(MoveReason::Cleared));
        self.state.main.created = None;
    }

    /// SE-7: drops the active turn of `branch`: its later output is ignored, its cost is still
    /// recorded.
    pub(super) fn abandon_turn(&mut self, branch: &Branch, tx: &mut Transaction) {
        let Some(running) = self.active_turns.remove(branch) else { return };
        self.transient.deadlines.remove(branch);
        self.record_unknown_results(running.turn, branch, &running.unanswered, tx);
        let turn = running.turn;
        let ending = TurnEnding::Interrupted;
        // A blocked turn has no task that could still end.
        if running.state != TurnState::Blocked {
            self.abandoned.insert(turn, (branch.clone(), running.clone()));
        }
        let (turn, message) = match running.work {
            TurnWork::Answer(message, _) => (turn, message),
            TurnWork::Compact(compacting) => {
                let outcome = Err("not compacted: we started over.".to_owned());
                let ended = CompactionUpdate::Ended { turn, branch: branch.clone(), outcome };
                tx.updates.push(Update::Compaction(ended));
                let Some(stuck) = compacting.stuck_turn() else { return };
                stuck
            }
        };
        tx.close_turn(turn, ending.clone(), Usage::default());
        self.on_message_dropped(message.id, tx);
        tx.updates.push(Update::TurnEnded { turn, branch: branch.clone(), answers: message.id, ending });
    }
}
