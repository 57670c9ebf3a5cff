//! The assistant: what can happen, and what is decided. The only place where the other rooms meet.
//!
//! It holds names, numbers and what waits; never the conversation itself. Every decision comes out as
//! effects in the order in which they must happen, the writing first.

mod effect;
mod request;
mod tending;
mod wishing;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::{Timestamp, Zoned};

pub use effect::{Effect, Ended, Event, Shown, Start};
pub use request::{Answer, Request};

use crate::conversation::{Branch, Conversation, Entry, Said, Usage};
use crate::dice::Dice;
use crate::inbox::Kept;
use crate::record::{Closed, Message, MessageId, Opened, Record, SessionChange};
use crate::tool::{ToolCall, ToolSpec};
use crate::turn::{Ending, TurnId};

/// The longest message that is taken at once, in characters.
pub const MESSAGE_CHARS: usize = 100_000;
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
}

/// A turn that the program died under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The turn.
    pub turn: TurnId,
    /// Where.
    pub branch: Branch,
    /// The message it answers.
    pub answers: MessageId,
    /// How often it was begun.
    pub attempts: u32,
    /// Calls that were let through and whose outcome nobody wrote down.
    pub unanswered: Vec<ToolCall>,
}

/// A turn that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Running {
    turn: TurnId,
    answers: MessageId,
    owed: Owed,
    /// Calls that were let through and have no result yet.
    unanswered: Vec<ToolCall>,
}

/// Since when an answer is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owed {
    /// Since the words it answers.
    Now,
    /// Since before the program died. It has waited long enough: new words wait for it.
    SinceBefore,
}

/// Its state and its decisions.
#[derive(Clone, Debug)]
pub struct Assistant {
    memory: Memory,
    running: BTreeMap<Branch, Running>,
    tools: Arc<[ToolSpec]>,
    dice: Dice,
}

impl Assistant {
    /// Wakes up with `memory`.
    pub fn new(memory: Memory, tools: Arc<[ToolSpec]>, dice: Dice) -> Self {
        Self { memory, running: BTreeMap::new(), tools, dice }
    }

    /// Decides what follows from `event`.
    pub fn on(&mut self, event: Event, now: &Zoned) -> Vec<Effect> {
        match event {
            Event::Started => self.started(now),
            Event::TurnEnded(turn, ended) => self.turn_ended(turn, ended, now),
        }
    }

    /// Answers `request`, and decides what follows from it.
    pub fn asked(&mut self, request: Request, now: &Zoned) -> (Answer, Vec<Effect>) {
        match request {
            Request::Say(surface, text) => self.say(surface, text, now),
            Request::Stop => self.stop(),
            Request::MayRun(turn, blocks) => self.may_run(turn, blocks, now),
            Request::Ran(turn, results) => self.ran(turn, results, now),
            Request::Wished(turn, wish) => self.wished(turn, wish),
            Request::Keep(text) => self.keep(text, now),
            Request::Inbox => self.read_inbox(),
            Request::Status => self.status(),
        }
    }

    fn started(&mut self, now: &Zoned) -> Vec<Effect> {
        let mut minutes = Minutes::at(now);
        for left in std::mem::take(&mut self.memory.unfinished) {
            self.resume(left, &mut minutes);
        }
        self.hear_waiting(&mut minutes, now);
        minutes.effects()
    }

    fn turn_ended(&mut self, turn: TurnId, ended: Ended, now: &Zoned) -> Vec<Effect> {
        let Some((branch, running)) = self.run_of(turn) else { return Vec::new() };
        self.running.remove(&branch);
        let mut minutes = Minutes::at(now);
        if !matches!(ended.said.first(), Some(Said::Tools(_))) {
            self.tell_unknown(&branch, &running.unanswered, &mut minutes);
        }
        for said in ended.said {
            self.say_on(&branch, said, &mut minutes);
        }
        minutes.close(turn, ended.ending.clone(), ended.usage);
        minutes.shown.push(Shown::Ended { turn, branch, answers: running.answers, ending: ended.ending });
        self.hear_waiting(&mut minutes, now);
        minutes.effects()
    }

    /// Starts the turn of the message that has waited longest, if nobody is speaking.
    fn hear_waiting(&mut self, minutes: &mut Minutes, now: &Zoned) {
        if self.running.contains_key(&Branch::Main) {
            return;
        }
        if let Some(message) = self.memory.waiting.pop_front() {
            self.begin(message, minutes, now);
        }
    }

    /// Says `message` on main and starts the turn that answers it.
    fn begin(&mut self, message: Message, minutes: &mut Minutes, now: &Zoned) {
        let branch = Branch::Main;
        self.ensure_main(minutes);
        let said = Said::Human(request::heard(&message, now));
        let Some(entry) = self.say_on(&branch, said, minutes) else { return };
        minutes.records.push(Record::Taken(message.id, entry.id));
        let turn = self.memory.next_turn;
        self.memory.next_turn = TurnId(turn.0 + 1);
        let opened = Opened { turn, branch, answers: message.id, at: minutes.at };
        self.open(opened, Owed::Now, minutes);
    }

    /// Writes down that a turn opens, and starts it.
    fn open(&mut self, opened: Opened, owed: Owed, minutes: &mut Minutes) {
        let Opened { turn, branch, answers, .. } = opened.clone();
        let Some(from) = self.memory.conversation.head(&branch).and_then(|head| head.entry) else { return };
        minutes.records.push(Record::Opened(opened));
        minutes.shown.push(Shown::Began { turn, branch: branch.clone(), answers });
        self.running.insert(branch.clone(), Running { turn, answers, owed, unanswered: Vec::new() });
        minutes.starts.push(Start { turn, branch, from, seed: self.dice.roll() });
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

/// The minutes of one decision: what is written, and what may then be shown.
#[derive(Debug)]
struct Minutes {
    at: Timestamp,
    records: Vec<Record>,
    shown: Vec<Shown>,
    starts: Vec<Start>,
}

impl Minutes {
    fn at(now: &Zoned) -> Self {
        Self { at: now.timestamp(), records: Vec::new(), shown: Vec::new(), starts: Vec::new() }
    }

    fn close(&mut self, turn: TurnId, ending: Ending, usage: Usage) {
        self.records.push(Record::Closed(Closed { turn, ending, usage, at: self.at }));
    }

    /// Written first, all at once, so that a writing that fails leaves nothing half done; then shown; then begun.
    fn effects(self) -> Vec<Effect> {
        let written = (!self.records.is_empty()).then_some(Effect::Write(self.records));
        let shown = self.shown.into_iter().map(Effect::Show);
        written.into_iter().chain(shown).chain(self.starts.into_iter().map(Effect::StartTurn)).collect()
    }
}
