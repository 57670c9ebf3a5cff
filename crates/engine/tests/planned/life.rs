//! A simulation of the assistant alone, without a disk, an event loop or a model. It stores the
//! records in memory, so that the assistant can crash and restart.

#![expect(clippy::unwrap_used, reason = "a missing value stops the test at once")]

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::assistant::{
    Answer, Assistant, Effect, Ended, Event, Left, Look, Memory, Request, Shown, Start, Unfinished,
};
use domain::compaction::Room;
use domain::conversation::{Block, Branch, Conversation, EntryId, Head, Reach, Said, Text, Usage};
use domain::cost::Source;
use domain::dice::Dice;
use domain::occurrence::{Key, Occurrence, Stage};
use domain::ping_budget::PingBudget;
use domain::record::{
    FileWork, ForkChange, Message, MessageChange, MessageId, PlanChange, Record, Removal, StateChange,
    TurnChange,
};
use domain::run::Run;
use domain::schedule::{Accounted, FileNews, Pings, Planned, Reporting, Terms, Voice};
use domain::turn::{Ending, TurnId};
use jiff::{SignedDuration, Timestamp, Zoned};

/// The start time of simulations.
pub const START: &str = "2026-11-02T00:00:30[Europe/Madrid]";

/// Decides the duration and the outcome of each turn.
pub type Play = Box<dyn FnMut(&mut Dice) -> (SignedDuration, Ending)>;

/// A simulated assistant.
pub struct Life {
    assistant: Assistant,
    pub now: Zoned,
    pub dice: Dice,
    play: Play,
    /// The running turns with the time and outcome of their end.
    pub running: BTreeMap<TurnId, (Start, Timestamp, Ending)>,
    pub log: Log,
    /// The occurrences that were started, and when.
    pub begun: Vec<(Timestamp, Key)>,
    /// What the user saw: notices, and entries on main.
    pub seen: Vec<String>,
}

/// The stored records.
#[derive(Clone, Default)]
pub struct Log {
    pub files: BTreeMap<Source, Arc<Planned>>,
    gone: Vec<Source>,
    heads: BTreeMap<Branch, Head>,
    messages: BTreeMap<MessageId, (Message, bool)>,
    turns: BTreeMap<TurnId, (Branch, MessageId, u32)>,
    newest: Newest,
    runs: BTreeMap<Branch, Run>,
    known: BTreeMap<Source, Accounted>,
    pub pings: Option<PingBudget>,
    pub occurrences: BTreeMap<Key, Occurrence>,
}

/// The highest ids in use.
#[derive(Clone, Copy, Default)]
struct Newest {
    entry: u64,
    turn: u64,
}

impl Life {
    /// Starts a simulation at `now` with these plans, whose turns go as `play` decides.
    pub fn new(now: &str, seed: u64, plans: Vec<Planned>, play: Play) -> Self {
        let conversation = Conversation::new(BTreeMap::new(), EntryId(1));
        let files = plans.into_iter().map(|planned| (planned.source(), Arc::new(planned))).collect();
        let assistant = Assistant::new(Memory::of(conversation), [].into(), Room::HOUSE, Dice::new(seed));
        let now = now.parse().unwrap();
        let dice = Dice::new(seed);
        let log = Log { files, ..Log::default() };
        let running = BTreeMap::new();
        let begun = Vec::new();
        let seen = Vec::new();
        let mut life = Self { assistant, now, dice, play, running, log, begun, seen };
        life.wake();
        life
    }

    /// Crashes and restarts the program with nothing but the stored records.
    pub fn wake(&mut self) {
        self.running.clear();
        let memory = self.log.memory();
        self.assistant = Assistant::new(memory, [].into(), Room::HOUSE, Dice::new(self.dice.roll()));
        self.log.gone.clear();
        self.happens(Event::Started);
        // The files are read only after the start.
        self.happens(Event::Woke);
        let plans = self.log.files.values().cloned().map(FileNews::Plans).collect();
        self.happens(Event::Files(plans, Look::First));
    }

