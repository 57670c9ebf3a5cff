//! The assistant: what can happen, and what is decided. The only place where the other rooms meet.
//!
//! It holds names, numbers and what waits; never the conversation itself. Every decision comes out as
//! effects in the order in which they must happen, the writing first.

mod choosing;
mod compacting;
mod effect;
mod forking;
mod holding;
mod reporting;
mod request;
mod spending;
mod tending;
mod wishing;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

pub use compacting::Compacted;
pub use effect::{Effect, Ended, Event, Left, Purpose, Shown, Start};
pub use forking::Way;
pub use holding::Known;
pub use request::{Answer, Progress, Request, Saying};

use crate::compaction::Room;
use crate::conversation::{Branch, Conversation, Entry, Said, Usage};
use crate::cost::{Account, Purse};
use crate::dice::Dice;
use crate::failure::Failure;
use crate::fork::Fork;
use crate::inbox::Kept;
use crate::model::Choices;
use crate::record::{Closed, Message, MessageChange, MessageId, Opened, Record, SessionChange, TurnChange};
use crate::report::{Report, ReportId};
use crate::tool::{ToolCall, ToolSpec};
use crate::turn::{Ending, TurnId};
use crate::wish::Asked;
use compacting::{Compacting, Wanted};

/// The longest message that is taken at once, in characters.
pub const MESSAGE_CHARS: usize = 100_000;
/// The most pictures in one message.
pub const IMAGES: usize = 20;
/// The most messages that wait at a time.
pub const MESSAGES_WAITING: usize = 100;
/// How often a turn is tried when the program dies under it.
pub const ATTEMPTS: u32 = 3;

/// What the journal knows when the assistant wakes up.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The names, and the number of the next entry.
    pub conversation: Conversation,
    /// Turns that never ended.
    pub unfinished: Vec<Unfinished>,
    /// Messages that nobody has taken.
    pub waiting: VecDeque<Message>,
    /// The inbox, shared with every copy of this memory.
    pub inbox: Arc<Vec<Kept>>,
    /// The number of the next message.
    pub next_message: MessageId,
    /// The number of the next turn.
    pub next_turn: TurnId,
    /// How many tokens the newest call of each branch held.
    pub filled: BTreeMap<Branch, u64>,
    /// The compaction of main that can still be taken back.
    pub compacted: Option<Compacted>,
    /// When the main conversation began.
    pub created: Option<Timestamp>,
    /// The short name of the model that was chosen; nothing, for the usual one.
    pub model: Option<String>,
    /// The reports that main has not read, oldest first, shared with every copy of this memory.
    pub reports: Arc<Vec<Report>>,
    /// The number of the next report.
    pub next_report: ReportId,
    /// The side conversation that is open.
    pub fork: Option<Fork>,
}

impl Memory {
    /// What is known of `conversation` when nothing else happened.
    pub fn of(conversation: Conversation) -> Self {
        Self {
            conversation,
            unfinished: Vec::new(),
            waiting: VecDeque::new(),
            inbox: Arc::default(),
            next_message: MessageId(1),
            next_turn: TurnId(1),
            filled: BTreeMap::new(),
            compacted: None,
            created: None,
            model: None,
            reports: Arc::default(),
            next_report: ReportId(1),
            fork: None,
        }
    }
}

/// A turn that the program died under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The turn.
    pub turn: TurnId,
    /// Where.
    pub branch: Branch,
    /// The message it answers.
    pub answers: Arc<Message>,
    /// How often it was begun.
    pub attempts: u32,
    /// Calls that were let through and whose outcome nobody wrote down.
    pub unanswered: Vec<ToolCall>,
}

/// A turn that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Running {
    turn: TurnId,
    errand: Errand,
    account: Account,
    owed: Owed,
    /// Calls that were let through and have no result yet.
    unanswered: Vec<ToolCall>,
}

/// What a turn that goes on is for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Errand {
    /// To answer this message.
    Answer(Arc<Message>, Sending),
    /// To sum up what was said.
    Compact(Compacting),
}

