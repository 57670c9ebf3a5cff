//! Stepping aside: one side conversation at a time, three ways out, and an end for one that falls quiet.

use jiff::{Timestamp, Zoned};

use super::{Answer, Aside, Assistant, Effect, Ending, Errand, Minutes, Shown};
use crate::context;
use crate::conversation::{Branch, EntryId, Head, Usage, Why};
use crate::failure::{Failure, Unsaid};
use crate::fork::{Exit, Fork, Leaving, Quiet};
use crate::record::{Address, ForkChange, Message, MessageChange, Record, SessionChange, SurfaceName};
use crate::wish::Asked;

/// How the human wants to leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// The side conversation becomes the main one.
    Save,
    /// With these words for main; the model finds them, if there are none.
    Report(String),
    /// Nothing is kept.
    Drop,
}

/// Where a fork begins, and as what.
pub(super) struct Beginning {
    /// The place in the tree, and the session that is spoken under.
    pub(super) head: Head,
    /// The entry of main on the way there: none, if there is nothing of main.
    pub(super) root: Option<EntryId>,
    /// What was asked for.
    pub(super) asked: Asked,
}

/// What brings the end of a fork about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occasion {
    /// Somebody wants it.
    Wanted,
    /// Nobody has spoken in it for long.
    Quiet,
    /// The whole conversation starts over.
    StartedOver,
}

impl Occasion {
    /// How a fork of which nothing is kept came to its end, and what there is to say of that.
    fn told(self, fork: &Fork) -> (Why, String) {
        let (why, text) = match (self, &fork.leaving) {
            (Self::Quiet, _) => (Why::Lapsed, "nobody had spoken for a while."),
            (Self::StartedOver, _) => (Why::Dropped, "we started over."),
            (Self::Wanted, Leaving::WithReport) => (Why::Dropped, "nothing was reported."),
            (Self::Wanted, Leaving::Not | Leaving::So(_)) => (Why::Dropped, ""),
        };
        (why, text.to_owned())
    }
}

impl Assistant {
    /// When the assistant wants to be woken.
    pub fn wakes(&self, now: Timestamp) -> Option<Timestamp> {
        let fork = self.memory.fork.as_ref().filter(|_| self.speaking().is_none())?;
        match fork.quiet(now) {
            Quiet::Until(time) => Some(time),
            Quiet::Ask | Quiet::End => Some(now),
        }
    }

    /// IF-7: the human steps aside. IF-6: this is decided in one place, one thing after the other.
    pub(super) fn fork(&mut self, topic: String, now: &Zoned) -> (Answer, Vec<Effect>) {
        if self.memory.fork.is_some() {
            return refused("we are in a side conversation already. end it first: /save, /report or /exit.");
        }
        let topic = Some(topic).filter(|topic| !topic.trim().is_empty());
        self.wants.entering = Some(Asked { topic, idle_minutes: None });
        self.turn_now(Minutes::at(now))
    }

    /// Enters or leaves at once, or as soon as the turn that goes on is stopped.
    fn turn_now(&mut self, mut minutes: Minutes) -> (Answer, Vec<Effect>) {
        let interrupt = self.interruption();
        self.turn_around(&mut minutes);
        self.hear_waiting(&mut minutes);
        (Answer::Noted, minutes.effects().into_iter().chain(interrupt).collect())
    }

    /// MC-7: who compacts is not interrupted.
    fn interruption(&self) -> Option<Effect> {
        let (_, running) = self.speaking()?;
        match running.errand {
            Errand::Answer(..) => Some(Effect::Interrupt(running.turn)),
            Errand::Compact(_) => None,
        }
    }

