//! A simulation of the assistant alone, without a disk, an event loop or a model. It stores the
//! records in memory, so that the assistant can crash and restart.

#![expect(clippy::unwrap_used, reason = "a missing value stops the test at once")]

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::assistant::{
    Answer, Assistant, Effect, Event, FileScan, Request, State, TurnOutcome, TurnOutput, TurnStart,
    UnfinishedTurn, Update,
};
use domain::compaction::ContextWindow;
use domain::conversation::{
    Block, Branch, Completeness, Conversation, EntryContent, EntryId, Head, Text, Usage,
};
use domain::cost::CostSource;
use domain::occurrence::{Occurrence, OccurrenceKey, OccurrenceState};
use domain::ping_budget::PingBudget;
use domain::record::{
    ForkChange, JobFileEdit, JobFileRemoval, Message, MessageChange, MessageId, PlanChange, Record,
    StateChange, TurnChange,
};
use domain::rng::Rng;
use domain::run::Run;
use domain::schedule::{
    JobFileChange, PingPermission, PlannedJob, ReportMode, ReportPolicy, RunOptions, Watermark,
};
use domain::turn::{TurnEnding, TurnId};
use jiff::{SignedDuration, Timestamp, Zoned};

/// The start time of simulations.
pub const START: &str = "2026-11-02T00:00:30[Europe/Madrid]";

/// Decides the duration and the outcome of each turn.
pub type TurnScript = Box<dyn FnMut(&mut Rng) -> (SignedDuration, TurnEnding)>;

/// A simulated assistant.
pub struct Simulation {
    assistant: Assistant,
    pub now: Zoned,
    pub dice: Rng,
    turn_script: TurnScript,
    /// The running turns with the time and outcome of their end.
    pub running: BTreeMap<TurnId, (TurnStart, Timestamp, TurnEnding)>,
    pub log: RecordStore,
    /// The occurrences that were started, and when.
    pub started: Vec<(Timestamp, OccurrenceKey)>,
    /// Everything shown to the user: notices, and entries on main.
    pub seen: Vec<String>,
}

/// The stored records.
#[derive(Clone, Default)]
pub struct RecordStore {
    pub files: BTreeMap<CostSource, Arc<PlannedJob>>,
    removed_files: Vec<CostSource>,
    heads: BTreeMap<Branch, Head>,
    messages: BTreeMap<MessageId, (Message, bool)>,
    turns: BTreeMap<TurnId, (Branch, MessageId, u32)>,
    last_ids: LastIds,
    runs: BTreeMap<Branch, Run>,
    watermarks: BTreeMap<CostSource, Watermark>,
    pub pings: Option<PingBudget>,
    pub occurrences: BTreeMap<OccurrenceKey, Occurrence>,
}

/// The highest ids in use.
#[derive(Clone, Copy, Default)]
struct LastIds {
    entry: u64,
    turn: u64,
}

impl Simulation {
    /// Starts a simulation at `now` with these plans, whose turns go as `play` decides.
    pub fn new(now: &str, seed: u64, plans: Vec<PlannedJob>, play: TurnScript) -> Self {
        let conversation = Conversation::new(BTreeMap::new(), EntryId(1));
        let files = plans.into_iter().map(|planned| (planned.source(), Arc::new(planned))).collect();
        let assistant =
            Assistant::new(State::new(conversation), [].into(), ContextWindow::DEFAULT, Rng::new(seed));
        let now = now.parse().unwrap();
        let dice = Rng::new(seed);
        let log = RecordStore { files, ..RecordStore::default() };
        let running = BTreeMap::new();
        let begun = Vec::new();
        let seen = Vec::new();
        let mut life = Self { assistant, now, dice, turn_script: play, running, log, started: begun, seen };
        life.restart();
        life
    }

    /// Crashes and restarts the program with nothing but the stored records.
    pub fn restart(&mut self) {
        self.running.clear();
        let memory = self.log.to_state();
        self.assistant =
            Assistant::new(memory, [].into(), ContextWindow::DEFAULT, Rng::new(self.dice.next_u64()));
        self.log.removed_files.clear();
        self.send_event(Event::Started);
        // The files are read only after the start.
        self.send_event(Event::Woke);
        let plans = self.log.files.values().cloned().map(JobFileChange::Planned).collect();
        self.send_event(Event::FilesChanged(plans, FileScan::First));
    }