/// Whether words were put to the model before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sending {
    /// For the first time.
    First,
    /// Again, after a compaction made room for them.
    Again,
}

/// Since when an answer is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owed {
    /// Since the words it answers.
    Now,
    /// Since before the program died or lost its key. It has waited long enough: new words wait for it.
    SinceBefore,
    /// It cannot be given before the model takes our key: nobody speaks, and all words wait.
    Held,
}

/// Its state and its decisions.
#[derive(Clone, Debug)]
pub struct Assistant {
    memory: Memory,
    running: BTreeMap<Branch, Running>,
    /// Compactions that were asked for while somebody spoke.
    wanted: VecDeque<Wanted>,
    /// A side conversation that the model asked for; it begins when its turn has ended.
    entering: Option<Asked>,
    /// How full main was when its last compaction failed.
    refused: Option<u64>,
    tools: Arc<[ToolSpec]>,
    room: Room,
    purse: Purse,
    /// What the human knows of a model that refuses our key.
    refusal: Known,
    choices: Arc<Choices>,
    dice: Dice,
}

impl Assistant {
    /// Wakes up with `memory`, to speak with a model that has so much `room`.
    pub fn new(memory: Memory, tools: Arc<[ToolSpec]>, room: Room, dice: Dice) -> Self {
        let (running, wanted) = (BTreeMap::new(), VecDeque::new());
        let (purse, refusal, choices) = (Purse::default(), Known::default(), Arc::default());
        Self {
            memory,
            running,
            wanted,
            entering: None,
            refused: None,
            tools,
            room,
            purse,
            refusal,
            choices,
            dice,
        }
    }

    /// The same, knowing prices and limits.
    #[must_use]
    pub fn minding(mut self, purse: Purse) -> Self {
        self.purse = purse;
        self
    }

    /// The same, with these models to choose from.
    #[must_use]
    pub fn choosing_from(mut self, choices: Choices) -> Self {
        self.choices = Arc::new(choices);
        self
    }

    /// Decides what follows from `event`.
    pub fn on(&mut self, event: Event, now: &Zoned) -> Vec<Effect> {
        match event {
            Event::Started => self.started(now),
            Event::TurnEnded(turn, ended) => self.turn_ended(turn, ended, now),
            Event::KeyRenewed => self.key_renewed(now),
            Event::Woke => self.woke(now),
        }
    }

    /// Answers `request`, and decides what follows from it.
    pub fn asked(&mut self, request: Request, now: &Zoned) -> (Answer, Vec<Effect>) {
        match request {
            Request::Say(saying) => self.say(saying, now),
            Request::Stop => self.stop(now),
            Request::Retry => self.retry(now),
            Request::Compact(instructions) => self.compact(instructions, now),
            Request::Undo => self.undo(now),
            Request::Turn(turn, Progress::MayRun(blocks, spent)) => self.may_run(turn, (blocks, spent), now),
            Request::Turn(turn, Progress::MaySpend(spent)) => self.may_spend(turn, spent, now),
            Request::Turn(turn, Progress::Ran(results)) => self.ran(turn, results, now),
            Request::Wished(turn, wish) => self.wished(turn, wish, now),
            Request::Fork(topic) => self.fork(topic, now),
            Request::Leave(way) => self.leave_asked(way, now),
            Request::Clear => self.clear(now),
            Request::Reports => self.read_reports(now),
            Request::Keep(text) => self.keep(text, now),
            Request::Inbox => self.read_inbox(),
            Request::Status => self.status(),
            Request::Model(name) => self.choose_model(&name, now),
        }
    }

    fn started(&mut self, now: &Zoned) -> Vec<Effect> {
        let mut minutes = Minutes::at(now);
        // A side conversation survives a restart.
        let fork = self.memory.fork.as_ref();
        let forked =
            fork.map(|fork| Shown::Forked { branch: fork.branch.clone(), topic: fork.topic.clone() });
        minutes.shown.extend(forked);
        for left in std::mem::take(&mut self.memory.unfinished) {
            self.resume(left, &mut minutes);
        }
        self.turn_around(&mut minutes);
        self.hear_waiting(&mut minutes);
        minutes.effects()
    }

