//! A harness for the real assistant with a scripted model, a tool runner that only counts, and a
//! user with a fixed answer. It has no disk, clock or network, so that thousands of scenarios run
//! in seconds.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use domain::agent::Agent;
use domain::approval::{ApprovalId, Reply as Yes, Verdict};
use domain::assistant::{
    Answer, Assistant, Choice, Effect, Ended, Event, Left, Look, Memory, Planning, Progress, Request, Saying,
    Start, Step, Way,
};
use domain::compaction::Room;
use domain::context::{self};
use domain::conversation::{Block, Conversation, Entry, EntryId, Image, Json, Reach, Said, Usage};
use domain::cost::Source;
use domain::delivery::Delivery;
use domain::dice::Dice;
use domain::label::Label;
use domain::model::Choices;
use domain::permission::{Clock, Decision, Power, Refused, Rule, Ruling, deed_at, links};
use domain::phrase::Habits;
use domain::place::{Aside, Follow};
use domain::record::{Record, SurfaceName, TurnChange};
use domain::run::Job;
use domain::schedule::{FileNews, Pings, Planned, Prompt, Reporting, Terms, ToolRule, Voice};
use domain::tool::{Class, Outcome, ServerKinds, ToolCall, ToolResult, ToolSpec};
use domain::turn::{Ending, TurnId};
use jiff::Zoned;

use crate::mind::{Mind, Moment, World};

/// The tools with the classes of the real ones.
pub const TOOLS: [(&str, Class); 17] = [
    ("ping_user", Class::Own),
    ("report_updates", Class::Own),
    ("save_context", Class::Own),
    ("enter_fork", Class::Own),
    ("exit_fork", Class::Own),
    ("follow_up_chain", Class::Own),
    ("inbox_add", Class::Notes),
    ("inbox_remove", Class::Acts),
    ("schedule", Class::Plans),
    ("Read", Class::Reads),
    ("Write", Class::Edits),
    ("Bash", Class::Shell),
    ("WebFetch", Class::Fetches),
    ("WebSearch", Class::Searches),
    ("Task", Class::Delegates),
    ("mcp__notes__add", Class::Foreign),
    ("Edit", Class::Edits),
];

/// A call that ran, with the label at that time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub call: ToolCall,
    pub power: Power,
    pub knows: Label,
    pub typed: bool,
}

/// The recorded state.
#[derive(Default)]
struct Kept {
    entries: BTreeMap<EntryId, Entry>,
    /// A hash of everything that is read on the path to an entry.
    read: BTreeMap<EntryId, u64>,
    decided: Vec<Decision>,
    results: BTreeMap<(TurnId, String), ToolResult>,
    decisions: BTreeMap<ApprovalId, Decision>,
}

/// The observations of a scenario.
#[derive(Default)]
pub struct Seen {
    pub ran: Vec<Ran>,
    /// All calls of the model, with any result.
    pub tried: Vec<ToolCall>,
    /// The number of questions to the user.
    pub asked: usize,
    /// The input of delegated calls.
    pub delegated: Vec<String>,
    /// The number of calls that were deferred to a card.
    pub cards: usize,
}

/// One scenario.
pub struct House {
    assistant: Assistant,
    kept: Kept,
    waiting: VecDeque<Start>,
    /// The scripted model.
    mind: Box<dyn Mind>,
    /// The user's answer to every approval.
    human: Verdict,
    world: World,
    typed: Vec<String>,
    pub seen: Seen,
    now: Zoned,
}

impl House {
    pub fn new(mind: Box<dyn Mind>, world: World) -> Self {
        let tools =
            TOOLS.map(|(name, class)| ToolSpec { name, description: Cow::Borrowed(""), schema: "{}", class });
        let memory = Memory::of(Conversation::new(BTreeMap::new(), EntryId(1)));
        let agent = Agent {
            name: "reader".to_owned(),
            description: String::new(),
            model: None,
            tools: vec!["Bash(ollim-bot mail *)".to_owned(), "WebFetch".to_owned()],
            prompt: "You read.".to_owned(),
        };
        let choices = Choices { usual: "anthropic:x".to_owned(), ..Choices::default() };
        let assistant = Assistant::new(memory, tools.to_vec().into(), Room::HOUSE, Dice::new(7))
            .asking([agent].into())
            .choosing_from(choices);
        Self {
            assistant,
            kept: Kept::default(),
            waiting: VecDeque::new(),
            mind,
            human: Verdict::Deny,
            world,
            typed: Vec::new(),
            seen: Seen::default(),
            now: "2026-11-16T08:00[Europe/Madrid]".parse().expect("a time"),
        }
    }

