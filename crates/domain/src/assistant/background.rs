//! Background runs: starting them, recording what they show, and finishing them in one transaction.
//!
//! Runs never block main and do not wait for it. Each entry shown by a run is linked to the run, so
//! that a reply to it can resume the run's context.

use std::sync::Arc;

use jiff::{Timestamp, Zoned};

use super::replying::Arrival;
use super::{Answer, Aside as Beside, Assistant, Effect, Ending, Errand, Minutes, Shown, Spot};
use crate::conversation::{Branch, Entry, Head, Said, Why};
use crate::cost::{Account, Attended};
use crate::label::Label;
use crate::place::Aside;
use crate::record::{ForkChange, MessageId, Record, SentChange, SessionChange, Showed};
use crate::run::{Busy, Doings, Job, Kind, Run};
use crate::tool::Outcome;

/// Most runs at a time.
pub const RUNS: usize = 1_000;

impl Assistant {
    /// Starts a run for `job` on its own branch.
    pub(super) fn run(&mut self, job: Job, now: &Zoned) -> (Answer, Vec<Effect>) {
        if self.memory.turns.runs.len() >= RUNS {
            let text = format!("{RUNS} background runs go on already; {} has to wait.", job.source);
            return (Answer::Refused(text), Vec::new());
        }
        if job.prompt.as_str().is_empty() {
            return (
                Answer::Refused(format!("{} is told to do nothing. write a prompt.", job.source)),
                Vec::new(),
            );
        }
        let mut minutes = Minutes::at(now);
        let turn = self.memory.turns.next;
        self.set_off(job, Label::PLAIN, None, &mut minutes);
        (Answer::Begun(turn), minutes.effects())
    }

    /// Starts a run for `job`, whose prompt has the label `label`. `due` is its scheduled time, if
    /// any. Returns the branch.
    pub(super) fn set_off(
        &mut self,
        job: Job,
        label: Label,
        due: Option<Timestamp>,
        minutes: &mut Minutes,
    ) -> Branch {
        let (run, text) = self.branch_off(job, due, minutes);
        self.memory.conversation.know(&run.branch, label);
        self.say_first(run.branch.clone(), text, minutes);
        run.branch.clone()
    }

    /// Appends the first message of a new branch and starts its turn.
    pub(super) fn say_first(&mut self, branch: Branch, text: String, minutes: &mut Minutes) {
        let message = self.our_message(branch.clone(), text, minutes);
        self.limit(&branch, minutes);
        self.begin_on(Arrival::at(branch), Arc::new(message), minutes);
    }

    /// BF-13: creates the branch of a run, at main's position or empty, and returns the run with
    /// its prompt.
    pub(super) fn branch_off(
        &mut self,
        job: Job,
        due: Option<Timestamp>,
        minutes: &mut Minutes,
    ) -> (Arc<Run>, String) {
        let Job { source, name, aside, terms, prompt } = job;
        let stand = self.stand_of(&source).filter(|_| aside == Aside::Persistent);
        let session = stand.as_ref().map_or_else(|| self.dice.session(), |stand| stand.session.clone());
        let branch = self.dice.branch();
        let at = minutes.at;
        let parent = match Kind::of(aside) {
            Kind::Forked => self.memory.conversation.head(&Branch::Main).map(|head| head.session.clone()),
            Kind::Isolated | Kind::Persistent => None,
        };
        let spot = parent.as_ref().and_then(|_| self.main_at_rest());
        let root = spot.map(|spot| spot.entry);
        let from = spot.or(stand.map(|stand| Spot { entry: stand.entry, label: stand.label }));
        let conversation = &mut self.memory.conversation;
        let moved = match from {
            Some(Spot { entry, label }) => {
                conversation.branch_off(branch.clone(), Head { entry: Some(entry), session, label }, at)
            }
            None => conversation.create(branch.clone(), session, at),
        };
        let doings = Doings { busy: self.busy(), ..Doings::default() };
        let sent = Vec::new();
        let run = Run { branch: branch.clone(), source, name, due, aside, terms, root, parent, sent, doings };
        let run = Arc::new(run);
        minutes.records.push(Record::Moved(moved));
        minutes.records.push(Record::Fork(ForkChange::Running(Run::clone(&run))));
        self.memory.turns.runs.insert(branch, Arc::clone(&run));
        (run, prompt.as_str().to_owned())
    }

    /// MC-19: returns whether a turn of the user is active.
    pub(super) fn busy(&self) -> Busy {
        if self.speaking().is_some() { Busy::Talking } else { Busy::No }
    }

