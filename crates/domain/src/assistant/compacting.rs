//! Compacting: a summary takes the place of what was said, and can be taken back.
//!
//! It is begun by the human, by a conversation that has grown too long, or by a turn that no longer fits. New
//! words wait for it and are answered afterwards, once. If no summary is good enough, nothing changes.

use std::sync::Arc;

use jiff::{Timestamp, Zoned};

use super::{
    Answer, Assistant, Compaction, Effect, Ended, Errand, Left, Minutes, Owed, Running, Sending, Shown,
    Turned,
};
use crate::compaction::{Report, Summary};
use crate::context;
use crate::conversation::{Branch, EntryId, Head, Heard, Said, Usage};
use crate::cost::Account;
use crate::failure::{Failure, Unsaid};
use crate::record::{Record, SessionChange};
use crate::turn::{Ending, TurnId};

/// A compaction that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Compacting {
    /// What the human wants minded.
    pub instructions: String,
    /// The turn that waits for it, if one ran out of room.
    stuck: Option<Arc<Stuck>>,
}

/// A turn that ran out of room, and how it ends if none is made.
#[derive(Debug, PartialEq, Eq)]
struct Stuck {
    turn: TurnId,
    message: Arc<crate::record::Message>,
    ending: Ending,
    usage: Usage,
}

impl Stuck {
    fn turned(&self, sending: Sending) -> Turned {
        Turned { turn: self.turn, branch: Branch::Main, message: Arc::clone(&self.message), sending }
    }
}

impl Compacting {
    /// One that nobody asked for.
    pub fn by_itself() -> Self {
        Self { instructions: String::new(), stuck: None }
    }
}

/// A compaction that was asked for while somebody spoke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    turn: TurnId,
    instructions: String,
}

/// A compaction that can be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Where main was before.
    pub from: Head,
    /// The entry of the summary.
    pub summary: EntryId,
    /// When.
    pub at: Timestamp,
}

impl Assistant {
    /// The human wants the conversation summed up. If somebody speaks, that is heard to its end first.
    pub(super) fn compact(&mut self, instructions: String, now: &Zoned) -> (Answer, Vec<Effect>) {
        if self.memory.conversation.head(&Branch::Main).and_then(|head| head.entry).is_none() {
            return refused("there is nothing to compact: nothing was said yet.");
        }
        if !self.wants.compactions.is_empty() || self.is_compacting() {
            return refused("i am compacting already.");
        }
        if self.waits_for_key() {
            return refused("the model refuses the key, so i can't sum anything up before it takes one.");
        }
        let turn = self.next_turn();
        self.wants.compactions.push_back(Wanted { turn, instructions });
        let mut minutes = Minutes::at(now);
        self.hear_waiting(&mut minutes);
        (Answer::Begun(turn), minutes.effects())
    }

    fn is_compacting(&self) -> bool {
        let errand = self.running.get(&Branch::Main).map(|running| &running.errand);
        matches!(errand, Some(Errand::Compact(_)))
    }

    pub(super) fn is_full(&self) -> bool {
        let filled = self.memory.filled.get(&Branch::Main).copied().unwrap_or(0);
        self.room.is_full(filled, self.wants.refused)
    }

    pub(super) fn begin_wanted(&mut self, wanted: Wanted, minutes: &mut Minutes) {
        let compacting = Compacting { instructions: wanted.instructions, stuck: None };
        self.begin_numbered(wanted.turn, compacting, minutes);
    }

    pub(super) fn begin_compaction(&mut self, compacting: Compacting, minutes: &mut Minutes) {
        let turn = self.next_turn();
        self.begin_numbered(turn, compacting, minutes);
    }

    fn begin_numbered(&mut self, turn: TurnId, compacting: Compacting, minutes: &mut Minutes) {
        let branch = Branch::Main;
        let tokens = self.memory.filled.get(&branch).copied();
        minutes.shown.push(Shown::Compaction(Compaction::Began { turn, branch: branch.clone(), tokens }));
        let errand = Errand::Compact(compacting);
        let (account, owed, unanswered) = (Account::compaction(), Owed::Now, Vec::new());
        self.start(branch, Running { turn, errand, account, owed, unanswered }, minutes);
    }