    /// Returns the harness with a user who approves everything.
    pub fn agreeing(self) -> Self {
        let mut house = Self { human: Verdict::Allow, ..self };
        house.ask(Request::Choose(Choice::Permissions("default".to_owned())));
        house
    }

    /// Advances the clock by a day.
    pub fn next_day(&mut self) {
        self.now = self.now.tomorrow().expect("a day");
    }

    /// Sends a picture that contains the outside text.
    pub fn picture(&mut self, text: &str) {
        let image = Image { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() };
        let saying = Saying { images: vec![image], ..Saying::words(SurfaceName::Page, text) };
        self.ask(Request::Say(saying));
        self.settle();
    }

    /// Sends a message of the user and runs all turns that follow.
    pub fn human(&mut self, text: &str) {
        self.typed.extend(links(text));
        self.ask(Request::Say(Saying::words(SurfaceName::Page, text)));
        self.settle();
    }

    /// Enters or leaves a fork.
    pub fn step(&mut self, step: Step) {
        self.ask(Request::Step(step));
        self.settle();
    }

    pub fn back(way: Way) -> Step {
        Step::Back(way)
    }

    /// Runs a background job.
    pub fn job(&mut self, aside: Aside, tools: &[&str], prompt: &str) {
        let voice = Voice { reporting: Reporting::Freely, pings: Pings::Allowed };
        let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        let terms = Terms { voice, tools: ToolRule::Only(tools), ..Terms::default() };
        let source = "routine:job".parse().expect("a source");
        self.typed.extend(links(prompt));
        let job = Job { source, name: "job".to_owned(), aside, terms, prompt: Prompt::new(prompt) };
        self.ask(Request::Plan(Planning::Do(job)));
        self.settle();
    }

    /// Adds job files.
    pub fn plans(&mut self, jobs: impl IntoIterator<Item = Planned>) {
        let news = jobs.into_iter().map(|job| FileNews::Plans(Arc::new(job))).collect();
        let effects = self.assistant.on(Event::Files(news, Look::First), &self.now);
        self.perform(effects);
    }

    /// Starts a planned job now.
    pub fn runs_now(&mut self, source: Source) {
        self.ask(Request::Plan(Planning::Now(source)));
        self.settle();
    }

    /// Delivers a webhook call.
    pub fn webhook(&mut self, delivery: Delivery) {
        // Deliveries wait until all files were read.
        let effects = self.assistant.on(Event::Files(Vec::new(), Look::First), &self.now);
        self.perform(effects);
        assert_eq!(self.ask(Request::Plan(Planning::Deliver(Box::new(delivery)))), Answer::Noted);
        self.settle();
    }

    pub fn forked() -> Aside {
        Aside::Forked(Follow::Alone)
    }

    pub fn isolated() -> Aside {
        Aside::Isolated(Follow::Alone)
    }

    /// Checks that the label of each entry follows from its parent.
    pub fn labels_hold(&self) {
        for entry in self.kept.entries.values() {
            let above = entry.parent.map_or(Label::PLAIN, |parent| self.kept.entries[&parent].label);
            assert_eq!(entry.label, above.join(entry.own), "{entry:?}");
            assert!(entry.said.label().within(entry.own), "{entry:?}");
        }
    }

