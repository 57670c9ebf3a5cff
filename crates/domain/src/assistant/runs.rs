//! Background runs: starting them, recording what they show, and finishing them in one transaction.
//!
//! Runs never block main and do not wait for it. Each entry shown by a run is linked to the run, so
//! that a reply to it can resume the run's context.

use std::sync::Arc;

use jiff::{Timestamp, Zoned};

use super::routing::Route;
use super::{
    Answer, Assistant, Effect, Position, SideUpdate as Beside, Transaction, TurnEnding, TurnWork, Update,
};
use crate::conversation::{Branch, Entry, EntryContent, Head, MoveReason};
use crate::cost::{Account, Attendance};
use crate::label::Label;
use crate::place::BackgroundPlace;
use crate::record::{ForkChange, MessageId, Record, SentChange, SessionChange, ShownMessage};
use crate::run::{Job, Run, RunMode, RunProgress, UserActivity};
use crate::tool::Outcome;

/// Most runs at a time.
pub const MAX_RUNS: usize = 1_000;

impl Assistant {
    /// Starts a run for `job` on its own branch.
    pub(super) fn start_job(&mut self, job: Job, now: &Zoned) -> (Answer, Vec<Effect>) {
        if self.state.turns.runs.len() >= MAX_RUNS {
            let text = format!("{MAX_RUNS} background runs go on already; {} has to wait.", job.source);
            return (Answer::Refused(text), Vec::new());
        }
        if job.prompt.as_str().is_empty() {
            return (
                Answer::Refused(format!("{} is told to do nothing. write a prompt.", job.source)),
                Vec::new(),
            );
        }
        let mut tx = Transaction::at(now);
        let turn = self.state.turns.next;
        self.start_run(job, Label::PLAIN, None, &mut tx);
        (Answer::TurnStarted(turn), tx.into_effects())
    }

    /// Starts a run for `job`, whose prompt has the label `label`. `due` is its scheduled time, if
    /// any. Returns the branch.
    pub(super) fn start_run(
        &mut self,
        job: Job,
        label: Label,
        due: Option<Timestamp>,
        tx: &mut Transaction,
    ) -> Branch {
        let (run, text) = self.create_run_branch(job, due, tx);
        self.state.conversation.raise_label(&run.branch, label);
        self.begin_run(run.branch.clone(), text, tx);
        run.branch.clone()
    }

    /// Appends the first message of a new branch and starts its turn.
    pub(super) fn begin_run(&mut self, branch: Branch, text: String, tx: &mut Transaction) {
        let message = self.own_message(branch.clone(), text, tx);
        self.start_time_limit(&branch, tx);
        self.start_answer_on(Route::at(branch), Arc::new(message), tx);
    }

    /// BF-13: creates the branch of a run, at main's position or empty, and returns the run with
    /// its prompt.
    pub(super) fn create_run_branch(
        &mut self,
        job: Job,
        due: Option<Timestamp>,
        tx: &mut Transaction,
    ) -> (Arc<Run>, String) {
        let Job { source, name, place: mode, terms, prompt } = job;
        let session_head = self.session_head(&source).filter(|_| mode == BackgroundPlace::Persistent);
        let session = session_head
            .as_ref()
            .map_or_else(|| self.rng.session_id(), |session_head| session_head.session.clone());
        let branch = self.rng.new_branch();
        let at = tx.at;
        let parent = match RunMode::of(mode) {
            RunMode::Forked => self.state.conversation.head(&Branch::Main).map(|head| head.session.clone()),
            RunMode::Isolated | RunMode::Persistent => None,
        };
        let main_position = parent.as_ref().and_then(|_| self.settled_main_position());
        let root = main_position.map(|main_position| main_position.entry);
        let start = main_position.or(session_head
            .map(|session_head| Position { entry: session_head.entry, label: session_head.label }));
        let conversation = &mut self.state.conversation;
        let moved = match start {
            Some(Position { entry, label }) => {
                conversation.fork_at(branch.clone(), Head { entry: Some(entry), session, label }, at)
            }
            None => conversation.create(branch.clone(), session, at),
        };
        let progress = RunProgress { user_activity: self.user_activity(), ..RunProgress::default() };
        let sent = Vec::new();
        let run = Run {
            branch: branch.clone(),
            source,
            name,
            due,
            place: mode,
            terms,
            root,
            parent,
            sent_messages: sent,
            progress,
        };
        let run = Arc::new(run);
        tx.records.push(Record::BranchMoved(moved));
        tx.records.push(Record::Fork(ForkChange::RunStarted(Run::clone(&run))));
        self.state.turns.runs.insert(branch, Arc::clone(&run));
        (run, prompt.as_str().to_owned())
    }

    /// MC-19: returns whether a turn of the user is active.
    pub(super) fn user_activity(&self) -> UserActivity {
        if self.user_turn().is_some() { UserActivity::Talking } else { UserActivity::Idle }
    }

