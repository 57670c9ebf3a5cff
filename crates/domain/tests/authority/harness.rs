//! A harness for the real assistant with a scripted model, a tool runner that only counts, and a
//! user with a fixed answer. It has no disk, clock or network, so that thousands of scenarios run
//! in seconds.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use domain::agent::Agent;
use domain::approval::{ApprovalAnswer, ApprovalId, ApprovalReply as Yes};
use domain::assistant::{
    Answer, Assistant, Effect, Event, ExitCommand, FileScan, ForkCommand, Request, ScheduleCommand,
    SettingCommand, State, TurnOutcome, TurnOutput, TurnRequest, TurnStart, UserMessage,
};
use domain::compaction::ContextWindow;
use domain::context::{self};
use domain::conversation::{
    Block, Completeness, Conversation, Entry, EntryContent, EntryId, Image, Json, Usage,
};
use domain::cost::CostSource;
use domain::delivery::Delivery;
use domain::label::Label;
use domain::model::ModelChoices;
use domain::permission::{
    CallDisposition, Capability, Decision, PlannerClock, RefusalReason, Rule, links_in, tool_action_at,
};
use domain::phrase::Habits;
use domain::place::{BackgroundPlace, ChainPosition};
use domain::record::{Record, SurfaceName, TurnChange};
use domain::rng::Rng;
use domain::run::Job;
use domain::schedule::{
    JobFileChange, PingPermission, PlannedJob, Prompt, ReportMode, ReportPolicy, RunOptions, ToolRule,
};
use domain::tool::{Outcome, ServerToolKinds, ToolCall, ToolClass, ToolResult, ToolSpec};
use domain::turn::{TurnEnding, TurnId};
use jiff::Zoned;

use crate::scripted_model::{ModelInput, ScriptedModel, World};

/// The tools with the classes of the real ones.
pub const TOOLS: [(&str, ToolClass); 17] = [
    ("ping_user", ToolClass::Own),
    ("report_updates", ToolClass::Own),
    ("save_context", ToolClass::Own),
    ("enter_fork", ToolClass::Own),
    ("exit_fork", ToolClass::Own),
    ("follow_up_chain", ToolClass::Own),
    ("inbox_add", ToolClass::Notes),
    ("inbox_remove", ToolClass::Acts),
    ("schedule", ToolClass::Plans),
    ("Read", ToolClass::Reads),
    ("Write", ToolClass::Edits),
    ("Bash", ToolClass::Shell),
    ("WebFetch", ToolClass::Fetches),
    ("WebSearch", ToolClass::Searches),
    ("Task", ToolClass::Delegates),
    ("mcp__notes__add", ToolClass::Foreign),
    ("Edit", ToolClass::Edits),
];

/// A call that ran, with the label at that time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutedCall {
    pub call: ToolCall,
    pub capability: Capability,
    pub label: Label,
    pub typed: bool,
}

/// The recorded state.
#[derive(Default)]
struct Store {
    entries: BTreeMap<EntryId, Entry>,
    /// A hash of everything that is read on the path to an entry.
    read_hashes: BTreeMap<EntryId, u64>,
    decided: Vec<Decision>,
    results: BTreeMap<(TurnId, String), ToolResult>,
    decisions: BTreeMap<ApprovalId, Decision>,
}

/// The observations of a scenario.
#[derive(Default)]
pub struct Observations {
    pub executed: Vec<ExecutedCall>,
    /// All calls of the model, with any result.
    pub attempted: Vec<ToolCall>,
    /// The number of questions to the user.
    pub question_count: usize,
    /// The input of delegated calls.
    pub delegated: Vec<String>,
    /// The number of calls that were deferred to a card.
    pub card_count: usize,
}

/// One scenario.
pub struct Harness {
    assistant: Assistant,
    store: Store,
    waiting: VecDeque<TurnStart>,
    /// The scripted model.
    model: Box<dyn ScriptedModel>,
    /// The user's answer to every approval.
    user_says: ApprovalAnswer,
    world: World,
    typed: Vec<String>,
    pub observed: Observations,
    now: Zoned,
}

