//! The decision core: turns events and requests into effects. It does no I/O.
//!
//! [`Assistant`] holds names, counters and pending work in [`State`]; the texts of the conversation
//! stay in the journal. Each decision returns its effects in the order in which they must be
//! carried out, with the write first.

mod active_turn;
mod addresses;
mod approvals;
mod attention_policy;
mod blocked_turns;
mod budget;
mod button_actions;
mod capture;
mod cards;
mod chains;
mod clear;
mod compaction;
mod context_tools;
mod cue_plans;
mod cues;
mod daily_limit;
mod digest;
mod dispatch;
mod effect;
mod fire_now;
mod follow_ups;
mod fork_exit;
mod forks;
mod item_origins;
mod item_search;
mod job_skills;
mod lighter_day;
mod main_reminders;
mod main_undo;
mod missed;
mod occurrences;
mod offline;
mod outbox;
mod pause;
mod pings;
mod plan_changes;
mod plan_list;
mod plan_origins;
mod plan_undo;
mod planner;
mod plans;
mod preferences;
mod priorities;
mod request;
mod restart;
mod retry;
mod routine_sessions;
mod routing;
mod runs;
mod schedule;
mod standing_approvals;
mod state;
mod state_files;
mod subagents;
mod suggestions;
mod transaction;
mod turn_requests;
mod turn_start;
mod updates;
mod upkeep;
mod webhook_pings;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::{Timestamp, Zoned};

pub use blocked_turns::KeyNotice;
pub use effect::{
    ApprovalUpdate, CompactionUpdate, Effect, Event, FileScan, SideUpdate, ToolPhase, TurnKind, TurnOutcome,
    TurnOutput, TurnStart, Update,
};
pub use fork_exit::ExitCommand;
pub use item_origins::{ItemOrigin, OwnItem};
pub use main_undo::{MainChangeKind, UNDO_DAYS, UndoableChange};
pub use plan_origins::PlanOrigin;
pub use plan_undo::PlanUndo as Replanned;
pub use plans::{BrokenFile, FileProblem, Plans};
pub use request::{
    Answer, ButtonPress, ForkCommand, HistoryCommand, InboxCommand, Numbers, Query, Request, ScheduleCommand,
    SettingCommand, TurnCommand, TurnRequest, UserMessage,
};
pub use runs::MAX_RUNS;
pub use state::{
    MAX_MARKS, MainConversation, Messages, PendingUpdates, Position, State, Turns, UnfinishedTurn,
    UserChoices,
};
pub use state_files::StateEdit;

use crate::agent::Agent;
use crate::compaction::ContextWindow;
use crate::conversation::{Branch, Entry, EntryContent};
use crate::cost::Budget;
use crate::failure::Failure;
use crate::label::Label;
use crate::model::ModelChoices;
use crate::record::{MessageId, Record, SessionChange};
use crate::rng::Rng;
use crate::tool::ToolSpec;
use crate::turn::{TurnEnding, TurnId};
use active_turn::{ActiveTurn, Attempt, TurnRef, TurnState, TurnWork};
use compaction::CompactionRequest;
use item_origins::Sources;
use outbox::OutboxState;
use plan_origins::RecentWrite;
use retry::Retry;
use transaction::Transaction;

/// Longest accepted message, in characters.
pub const MAX_MESSAGE_CHARS: usize = 100_000;
/// The maximum number of pictures in one message.
pub const MAX_IMAGES: usize = 20;
/// Most messages that wait at a time.
pub const MAX_QUEUED_MESSAGES: usize = 250;
/// How often a turn is started when the program dies during it.
pub const MAX_ATTEMPTS: u32 = 3;