    fn ask(&mut self, request: Request) -> Answer {
        let (answer, effects) = self.assistant.asked(request, &self.now);
        self.perform(effects);
        answer
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Write(records) => records.into_iter().for_each(|record| self.write(record)),
                Effect::StartTurn(start) => self.waiting.push_back(start),
                Effect::Answer(turn, result) => {
                    drop(self.kept.results.insert((turn, result.call.clone()), result))
                }
                Effect::Carry(approval) => panic!("nobody said yes to {approval:?}"),
                Effect::Decide(_, id, decision) => drop(self.kept.decisions.insert(id, decision)),
                Effect::Interrupt(_) | Effect::Hurry(_) | Effect::LoadSkills(..) | Effect::Show(_) => {}
            }
        }
    }

    fn write(&mut self, record: Record) {
        if let Record::Said(_, entry) = record {
            let before = entry.parent.map_or(self.mind.seed(), |parent| self.kept.read[&parent]);
            self.kept.read.insert(entry.id, fold(before, &self.read_out(&entry.said)));
            self.kept.entries.insert(entry.id, entry);
        } else if let Record::Turn(TurnChange::Decided(_, decision, _)) = record {
            self.seen.cards += usize::from(matches!(decision.rule, Rule::Refused(Refused::Deferred(_))));
            self.kept.decided.push(decision);
        }
    }

    /// Runs turns until none is left. Each has a few steps at most.
    fn settle(&mut self) {
        while let Some(start) = self.waiting.pop_front() {
            self.drive(&start);
        }
    }

    fn drive(&mut self, start: &Start) {
        let mut said: Vec<Said> = Vec::new();
        for step in 0..3 {
            let blocks = self.reply(start, &said, step);
            let calls: Vec<ToolCall> = domain::conversation::calls(&blocks).cloned().collect();
            self.seen.tried.extend(calls.iter().cloned());
            said.push(Said::Assistant(blocks.clone(), Reach::Whole));
            if calls.is_empty() {
                break;
            }
            let kinds = ServerKinds::new();
            let most = calls.len();
            let request =
                Request::Turn(start.turn, Progress::MayRun { blocks, spent: Vec::new(), kinds, most });
            let Answer::Decided(rulings) = self.ask(request) else { return };
            let mut results: Vec<ToolResult> =
                rulings.into_iter().map(|ruling| self.carry_out(start, ruling)).collect();
            let answer = self.ask(Request::Turn(start.turn, Progress::Ran(results.clone())));
            if let Answer::Results(kept) = answer {
                results = kept;
            }
            said.push(Said::Tools(results));
        }
        if matches!(start.account.source, Source::Routine(_) | Source::Webhook(_)) {
            let words = self.words(start, &said);
            self.ask(Request::Turn(start.turn, Progress::Wishes(domain::wish::Wish::Report(words))));
        }
        let last = Said::Assistant(vec![Block::Text(self.words(start, &said))], Reach::Whole);
        let ended = Ended {
            left: Left::Said(vec![last]),
            ending: Ending::Finished,
            usage: Usage::default(),
            spent: Vec::new(),
        };
        let effects = self.assistant.on(Event::TurnEnded(start.turn, ended), &self.now);
        self.perform(effects);
    }

    fn carry_out(&mut self, start: &Start, ruling: Ruling) -> ToolResult {
        match ruling {
            Ruling::Decided(decision) => decision.refusal().unwrap_or_else(|| self.run(start, &decision)),
            Ruling::Answered(result) => result,
            Ruling::Delegated(call) => {
                self.seen.delegated.push(call.input.0.clone());
                self.settle();
                self.answer_of(start.turn, &call.id)
            }
            Ruling::Asked(id, call) => {
                self.seen.asked += 1;
                let which = id.0.to_string();
                self.ask(Request::Approve(Yes { which, verdict: self.human, by: SurfaceName::Page }));
                let refused = ToolResult {
                    call: call.id,
                    text: "Error: the human denied this.".to_owned(),
                    outcome: Outcome::Denied,
                    label: Label::PLAIN,
                };
                match self.kept.decisions.remove(&id).filter(|decision| decision.refusal().is_none()) {
                    Some(decision) => self.run(start, &decision),
                    None => refused,
                }
            }
        }
    }

    fn answer_of(&self, turn: TurnId, call: &str) -> ToolResult {
        self.kept.results[&(turn, call.to_owned())].clone()
    }

    /// Executes a call: it is counted, after its decision was recorded.
    fn run(&mut self, start: &Start, decision: &Decision) -> ToolResult {
        let call = &decision.call;
        assert!(self.kept.decided.contains(decision), "{call:?} ran before it was decided upon");
        let class = TOOLS.iter().find(|(name, _)| *name == call.name).map(|(_, class)| *class);
        let class = class.expect("a tool that is there");
        let clock = Clock {
            now: self.now.clone(),
            habits: Habits::default(),
            routines: Vec::new(),
            undone: Vec::new(),
        };
        let deed = deed_at(call, class, Some(&clock));
        let typed = call.input.text("url").is_some_and(|url| self.typed.contains(&url));
        self.seen.ran.push(Ran { call: call.clone(), power: deed.power, knows: decision.knows, typed });
        let text = match (deed.reads.is_tainted(), deed.reads.is_private()) {
            (true, true) => format!("{} {}", self.world.outside, self.world.private),
            (true, false) => self.world.outside.clone(),
            (false, true) => self.world.private.clone(),
            (false, false) => "done".to_owned(),
        };
        let wish = match call.name.as_str() {
            "report_updates" => Some(domain::wish::Wish::Report(self.words(start, &[]))),
            "save_context" => Some(domain::wish::Wish::Save),
            "exit_fork" => Some(domain::wish::Wish::ExitFork),
            _ => None,
        };
        if let Some(wish) = wish {
            self.ask(Request::Turn(start.turn, Progress::Wishes(wish)));
        }
        ToolResult { call: call.id.clone(), text, outcome: Outcome::Done, label: deed.reads }
    }

    /// Returns a hash of everything that the model reads.
    fn read_by(&self, start: &Start, said: &[Said]) -> u64 {
        said.iter().fold(self.kept.read[&start.from], |hash, said| fold(hash, &self.read_out(said)))
    }

    /// Returns everything that the model reads.
    fn text_by(&self, start: &Start, said: &[Said]) -> String {
        let above = std::iter::successors(Some(start.from), |id| self.kept.entries[id].parent);
        let mut all: Vec<String> = above.map(|id| self.read_out(&self.kept.entries[&id].said)).collect();
        all.reverse();
        all.extend(said.iter().map(|said| self.read_out(said)));
        all.join("\n")
    }

    /// Returns the model's reply: calls that depend on everything it has read.
    fn reply(&self, start: &Start, said: &[Said], step: u64) -> Vec<Block> {
        let number = self.read_by(start, said);
        let text = || self.text_by(start, said);
        let moment = Moment { number, step, source: &start.account.source, text: &text };
        let call = |(index, (name, input)): (usize, (String, String))| {
            Block::Call(ToolCall { id: format!("call-{step}-{index}"), name, input: Json(input) })
        };
        self.mind.calls(&moment).into_iter().enumerate().map(call).collect()
    }

    fn words(&self, start: &Start, said: &[Said]) -> String {
        let number = self.read_by(start, said);
        let text = || self.text_by(start, said);
        let moment = Moment { number, step: 9, source: &start.account.source, text: &text };
        let always = || format!("so it is: {number:x} {}", self.mind.says(&moment));
        self.mind.says_only(&moment).unwrap_or_else(always)
    }

    /// Returns an entry as the model reads it: content that a tool shows is left out, and a picture
    /// counts as the text in it.
    fn read_out(&self, said: &Said) -> String {
        match said {
            Said::Human(heard) if !heard.images.is_empty() => {
                format!("{} {}", context::heard(heard), self.world.outside)
            }
            Said::Human(heard) => context::heard(heard),
            Said::Assistant(blocks, _) => format!("{blocks:?}"),
            Said::Tools(results) => results.iter().map(|result| result.text.clone()).collect(),
            Said::Summary(text) => text.clone(),
            Said::Recalled(_) => String::new(),
        }
    }
}

/// Returns a hash of `before` and `text`.
fn fold(before: u64, text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(before ^ 0xcbf2_9ce4_8422_2325, step)
}