impl Harness {
    pub fn new(mind: Box<dyn ScriptedModel>, world: World) -> Self {
        let tools =
            TOOLS.map(|(name, class)| ToolSpec { name, description: Cow::Borrowed(""), schema: "{}", class });
        let memory = State::new(Conversation::new(BTreeMap::new(), EntryId(1)));
        let agent = Agent {
            name: "reader".to_owned(),
            description: String::new(),
            model: None,
            tools: vec!["Bash(ollim-bot mail *)".to_owned(), "WebFetch".to_owned()],
            prompt: "You read.".to_owned(),
        };
        let choices = ModelChoices { default_model: "anthropic:x".to_owned(), ..ModelChoices::default() };
        let assistant = Assistant::new(memory, tools.to_vec().into(), ContextWindow::DEFAULT, Rng::new(7))
            .with_agents([agent].into())
            .with_models(choices);
        Self {
            assistant,
            store: Store::default(),
            waiting: VecDeque::new(),
            model: mind,
            user_says: ApprovalAnswer::Deny,
            world,
            typed: Vec::new(),
            observed: Observations::default(),
            now: "2026-11-16T08:00[Europe/Madrid]".parse().expect("a time"),
        }
    }

    /// Returns the harness with a user who approves everything.
    pub fn approving(self) -> Self {
        let mut house = Self { user_says: ApprovalAnswer::Allow, ..self };
        house.ask(Request::Configure(SettingCommand::PermissionMode("default".to_owned())));
        house
    }

    /// Advances the clock by a day.
    pub fn next_day(&mut self) {
        self.now = self.now.tomorrow().expect("a day");
    }

    /// Sends a picture that contains the outside text.
    pub fn send_picture(&mut self, text: &str) {
        let image = Image { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() };
        let saying = UserMessage { images: vec![image], ..UserMessage::from_text(SurfaceName::Page, text) };
        self.ask(Request::Say(saying));
        self.run_turns();
    }

    /// Sends a message of the user and runs all turns that follow.
    pub fn user_says(&mut self, text: &str) {
        self.typed.extend(links_in(text));
        self.ask(Request::Say(UserMessage::from_text(SurfaceName::Page, text)));
        self.run_turns();
    }

    /// Enters or leaves a fork.
    pub fn step(&mut self, step: ForkCommand) {
        self.ask(Request::Fork(step));
        self.run_turns();
    }

    pub fn back(way: ExitCommand) -> ForkCommand {
        ForkCommand::Exit(way)
    }

    /// Runs a background job.
    pub fn run_job(&mut self, aside: BackgroundPlace, tools: &[&str], prompt: &str) {
        let voice = ReportPolicy { reporting: ReportMode::Freely, pings: PingPermission::Allowed };
        let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        let terms =
            RunOptions { report_policy: voice, tools: ToolRule::Only(tools), ..RunOptions::default() };
        let source = "routine:job".parse().expect("a source");
        self.typed.extend(links_in(prompt));
        let job = Job { source, name: "job".to_owned(), place: aside, terms, prompt: Prompt::new(prompt) };
        self.ask(Request::Schedule(ScheduleCommand::RunJob(job)));
        self.run_turns();
    }

    /// Adds job files.
    pub fn add_plans(&mut self, jobs: impl IntoIterator<Item = PlannedJob>) {
        let news = jobs.into_iter().map(|job| JobFileChange::Planned(Arc::new(job))).collect();
        let effects = self.assistant.on_event(Event::FilesChanged(news, FileScan::First), &self.now);
        self.perform(effects);
    }

    /// Starts a planned job now.
    pub fn run_now(&mut self, source: CostSource) {
        self.ask(Request::Schedule(ScheduleCommand::FireNow(source)));
        self.run_turns();
    }

    /// Delivers a webhook call.
    pub fn deliver_webhook(&mut self, delivery: Delivery) {
        // Deliveries wait until all files were read.
        let effects = self.assistant.on_event(Event::FilesChanged(Vec::new(), FileScan::First), &self.now);
        self.perform(effects);
        assert_eq!(
            self.ask(Request::Schedule(ScheduleCommand::DeliverWebhook(Box::new(delivery)))),
            Answer::Done
        );
        self.run_turns();
    }

    pub fn forked() -> BackgroundPlace {
        BackgroundPlace::Forked(ChainPosition::NotInChain)
    }

    pub fn isolated() -> BackgroundPlace {
        BackgroundPlace::Isolated(ChainPosition::NotInChain)
    }

    /// Checks that the label of each entry follows from its parent.
    pub fn assert_labels(&self) {
        for entry in self.store.entries.values() {
            let above = entry.parent.map_or(Label::PLAIN, |parent| self.store.entries[&parent].label);
            assert_eq!(entry.label, above.join(entry.own_label), "{entry:?}");
            assert!(entry.content.label().is_covered_by(entry.own_label), "{entry:?}");
        }
    }