/// State that is not journaled: pending requests, deadlines and retry times since the start.
#[derive(Clone, Debug, Default)]
struct TransientState {
    /// Compactions that were requested while a turn was active.
    compaction_requests: VecDeque<CompactionRequest>,
    /// Context size of a branch when its last compaction failed.
    failed_compaction_sizes: BTreeMap<Branch, u64>,
    /// When the turn on a branch has to end.
    deadlines: BTreeMap<Branch, Timestamp>,
    /// Turns that were interrupted because their deadline passed.
    timed_out: BTreeSet<TurnId>,
    /// Notice already shown about a rejected API key.
    key_notice: KeyNotice,
    /// Next attempt while the model is unreachable.
    model_retry: Option<Retry>,
    /// Next attempt after the key was rejected.
    key_retry: Option<Retry>,
    offline_facts: OfflineFacts,
    mode: OperatingMode,
    /// First message id since the start.
    first_message: MessageId,
    /// When the next digest is due.
    next_digest: Option<Timestamp>,
    /// True once the job files were read since the start.
    job_files_loaded: bool,
    /// Recent calls that planned something on a branch that held outside text.
    recent_writes: Vec<RecentWrite>,
    /// The outside text read on each branch since the start.
    sources: BTreeMap<Branch, Sources>,
}

/// Facts about active turns that matter when the model becomes unreachable.
#[derive(Clone, Debug, Default)]
struct OfflineFacts {
    /// Turns that have called tools.
    used_tools: BTreeSet<TurnId>,
    /// Retried turns that are interrupted for a message which needs no model.
    recalled: BTreeSet<TurnId>,
}

/// The state and the rules of the assistant.
#[derive(Clone, Debug)]
pub struct Assistant {
    state: State,
    active_turns: BTreeMap<Branch, ActiveTurn>,
    /// Turns that were dropped but have not ended yet: their output is ignored, their cost is
    /// recorded.
    abandoned: BTreeMap<TurnId, (Branch, ActiveTurn)>,
    transient: TransientState,
    tools: Arc<[ToolSpec]>,
    window: ContextWindow,
    budget: Budget,
    choices: Arc<ModelChoices>,
    rng: Rng,
    outbox: OutboxState,
}

/// The work that the assistant does without being asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum OperatingMode {
    /// Everything that is due, waiting or to be resumed.
    #[default]
    Autonomous,
    /// Nothing: a short-lived process that only answers a question and leaves the rest to the
    /// daemon.
    OnRequestOnly,
}

impl Assistant {
    /// Starts with `state`, for a model with the context window `window`.
    pub fn new(state: State, tools: Arc<[ToolSpec]>, window: ContextWindow, rng: Rng) -> Self {
        let transient = TransientState { first_message: state.messages.next, ..TransientState::default() };
        let active_turns = BTreeMap::new();
        let abandoned = BTreeMap::new();
        let budget = Budget::default();
        let choices = Arc::default();
        let outbox = OutboxState::default();
        let assistant =
            Self { state, active_turns, abandoned, transient, tools, window, budget, choices, rng, outbox };
        assistant.with_budget(Budget::default())
    }

    /// Disables all autonomous work: due and waiting items are left to the daemon.
    #[must_use]
    pub fn on_request_only(mut self) -> Self {
        self.transient.mode = OperatingMode::OnRequestOnly;
        self
    }

    /// Handles an event and returns its effects.
    pub fn on_event(&mut self, event: Event, now: &Zoned) -> Vec<Effect> {
        let effects = self.dispatch_event(event, now);
        self.compute_next_digest(now);
        self.add_posts(effects, now)
    }

    /// Handles a request and returns the reply and the effects.
    pub fn handle(&mut self, request: Request, now: &Zoned) -> (Answer, Vec<Effect>) {
        self.outbox.saw_user(&request, now);
        let (answer, effects) = self.dispatch_request(request, now);
        self.compute_next_digest(now);
        (answer, self.add_posts(effects, now))
    }

    /// Sets the agents that can be delegated to.
    #[must_use]
    pub fn with_agents(mut self, agents: Arc<[Agent]>) -> Self {
        self.state.choices.agents = agents;
        self
    }

