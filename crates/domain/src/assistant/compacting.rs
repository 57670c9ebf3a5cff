//! Compaction: a summary replaces the conversation in the model's context; it can be undone.
//!
//! Started by the user, by a conversation that has grown too long, or by a turn that no longer
//! fits. New messages wait until it has ended. If no summary passes the checks, nothing changes.

use std::sync::Arc;

use jiff::Zoned;

use super::forking::refused;
use super::{
    Answer, Assistant, Changed, Compaction, Effect, Ended, Errand, Left, Minutes, Owed, Running, Sending,
    Shown, Spot, Turned,
};
use crate::compaction::{Report, Room, Summary};
use crate::context::{self, Window};
use crate::conversation::{Branch, Heard, Said, Usage};
use crate::cost::{Account, Attended};
use crate::failure::{Failure, Unsaid};
use crate::record::{Message, Record, SessionChange};
use crate::turn::{Ending, TurnId};

/// A compaction in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Compacting {
    branch: Branch,
    /// Instructions of the user for the summary.
    pub instructions: String,
    /// The turn that ran out of context and waits for this compaction, if any.
    stuck: Option<Arc<Stuck>>,
    then: Then,
    /// Whether the user waits for the result.
    attended: Attended,
}

/// What follows a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// The conversation continues.
    GoesOn,
    /// The background run on the branch ends.
    RunEnds,
}

/// A turn that ran out of context, and how it ends if the compaction fails.
#[derive(Debug, PartialEq, Eq)]
struct Stuck {
    turn: TurnId,
    branch: Branch,
    message: Arc<Message>,
    ending: Ending,
    usage: Usage,
}

impl Stuck {
    fn turned(&self, sending: Sending) -> Turned {
        let branch = self.branch.clone();
        let message = Arc::clone(&self.message);
        Turned { turn: self.turn, branch, message, sending }
    }
}

impl Compacting {
    /// An automatic compaction of `branch` without instructions.
    pub fn by_itself(branch: Branch, attended: Attended) -> Self {
        Self { branch, instructions: String::new(), stuck: None, then: Then::GoesOn, attended }
    }

    /// Returns the turn that waits for it, and the message which that turn answers.
    pub fn stuck_turn(&self) -> Option<(TurnId, Arc<Message>)> {
        self.stuck.as_ref().map(|stuck| (stuck.turn, Arc::clone(&stuck.message)))
    }
}

/// A compaction requested while a turn was active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    turn: TurnId,
    instructions: String,
}

impl Assistant {
    /// Handles `/compact`. An active turn is finished first.
    pub(super) fn compact(&mut self, instructions: String, now: &Zoned) -> (Answer, Vec<Effect>) {
        if self.memory.conversation.head(&Branch::Main).and_then(|head| head.entry).is_none() {
            return refused("there is nothing to compact: nothing was said yet.");
        }
        if !self.wants.compactions.is_empty() || self.is_compacting() {
            return refused("i am compacting already.");
        }
        if let Some(why) = self.why_it_waits() {
            return refused(&format!("{why}, so i can't sum anything up. /retry tries it again now."));
        }
        let turn = self.next_turn();
        self.wants.compactions.push_back(Wanted { turn, instructions });
        let mut minutes = Minutes::at(now);
        if self.memory.fork.is_some() {
            let text = "I'm compacting the main conversation. This side conversation stays as it is.";
            minutes.shown.push(Shown::Notice(text.to_owned()));
        }
        self.hear_waiting(&mut minutes);
        self.hurry(&mut minutes);
        (Answer::Begun(turn), minutes.effects())
    }

    fn is_compacting(&self) -> bool {
        let errand = self.running.get(&Branch::Main).map(|running| &running.errand);
        matches!(errand, Some(Errand::Compact(_)))
    }

    pub(super) fn is_full(&self, branch: &Branch) -> bool {
        let said = self.memory.conversation.head(branch).is_some_and(|head| head.entry.is_some());
        let filled = self.memory.turns.filled.get(branch).copied().unwrap_or(0);
        said && self.room_on(branch).is_full(filled, self.wants.refused.get(branch).copied())
    }

