//! Runs one turn alone, with a simulated assistant that only counts model calls.

#![expect(clippy::expect_used, reason = "a fixture that cannot be created stops the test at once")]

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use domain::approval::Consent;
use domain::assistant::{Answer, Request, TurnKind, TurnOutcome, TurnRequest, TurnStart, Update};
use domain::context::RequestLimit;
use domain::conversation::{Branch, EntryId, tool_calls};
use domain::cost::{Account, BudgetRefusal, DaySpending, ModelCall};
use domain::effort::Effort;
use domain::permission::{Authority, CallDisposition, decide};
use domain::thinking::Thinking;
use domain::tool::{Outcome, ToolCall, ToolClass, ToolResult, ToolSpec};
use domain::turn::{TurnId, TurnLimits};
use engine::call_slots::CallSlots;
use engine::driver::{Services, drive};
use engine::handle::{AssistantHandle, Input};
use engine::ports::{Surface, ToolRunner};
use engine::turn_control::TurnHandle;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use testkit::null_journal::NullJournal;
use testkit::scripted_model::{ModelOutcome, ScriptedModel};

/// The outcome of a turn.
pub struct Run {
    pub outcome: TurnOutcome,
    /// The number of model calls.
    pub calls: usize,
    /// The number of calls that were reported to the assistant.
    pub counted: usize,
}

struct NullServices;

const NOTE: ToolSpec =
    ToolSpec { name: "note", description: Cow::Borrowed("Notes."), schema: "{}", class: ToolClass::Own };

impl ToolRunner for NullServices {
    fn tools(&self) -> Arc<[ToolSpec]> {
        Arc::from([NOTE])
    }

    fn run<'a>(&'a self, _: TurnId, call: &'a ToolCall, _: &'a AssistantHandle) -> BoxFuture<'a, ToolResult> {
        ready(ToolResult {
            call: call.id.clone(),
            text: "noted".to_owned(),
            outcome: Outcome::Done,
            label: domain::label::Label::PLAIN,
        })
        .boxed()
    }
}

impl Surface for NullServices {
    fn show(&self, _: &Update) {}
}

/// Answers requests like an assistant, and counts model calls.
struct Counter<R> {
    rule: R,
    counted: RefCell<Vec<ModelCall>>,
}

impl<R: Fn(&DaySpending) -> Result<(), BudgetRefusal>> Counter<R> {
    fn answer(&self, request: Request) -> Answer {
        if let Request::Turn(_, TurnRequest::MayRun { blocks, model_calls: spent, .. }) = request {
            self.counted.borrow_mut().extend(spent);
            let decided = |call| decide(call, &[NOTE], &Authority::MAIN, &Consent::default());
            return Answer::Rulings(
                tool_calls(&blocks).filter_map(decided).map(CallDisposition::Decided).collect(),
            );
        }
        if let Request::Turn(_, TurnRequest::CallsMade(spent)) = request {
            self.counted.borrow_mut().extend(spent);
            return Answer::Done;
        }
        let Request::Turn(_, TurnRequest::MayCallModel(spent, _)) = request else { return Answer::Done };
        self.counted.borrow_mut().extend(spent);
        let tokens = self.counted.borrow().iter().map(|call| call.usage.uncached()).sum();
        let answer = (self.rule)(&DaySpending { tokens, ..DaySpending::default() });
        answer.map_or_else(Answer::OverBudget, |()| Answer::Done)
    }
}

/// Runs one turn to its end, with a model that always replies with `line`.
pub fn run(
    account: Account,
    limits: TurnLimits,
    rule: impl Fn(&DaySpending) -> Result<(), BudgetRefusal>,
    line: fn() -> ModelOutcome,
) -> Run {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let model = Arc::new(ScriptedModel::answering(move |_| line()));
    let services = Services {
        model: model.clone(),
        tools: Arc::new(NullServices),
        journal: Arc::new(NullJournal),
        surface: Arc::new(NullServices),
        instructions: Arc::from(""),
        retry_limits: domain::retry_policy::RetryLimits::NONE,
        limits,
        call_slots: Arc::new(CallSlots::new(1)),
    };
    let (assistant, mut inputs) = AssistantHandle::new();
    let counter = Counter { rule, counted: RefCell::default() };
    let turn = TurnId(1);
    let branch = Branch::Main;
    let purpose = TurnKind::Answer;
    let from = EntryId(1);
    let start = TurnStart {
        turn,
        branch,
        kind: purpose,
        account,
        model: None,
        thinking: Thinking::Off,
        effort: Effort::Low,
        window: RequestLimit(200_000),
        user: "julius".to_owned(),
        from,
        seed: 7,
    };
    let outcome = runtime.expect("a runtime").block_on(async {
        let answer_requests = async {
            while let Some(Input::Request(request, reply)) = inputs.recv().await {
                let _ = reply.send(counter.answer(request));
            }
            std::future::pending::<()>().await
        };
        tokio::select! {
            ended = drive(start, services, assistant, TurnHandle::new().1) => ended,
            () = answer_requests => unreachable!("it waits for ever"),
        }
    });
    let counted = counter.counted.borrow().len();
    Run { outcome, calls: model.contexts().len(), counted }
}
