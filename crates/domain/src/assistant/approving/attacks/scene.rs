//! Fixture for an attack: the real assistant with an active turn, a simulated model that calls
//! tools, and a log of all calls that were allowed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Zoned};

use crate::approval::{ApprovalId, Reply, Verdict};
use crate::assistant::{
    Answer, Assistant, Effect, Ended, Event, Left, Memory, Planning, Progress, Rein, Request, Saying,
};
use crate::compaction::Room;
use crate::conversation::{Block, Branch, Conversation, EntryId, Image, Json, Usage};
use crate::dice::Dice;
use crate::permission::{Mode, Refused, Rule, Ruling};
use crate::place::{Aside, Follow};
use crate::record::SurfaceName;
use crate::run::Job;
use crate::schedule::{Prompt, Terms, ToolRule};
use crate::tool::{Class, ServerKinds, ToolCall, ToolSpec};
use crate::turn::{Ending, TurnId};

const TOOLS: [(&str, Class); 6] = [
    ("inbox_remove", Class::Acts),
    ("Bash", Class::Shell),
    ("Write", Class::Edits),
    ("WebFetch", Class::Fetches),
    ("mcp", Class::Foreign),
    ("look", Class::Own),
];

/// An assistant in permission mode `Ask` with an active turn.
pub(super) struct Scene {
    pub(super) assistant: Assistant,
    now: Zoned,
    turn: TurnId,
    calls: usize,
    /// Calls that ran or may run.
    pub(super) let_through: Vec<ToolCall>,
}

impl Scene {
    pub(super) fn new() -> Self {
        let mut memory = Memory::of(Conversation::new(BTreeMap::new(), EntryId(1)));
        memory.chosen.modes.main = Mode::Ask;
        let now: Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
        let mut scene =
            Self { assistant: house(memory), now, turn: TurnId(1), calls: 0, let_through: Vec::new() };
        scene.ask(Request::Say(Saying::words(SurfaceName::Page, "go")));
        scene
    }

    pub(super) fn ask(&mut self, request: Request) -> Answer {
        let (answer, effects) = self.assistant.asked(request, &self.now);
        self.perform(effects);
        answer
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::StartTurn(start) => self.turn = start.turn,
                Effect::Decide(_, _, decision) if decision.refusal().is_none() => {
                    self.let_through.push(decision.call);
                }
                Effect::Carry(approval) => self.let_through.push(approval.call),
                Effect::Decide(..)
                | Effect::Write(_)
                | Effect::Answer(..)
                | Effect::LoadSkills(..)
                | Effect::Interrupt(_)
                | Effect::Hurry(_)
                | Effect::Show(_) => {}
            }
        }
    }

    /// Simulates a tool call, and returns the approval's number if the user is asked.
    pub(super) fn calls(&mut self, name: &str, input: &str) -> Option<ApprovalId> {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let call = ToolCall { id, name: name.to_owned(), input: Json(input.to_owned()) };
        let request = Request::Turn(
            self.turn,
            Progress::MayRun {
                blocks: vec![Block::Call(call)],
                spent: Vec::new(),
                kinds: ServerKinds::new(),
                most: 1,
            },
        );
        let Answer::Decided(rulings) = self.ask(request) else { return None };
        for ruling in rulings {
            match ruling {
                Ruling::Asked(id, _) => return Some(id),
                Ruling::Decided(decision) => match decision.rule {
                    Rule::Allowed(_) => self.let_through.push(decision.call),
                    Rule::Refused(Refused::Deferred(id) | Refused::Unanswered(id)) => return Some(id),
                    Rule::Refused(_) => {}
                },
                Ruling::Delegated(_) | Ruling::Answered(_) => {}
            }
        }
        None
    }

    pub(super) fn answers(&mut self, which: &str, verdict: Verdict) -> Answer {
        self.ask(Request::Approve(Reply { which: which.to_owned(), verdict, by: SurfaceName::Page }))
    }

    pub(super) fn says(&mut self, id: ApprovalId, verdict: Verdict) -> Answer {
        self.answers(&id.0.to_string(), verdict)
    }

    pub(super) fn later(&mut self, by: SignedDuration) {
        self.now = self.now.checked_add(by).unwrap();
    }

    pub(super) fn wakes(&mut self) {
        let effects = self.assistant.on(Event::Woke, &self.now);
        self.perform(effects);
    }

    /// Simulates a restart from the recorded state.
    pub(super) fn restarts(&mut self) {
        self.assistant = house(self.assistant.memory.clone());
        let effects = self.assistant.on(Event::Started, &self.now);
        self.perform(effects);
    }

    /// Stops the turn and starts a new one.
    pub(super) fn goes_on(&mut self) {
        self.goes_on_with(Saying::words(SurfaceName::Page, "go on"));
    }

    fn goes_on_with(&mut self, saying: Saying) {
        self.ask(Request::Rein(Rein::Stop));
        let ended = Ended {
            left: Left::Said(Vec::new()),
            ending: Ending::Interrupted,
            usage: Usage::default(),
            spent: Vec::new(),
        };
        let effects = self.assistant.on(Event::TurnEnded(self.turn, ended), &self.now);
        self.perform(effects);
        self.ask(Request::Say(saying));
    }

    /// Sends a picture, which taints the branch.
    pub(super) fn reads_outside(&mut self) {
        let image = Image { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() };
        self.goes_on_with(Saying { images: vec![image], ..Saying::words(SurfaceName::Page, "look") });
        assert!(self.assistant.label_of(&Branch::Main).is_tainted());
    }

    /// Starts a background run.
    pub(super) fn job(&mut self) {
        let tools = ToolRule::Only(TOOLS.map(|(name, _)| name.to_owned()).to_vec());
        let terms = Terms { tools, ..Terms::default() };
        let aside = Aside::Isolated(Follow::Alone);
        let prompt = Prompt::new("tidy up");
        let source = "routine:job".parse().unwrap();
        self.ask(Request::Plan(Planning::Do(Job { source, name: "job".to_owned(), aside, terms, prompt })));
    }

    /// Returns true if a call of this tool with this input was allowed.
    pub(super) fn ran(&self, name: &str, input: &str) -> bool {
        self.let_through.iter().any(|call| call.name == name && call.input.0 == input)
    }
}

fn house(memory: Memory) -> Assistant {
    let tools =
        TOOLS.map(|(name, class)| ToolSpec { name, description: Cow::Borrowed(""), schema: "{}", class });
    Assistant::new(memory, Arc::new(tools), Room::HOUSE, Dice::new(7))
}