    /// Returns the state; everything persistent in it can be rebuilt from the journal.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the earliest time at which [`Event::Woke`] is needed.
    pub fn next_wake(&self, now: Timestamp) -> Option<Timestamp> {
        if self.transient.mode == OperatingMode::OnRequestOnly {
            return None;
        }
        let times = [
            self.state.approvals.next_timeout(),
            self.next_schedule_wake(),
            self.next_rewording_deadline(now),
            self.next_model_retry(),
            self.next_deadline(),
            self.next_attention_wake(),
        ];
        self.next_fork_wake(now).into_iter().chain(times.into_iter().flatten()).min()
    }

    fn start_up(&mut self, now: &Zoned) -> Vec<Effect> {
        let mut tx = Transaction::at(now);
        // An open fork survives a restart.
        let fork = self.state.fork.as_ref();
        let forked = fork.map(|fork| {
            Update::Side(SideUpdate::ForkStarted { branch: fork.branch.clone(), topic: fork.topic.clone() })
        });
        tx.updates.extend(forked);
        self.reshow_approvals(&mut tx);
        let mut unfinished = std::mem::take(&mut self.state.turns.unfinished);
        // Main first, so that a notice of an abandoned run does not land inside its answer.
        unfinished.sort_by_key(|left| left.branch != Branch::Main);
        self.resume_runs(&unfinished, &mut tx);
        for left in unfinished {
            let knows = self.label(&left.branch);
            let from = self.read_from(&left.branch, knows);
            for call in &left.unanswered {
                self.remember_write(call, knows, &from, &tx);
                self.mark_call(call, knows, &from, &mut tx);
            }
            self.resume_turn(left, &mut tx);
        }
        self.apply_fork_switch(&mut tx);
        self.start_next_turn(&mut tx);
        tx.into_effects()
    }

    fn on_turn_ended(&mut self, turn: TurnId, ended: TurnOutcome, now: &Zoned) -> Vec<Effect> {
        let mut tx = Transaction::at(now);
        let Some((branch, running)) = self.find_turn(turn) else {
            if let Some((branch, running)) = self.abandoned.remove(&turn) {
                // Its usage must not change the recorded context size of the branch.
                let filled = self.state.turns.context_tokens.clone();
                self.record_calls(&branch, &running, ended.unrecorded_calls, &mut tx);
                self.state.turns.context_tokens = filled;
            }
            return tx.into_effects();
        };
        self.active_turns.remove(&branch);
        if branch == Branch::Main {
            self.transient.deadlines.remove(&branch);
        }
        let ending = self.ending_in_time(turn, &branch, ended.ending);
        let ended = TurnOutcome { ending, ..ended };
        self.reset_idle_time(&branch, &mut tx);
        self.on_asking_turn_ended(turn, &ended.ending, &mut tx);
        self.record_calls(&branch, &running, ended.unrecorded_calls.clone(), &mut tx);
        match running.work.clone() {
            TurnWork::Answer(message, sending) => {
                let turn_ref = TurnRef { turn, branch, message, attempt: sending };
                match &ended.ending {
                    // A partial answer is discarded: the turn is repeated later.
                    TurnEnding::Failed(why @ Failure::BadKey(_))
                        if !self.is_deliverable_verbatim(&turn_ref)
                            && !self.has_requester(&turn_ref.branch) =>
                    {
                        self.block_turn(turn_ref, why, &mut tx);
                    }
                    TurnEnding::Failed(why)
                        if why.is_unavailable()
                            && self.can_wait_for_model(&turn_ref, &ended)
                            && !self.has_requester(&turn_ref.branch) =>
                    {
                        self.on_model_unreachable(turn_ref, &ended, why, &mut tx);
                    }
                    TurnEnding::Interrupted if self.transient.offline_facts.recalled.contains(&turn) => {
                        self.block_again(turn_ref, &mut tx);
                    }
                    TurnEnding::Finished | TurnEnding::Interrupted | TurnEnding::Failed(_) => {
                        self.write_rest(&turn_ref.branch, &running, &ended, &mut tx);
                        self.finish_answer(turn_ref, ended, &mut tx);
                    }
                }
            }
            TurnWork::Compact(compacting) => self.on_compaction_ended(turn, compacting, ended, &mut tx),
        }
        self.transient.offline_facts.recalled.remove(&turn);
        if !self.active_turns.values().any(|running| running.turn == turn) {
            self.transient.offline_facts.used_tools.remove(&turn);
        }
        self.apply_fork_switch(&mut tx);
        self.tick_schedule(&mut tx);
        self.start_next_turn(&mut tx);
        tx.into_effects()
    }