    /// Returns the context window for `branch`: the configured limit, or less if the model's window
    /// is smaller or if its prices rise above a prompt length.
    pub(super) fn room_on(&self, branch: &Branch) -> Room {
        let model = self.model(branch);
        let priced = model.as_deref().unwrap_or(&self.choices.usual);
        let cheap = self.purse.prices.long_prompt(priced);
        let named = model.as_deref().unwrap_or_else(|| self.choices.model_name(None));
        let window = self.choices.abilities_of(named).window;
        let limits = [Some(self.room.limit), cheap, window];
        Room { limit: limits.into_iter().flatten().min().unwrap_or(self.room.limit), ..self.room }
    }

    /// Returns the context window of the model on `branch`, as reported by its vendor or else as
    /// configured.
    pub(super) fn window_on(&self, branch: &Branch) -> Window {
        let model = self.model(branch);
        let named = model.as_deref().unwrap_or_else(|| self.choices.model_name(None));
        Window(self.choices.abilities_of(named).window.unwrap_or(self.room.limit))
    }

    pub(super) fn begin_wanted(&mut self, wanted: Wanted, minutes: &mut Minutes) {
        let by_itself = Compacting::by_itself(Branch::Main, Attended::Waited);
        let compacting = Compacting { instructions: wanted.instructions, ..by_itself };
        self.begin_numbered(wanted.turn, compacting, minutes);
    }

    /// RP-25: compacts the session of a persistent routine, after which its run ends.
    pub(super) fn begin_last_compaction(&mut self, branch: Branch, words: String, minutes: &mut Minutes) {
        let by_itself = Compacting::by_itself(branch, Attended::Unattended);
        self.begin_compaction(Compacting { instructions: words, then: Then::RunEnds, ..by_itself }, minutes);
    }

    pub(super) fn begin_compaction(&mut self, compacting: Compacting, minutes: &mut Minutes) {
        let turn = self.next_turn();
        self.begin_numbered(turn, compacting, minutes);
    }

    fn begin_numbered(&mut self, turn: TurnId, compacting: Compacting, minutes: &mut Minutes) {
        let branch = compacting.branch.clone();
        let tokens = self.memory.turns.filled.get(&branch).copied();
        minutes.shown.push(Shown::Compaction(Compaction::Began { turn, branch: branch.clone(), tokens }));
        let account = Account::compaction(compacting.attended);
        self.start(branch, Running::new(turn, Errand::Compact(compacting), account, Owed::Now), minutes);
    }

    /// CP-6: starts a compaction for a turn that no longer fits. The turn stays open, so that a
    /// restart resumes it.
    pub(super) fn make_room(&mut self, turned: Turned, ended: Ended, minutes: &mut Minutes) {
        let Turned { turn, branch, message, .. } = turned;
        let ending = ended.ending;
        let usage = ended.usage;
        let by_itself = Compacting::by_itself(branch.clone(), self.account(&branch, message.id).attended);
        let stuck = Arc::new(Stuck { turn, branch, message, ending, usage });
        self.begin_compaction(Compacting { stuck: Some(stuck), ..by_itself }, minutes);
    }

    pub(super) fn compaction_ended(
        &mut self,
        turn: TurnId,
        compacting: Compacting,
        ended: Ended,
        minutes: &mut Minutes,
    ) {
        let outcome = match ended.left {
            Left::Summary(summary) => {
                // Calls of unattended compactions have been recorded already.
                let last = ended.spent.last().map_or(ended.usage, |call| call.usage);
                Ok(self.put_in_place(&compacting.branch, summary, last, minutes))
            }
            Left::Said(_) => Err(self.leave_as_it_is(&compacting, &ended.ending)),
        };
        let made = outcome.is_ok();
        let ending = ended.ending;
        let branch = compacting.branch;
        let ended = Compaction::Ended { turn, branch: branch.clone(), outcome };
        minutes.shown.push(Shown::Compaction(ended));
        if compacting.then == Then::RunEnds {
            self.compacted_last(&branch);
            self.run_ended(&branch, &Ending::Finished, minutes);
        }
        match (compacting.stuck, ending) {
            (None, _) => {}
            (Some(stuck), _) if made => self.go_on(&stuck, minutes),
            (Some(stuck), Ending::Failed(why @ Failure::BadKey(_))) => {
                self.hold(stuck.turned(Sending::First), &why, minutes);
            }
            // A compaction stopped by the daily limit ends the turn with that limit as the reason.
            (Some(stuck), ending) if ending.is_at_limit() => self.give_up(&stuck, ending, minutes),
            (Some(stuck), _) => self.give_up(&stuck, stuck.ending.clone(), minutes),
        }
    }