    /// Returns main's position before its active turn: an unfinished turn may have open tool calls,
    /// so a fork must not start there.
    pub(super) fn settled_main_position(&self) -> Option<Position> {
        match self.active_turns.get(&Branch::Main).map(|running| &running.work) {
            Some(TurnWork::Answer(..)) => self.state.main.position_before_turn,
            Some(TurnWork::Compact(compacting)) if compacting.stuck_turn().is_some() => {
                self.state.main.position_before_turn
            }
            Some(TurnWork::Compact(_)) | None => {
                self.state.conversation.head(&Branch::Main).and_then(Position::of_head)
            }
        }
    }

    /// Returns the account of a turn on `branch` that answers the message `answers`. A scheduled
    /// message on main is unattended and on the account of its job.
    pub(super) fn account(&self, branch: &Branch, answers: MessageId) -> Account {
        let run = self.state.turns.runs.get(branch);
        let asked = self.state.plans.asked_with(answers).filter(|_| run.is_none());
        match (run, asked.map(|occurrence| occurrence.key.source.clone())) {
            (Some(run), _) => Account { source: run.source.clone(), attended: self.attendance(run) },
            (None, Some(source)) => Account { source, attended: Attendance::Unattended },
            (None, None) => Account::answer_on(branch),
        }
    }

    /// A subagent is attended if the turn that requested it is.
    fn attendance(&self, run: &Run) -> Attendance {
        let requester = run.progress.requester.as_ref().and_then(|requester| self.find_turn(requester.turn));
        requester.map_or(Attendance::Unattended, |(_, running)| running.account.attended)
    }

    /// MT-2: records that the run on `branch` has shown `entry`, if the entry contains anything
    /// shown.
    pub(super) fn record_shown_entry(&mut self, branch: &Branch, entry: &Entry, tx: &mut Transaction) {
        let run = self.state.turns.runs.get_mut(branch).filter(|_| has_shown_result(&entry.content));
        let Some(run) = run.map(Arc::make_mut) else { return };
        run.add_sent_message(entry.id.into());
        let showed = ShownMessage { branch: branch.clone(), source: run.source.clone(), entry: entry.id };
        tx.records.push(Record::from(SentChange::RunShowed(showed)));
        let source = run.source.clone();
        let entry = entry.clone();
        tx.updates.push(Update::Side(Beside::RunShowed { source, entry }));
    }

    /// SE-11, MT-5: ends the run on `branch`, if there is one: records its origins and ends the
    /// branch.
    pub(super) fn finish_run(&mut self, branch: &Branch, ending: &TurnEnding, tx: &mut Transaction) {
        if self.start_requested_session_compaction(branch, ending, tx) {
            return;
        }
        self.transient.deadlines.remove(branch);
        let Some(run) = self.state.turns.runs.remove(branch) else { return };
        self.fail_requester(&run, tx);
        self.save_session_head(&run, tx);
        let head = self.state.conversation.head(branch).cloned();
        if let Some(Head { entry: Some(entry), session, label }) = head {
            let origins = run.message_origins(&session, Position { entry, label }, tx.at);
            Arc::make_mut(&mut self.state.messages.sent).add_origins(&origins, tx.at);
            tx.records.push(Record::from(SentChange::OriginsKept(origins, tx.at)));
            let from = run.parent.clone();
            let kind = RunMode::of(run.place);
            let at = tx.at;
            tx.records.push(Record::Session(SessionChange::RunEnded { run: session, from, mode: kind, at }));
        }
        tx.records.push(Record::Fork(ForkChange::RunEnded(branch.clone())));
        let ended = self.state.conversation.end(branch, MoveReason::Ended, tx.at);
        tx.records.extend(ended.map(Record::BranchMoved));
        self.state.turns.context_tokens.remove(branch);
        self.transient.failed_compaction_sizes.remove(branch);
        if self.on_check_ended(branch, tx) {
            return;
        }
        match (run.due, ending) {
            (Some(due), _) => self.on_scheduled_run_ended(&run, due, ending, tx),
            // At the daily limit, the user has been notified already.
            (None, TurnEnding::Failed(failure))
                if run.progress.requester.is_none() && !ending.is_at_limit() =>
            {
                let why = failure.job_text();
                tx.updates.push(Update::Notice(format!("{} could not be finished: {why}", run.name)));
            }
            (None, TurnEnding::Finished | TurnEnding::Interrupted | TurnEnding::Failed(_)) => {}
        }
    }
}

fn has_shown_result(said: &EntryContent) -> bool {
    match said {
        EntryContent::Tools(results) => {
            results.iter().any(|result| matches!(result.outcome, Outcome::Shown(_)))
        }
        EntryContent::User(_)
        | EntryContent::Assistant(..)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => false,
    }
}
