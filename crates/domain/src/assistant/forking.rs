//! Interactive forks: at most one at a time, started by the user or by the model.

use jiff::Zoned;

use super::{Answer, Aside, Assistant, Effect, Ending, Errand, Minutes, Owed, Shown, Spot};
use crate::context;
use crate::conversation::{Branch, EntryId, Head};
use crate::failure::{Failure, Unsaid};
use crate::fork::{Entering, Exit, Fork, Leaving};
use crate::label::Label;
use crate::record::{
    Address, ForkChange, Message, MessageChange, MessageId, Record, SessionChange, SurfaceName,
};
use crate::wish::Asked;

/// Position and session of a new fork.
pub(super) struct Beginning {
    /// The position in the tree, and the session id.
    pub(super) head: Head,
    /// The entry of main it contains, or `None` if it has nothing of main.
    pub(super) root: Option<EntryId>,
    /// The request.
    pub(super) entering: Entering,
}

impl Assistant {
    /// IF-6, IF-7: handles `/fork`.
    pub(super) fn fork(&mut self, topic: String, now: &Zoned) -> (Answer, Vec<Effect>) {
        if self.memory.fork.is_some() {
            return refused("we are in a side conversation already. end it first: /save, /report or /exit.");
        }
        if self.memory.main.entering.is_some() {
            return refused("a side conversation begins already, as soon as this answer is done.");
        }
        if let Some(why) = self.why_it_waits() {
            return refused(&format!("{why}, so nobody could answer there. /retry tries it again now."));
        }
        let topic = Some(topic.trim().to_owned()).filter(|topic| !topic.is_empty());
        let mut minutes = Minutes::at(now);
        self.will_enter(Asked { topic, idle_minutes: None }, self.memory.messages.next, &mut minutes);
        self.turn_now(minutes)
    }

    /// IF-8, IF-11: handles the model's request for a fork. An earlier request of the user takes
    /// precedence.
    pub(super) fn enter_asked(&mut self, asked: Asked, now: &Zoned) -> Vec<Effect> {
        let mut minutes = Minutes::at(now);
        if self.memory.main.entering.is_none() {
            self.will_enter(asked, MessageId(0), &mut minutes);
        }
        minutes.effects()
    }

    /// Requests a fork that starts once all messages before `until` are answered.
    fn will_enter(&mut self, asked: Asked, until: MessageId, minutes: &mut Minutes) {
        let entering = Entering { topic: asked.topic, idle_minutes: asked.idle_minutes, until };
        minutes.records.push(Record::Fork(ForkChange::Wanted(Some(entering.clone()))));
        self.memory.main.entering = Some(entering);
    }

    /// Enters or leaves now, or when the active answer is finished, without waiting for approvals.
    pub(super) fn turn_now(&mut self, mut minutes: Minutes) -> (Answer, Vec<Effect>) {
        self.cancel_waiting(&mut minutes);
        self.turn_around(&mut minutes);
        self.hear_waiting(&mut minutes);
        let leaving = self.memory.fork.as_ref().map(|fork| &fork.leaving);
        let answer = match (leaving, &self.memory.main.entering) {
            (Some(Leaving::WithReport), _) => {
                told("i sum this up, and then we are back in the main conversation.")
            }
            (Some(Leaving::So(_)), _) | (_, Some(_)) => told("as soon as this answer is done."),
            (Some(Leaving::Not) | None, None) => Answer::Noted,
        };
        (answer, minutes.effects())
    }

    /// MC-7: returns the effect that interrupts the active answer; a compaction is not interrupted.
    pub(super) fn interruption(&self) -> Option<Effect> {
        let (_, running) = self.speaking()?;
        match (&running.errand, running.owed) {
            (Errand::Answer(..), Owed::Now | Owed::SinceBefore) => Some(Effect::Interrupt(running.turn)),
            (Errand::Answer(..), Owed::Held) | (Errand::Compact(_), _) => None,
        }
    }

    /// IF-9, IF-10: carries out a requested entry or exit, if no turn is active.
    pub(super) fn turn_around(&mut self, minutes: &mut Minutes) {
        if self.speaking().is_some() {
            return;
        }
        match (self.memory.main.entering.clone(), self.memory.fork.clone()) {
            (Some(entering), _) if self.awaits(entering.until) => {}
            (Some(entering), None) => self.enter(entering, minutes),
            (Some(_), Some(_)) => self.forget_entering(minutes),
            (None, Some(fork)) if self.awaits(fork.until) => {}
            (None, Some(Fork { leaving: Leaving::So(exit), .. })) => self.leave_as_wanted(exit, minutes),
            (None, Some(Fork { leaving: Leaving::WithReport, .. })) => self.stay(minutes),
            (None, Some(Fork { leaving: Leaving::Not, .. }) | None) => {}
        }
    }

    /// IF-8: returns true if the model requested a fork. A request of the user waits for the
    /// answer.
    pub(super) fn is_called_aside(&self) -> bool {
        self.memory.main.entering.as_ref().is_some_and(|entering| entering.until == MessageId(0))
    }

    /// Returns true if messages before `until` still wait.
    fn awaits(&self, until: MessageId) -> bool {
        self.memory.messages.waiting.iter().any(|message| message.id < until)
    }