    /// Returns main's position before its active turn: an unfinished turn may have open tool calls,
    /// so a fork must not start there.
    pub(super) fn main_at_rest(&self) -> Option<Spot> {
        match self.running.get(&Branch::Main).map(|running| &running.errand) {
            Some(Errand::Answer(..)) => self.memory.main.before,
            Some(Errand::Compact(compacting)) if compacting.stuck_turn().is_some() => self.memory.main.before,
            Some(Errand::Compact(_)) | None => {
                self.memory.conversation.head(&Branch::Main).and_then(Spot::of)
            }
        }
    }

    /// Returns the account of a turn on `branch` that answers the message `answers`. A scheduled
    /// message on main is unattended and on the account of its job.
    pub(super) fn account(&self, branch: &Branch, answers: MessageId) -> Account {
        let run = self.memory.turns.runs.get(branch);
        let asked = self.memory.plans.asked(answers).filter(|_| run.is_none());
        match (run, asked.map(|occurrence| occurrence.key.source.clone())) {
            (Some(run), _) => Account { source: run.source.clone(), attended: self.attended(run) },
            (None, Some(source)) => Account { source, attended: Attended::Unattended },
            (None, None) => Account::answer_on(branch),
        }
    }

    /// A subagent is attended if the turn that requested it is.
    fn attended(&self, run: &Run) -> Attended {
        let asker = run.doings.asker.as_ref().and_then(|asker| self.run_of(asker.turn));
        asker.map_or(Attended::Unattended, |(_, running)| running.account.attended)
    }

    /// MT-2: records that the run on `branch` has shown `entry`, if the entry contains anything
    /// shown.
    pub(super) fn track(&mut self, branch: &Branch, entry: &Entry, minutes: &mut Minutes) {
        let run = self.memory.turns.runs.get_mut(branch).filter(|_| shows(&entry.said));
        let Some(run) = run.map(Arc::make_mut) else { return };
        run.track(entry.id.into());
        let showed = Showed { branch: branch.clone(), source: run.source.clone(), entry: entry.id };
        minutes.records.push(Record::from(SentChange::Showed(showed)));
        let source = run.source.clone();
        let entry = entry.clone();
        minutes.shown.push(Shown::Aside(Beside::Sent { source, entry }));
    }

    /// SE-11, MT-5: ends the run on `branch`, if there is one: records its origins and ends the
    /// branch.
    pub(super) fn run_ended(&mut self, branch: &Branch, ending: &Ending, minutes: &mut Minutes) {
        if self.compacts_first(branch, ending, minutes) {
            return;
        }
        self.wants.deadlines.remove(branch);
        let Some(run) = self.memory.turns.runs.remove(branch) else { return };
        self.tell_asker_nothing(&run, minutes);
        self.keep_stand(&run, minutes);
        let head = self.memory.conversation.head(branch).cloned();
        if let Some(Head { entry: Some(entry), session, label }) = head {
            let origins = run.flush(&session, Spot { entry, label }, minutes.at);
            Arc::make_mut(&mut self.memory.messages.sent).keep(&origins, minutes.at);
            minutes.records.push(Record::from(SentChange::Kept(origins, minutes.at)));
            let from = run.parent.clone();
            let kind = Kind::of(run.aside);
            let at = minutes.at;
            minutes.records.push(Record::Session(SessionChange::Ran { run: session, from, kind, at }));
        }
        minutes.records.push(Record::Fork(ForkChange::Ran(branch.clone())));
        let ended = self.memory.conversation.end(branch, Why::Ended, minutes.at);
        minutes.records.extend(ended.map(Record::Moved));
        self.memory.turns.filled.remove(branch);
        self.wants.refused.remove(branch);
        if self.check_ended(branch, minutes) {
            return;
        }
        match (run.due, ending) {
            (Some(due), _) => self.run_settled(&run, due, ending, minutes),
            // At the daily limit, the user has been notified already.
            (None, Ending::Failed(failure)) if run.doings.asker.is_none() && !ending.is_at_limit() => {
                let why = failure.of_a_job();
                minutes.shown.push(Shown::Notice(format!("{} could not be finished: {why}", run.name)));
            }
            (None, Ending::Finished | Ending::Interrupted | Ending::Failed(_)) => {}
        }
    }
}

fn shows(said: &Said) -> bool {
    match said {
        Said::Tools(results) => results.iter().any(|result| matches!(result.outcome, Outcome::Shown(_))),
        Said::Human(_) | Said::Assistant(..) | Said::Summary(_) | Said::Recalled(_) => false,
    }
}