    /// Simulates everything that is due within `time`.
    pub fn simulate(&mut self, time: SignedDuration) {
        let until = self.now.timestamp() + time;
        for _ in 0..1_000_000 {
            let now = self.now.timestamp();
            let turn = self.running.iter().map(|(turn, (_, at, _))| (*at, *turn)).min();
            let wakes = self.assistant.next_wake(now).map(|at| at.max(now));
            let next = wakes.into_iter().chain(turn.map(|(at, _)| at)).min().filter(|at| *at <= until);
            let Some(next) = next else {
                self.now = until.to_zoned(self.now.time_zone().clone());
                return;
            };
            self.now = next.max(now).to_zoned(self.now.time_zone().clone());
            match turn.filter(|(at, _)| *at <= self.now.timestamp()) {
                Some((_, turn)) => self.end_turn(turn),
                None => self.send_event(Event::Woke),
            }
        }
        panic!("nobody ever rests");
    }

    /// Ends a turn with its planned outcome.
    pub fn end_turn(&mut self, turn: TurnId) {
        let Some((_, _, ending)) = self.running.remove(&turn) else { return };
        let said = match ending {
            TurnEnding::Finished => {
                vec![EntryContent::Assistant(vec![Block::Text("done".to_owned())], Completeness::Complete)]
            }
            TurnEnding::Interrupted | TurnEnding::Failed(_) => Vec::new(),
        };
        let ended = TurnOutcome {
            output: TurnOutput::Contents(said),
            ending,
            usage: Usage::default(),
            unrecorded_calls: Vec::new(),
        };
        self.send_event(Event::TurnEnded(turn, ended));
    }

    pub fn send_event(&mut self, event: Event) {
        let effects = self.assistant.on_event(event, &self.now);
        self.perform(effects);
        let gone: Vec<JobFileChange> = self.log.removed_files.drain(..).map(JobFileChange::Removed).collect();
        if !gone.is_empty() {
            self.send_event(Event::FilesChanged(gone, FileScan::Later));
        }
    }

    pub fn ask(&mut self, request: Request) -> Answer {
        let (answer, effects) = self.assistant.handle(request, &self.now);
        self.perform(effects);
        answer
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Write(records) => records.into_iter().for_each(|record| self.write(record)),
                Effect::StartTurn(start) => {
                    let (takes, ending) = (self.turn_script)(&mut self.dice);
                    self.running.insert(start.turn, (start, self.now.timestamp() + takes, ending));
                }
                Effect::Interrupt(turn) => {
                    if let Some((_, at, ending)) = self.running.get_mut(&turn) {
                        (*at, *ending) = (self.now.timestamp(), TurnEnding::Interrupted);
                    }
                }
                Effect::Show(Update::Notice(text)) => self.seen.push(text),
                Effect::Show(Update::EntryAppended { branch: Branch::Main, entry }) => {
                    self.seen.push(entry.content.text())
                }
                Effect::Show(_)
                | Effect::Decide(..)
                | Effect::ReturnResult(..)
                | Effect::Prioritize(_)
                | Effect::LoadSkills(..)
                | Effect::CarryOut(_) => {}
            }
        }
    }

    fn write(&mut self, record: Record) {
        if let Record::Plan(PlanChange::Occurrence(occurrence)) = &record
            && matches!(occurrence.state, OccurrenceState::Running(_) | OccurrenceState::SentToMain(_))
        {
            self.started.push((self.now.timestamp(), occurrence.key.clone()));
        }
        self.log.write(record);
    }
}

impl RecordStore {
    fn write(&mut self, record: Record) {
        match record {
            Record::EntryAppended(branch, entry) => {
                self.last_ids.entry = self.last_ids.entry.max(entry.id.0);
                if let Some(head) = self.heads.get_mut(&branch) {
                    head.entry = Some(entry.id);
                }
            }
            Record::BranchMoved(moved) => match moved.to {
                Some(head) => drop(self.heads.insert(moved.branch, head)),
                None => drop(self.heads.remove(&moved.branch)),
            },
            Record::Message(MessageChange::Received(message)) => {
                self.messages.insert(message.id, (message, false));
            }
            Record::Message(MessageChange::Taken(id, _) | MessageChange::Dropped(id)) => {
                if let Some((_, taken)) = self.messages.get_mut(&id) {
                    *taken = true;
                }
            }
            Record::Turn(TurnChange::Opened(opened)) => {
                let attempts = self.turns.get(&opened.turn).map_or(0, |(_, _, attempts)| *attempts);
                self.turns.insert(opened.turn, (opened.branch, opened.message, attempts + 1));
                self.last_ids.turn = self.last_ids.turn.max(opened.turn.0);
            }
            Record::Turn(TurnChange::Closed(closed)) => drop(self.turns.remove(&closed.turn)),
            Record::Fork(ForkChange::RunStarted(run)) => drop(self.runs.insert(run.branch.clone(), run)),
            Record::Fork(ForkChange::RunProgress(branch, doings)) => {
                if let Some(run) = self.runs.get_mut(&branch) {
                    run.progress = *doings;
                }
            }
            Record::Fork(ForkChange::RunEnded(branch)) => drop(self.runs.remove(&branch)),
            Record::State(StateChange::PingBudget(budget)) => self.pings = Some(budget),
            Record::Plan(change) => self.write_plan(change),
            Record::Message(
                MessageChange::Sent(_)
                | MessageChange::Outbox(_)
                | MessageChange::Card(..)
                | MessageChange::Attention(_),
            )
            | Record::Turn(TurnChange::Blocked(_) | TurnChange::CallDecided(..))
            | Record::Fork(ForkChange::Requested(_) | ForkChange::Open(_) | ForkChange::Ended(_))
            | Record::State(StateChange::SettingChanged(..) | StateChange::PingCharged(_))
            | Record::Update(_)
            | Record::Approval(_)
            | Record::CallSpent(_)
            | Record::Inbox(_)
            | Record::Session(_) => {}
        }
    }