    /// CP-3, IF-17: appends the summary under a new session id; on main this is one `compacted`
    /// event.
    fn put_in_place(
        &mut self,
        branch: &Branch,
        summary: Summary,
        last: Usage,
        minutes: &mut Minutes,
    ) -> String {
        let at = minutes.at;
        let session = self.dice.session();
        let conversation = &mut self.memory.conversation;
        if let Some((entry, moved)) = conversation.compact(branch, summary.text, session.clone(), at) {
            if *branch == Branch::Main {
                self.can_undo(Changed::Compacted(entry.id), &moved);
            }
            minutes.records.push(Record::Said(branch.clone(), entry.clone()));
            minutes.records.push(Record::Moved(moved));
            if *branch == Branch::Main {
                minutes.records.push(Record::Session(SessionChange::Saved(session, at)));
            }
            minutes.shown.push(Shown::Said { branch: branch.clone(), entry });
        }
        let filled = self.memory.turns.filled.remove(branch);
        self.wants.refused.remove(branch);
        let tokens = Some(last.read()).filter(|tokens| *tokens > 0).or(filled);
        let age = self.memory.main.created.map(|created| at.duration_since(created));
        Report { turns: summary.turns, age, tokens }.line()
    }

    /// Handles a failed compaction: no automatic retry before there is more to summarize.
    fn leave_as_it_is(&mut self, compacting: &Compacting, ending: &Ending) -> String {
        let branch = &compacting.branch;
        let filled = self.memory.turns.filled.get(branch).copied().unwrap_or(0);
        // A daily limit stops unattended work only: the user may still compact the same content.
        if !ending.is_at_limit() {
            self.wants.refused.insert(branch.clone(), filled);
        }
        match ending {
            // The notice of the waiting turn gives the reason.
            Ending::Failed(Failure::BadKey(_)) if compacting.stuck.is_some() => "not compacted.".to_owned(),
            Ending::Failed(Failure::Unsaid(Unsaid::TooLong)) => {
                "not compacted: the summary grew longer than a reply may be (model.max_tokens).".to_owned()
            }
            Ending::Failed(failure) => format!("not compacted. {failure}"),
            Ending::Interrupted => "not compacted: you stopped it.".to_owned(),
            Ending::Finished => "not compacted.".to_owned(),
        }
    }

    /// CP-6, CP-7, CP-9: sends the message of the waiting turn to the model once more. It was shown
    /// before, so it is repeated as a note.
    fn go_on(&mut self, stuck: &Stuck, minutes: &mut Minutes) {
        let turned = stuck.turned(Sending::Again);
        if turned.branch == Branch::Main {
            self.memory.main.before = self.memory.conversation.head(&Branch::Main).and_then(Spot::of);
        }
        let (lead, quoted) = self.quoted(&turned.message);
        let (heard, told) = self.heard(&turned.message, &turned.branch, &lead, minutes);
        let again = Heard { images: heard.images.clone(), ..Heard::note(context::heard(&heard)) };
        let known = told.join(quoted);
        if let Some(entry) = self.say_knowing(&turned.branch, Said::Human(again), known, minutes) {
            self.hand_over(&turned.branch.clone(), entry.id, minutes);
        }
        self.open(turned, Owed::SinceBefore, minutes);
    }

    /// Ends the waiting turn with the error it would have had without the compaction.
    fn give_up(&mut self, stuck: &Stuck, ending: Ending, minutes: &mut Minutes) {
        let Stuck { turn, branch, message, usage, .. } = stuck;
        let ending = self.asked_settled(message.id, ending, minutes);
        minutes.close(*turn, ending.clone(), *usage);
        self.run_ended(branch, &ending, minutes);
        let answers = message.id;
        minutes.shown.push(Shown::Ended { turn: *turn, branch: branch.clone(), answers, ending });
    }
}