    /// IF-9: after a turn, whoever asked to enter or to leave does so.
    pub(super) fn turn_around(&mut self, minutes: &mut Minutes) {
        if self.speaking().is_some() {
            return;
        }
        match (self.wants.entering.take(), &self.memory.fork) {
            (Some(asked), None) => self.enter(asked, minutes),
            // The words that ask for a report are heard first.
            (_, Some(fork)) if self.waits_for(&fork.branch) => {}
            (_, Some(fork)) => {
                let exit = match fork.leaving.clone() {
                    Leaving::Not => return self.change_fork(minutes, |_| {}),
                    Leaving::So(exit) => exit,
                    Leaving::WithReport => Exit::Drop,
                };
                self.leave(exit, Occasion::Wanted, minutes);
            }
            (None, None) => {}
        }
    }

    /// IF-4, IF-12: a fork of main, and the first words in it.
    fn enter(&mut self, asked: Asked, minutes: &mut Minutes) {
        self.ensure_main(minutes);
        let root = self.memory.conversation.head(&Branch::Main).and_then(|head| head.entry);
        let head = Head { entry: root, session: self.dice.session() };
        let words = context::fork_started(asked.topic.as_deref());
        let branch = self.open_fork(Beginning { head, root, asked }, minutes);
        self.say_ourselves(branch, words, minutes);
    }

    /// IF-16: a branch of its own, and an event of its own.
    pub(super) fn open_fork(&mut self, beginning: Beginning, minutes: &mut Minutes) -> Branch {
        let Beginning { head, root, asked } = beginning;
        let (branch, at) = (self.dice.branch(), minutes.at);
        let from = self.memory.conversation.head(&Branch::Main).map(|head| head.session.clone());
        let forked = SessionChange::Forked { fork: head.session.clone(), from, at };
        let moved = self.memory.conversation.branch_off(branch.clone(), head, at);
        minutes.records.push(Record::Moved(moved));
        minutes.records.push(Record::Session(forked));
        minutes.shown.push(Shown::Fork(Aside::Began { branch: branch.clone(), topic: asked.topic.clone() }));
        self.memory.fork = Some(Fork::begun(branch.clone(), root, asked, at));
        self.change_fork(minutes, |_| {});
        branch
    }

    /// Puts words of our own before everything that waits.
    fn say_ourselves(&mut self, branch: Branch, text: String, minutes: &mut Minutes) {
        let (id, to) = (self.next_message(), Address::Branch(branch));
        let (at, surface, images) = (minutes.at, SurfaceName::House, Vec::new());
        let message = Message { id, at, surface, to, text, images };
        minutes.records.push(Record::Message(MessageChange::Received(message.clone())));
        self.memory.messages.waiting.push_front(message);
    }

    /// Whether words wait that are meant for `branch`.
    fn waits_for(&self, branch: &Branch) -> bool {
        self.memory.messages.waiting.iter().any(|next| is_meant_for(next, branch))
    }

    /// Something happened in the fork, and how it stands is written down.
    pub(super) fn change_fork(&mut self, minutes: &mut Minutes, change: impl FnOnce(&mut Fork)) {
        let Some(fork) = &mut self.memory.fork else { return };
        fork.active = minutes.at;
        change(fork);
        minutes.records.push(Record::Fork(ForkChange::Open(fork.clone())));
    }

    /// IF-21: the model says how the fork ends; its last word counts.
    pub(super) fn will_leave(&mut self, exit: Exit, now: &Zoned) -> Vec<Effect> {
        let mut minutes = Minutes::at(now);
        self.change_fork(&mut minutes, |fork| fork.leaving = Leaving::So(exit));
        minutes.effects()
    }

    /// IF-24, IF-25: the human leaves, now, or after the model has found the words.
    pub(super) fn leave_asked(&mut self, way: Way, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some(fork) = self.memory.fork.clone() else {
            return refused("we are not in a side conversation. /fork starts one.");
        };
        let mut minutes = Minutes::at(now);
        let leaving = match way {
            Way::Save => Leaving::So(Exit::Save),
            Way::Drop => Leaving::So(Exit::Drop),
            Way::Report(words) if words.trim().is_empty() => {
                self.say_ourselves(fork.branch, context::REPORT_WANTED.to_owned(), &mut minutes);
                Leaving::WithReport
            }
            Way::Report(words) => Leaving::So(Exit::Report(words)),
        };
        self.change_fork(&mut minutes, |fork| fork.leaving = leaving);
        self.turn_now(minutes)
    }