    /// Simulates everything that is due within `time`.
    pub fn lives(&mut self, time: SignedDuration) {
        let until = self.now.timestamp() + time;
        for _ in 0..1_000_000 {
            let now = self.now.timestamp();
            let turn = self.running.iter().map(|(turn, (_, at, _))| (*at, *turn)).min();
            let wakes = self.assistant.wakes(now).map(|at| at.max(now));
            let next = wakes.into_iter().chain(turn.map(|(at, _)| at)).min().filter(|at| *at <= until);
            let Some(next) = next else {
                self.now = until.to_zoned(self.now.time_zone().clone());
                return;
            };
            self.now = next.max(now).to_zoned(self.now.time_zone().clone());
            match turn.filter(|(at, _)| *at <= self.now.timestamp()) {
                Some((_, turn)) => self.ends(turn),
                None => self.happens(Event::Woke),
            }
        }
        panic!("nobody ever rests");
    }

    /// Ends a turn with its planned outcome.
    pub fn ends(&mut self, turn: TurnId) {
        let Some((_, _, ending)) = self.running.remove(&turn) else { return };
        let said = match ending {
            Ending::Finished => vec![Said::Assistant(vec![Block::Text("done".to_owned())], Reach::Whole)],
            Ending::Interrupted | Ending::Failed(_) => Vec::new(),
        };
        let ended = Ended { left: Left::Said(said), ending, usage: Usage::default(), spent: Vec::new() };
        self.happens(Event::TurnEnded(turn, ended));
    }

    pub fn happens(&mut self, event: Event) {
        let effects = self.assistant.on(event, &self.now);
        self.perform(effects);
        let gone: Vec<FileNews> = self.log.gone.drain(..).map(FileNews::Gone).collect();
        if !gone.is_empty() {
            self.happens(Event::Files(gone, Look::Again));
        }
    }

    pub fn asks(&mut self, request: Request) -> Answer {
        let (answer, effects) = self.assistant.asked(request, &self.now);
        self.perform(effects);
        answer
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Write(records) => records.into_iter().for_each(|record| self.write(record)),
                Effect::StartTurn(start) => {
                    let (takes, ending) = (self.play)(&mut self.dice);
                    self.running.insert(start.turn, (start, self.now.timestamp() + takes, ending));
                }
                Effect::Interrupt(turn) => {
                    if let Some((_, at, ending)) = self.running.get_mut(&turn) {
                        (*at, *ending) = (self.now.timestamp(), Ending::Interrupted);
                    }
                }
                Effect::Show(Shown::Notice(text)) => self.seen.push(text),
                Effect::Show(Shown::Said { branch: Branch::Main, entry }) => {
                    self.seen.push(entry.said.text())
                }
                Effect::Show(_)
                | Effect::Decide(..)
                | Effect::Answer(..)
                | Effect::Hurry(_)
                | Effect::LoadSkills(..)
                | Effect::Carry(_) => {}
            }
        }
    }

    fn write(&mut self, record: Record) {
        if let Record::Plan(PlanChange::Occurred(occurrence)) = &record
            && matches!(occurrence.stage, Stage::Running(_) | Stage::Asked(_))
        {
            self.begun.push((self.now.timestamp(), occurrence.key.clone()));
        }
        self.log.write(record);
    }
}