    /// CP-6: a turn that no longer fits waits until there is room. It stays open, so that it is not forgotten.
    pub(super) fn make_room(&mut self, turned: Turned, ended: Ended, minutes: &mut Minutes) {
        let Turned { turn, message, .. } = turned;
        let stuck = Arc::new(Stuck { turn, message, ending: ended.ending, usage: ended.usage });
        self.begin_compaction(Compacting { instructions: String::new(), stuck: Some(stuck) }, minutes);
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
                let last = ended.spent.last().map(|call| call.usage).unwrap_or_default();
                Ok(self.put_in_place(summary, last, minutes))
            }
            Left::Said(_) => Err(self.leave_as_it_is(&ended.ending)),
        };
        let made = outcome.is_ok();
        minutes.shown.push(Shown::Compaction(Compaction::Ended { turn, branch: Branch::Main, outcome }));
        match (compacting.stuck, ended.ending) {
            (None, _) => {}
            (Some(stuck), _) if made => self.go_on(&stuck, minutes),
            (Some(stuck), Ending::Failed(why @ Failure::BadKey(_))) => {
                self.hold(stuck.turned(Sending::First), &why, minutes);
            }
            (Some(stuck), _) => give_up(&stuck, minutes),
        }
    }

    /// CP-3: the summary is said under a new session, and that is one `compacted` event.
    fn put_in_place(&mut self, summary: Summary, last: Usage, minutes: &mut Minutes) -> String {
        let (at, session) = (minutes.at, self.dice.session());
        let conversation = &mut self.memory.conversation;
        if let Some((entry, moved)) = conversation.compact(&Branch::Main, summary.text, session.clone(), at) {
            self.memory.main.compacted =
                moved.from.clone().map(|from| Compacted { from, summary: entry.id, at });
            minutes.records.push(Record::Said(Branch::Main, entry.clone()));
            minutes.records.push(Record::Moved(moved));
            minutes.records.push(Record::Session(SessionChange::Saved(session, at)));
            minutes.shown.push(Shown::Said { branch: Branch::Main, entry });
        }
        let filled = self.memory.filled.remove(&Branch::Main);
        self.wants.refused = None;
        let tokens = Some(last.read()).filter(|tokens| *tokens > 0).or(filled);
        let age = self.memory.main.created.map(|created| at.duration_since(created));
        Report { turns: summary.turns, age, tokens }.line()
    }

    /// No summary was good enough: it is not tried again by itself before there is more to sum up.
    fn leave_as_it_is(&mut self, ending: &Ending) -> String {
        self.wants.refused = Some(self.memory.filled.get(&Branch::Main).copied().unwrap_or(0));
        match ending {
            // The turn that waits for it tells why.
            Ending::Failed(Failure::BadKey(_)) => "not compacted.".to_owned(),
            Ending::Failed(Failure::Unsaid(Unsaid::TooLong)) => {
                "not compacted: the summary grew longer than a reply may be (model.max_tokens).".to_owned()
            }
            Ending::Failed(failure) => format!("not compacted. {failure}"),
            Ending::Interrupted => "not compacted: you stopped it.".to_owned(),
            Ending::Finished => "not compacted.".to_owned(),
        }
    }

    /// CP-6, CP-7, CP-9: the words are put to the model again, once, and nobody interrupts the answer. They were
    /// shown before, so now they stand in a note.
    fn go_on(&mut self, stuck: &Stuck, minutes: &mut Minutes) {
        let turned = stuck.turned(Sending::Again);
        self.memory.main.before = self.memory.conversation.head(&Branch::Main).and_then(|head| head.entry);
        let lead = self.quoted(&turned.message);
        let heard = self.heard(&turned.message, (&turned.branch, &lead), minutes);
        let again = Heard { images: heard.images.clone(), ..Heard::note(context::heard(&heard)) };
        if let Some(entry) = self.say_on(&turned.branch, Said::Human(again), minutes) {
            self.hand_over(&turned.branch.clone(), entry.id, minutes);
        }
        self.open(turned, Owed::SinceBefore, minutes);
    }

    /// Takes the last compaction back. What was said since stays said.
    pub(super) fn undo(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        if self.speaking().is_some() {
            return refused("i am in the middle of something. stop me, or ask again when i am done.");
        }
        let Some(Compacted { from, summary, .. }) = self.memory.main.compacted.take() else {
            return refused("there is nothing to take back: the last thing that happened was no compaction.");
        };
        let mut minutes = Minutes::at(now);
        let head = self.memory.conversation.head(&Branch::Main).cloned();
        let Some(here) = head else { return refused("there is no conversation to take anything back in.") };
        let to = match here.entry == Some(summary) {
            true => from.clone(),
            false => {
                let recalled = self.say_on(&Branch::Main, Said::Recalled(summary), &mut minutes);
                Head { entry: recalled.map(|entry| entry.id), session: from.session.clone() }
            }
        };
        let moved = self.memory.conversation.undo(&Branch::Main, to, minutes.at);
        minutes.records.push(Record::Moved(moved));
        let at = minutes.at;
        let (to, from) = (from.session, Some(here.session));
        minutes.records.push(Record::Session(SessionChange::Swapped { to, from, at }));
        self.memory.filled.remove(&Branch::Main);
        minutes.shown.push(Shown::Compaction(Compaction::Undone { branch: Branch::Main, summary }));
        (Answer::Told("taken back: i remember every word again.".to_owned()), minutes.effects())
    }
}

/// There is no room: the turn ends as it would have.
fn give_up(stuck: &Stuck, minutes: &mut Minutes) {
    let Stuck { turn, message, ending, usage } = stuck;
    minutes.close(*turn, ending.clone(), *usage);
    let (answers, ending) = (message.id, ending.clone());
    minutes.shown.push(Shown::Ended { turn: *turn, branch: Branch::Main, answers, ending });
}

fn refused(why: &str) -> (Answer, Vec<Effect>) {
    (Answer::Refused(why.to_owned()), Vec::new())
}