    /// IF-19, IF-20: the fork ends in one of three ways.
    fn leave(&mut self, exit: Exit, occasion: Occasion, minutes: &mut Minutes) {
        let Some(fork) = self.memory.fork.take() else { return };
        self.drop_waiting(&fork.branch, minutes);
        let (why, note) = match exit {
            Exit::Save => self.promote(&fork, minutes),
            Exit::Report(text) => {
                self.report(&fork.branch.to_string(), text.clone(), minutes);
                (Why::Reported, text)
            }
            Exit::Drop => occasion.told(&fork),
        };
        if why != Why::Promoted {
            self.end(&fork.branch, why, minutes);
        }
        minutes.records.push(Record::Fork(ForkChange::Ended(fork.branch.clone())));
        minutes.shown.push(Shown::Fork(Aside::Ended { branch: fork.branch, why, note }));
    }

    /// MC-25, IF-22: main stands where the fork stood, and what the fork had seen is part of it.
    fn promote(&mut self, fork: &Fork, minutes: &mut Minutes) -> (Why, String) {
        let session =
            |branch: &Branch| self.memory.conversation.head(branch).map(|head| head.session.clone());
        let (from, to) = (session(&Branch::Main), session(&fork.branch));
        let note = self.lost_by_saving(fork);
        let Some(moves) = self.memory.conversation.promote(&fork.branch, minutes.at) else {
            return (Why::Dropped, "there was nothing to save.".to_owned());
        };
        minutes.records.extend(moves.map(Record::Moved));
        let swapped = to.map(|to| SessionChange::Swapped { to, from, at: minutes.at });
        minutes.records.extend(swapped.map(Record::Session));
        if let Some(seen) = fork.seen {
            self.read_up_to(seen, None, minutes);
        }
        let filled = self.memory.filled.remove(&fork.branch);
        self.memory.filled.extend(filled.map(|filled| (Branch::Main, filled)));
        self.memory.main.compacted = None;
        (Why::Promoted, format!("it is the main conversation now.{note}"))
    }

