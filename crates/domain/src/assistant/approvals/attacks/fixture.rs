//! Fixture for an attack: the real assistant with an active turn, a simulated model that calls
//! tools, and a log of all calls that were allowed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Zoned};

use crate::approval::{ApprovalAnswer, ApprovalId, ApprovalReply};
use crate::assistant::{
    Answer, Assistant, Effect, Event, Request, ScheduleCommand, State, TurnCommand, TurnOutcome, TurnOutput,
    TurnRequest, UserMessage,
};
use crate::compaction::ContextWindow;
use crate::conversation::{Block, Branch, Conversation, EntryId, Image, Json, Usage};
use crate::permission::{CallDisposition, Mode, RefusalReason, Rule};
use crate::place::{BackgroundPlace, ChainPosition};
use crate::record::SurfaceName;
use crate::rng::Rng;
use crate::run::Job;
use crate::schedule::{Prompt, RunOptions, ToolRule};
use crate::tool::{ServerToolKinds, ToolCall, ToolClass, ToolSpec};
use crate::turn::{TurnEnding, TurnId};

const TOOLS: [(&str, ToolClass); 6] = [
    ("inbox_remove", ToolClass::Acts),
    ("Bash", ToolClass::Shell),
    ("Write", ToolClass::Edits),
    ("WebFetch", ToolClass::Fetches),
    ("mcp", ToolClass::Foreign),
    ("look", ToolClass::Own),
];

/// An assistant in permission mode `Ask` with an active turn.
pub(super) struct Fixture {
    pub(super) assistant: Assistant,
    now: Zoned,
    turn: TurnId,
    call_tool: usize,
    /// Calls that ran or may run.
    pub(super) allowed_calls: Vec<ToolCall>,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let mut memory = State::new(Conversation::new(BTreeMap::new(), EntryId(1)));
        memory.choices.modes.main = Mode::Ask;
        let now: Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
        let mut fixture = Self {
            assistant: new_assistant(memory),
            now,
            turn: TurnId(1),
            call_tool: 0,
            allowed_calls: Vec::new(),
        };
        fixture.ask(Request::Say(UserMessage::from_text(SurfaceName::Page, "go")));
        fixture
    }

    pub(super) fn ask(&mut self, request: Request) -> Answer {
        let (answer, effects) = self.assistant.handle(request, &self.now);
        self.perform(effects);
        answer
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::StartTurn(start) => self.turn = start.turn,
                Effect::Decide(_, _, decision) if decision.refusal().is_none() => {
                    self.allowed_calls.push(decision.call);
                }
                Effect::CarryOut(approval) => self.allowed_calls.push(approval.call),
                Effect::Decide(..)
                | Effect::Write(_)
                | Effect::ReturnResult(..)
                | Effect::LoadSkills(..)
                | Effect::Interrupt(_)
                | Effect::Prioritize(_)
                | Effect::Show(_) => {}
            }
        }
    }

    /// Simulates a tool call, and returns the approval's number if the user is asked.
    pub(super) fn call_tool(&mut self, name: &str, input: &str) -> Option<ApprovalId> {
        self.call_tool += 1;
        let id = format!("call-{}", self.call_tool);
        let call = ToolCall { id, name: name.to_owned(), input: Json(input.to_owned()) };
        let request = Request::Turn(
            self.turn,
            TurnRequest::MayRun {
                blocks: vec![Block::Call(call)],
                model_calls: Vec::new(),
                kinds: ServerToolKinds::new(),
                max_calls: 1,
            },
        );
        let Answer::Rulings(rulings) = self.ask(request) else { return None };
        for ruling in rulings {
            match ruling {
                CallDisposition::Asked(id, _) => return Some(id),
                CallDisposition::Decided(decision) => match decision.rule {
                    Rule::Allowed(_) => self.allowed_calls.push(decision.call),
                    Rule::Refused(RefusalReason::Deferred(id) | RefusalReason::Unanswered(id)) => {
                        return Some(id);
                    }
                    Rule::Refused(_) => {}
                },
                CallDisposition::Delegated(_) | CallDisposition::Answered(_) => {}
            }
        }
        None
    }

    pub(super) fn answer_text(&mut self, which: &str, verdict: ApprovalAnswer) -> Answer {
        self.ask(Request::Approve(ApprovalReply {
            selector: which.to_owned(),
            answer: verdict,
            surface: SurfaceName::Page,
        }))
    }

    pub(super) fn answer(&mut self, id: ApprovalId, verdict: ApprovalAnswer) -> Answer {
        self.answer_text(&id.0.to_string(), verdict)
    }

    pub(super) fn advance(&mut self, by: SignedDuration) {
        self.now = self.now.checked_add(by).unwrap();
    }

    pub(super) fn wake(&mut self) {
        let effects = self.assistant.on_event(Event::Woke, &self.now);
        self.perform(effects);
    }

    /// Simulates a restart from the recorded state.
    pub(super) fn restart(&mut self) {
        self.assistant = new_assistant(self.assistant.state.clone());
        let effects = self.assistant.on_event(Event::Started, &self.now);
        self.perform(effects);
    }

    /// Stops the turn and starts a new one.
    pub(super) fn start_new_turn(&mut self) {
        self.start_new_turn_with(UserMessage::from_text(SurfaceName::Page, "go on"));
    }

    fn start_new_turn_with(&mut self, message: UserMessage) {
        self.ask(Request::Control(TurnCommand::Stop));
        let ended = TurnOutcome {
            output: TurnOutput::Contents(Vec::new()),
            ending: TurnEnding::Interrupted,
            usage: Usage::default(),
            unrecorded_calls: Vec::new(),
        };
        let effects = self.assistant.on_event(Event::TurnEnded(self.turn, ended), &self.now);
        self.perform(effects);
        self.ask(Request::Say(message));
    }

    /// Sends a picture, which taints the branch.
    pub(super) fn send_picture(&mut self) {
        let image = Image { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() };
        self.start_new_turn_with(UserMessage {
            images: vec![image],
            ..UserMessage::from_text(SurfaceName::Page, "look")
        });
        assert!(self.assistant.label(&Branch::Main).is_tainted());
    }

    /// Starts a background run.
    pub(super) fn start_job(&mut self) {
        let tools = ToolRule::Only(TOOLS.map(|(name, _)| name.to_owned()).to_vec());
        let terms = RunOptions { tools, ..RunOptions::default() };
        let aside = BackgroundPlace::Isolated(ChainPosition::NotInChain);
        let prompt = Prompt::new("tidy up");
        let source = "routine:job".parse().unwrap();
        self.ask(Request::Schedule(ScheduleCommand::RunJob(Job {
            source,
            name: "job".to_owned(),
            place: aside,
            terms,
            prompt,
        })));
    }

    /// Returns true if a call of this tool with this input was allowed.
    pub(super) fn was_allowed(&self, name: &str, input: &str) -> bool {
        self.allowed_calls.iter().any(|call| call.name == name && call.input.0 == input)
    }
}

fn new_assistant(memory: State) -> Assistant {
    let tools =
        TOOLS.map(|(name, class)| ToolSpec { name, description: Cow::Borrowed(""), schema: "{}", class });
    Assistant::new(memory, Arc::new(tools), ContextWindow::DEFAULT, Rng::new(7))
}