    fn ask(&mut self, request: Request) -> Answer {
        let (answer, effects) = self.assistant.handle(request, &self.now);
        self.perform(effects);
        answer
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Write(records) => records.into_iter().for_each(|record| self.write(record)),
                Effect::StartTurn(start) => self.waiting.push_back(start),
                Effect::ReturnResult(turn, result) => {
                    drop(self.store.results.insert((turn, result.call.clone()), result))
                }
                Effect::CarryOut(approval) => panic!("nobody said yes to {approval:?}"),
                Effect::Decide(_, id, decision) => drop(self.store.decisions.insert(id, decision)),
                Effect::Interrupt(_) | Effect::Prioritize(_) | Effect::LoadSkills(..) | Effect::Show(_) => {}
            }
        }
    }

    fn write(&mut self, record: Record) {
        if let Record::EntryAppended(_, entry) = record {
            let before = entry.parent.map_or(self.model.seed(), |parent| self.store.read_hashes[&parent]);
            self.store.read_hashes.insert(entry.id, fold_hash(before, &self.model_text(&entry.content)));
            self.store.entries.insert(entry.id, entry);
        } else if let Record::Turn(TurnChange::CallDecided(_, decision, _)) = record {
            self.observed.card_count +=
                usize::from(matches!(decision.rule, Rule::Refused(RefusalReason::Deferred(_))));
            self.store.decided.push(decision);
        }
    }

    /// Runs turns until none is left. Each has a few steps at most.
    fn run_turns(&mut self) {
        while let Some(start) = self.waiting.pop_front() {
            self.run_turn(&start);
        }
    }

    fn run_turn(&mut self, start: &TurnStart) {
        let mut said: Vec<EntryContent> = Vec::new();
        for step in 0..3 {
            let blocks = self.reply(start, &said, step);
            let calls: Vec<ToolCall> = domain::conversation::tool_calls(&blocks).cloned().collect();
            self.observed.attempted.extend(calls.iter().cloned());
            said.push(EntryContent::Assistant(blocks.clone(), Completeness::Complete));
            if calls.is_empty() {
                break;
            }
            let kinds = ServerToolKinds::new();
            let most = calls.len();
            let request = Request::Turn(
                start.turn,
                TurnRequest::MayRun { blocks, model_calls: Vec::new(), kinds, max_calls: most },
            );
            let Answer::Rulings(rulings) = self.ask(request) else { return };
            let mut results: Vec<ToolResult> =
                rulings.into_iter().map(|ruling| self.carry_out(start, ruling)).collect();
            let answer = self.ask(Request::Turn(start.turn, TurnRequest::CallsDone(results.clone())));
            if let Answer::Results(kept) = answer {
                results = kept;
            }
            said.push(EntryContent::Tools(results));
        }
        if matches!(start.account.source, CostSource::Routine(_) | CostSource::Webhook(_)) {
            let words = self.final_text(start, &said);
            self.ask(Request::Turn(
                start.turn,
                TurnRequest::UseContextTool(domain::context_tool::ContextTool::Report(words)),
            ));
        }
        let last =
            EntryContent::Assistant(vec![Block::Text(self.final_text(start, &said))], Completeness::Complete);
        let ended = TurnOutcome {
            output: TurnOutput::Contents(vec![last]),
            ending: TurnEnding::Finished,
            usage: Usage::default(),
            unrecorded_calls: Vec::new(),
        };
        let effects = self.assistant.on_event(Event::TurnEnded(start.turn, ended), &self.now);
        self.perform(effects);
    }

    fn carry_out(&mut self, start: &TurnStart, ruling: CallDisposition) -> ToolResult {
        match ruling {
            CallDisposition::Decided(decision) => {
                decision.refusal().unwrap_or_else(|| self.execute(start, &decision))
            }
            CallDisposition::Answered(result) => result,
            CallDisposition::Delegated(call) => {
                self.observed.delegated.push(call.input.0.clone());
                self.run_turns();
                self.answer_of(start.turn, &call.id)
            }
            CallDisposition::Asked(id, call) => {
                self.observed.question_count += 1;
                let which = id.0.to_string();
                self.ask(Request::Approve(Yes {
                    selector: which,
                    answer: self.user_says,
                    surface: SurfaceName::Page,
                }));
                let refused = ToolResult {
                    call: call.id,
                    text: "Error: the human denied this.".to_owned(),
                    outcome: Outcome::Denied,
                    label: Label::PLAIN,
                };
                match self.store.decisions.remove(&id).filter(|decision| decision.refusal().is_none()) {
                    Some(decision) => self.execute(start, &decision),
                    None => refused,
                }
            }
        }
    }

    fn answer_of(&self, turn: TurnId, call: &str) -> ToolResult {
        self.store.results[&(turn, call.to_owned())].clone()
    }

    /// Executes a call: it is counted, after its decision was recorded.
    fn execute(&mut self, start: &TurnStart, decision: &Decision) -> ToolResult {
        let call = &decision.call;
        assert!(self.store.decided.contains(decision), "{call:?} ran before it was decided upon");
        let class = TOOLS.iter().find(|(name, _)| *name == call.name).map(|(_, class)| *class);
        let class = class.expect("a tool that is there");
        let clock = PlannerClock {
            now: self.now.clone(),
            habits: Habits::default(),
            routines: Vec::new(),
            undone: Vec::new(),
        };
        let deed = tool_action_at(call, class, Some(&clock));
        let typed = call.input.text("url").is_some_and(|url| self.typed.contains(&url));
        self.observed.executed.push(ExecutedCall {
            call: call.clone(),
            capability: deed.capability,
            label: decision.label,
            typed,
        });
        let text = match (deed.read_label.is_tainted(), deed.read_label.is_private()) {
            (true, true) => format!("{} {}", self.world.outside, self.world.private),
            (true, false) => self.world.outside.clone(),
            (false, true) => self.world.private.clone(),
            (false, false) => "done".to_owned(),
        };
        let wish = match call.name.as_str() {
            "report_updates" => Some(domain::context_tool::ContextTool::Report(self.final_text(start, &[]))),
            "save_context" => Some(domain::context_tool::ContextTool::Save),
            "exit_fork" => Some(domain::context_tool::ContextTool::ExitFork),
            _ => None,
        };
        if let Some(wish) = wish {
            self.ask(Request::Turn(start.turn, TurnRequest::UseContextTool(wish)));
        }
        ToolResult { call: call.id.clone(), text, outcome: Outcome::Done, label: deed.read_label }
    }

    /// Returns a hash of everything that the model reads.
    fn read_hash(&self, start: &TurnStart, said: &[EntryContent]) -> u64 {
        said.iter()
            .fold(self.store.read_hashes[&start.from], |hash, said| fold_hash(hash, &self.model_text(said)))
    }

    /// Returns everything that the model reads.
    fn read_text(&self, start: &TurnStart, said: &[EntryContent]) -> String {
        let above = std::iter::successors(Some(start.from), |id| self.store.entries[id].parent);
        let mut all: Vec<String> =
            above.map(|id| self.model_text(&self.store.entries[&id].content)).collect();
        all.reverse();
        all.extend(said.iter().map(|said| self.model_text(said)));
        all.join("\n")
    }

    /// Returns the model's reply: calls that depend on everything it has read.
    fn reply(&self, start: &TurnStart, said: &[EntryContent], step: u64) -> Vec<Block> {
        let number = self.read_hash(start, said);
        let text = || self.read_text(start, said);
        let moment = ModelInput { hash: number, step, source: &start.account.source, text: &text };
        let call = |(index, (name, input)): (usize, (String, String))| {
            Block::Call(ToolCall { id: format!("call-{step}-{index}"), name, input: Json(input) })
        };
        self.model.calls(&moment).into_iter().enumerate().map(call).collect()
    }

    fn final_text(&self, start: &TurnStart, said: &[EntryContent]) -> String {
        let number = self.read_hash(start, said);
        let text = || self.read_text(start, said);
        let moment = ModelInput { hash: number, step: 9, source: &start.account.source, text: &text };
        let always = || format!("so it is: {number:x} {}", self.model.final_note(&moment));
        self.model.final_answer(&moment).unwrap_or_else(always)
    }

    /// Returns an entry as the model reads it: content that a tool shows is left out, and a picture
    /// counts as the text in it.
    fn model_text(&self, said: &EntryContent) -> String {
        match said {
            EntryContent::User(heard) if !heard.images.is_empty() => {
                format!("{} {}", context::user_text(heard), self.world.outside)
            }
            EntryContent::User(heard) => context::user_text(heard),
            EntryContent::Assistant(blocks, _) => format!("{blocks:?}"),
            EntryContent::Tools(results) => results.iter().map(|result| result.text.clone()).collect(),
            EntryContent::Summary(text) => text.clone(),
            EntryContent::SummaryRecalled(_) => String::new(),
        }
    }
}

/// Returns a hash of `before` and `text`.
fn fold_hash(before: u64, text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(before ^ 0xcbf2_9ce4_8422_2325, step)
}
