//! The `/clear` command: main starts over with an empty context. The old entries stay in the tree.

use jiff::Zoned;

use super::leaving::Occasion;
use super::{Answer, Assistant, Changed, Compaction, Effect, Errand, Minutes, Owed, Shown};
use crate::conversation::{Branch, Usage, Why};
use crate::fork::Exit;
use crate::record::{Record, SessionChange};
use crate::turn::Ending;

impl Assistant {
    /// MC-17, MC-21 to MC-24: clears the conversation without waiting for an active turn.
    pub(super) fn clear(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut minutes = Minutes::at(now);
        let mut stopped = Vec::new();
        self.forget_entering(&mut minutes);
        self.wants.compactions.clear();
        self.forget_approvals(&mut minutes);
        while let Some((branch, turn)) =
            self.speaking().map(|(branch, running)| (branch.clone(), running.turn))
        {
            self.cut_short(&branch, &mut minutes);
            stopped.push(Effect::Interrupt(turn));
        }
        // A withdrawn approval must not carry over to the next conversation.
        self.drop_waiting(&Branch::Main, &mut minutes);
        let main = self.memory.conversation.head(&Branch::Main).is_some();
        let aside = self.memory.fork.is_some();
        self.leave(Exit::Drop, Occasion::StartedOver, &mut minutes);
        self.drop_main(&mut minutes);
        let text = match (aside, main) {
            (true, _) => {
                "cleared: both the side conversation and the conversation were dropped. /undo brings the conversation back."
            }
            (false, false) => "there was nothing to clear: nothing was said yet.",
            (false, true) => {
                "cleared: we start over with the next message. /undo brings the conversation back."
            }
        };
        self.hear_waiting(&mut minutes);
        (Answer::Told(text.to_owned()), minutes.effects().into_iter().chain(stopped).collect())
    }

    fn drop_main(&mut self, minutes: &mut Minutes) {
        let at = minutes.at;
        self.memory.turns.filled.remove(&Branch::Main);
        self.wants.refused.remove(&Branch::Main);
        let Some(moved) = self.memory.conversation.end(&Branch::Main, Why::Cleared, at) else { return };
        self.can_undo(Changed::Cleared, &moved);
        let session = moved.from.as_ref().map(|head| head.session.clone());
        minutes.records.push(Record::Moved(moved));
        minutes.records.extend(session.map(|session| Record::Session(SessionChange::Cleared(session, at))));
        minutes.shown.push(Shown::Moved(Why::Cleared));
        self.memory.main.created = None;
    }

    /// SE-7: drops the active turn of `branch`: its later output is ignored, its cost is still
    /// recorded.
    pub(super) fn cut_short(&mut self, branch: &Branch, minutes: &mut Minutes) {
        let Some(running) = self.running.remove(branch) else { return };
        self.wants.deadlines.remove(branch);
        self.tell_unknown(running.turn, branch, &running.unanswered, minutes);
        let turn = running.turn;
        let ending = Ending::Interrupted;
        // A blocked turn has no task that could still end.
        if running.owed != Owed::Held {
            self.abandoned.insert(turn, (branch.clone(), running.clone()));
        }
        let (turn, message) = match running.errand {
            Errand::Answer(message, _) => (turn, message),
            Errand::Compact(compacting) => {
                let outcome = Err("not compacted: we started over.".to_owned());
                let ended = Compaction::Ended { turn, branch: branch.clone(), outcome };
                minutes.shown.push(Shown::Compaction(ended));
                let Some(stuck) = compacting.stuck_turn() else { return };
                stuck
            }
        };
        minutes.close(turn, ending.clone(), Usage::default());
        self.asked_dropped(message.id, minutes);
        minutes.shown.push(Shown::Ended { turn, branch: branch.clone(), answers: message.id, ending });
    }
}