    fn turn_ended(&mut self, turn: TurnId, ended: Ended, now: &Zoned) -> Vec<Effect> {
        let Some((branch, running)) = self.run_of(turn) else { return Vec::new() };
        self.running.remove(&branch);
        let mut minutes = Minutes::at(now);
        self.spend(&branch, &running, ended.spent.clone(), &mut minutes);
        match running.errand.clone() {
            Errand::Answer(message, sending) => {
                let turned = Turned { turn, branch, message, sending };
                match &ended.ending {
                    // Half an answer is not kept: the whole one is still to come.
                    Ending::Failed(why @ Failure::BadKey(_)) => self.hold(turned, why, &mut minutes),
                    Ending::Finished | Ending::Interrupted | Ending::Failed(_) => {
                        self.write_the_rest(&turned.branch, &running, &ended, &mut minutes);
                        self.answered(turned, ended, &mut minutes);
                    }
                }
            }
            Errand::Compact(compacting) => self.compaction_ended(turn, compacting, ended, &mut minutes),
        }
        self.turn_around(&mut minutes);
        self.hear_waiting(&mut minutes);
        minutes.effects()
    }

    fn write_the_rest(&mut self, branch: &Branch, running: &Running, ended: &Ended, minutes: &mut Minutes) {
        let Left::Said(said) = &ended.left else { return };
        if !matches!(said.first(), Some(Said::Tools(_))) {
            self.tell_unknown(branch, &running.unanswered, minutes);
        }
        for said in said {
            self.say_on(branch, said.clone(), minutes);
        }
    }

    /// A turn ended: with an answer, without one, or because the conversation first needs room.
    fn answered(&mut self, turned: Turned, ended: Ended, minutes: &mut Minutes) {
        let full = matches!(ended.ending, Ending::Failed(Failure::Full(_)));
        if full && turned.branch == Branch::Main && turned.sending == Sending::First {
            return self.make_room(turned, ended, minutes);
        }
        let Turned { turn, branch, message, .. } = turned;
        let ending = self.as_meant(ended.ending);
        minutes.close(turn, ending.clone(), ended.usage);
        minutes.shown.push(Shown::Ended { turn, branch, answers: message.id, ending });
    }

    /// Goes on with what has waited longest, if nobody is speaking.
    fn hear_waiting(&mut self, minutes: &mut Minutes) {
        if self.speaking().is_some() {
            return;
        }
        if let Some(wanted) = self.wanted.pop_front() {
            return self.begin_wanted(wanted, minutes);
        }
        if self.memory.waiting.front().is_some_and(|next| self.branch_of(next) == Branch::Main)
            && self.is_full()
        {
            return self.begin_compaction(Compacting::by_itself(), minutes);
        }
        if let Some(message) = self.memory.waiting.pop_front() {
            self.begin(Arc::new(message), minutes);
        }
    }

    /// Who speaks with the human: main, or the side conversation. Only one of them does at a time.
    fn speaking(&self) -> Option<(&Branch, &Running)> {
        let fork = self.memory.fork.as_ref().map(|fork| &fork.branch);
        self.running.iter().find(|(branch, _)| **branch == Branch::Main || Some(*branch) == fork)
    }

    /// Where `message` is heard.
    fn branch_of(&self, message: &Message) -> Branch {
        let here = || self.memory.fork.as_ref().map_or(Branch::Main, |fork| fork.branch.clone());
        message.branch.clone().unwrap_or_else(here)
    }

    /// Says `message` where the human is and starts the turn that answers it.
    fn begin(&mut self, message: Arc<Message>, minutes: &mut Minutes) {
        let branch = self.branch_of(&message);
        self.ensure_main(minutes);
        let said = Said::Human(self.heard(&message, &branch, minutes));
        let Some(entry) = self.say_on(&branch, said, minutes) else { return };
        self.hand_over(&branch, entry.id, minutes);
        minutes.records.push(Record::Message(MessageChange::Taken(message.id, entry.id)));
        let turn = self.next_turn();
        self.open(Turned { turn, branch, message, sending: Sending::First }, Owed::Now, minutes);
    }

