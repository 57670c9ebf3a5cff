//! Leaving a fork: its three exits, and the idle timeout.

use jiff::{Timestamp, Zoned};

use super::forking::refused;
use super::holding::REFUSES;
use super::{Answer, Aside, Assistant, Changed, Effect, Minutes, Owed, Shown};
use crate::context;
use crate::conversation::{Branch, Why};
use crate::fork::{Exit, Fork, Leaving, Quiet};
use crate::record::{Address, ForkChange, Message, MessageChange, MessageId, Record, SessionChange};

/// An exit command of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Promotes the fork to main.
    Save,
    /// Leaves this report for main; if empty, the model writes it.
    Report(String),
    /// Discards the fork.
    Drop,
}

/// The cause of a fork's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    /// Requested by the user or the model.
    Wanted,
    /// Idle timeout.
    Quiet,
    /// A `/clear`.
    StartedOver,
}

impl Occasion {
    /// Returns the reason and the notice for a discarded fork.
    fn told(self) -> (Why, String) {
        let (why, text) = match self {
            Self::Quiet => (Why::Lapsed, "nobody had spoken for a while."),
            Self::StartedOver => (Why::Dropped, "we started over."),
            Self::Wanted => (Why::Dropped, ""),
        };
        (why, text.to_owned())
    }
}

impl Assistant {
    /// Returns the time at which an idle fork needs attention.
    pub(super) fn fork_wakes(&self, now: Timestamp) -> Option<Timestamp> {
        let fork = self.memory.fork.as_ref().filter(|_| self.speaking().is_none())?;
        match fork.quiet(now) {
            Quiet::Until(time) => Some(time),
            Quiet::Ask | Quiet::End => Some(now),
        }
    }

    /// IF-24, IF-25: handles an exit command. It takes effect once earlier messages are answered,
    /// or after the model has written the report; a discard interrupts the answer.
    pub(super) fn leave_asked(&mut self, way: Way, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some(fork) = self.memory.fork.clone() else {
            return refused("we are not in a side conversation. /fork starts one.");
        };
        let held = self.running.get(&fork.branch).is_some_and(|running| running.owed == Owed::Held);
        let mut minutes = Minutes::at(now);
        let mut interrupt = None;
        let leaving = match way {
            Way::Report(words) if words.trim().is_empty() && held => {
                let why = self.why_it_waits().unwrap_or(REFUSES);
                return refused(&format!(
                    "{why}, so it can't sum this up. use your own words: /report WORDS"
                ));
            }
            Way::Report(words) if words.trim().is_empty() => {
                let asked = context::REPORT_WANTED.to_owned();
                let message = self.our_message(fork.branch.clone(), asked, &mut minutes);
                self.memory.messages.waiting.push_back(message);
                Leaving::WithReport
            }
            Way::Report(words) => {
                self.report_from_fork(words.trim().to_owned(), &mut minutes);
                Leaving::So(Exit::Report(words.trim().to_owned()))
            }
            Way::Save => Leaving::So(Exit::Save),
            Way::Drop => {
                interrupt = self.interruption().filter(|_| self.running.contains_key(&fork.branch));
                Leaving::So(Exit::Drop)
            }
        };
        if held {
            self.cut_short(&fork.branch, &mut minutes);
        }
        // Behind a blocked turn, earlier messages would never be answered.
        let until = if held { MessageId(0) } else { self.memory.messages.next };
        self.change_fork(&mut minutes, |fork| (fork.leaving, fork.until) = (leaving, until));
        let (answer, effects) = self.turn_now(minutes);
        match interrupt {
            Some(interrupt) => (Answer::Noted, effects.into_iter().chain([interrupt]).collect()),
            None => (answer, effects),
        }
    }

    pub(super) fn leave_as_wanted(&mut self, exit: Exit, minutes: &mut Minutes) {
        self.leave(exit, Occasion::Wanted, minutes);
    }

    /// Stays in the fork because the model wrote no report, so that nothing is lost.
    pub(super) fn stay(&mut self, minutes: &mut Minutes) {
        let text = "nothing was reported, so we are still in the side conversation. leave it with your own words \
                    (/report WORDS), or with /save or /exit.";
        minutes.shown.push(Shown::Notice(text.to_owned()));
        self.change_fork(minutes, |fork| (fork.leaving, fork.until) = (Leaving::Not, MessageId(0)));
    }