    /// What main will not know any more. It stays in the tree.
    fn lost_by_saving(&self, fork: &Fork) -> &'static str {
        let main = self.memory.conversation.head(&Branch::Main).and_then(|head| head.entry);
        match (fork.root, main) {
            (root, main) if root == main => "",
            (_, None) => "",
            (None, Some(_)) => " it knows nothing of what we said before; that stays in the tree.",
            (Some(_), Some(_)) => " what we said since it began is not part of it; that stays in the tree.",
        }
    }

    pub(super) fn end(&mut self, branch: &Branch, why: Why, minutes: &mut Minutes) {
        let ended = self.memory.conversation.end(branch, why, minutes.at);
        minutes.records.extend(ended.map(Record::Moved));
        self.memory.filled.remove(branch);
    }

    fn drop_waiting(&mut self, branch: &Branch, minutes: &mut Minutes) {
        let waiting = &mut self.memory.messages.waiting;
        let dropped =
            waiting.iter().filter(|message| is_meant_for(message, branch)).map(|message| message.id);
        minutes.records.extend(dropped.map(|id| Record::Message(MessageChange::Dropped(id))));
        waiting.retain(|message| !is_meant_for(message, branch));
    }

    /// IF-27 to IF-31: a quiet fork. Nobody is asked who costs anything.
    pub(super) fn woke(&mut self, now: &Zoned) -> Vec<Effect> {
        let mut minutes = Minutes::at(now);
        let fork = self.memory.fork.clone().filter(|_| self.speaking().is_none());
        match fork.as_ref().map(|fork| (fork, fork.quiet(minutes.at))) {
            None | Some((_, Quiet::Until(_))) => {}
            Some((fork, Quiet::Ask)) => {
                let (idle, active) = (fork.idle_minutes, fork.active);
                let text = format!(
                    "this side conversation has been quiet for {idle} minutes. say something to keep it, or leave \
                     it: /save, /report or /exit. in {idle} minutes it ends by itself."
                );
                minutes.shown.push(Shown::Notice(text));
                let at = minutes.at;
                self.change_fork(&mut minutes, |fork| {
                    fork.asked = Some(at);
                    fork.active = active;
                });
            }
            Some((fork, Quiet::End)) => {
                let exit = match &fork.leaving {
                    Leaving::So(exit) => exit.clone(),
                    Leaving::Not | Leaving::WithReport => Exit::Drop,
                };
                self.leave(exit, Occasion::Quiet, &mut minutes);
            }
        }
        minutes.effects()
    }

    /// A turn that was cut off because its own wish was granted has not been interrupted, and a background run
    /// that has nothing to add to what its tools did has not failed.
    pub(super) fn as_meant(&self, branch: &Branch, ending: Ending) -> Ending {
        let is_run = self.memory.turns.runs.contains_key(branch);
        match ending {
            Ending::Interrupted if self.wants.entering.is_some() => Ending::Finished,
            Ending::Failed(Failure::Unsaid(Unsaid::Empty)) if is_run => Ending::Finished,
            Ending::Interrupted | Ending::Finished | Ending::Failed(_) => ending,
        }
    }

    /// MC-21 to MC-24: the human starts over. What was said stays in the tree.
    pub(super) fn clear(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        let mut minutes = Minutes::at(now);
        let mut stopped = Vec::new();
        self.wants.entering = None;
        self.wants.compactions.clear();
        while let Some((branch, turn)) =
            self.speaking().map(|(branch, running)| (branch.clone(), running.turn))
        {
            self.cut_short(&branch, &mut minutes);
            stopped.push(Effect::Interrupt(turn));
        }
        let aside = self.memory.fork.is_some();
        self.leave(Exit::Drop, Occasion::StartedOver, &mut minutes);
        let main = self.memory.conversation.end(&Branch::Main, Why::Cleared, minutes.at);
        let session = main.as_ref().and_then(|moved| moved.from.as_ref()).map(|head| head.session.clone());
        minutes.records.extend(main.map(Record::Moved));
        let at = minutes.at;
        minutes.records.extend(session.map(|session| Record::Session(SessionChange::Cleared(session, at))));
        self.memory.filled.remove(&Branch::Main);
        (self.memory.main.compacted, self.memory.main.created, self.wants.refused) = (None, None, None);
        let text = match aside {
            true => "cleared: both the side conversation and the conversation were dropped.",
            false => "cleared: we start over with the next message.",
        };
        self.hear_waiting(&mut minutes);
        (Answer::Told(text.to_owned()), minutes.effects().into_iter().chain(stopped).collect())
    }

    /// SE-7: what a turn says after this is not heard any more.
    fn cut_short(&mut self, branch: &Branch, minutes: &mut Minutes) {
        let Some(running) = self.running.remove(branch) else { return };
        if let Errand::Answer(message, _) = &running.errand {
            minutes.close(running.turn, Ending::Interrupted, Usage::default());
            let (turn, branch, answers) = (running.turn, branch.clone(), message.id);
            minutes.shown.push(Shown::Ended { turn, branch, answers, ending: Ending::Interrupted });
        }
    }
}

fn is_meant_for(message: &Message, branch: &Branch) -> bool {
    matches!(&message.to, Address::Branch(to) if to == branch)
}

fn refused(why: &str) -> (Answer, Vec<Effect>) {
    (Answer::Refused(why.to_owned()), Vec::new())
}