    fn next_turn(&mut self) -> TurnId {
        let turn = self.memory.next_turn;
        self.memory.next_turn = TurnId(turn.0 + 1);
        turn
    }

    /// Writes down that a turn opens, and starts it.
    fn open(&mut self, turned: Turned, owed: Owed, minutes: &mut Minutes) {
        let Turned { turn, branch, message, sending } = turned;
        let answers = message.id;
        let opened = Opened { turn, branch: branch.clone(), answers, at: minutes.at };
        minutes.records.push(Record::Turn(TurnChange::Opened(opened)));
        minutes.shown.push(Shown::Began { turn, branch: branch.clone(), answers });
        let (errand, account) = (Errand::Answer(message, sending), Account::answer_on(&branch));
        self.start(branch, Running { turn, errand, account, owed, unanswered: Vec::new() }, minutes);
    }

    /// Starts a turn where `branch` now ends.
    fn start(&mut self, branch: Branch, running: Running, minutes: &mut Minutes) {
        let Some(from) = self.memory.conversation.head(&branch).and_then(|head| head.entry) else { return };
        let purpose = match &running.errand {
            Errand::Answer(..) => Purpose::Answer,
            Errand::Compact(compacting) => Purpose::Compact(compacting.instructions.clone()),
        };
        let (turn, account, seed) = (running.turn, running.account.clone(), self.dice.roll());
        let model = self.model();
        self.running.insert(branch.clone(), running);
        minutes.starts.push(Start { turn, branch, purpose, account, model, from, seed });
    }

    /// Main always exists once something is said, and its session is known to everybody.
    fn ensure_main(&mut self, minutes: &mut Minutes) {
        if self.memory.conversation.head(&Branch::Main).is_some() {
            return;
        }
        let session = self.dice.session();
        let moved = self.memory.conversation.create(Branch::Main, session.clone(), minutes.at);
        minutes.records.push(Record::Moved(moved));
        minutes.records.push(Record::Session(SessionChange::Saved(session, minutes.at)));
        self.memory.created = Some(minutes.at);
    }

    fn say_on(&mut self, branch: &Branch, said: Said, minutes: &mut Minutes) -> Option<Entry> {
        let entry = self.memory.conversation.say(branch, said, minutes.at)?;
        minutes.records.push(Record::Said(branch.clone(), entry.clone()));
        minutes.shown.push(Shown::Said { branch: branch.clone(), entry: entry.clone() });
        Some(entry)
    }

    fn run_of(&self, turn: TurnId) -> Option<(Branch, Running)> {
        let found = self.running.iter().find(|(_, running)| running.turn == turn);
        found.map(|(branch, running)| (branch.clone(), running.clone()))
    }
}

/// A turn that answers a message somewhere.
#[derive(Clone, Debug)]
struct Turned {
    turn: TurnId,
    branch: Branch,
    message: Arc<Message>,
    sending: Sending,
}

/// The minutes of one decision: what is written, and what may then be shown.
#[derive(Debug)]
struct Minutes {
    at: Timestamp,
    zone: TimeZone,
    records: Vec<Record>,
    shown: Vec<Shown>,
    starts: Vec<Start>,
}

impl Minutes {
    fn at(now: &Zoned) -> Self {
        let (at, zone) = (now.timestamp(), now.time_zone().clone());
        Self { at, zone, records: Vec::new(), shown: Vec::new(), starts: Vec::new() }
    }

    fn close(&mut self, turn: TurnId, ending: Ending, usage: Usage) {
        self.records.push(Record::Turn(TurnChange::Closed(Closed { turn, ending, usage, at: self.at })));
    }

    /// Written first, all at once, so that a writing that fails leaves nothing half done; then shown; then begun.
    fn effects(self) -> Vec<Effect> {
        let written = (!self.records.is_empty()).then_some(Effect::Write(self.records));
        let shown = self.shown.into_iter().map(Effect::Show);
        written.into_iter().chain(shown).chain(self.starts.into_iter().map(Effect::StartTurn)).collect()
    }
}