    fn write_rest(
        &mut self,
        branch: &Branch,
        running: &ActiveTurn,
        ended: &TurnOutcome,
        tx: &mut Transaction,
    ) {
        let TurnOutput::Contents(said) = &ended.output else { return };
        if !matches!(said.first(), Some(EntryContent::Tools(_))) {
            self.record_unknown_results(running.turn, branch, &running.unanswered, tx);
        }
        for said in said {
            self.append(branch, said.clone(), tx);
        }
    }

    /// Finishes an answer turn, or starts a compaction first if the context was full.
    fn finish_answer(&mut self, turn_ref: TurnRef, ended: TurnOutcome, tx: &mut Transaction) {
        let full = matches!(ended.ending, TurnEnding::Failed(Failure::ContextFull(_)));
        if full && turn_ref.attempt == Attempt::First {
            return self.compact_for_stuck_turn(turn_ref, ended, tx);
        }
        let ended = TurnOutcome { ending: self.effective_ending(&turn_ref.branch, ended.ending), ..ended };
        if self.must_report_first(&turn_ref, &ended, tx) {
            return;
        }
        if let Some(run) = self.state.turns.runs.get(&turn_ref.branch).cloned() {
            self.answer_requester(&run, &ended, tx);
            self.store_verdict(&turn_ref.branch, &ended);
        }
        self.stop_subagents(turn_ref.turn, tx);
        let TurnRef { turn, branch, message, .. } = turn_ref;
        let ending = self.settle_answer(message.id, ended.ending, tx);
        tx.close_turn(turn, ending.clone(), ended.usage);
        self.finish_run(&branch, &ending, tx);
        tx.updates.push(Update::TurnEnded { turn, branch, answers: message.id, ending });
    }

    /// Creates main and its session with the first entry.
    fn ensure_main(&mut self, tx: &mut Transaction) {
        if self.state.conversation.head(&Branch::Main).is_some() {
            return;
        }
        let session = self.rng.session_id();
        let moved = self.state.conversation.create(Branch::Main, session.clone(), tx.at);
        tx.records.push(Record::BranchMoved(moved));
        tx.records.push(Record::Session(SessionChange::Saved(session, tx.at)));
        self.state.main.created = Some(tx.at);
    }

    fn append(&mut self, branch: &Branch, said: EntryContent, tx: &mut Transaction) -> Option<Entry> {
        self.append_labelled(branch, said, Label::PLAIN, tx)
    }

    /// Appends an entry whose label is raised by `more`.
    fn append_labelled(
        &mut self,
        branch: &Branch,
        said: EntryContent,
        more: Label,
        tx: &mut Transaction,
    ) -> Option<Entry> {
        let entry = self.state.conversation.append_labelled(branch, said, more, tx.at)?;
        tx.records.push(Record::EntryAppended(branch.clone(), entry.clone()));
        tx.updates.push(Update::EntryAppended { branch: branch.clone(), entry: entry.clone() });
        self.record_shown_entry(branch, &entry, tx);
        self.charge_pings(branch, &entry, tx);
        Some(entry)
    }

    /// Returns the label of everything on `branch`.
    fn label(&self, branch: &Branch) -> Label {
        self.state.conversation.head(branch).map_or(Label::PLAIN, |head| head.label)
    }

    fn find_turn(&self, turn: TurnId) -> Option<(Branch, ActiveTurn)> {
        let found = self.active_turns.iter().find(|(_, running)| running.turn == turn);
        found.map(|(branch, running)| (branch.clone(), running.clone()))
    }
}
