//! Turn start: takes waiting messages one at a time, appends them and opens their turns.

use std::sync::Arc;

use super::compacting::Compacting;
use super::replying::Arrival;
use super::{Assistant, Errand, Minutes, Owed, Purpose, Running, Sending, Shown, Spot, Start, Tends, Turned};
use crate::conversation::{Branch, Said};
use crate::label::Label;
use crate::record::{Message, MessageChange, Opened, Record, TurnChange};
use crate::turn::TurnId;

impl Assistant {
    /// Starts the next compaction or turn if no turn with the user is active.
    pub(super) fn hear_waiting(&mut self, minutes: &mut Minutes) {
        if self.wants.tends == Tends::Everything {
            self.ring_due(minutes);
            self.end_phrasing(minutes);
        }
        if self.speaking().is_some() || self.wants.tends == Tends::Nothing || self.must_know_files() {
            return self.wait_no_longer(minutes);
        }
        if let Some(wanted) = self.wants.compactions.pop_front() {
            return self.begin_wanted(wanted, minutes);
        }
        self.ask_about_one(minutes);
        self.spare_main(minutes);
        let next = self.memory.messages.waiting.front();
        let next = next.and_then(|next| Some((self.branch_of(next, minutes)?, next.id)));
        if let Some((branch, next)) = next.filter(|(branch, _)| self.is_full(branch)) {
            let attended = self.account(&branch, next).attended;
            return self.begin_compaction(Compacting::by_itself(branch, attended), minutes);
        }
        if let Some(message) = self.memory.messages.waiting.pop_front() {
            self.begin(Arc::new(message), minutes);
        }
    }

    /// Returns the active turn with the user, on main or in the fork. There is at most one.
    pub(super) fn speaking(&self) -> Option<(&Branch, &Running)> {
        let fork = self.memory.fork.as_ref().map(|fork| &fork.branch);
        let on = |branch: &Branch| self.running.get_key_value(branch);
        on(&Branch::Main).or_else(|| fork.and_then(on))
    }

    /// Routes `message` to its branch and starts the turn that answers it.
    pub(super) fn begin(&mut self, message: Arc<Message>, minutes: &mut Minutes) {
        if self.is_away(minutes.at) && self.stood_in(&message, minutes) {
            return self.hear_waiting(minutes);
        }
        match self.arrive(&message, minutes) {
            Some(arrival) => self.begin_on(arrival, message, minutes),
            None => self.hear_waiting(minutes),
        }
    }

    /// Appends `message` to its branch and starts the turn that answers it.
    pub(super) fn begin_on(&mut self, arrival: Arrival, message: Arc<Message>, minutes: &mut Minutes) {
        let Arrival { branch, lead, label } = arrival;
        if branch == Branch::Main {
            self.ensure_main(minutes);
            self.memory.main.before = self.memory.conversation.head(&branch).and_then(Spot::of);
        }
        let (heard, told) = self.heard(&message, &branch, &lead, minutes);
        let known = told.join(label).join(message.label).join(self.begun_with(&branch));
        let Some(entry) = self.say_knowing(&branch, Said::Human(heard), known, minutes) else { return };
        self.hand_over(&branch, entry.id, minutes);
        minutes.records.push(Record::Message(MessageChange::Taken(message.id, entry.id)));
        let turn = self.next_turn();
        // A message from before the start must not wait any longer.
        let owed = if message.id < self.wants.since { Owed::SinceBefore } else { Owed::Now };
        self.open(Turned { turn, branch, message, sending: Sending::First }, owed, minutes);
    }

    /// Returns the label that the prompt of a run inherits from its branch.
    fn begun_with(&self, branch: &Branch) -> Label {
        let begins = self.memory.turns.runs.contains_key(branch);
        if begins { self.label_of(branch) } else { Label::PLAIN }
    }

    pub(super) fn next_turn(&mut self) -> TurnId {
        let turn = self.memory.turns.next;
        self.memory.turns.next = TurnId(turn.0 + 1);
        turn
    }

    /// Records a turn as opened, and starts it.
    pub(super) fn open(&mut self, turned: Turned, owed: Owed, minutes: &mut Minutes) {
        let Turned { turn, branch, message, sending } = turned;
        let answers = message.id;
        let opened = Opened { turn, branch: branch.clone(), answers, at: minutes.at };
        minutes.records.push(Record::Turn(TurnChange::Opened(opened)));
        minutes.shown.push(Shown::Began { turn, branch: branch.clone(), answers });
        if branch == Branch::Main {
            self.limit_reminder(answers, minutes);
        }
        let errand = Errand::Answer(message, sending);
        let account = self.account(&branch, answers);
        self.start(branch, Running::new(turn, errand, account, owed), minutes);
    }

    /// Starts a turn at the head of `branch`.
    pub(super) fn start(&mut self, branch: Branch, running: Running, minutes: &mut Minutes) {
        let Some(from) = self.memory.conversation.head(&branch).and_then(|head| head.entry) else { return };
        let purpose = match &running.errand {
            Errand::Answer(..) => Purpose::Answer,
            Errand::Compact(compacting) => Purpose::Compact(compacting.instructions.clone()),
        };
        let turn = running.turn;
        let account = running.account.clone();
        let seed = self.dice.roll();
        let model = self.model(&branch);
        let thinking = self.thinking(&branch);
        let effort = self.effort(&branch);
        let window = self.window_on(&branch);
        self.running.insert(branch.clone(), running);
        let human = self.human_name().to_owned();
        minutes.starts.push(Start {
            turn,
            branch,
            purpose,
            account,
            model,
            thinking,
            effort,
            window,
            human,
            from,
            seed,
        });
        self.hurry(minutes);
    }
}