    fn write_plan(&mut self, change: PlanChange) {
        match change {
            PlanChange::Watermark(source, accounted) => drop(self.watermarks.insert(source, accounted)),
            PlanChange::Forgotten(source) => drop(self.watermarks.remove(&source)),
            PlanChange::Occurrence(occurrence) => {
                let before = self.occurrences.insert(occurrence.key.clone(), occurrence);
                let ended = before.filter(|before| matches!(before.state, OccurrenceState::Ended(_)));
                assert_eq!(ended, None, "what has ended does not begin again");
            }
            PlanChange::JobFile(JobFileEdit::Remove(JobFileRemoval { source, .. })) => {
                let open = self.occurrences.values().any(|occurrence| {
                    occurrence.key.source == source && !matches!(occurrence.state, OccurrenceState::Ended(_))
                });
                assert!(!open, "{source} goes before it has ended");
                self.files.remove(&source);
                self.removed_files.push(source);
            }
            // There are no webhooks in these simulations.
            PlanChange::Delivery(_)
            | PlanChange::SessionHead(..)
            | PlanChange::JobFile(_)
            | PlanChange::AllPaused(_)
            | PlanChange::PromptOrigin(..)
            | PlanChange::Marked(..)
            | PlanChange::UndoLog(_) => {}
        }
    }

    fn to_state(&self) -> State {
        let mut memory = State::new(Conversation::new(self.heads.clone(), EntryId(self.last_ids.entry + 1)));
        memory.turns.next = TurnId(self.last_ids.turn + 1);
        let newest = self.messages.keys().next_back().map_or(0, |id| id.0);
        memory.messages.next = MessageId(newest + 1);
        let waiting = self.messages.values().filter(|(_, taken)| !taken).map(|(message, _)| message.clone());
        memory.messages.waiting = waiting.collect();
        memory.turns.runs =
            self.runs.iter().map(|(branch, run)| (branch.clone(), Arc::new(run.clone()))).collect();
        let unfinished = self.turns.iter().map(|(turn, (branch, message, attempts))| UnfinishedTurn {
            turn: *turn,
            branch: branch.clone(),
            answers: Arc::new(self.messages[message].0.clone()),
            attempts: *attempts,
            calls: 0,
            unanswered: Vec::new(),
        });
        memory.turns.unfinished = unfinished.collect();
        memory.choices.ping_budget = self.pings;
        for (source, accounted) in &self.watermarks {
            memory.plans.known_watermarks.insert_mut(source.clone(), accounted.clone());
        }
        for (key, occurrence) in &self.occurrences {
            if !matches!(occurrence.state, OccurrenceState::Ended(_)) {
                memory.plans.open.insert_mut(key.clone(), occurrence.clone());
            }
        }
        memory
    }
}

/// Returns a random number below `bound`.
pub fn below(dice: &mut Rng, bound: u64) -> u64 {
    dice.next_u64() % bound
}

/// All turns take `time` and finish.
pub fn finish_after(time: SignedDuration) -> TurnScript {
    Box::new(move |_| (time, TurnEnding::Finished))
}

/// Terms that allow a run to ping and to end without restriction.
pub fn unrestricted_terms() -> RunOptions {
    RunOptions {
        report_policy: ReportPolicy { reporting: ReportMode::Freely, pings: PingPermission::Allowed },
        ..RunOptions::default()
    }
}