    pub(super) fn forget_entering(&mut self, minutes: &mut Minutes) {
        if self.memory.main.entering.take().is_some() {
            minutes.records.push(Record::Fork(ForkChange::Wanted(None)));
        }
    }

    /// IF-4, IF-12: starts a fork of main, and queues its first message.
    fn enter(&mut self, entering: Entering, minutes: &mut Minutes) {
        self.forget_entering(minutes);
        self.ensure_main(minutes);
        let main = self.memory.conversation.head(&Branch::Main).and_then(Spot::of);
        let root = main.map(|spot| spot.entry);
        let label = main.map_or(Label::PLAIN, |spot| spot.label);
        let head = Head { entry: root, session: self.dice.session(), label };
        let words = context::fork_started(entering.topic.as_deref());
        let branch = self.open_fork(Beginning { head, root, entering }, minutes);
        let filled = self.memory.turns.filled.get(&Branch::Main).copied();
        self.memory.turns.filled.extend(filled.map(|filled| (branch.clone(), filled)));
        let message = self.our_message(branch, words, minutes);
        self.memory.messages.waiting.push_front(message);
    }

    /// IF-16: creates the fork's branch and records its session.
    pub(super) fn open_fork(&mut self, beginning: Beginning, minutes: &mut Minutes) -> Branch {
        let Beginning { head, root, entering } = beginning;
        let branch = self.dice.branch();
        let at = minutes.at;
        let topic = entering.topic.clone();
        let from = self.memory.conversation.head(&Branch::Main).map(|head| head.session.clone());
        let forked = SessionChange::Forked { fork: head.session.clone(), from, at };
        let moved = self.memory.conversation.branch_off(branch.clone(), head, at);
        minutes.records.push(Record::Moved(moved));
        minutes.records.push(Record::Session(forked));
        minutes.shown.push(Shown::Aside(Aside::Began { branch: branch.clone(), topic }));
        let entering = Entering { idle_minutes: self.idle_minutes(entering.idle_minutes), ..entering };
        let begun = Fork::begun(branch.clone(), root, entering, at);
        self.memory.fork =
            Some(Fork { thinking: self.thinking_aside(), effort: self.effort_aside(), ..begun });
        self.change_fork(minutes, |_| {});
        branch
    }

    /// Creates a message of the assistant itself for `branch`.
    pub(super) fn our_message(&mut self, branch: Branch, text: String, minutes: &mut Minutes) -> Message {
        self.our_labelled_message(branch, (text, Label::PLAIN), minutes)
    }

    /// Like [`Self::own_message`], with the label of quoted text.
    pub(super) fn our_labelled_message(
        &mut self,
        branch: Branch,
        (text, label): (String, Label),
        minutes: &mut Minutes,
    ) -> Message {
        let id = self.next_message();
        let at = minutes.at;
        let to = Address::Branch(branch);
        let message =
            Message { id, at, surface: SurfaceName::House, to, text, images: Vec::new(), mark: None, label };
        minutes.records.push(Record::Message(MessageChange::Received(message.clone())));
        message
    }

    /// Changes the open fork and records it.
    pub(super) fn change_fork(&mut self, minutes: &mut Minutes, change: impl FnOnce(&mut Fork)) {
        let Some(fork) = &mut self.memory.fork else { return };
        change(fork);
        minutes.records.push(Record::Fork(ForkChange::Open(fork.clone())));
    }

    /// IF-26: resets the idle time if `branch` is the fork.
    pub(super) fn note_activity(&mut self, branch: &Branch, minutes: &mut Minutes) {
        let at = minutes.at;
        if self.memory.fork.as_ref().is_some_and(|fork| fork.branch == *branch) {
            self.change_fork(minutes, |fork| (fork.active, fork.asked) = (at, None));
        }
    }

    /// IF-21: stores how the model ends the fork; its last call counts.
    pub(super) fn will_leave(&mut self, exit: Exit, now: &Zoned) -> Vec<Effect> {
        let mut minutes = Minutes::at(now);
        if let Exit::Report(text) = &exit {
            self.report_from_fork(text.clone(), &mut minutes);
        }
        self.change_fork(&mut minutes, |fork| (fork.leaving, fork.until) = (Leaving::So(exit), MessageId(0)));
        minutes.effects()
    }

    /// Returns the effective ending: a turn interrupted by its own fork request is finished, and so
    /// is a background run that ends without text.
    pub(super) fn as_meant(&self, branch: &Branch, ending: Ending) -> Ending {
        let is_run = self.memory.turns.runs.contains_key(branch);
        match ending {
            Ending::Interrupted if self.is_called_aside() => Ending::Finished,
            Ending::Failed(Failure::Unsaid(Unsaid::Empty)) if is_run => Ending::Finished,
            Ending::Interrupted | Ending::Finished | Ending::Failed(_) => ending,
        }
    }
}

fn told(text: &str) -> Answer {
    Answer::Told(text.to_owned())
}

pub(super) fn refused(why: &str) -> (Answer, Vec<Effect>) {
    (Answer::Refused(why.to_owned()), Vec::new())
}