    /// IF-19, IF-20: ends the fork with one of its three exits.
    pub(super) fn leave(&mut self, exit: Exit, occasion: Occasion, minutes: &mut Minutes) {
        let Some(fork) = self.memory.fork.take() else { return };
        self.memory.chosen.modes.fork = None;
        self.drop_waiting(&fork.branch, minutes);
        let (why, note) = match exit {
            Exit::Save => self.promote(&fork, minutes),
            Exit::Report(text) => (Why::Reported, text),
            Exit::Drop => occasion.told(),
        };
        if why != Why::Promoted {
            let ended = self.memory.conversation.end(&fork.branch, why, minutes.at);
            minutes.records.extend(ended.map(Record::Moved));
        }
        self.memory.turns.filled.remove(&fork.branch);
        minutes.records.push(Record::Fork(ForkChange::Ended(fork.branch.clone())));
        minutes.shown.push(Shown::Aside(Aside::Ended { branch: fork.branch, why, note }));
    }

    /// MC-25, IF-22: moves main to the fork's head, and marks the updates seen in the fork as read.
    fn promote(&mut self, fork: &Fork, minutes: &mut Minutes) -> (Why, String) {
        let session =
            |branch: &Branch| self.memory.conversation.head(branch).map(|head| head.session.clone());
        let from = session(&Branch::Main);
        let to = session(&fork.branch);
        let at = minutes.at;
        let lost = self.lost_by_saving(fork);
        let outside = if self.label_of(&fork.branch).is_tainted() {
            " words from outside are in it, so i ask you before i change or send anything."
        } else {
            ""
        };
        let Some(moves) = self.memory.conversation.promote(&fork.branch, at) else {
            return (Why::Dropped, "there was nothing to save.".to_owned());
        };
        self.can_undo(Changed::Promoted, &moves[0]);
        minutes.records.extend(moves.map(Record::Moved));
        let swapped = to.map(|to| SessionChange::Swapped { to, from, at });
        minutes.records.extend(swapped.map(Record::Session));
        if let Some(seen) = fork.seen {
            self.read_up_to(seen, None, minutes);
        }
        self.memory.turns.filled.remove(&Branch::Main);
        let filled = self.memory.turns.filled.remove(&fork.branch);
        self.memory.turns.filled.extend(filled.map(|filled| (Branch::Main, filled)));
        (Why::Promoted, format!("it is the main conversation now.{lost}{outside} /undo takes that back."))
    }

    /// Returns a remark on entries of main that the promoted fork does not contain; they stay in
    /// the tree.
    fn lost_by_saving(&self, fork: &Fork) -> &'static str {
        let main = self.memory.conversation.head(&Branch::Main).and_then(|head| head.entry);
        match (fork.root, main) {
            (root, main) if root == main => "",
            (_, None) => "",
            (None, Some(_)) => " it knows nothing of what we said before; that stays in the tree.",
            (Some(_), Some(_)) => " what we said since it began is not part of it; that stays in the tree.",
        }
    }

    pub(super) fn drop_waiting(&mut self, branch: &Branch, minutes: &mut Minutes) {
        let meant = |message: &Message| matches!(&message.to, Address::Branch(to) if to == branch);
        let waiting = &mut self.memory.messages.waiting;
        let dropped: Vec<MessageId> =
            waiting.iter().filter(|message| meant(message)).map(|message| message.id).collect();
        waiting.retain(|message| !meant(message));
        for id in dropped {
            minutes.records.push(Record::Message(MessageChange::Dropped(id)));
            self.asked_dropped(id, minutes);
        }
    }

    /// IF-27 to IF-32: asks about an idle fork, and later ends it. This uses no model.
    pub(super) fn tend_fork(&mut self, minutes: &mut Minutes) {
        let fork = self.memory.fork.clone().filter(|_| self.speaking().is_none());
        match fork.as_ref().map(|fork| (fork, fork.quiet(minutes.at))) {
            None | Some((_, Quiet::Until(_))) => {}
            Some((fork, Quiet::Ask)) => {
                let idle = fork.idle_minutes;
                let at = minutes.at;
                let text = format!(
                    "this side conversation has been quiet for {idle} minutes. say something to keep it, or leave \
                     it: /save, /report or /exit. in {idle} minutes it ends by itself."
                );
                minutes.shown.push(Shown::Notice(text));
                self.change_fork(minutes, |fork| fork.asked = Some(at));
            }
            Some((fork, Quiet::End)) => {
                let exit = match &fork.leaving {
                    Leaving::So(exit) => exit.clone(),
                    Leaving::Not | Leaving::WithReport => Exit::Drop,
                };
                self.leave(exit, Occasion::Quiet, minutes);
            }
        }
    }
}