impl Log {
    fn write(&mut self, record: Record) {
        match record {
            Record::Said(branch, entry) => {
                self.newest.entry = self.newest.entry.max(entry.id.0);
                if let Some(head) = self.heads.get_mut(&branch) {
                    head.entry = Some(entry.id);
                }
            }
            Record::Moved(moved) => match moved.to {
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
                self.turns.insert(opened.turn, (opened.branch, opened.answers, attempts + 1));
                self.newest.turn = self.newest.turn.max(opened.turn.0);
            }
            Record::Turn(TurnChange::Closed(closed)) => drop(self.turns.remove(&closed.turn)),
            Record::Fork(ForkChange::Running(run)) => drop(self.runs.insert(run.branch.clone(), run)),
            Record::Fork(ForkChange::Doing(branch, doings)) => {
                if let Some(run) = self.runs.get_mut(&branch) {
                    run.doings = *doings;
                }
            }
            Record::Fork(ForkChange::Ran(branch)) => drop(self.runs.remove(&branch)),
            Record::State(StateChange::Pings(budget)) => self.pings = Some(budget),
            Record::Plan(change) => self.planned(change),
            Record::Message(
                MessageChange::Sent(_)
                | MessageChange::Post(_)
                | MessageChange::Card(..)
                | MessageChange::Attention(_),
            )
            | Record::Turn(TurnChange::Held(_) | TurnChange::Decided(..))
            | Record::Fork(ForkChange::Wanted(_) | ForkChange::Open(_) | ForkChange::Ended(_))
            | Record::State(StateChange::Set(..) | StateChange::Charged(_))
            | Record::Report(_)
            | Record::Approval(_)
            | Record::Spent(_)
            | Record::Inbox(_)
            | Record::Session(_) => {}
        }
    }

    fn planned(&mut self, change: PlanChange) {
        match change {
            PlanChange::Accounted(source, accounted) => drop(self.known.insert(source, accounted)),
            PlanChange::Forgotten(source) => drop(self.known.remove(&source)),
            PlanChange::Occurred(occurrence) => {
                let before = self.occurrences.insert(occurrence.key.clone(), occurrence);
                let ended = before.filter(|before| matches!(before.stage, Stage::Ended(_)));
                assert_eq!(ended, None, "what has ended does not begin again");
            }
            PlanChange::File(FileWork::Remove(Removal { source, .. })) => {
                let open = self.occurrences.values().any(|occurrence| {
                    occurrence.key.source == source && !matches!(occurrence.stage, Stage::Ended(_))
                });
                assert!(!open, "{source} goes before it has ended");
                self.files.remove(&source);
                self.gone.push(source);
            }
            // There are no webhooks in these simulations.
            PlanChange::Delivery(_)
            | PlanChange::Session(..)
            | PlanChange::File(_)
            | PlanChange::Rest(_)
            | PlanChange::Written(..)
            | PlanChange::Marked(..)
            | PlanChange::Changes(_) => {}
        }
    }

    fn memory(&self) -> Memory {
        let mut memory = Memory::of(Conversation::new(self.heads.clone(), EntryId(self.newest.entry + 1)));
        memory.turns.next = TurnId(self.newest.turn + 1);
        let newest = self.messages.keys().next_back().map_or(0, |id| id.0);
        memory.messages.next = MessageId(newest + 1);
        let waiting = self.messages.values().filter(|(_, taken)| !taken).map(|(message, _)| message.clone());
        memory.messages.waiting = waiting.collect();
        memory.turns.runs =
            self.runs.iter().map(|(branch, run)| (branch.clone(), Arc::new(run.clone()))).collect();
        let unfinished = self.turns.iter().map(|(turn, (branch, message, attempts))| Unfinished {
            turn: *turn,
            branch: branch.clone(),
            answers: Arc::new(self.messages[message].0.clone()),
            attempts: *attempts,
            calls: 0,
            unanswered: Vec::new(),
        });
        memory.turns.unfinished = unfinished.collect();
        memory.chosen.pings = self.pings;
        for (source, accounted) in &self.known {
            memory.plans.known.insert_mut(source.clone(), accounted.clone());
        }
        for (key, occurrence) in &self.occurrences {
            if !matches!(occurrence.stage, Stage::Ended(_)) {
                memory.plans.open.insert_mut(key.clone(), occurrence.clone());
            }
        }
        memory
    }
}

/// Returns a random number below `bound`.
pub fn below(dice: &mut Dice, bound: u64) -> u64 {
    dice.roll() % bound
}

/// All turns take `time` and finish.
pub fn takes(time: SignedDuration) -> Play {
    Box::new(move |_| (time, Ending::Finished))
}

/// Terms that allow a run to ping and to end without restriction.
pub fn freely() -> Terms {
    Terms { voice: Voice { reporting: Reporting::Freely, pings: Pings::Allowed }, ..Terms::default() }
}
