//! Runs one turn alone, with a simulated assistant that only counts model calls.

#![expect(clippy::expect_used, reason = "a fixture that cannot be created stops the test at once")]

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use domain::approval::Consent;
use domain::assistant::{Answer, Ended, Progress, Purpose, Request, Shown, Start};
use domain::context::Window;
use domain::conversation::{Branch, EntryId, calls};
use domain::cost::{Account, Call, Day, Refusal};
use domain::effort::Effort;
use domain::permission::{Authority, Ruling, decide};
use domain::thinking::Thinking;
use domain::tool::{Class, Outcome, ToolCall, ToolResult, ToolSpec};
use domain::turn::{Limits, TurnId};
use engine::desk::{Desk, Letter};
use engine::drive::{World, drive};
use engine::places::Places;
use engine::ports::{Hands, Surface};
use engine::reins::Hold;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use testkit::forgetful::Forgetful;
use testkit::puppet::{Line, Puppet};

/// The outcome of a turn.
pub struct Run {
    pub how: Ended,
    /// The number of model calls.
    pub calls: usize,
    /// The number of calls that were reported to the assistant.
    pub counted: usize,
}

struct Nowhere;

const NOTE: ToolSpec =
    ToolSpec { name: "note", description: Cow::Borrowed("Notes."), schema: "{}", class: Class::Own };

impl Hands for Nowhere {
    fn tools(&self) -> Arc<[ToolSpec]> {
        Arc::from([NOTE])
    }

    fn run<'a>(&'a self, _: TurnId, call: &'a ToolCall, _: &'a Desk) -> BoxFuture<'a, ToolResult> {
        ready(ToolResult {
            call: call.id.clone(),
            text: "noted".to_owned(),
            outcome: Outcome::Done,
            label: domain::label::Label::PLAIN,
        })
        .boxed()
    }
}

impl Surface for Nowhere {
    fn show(&self, _: &Shown) {}
}

/// Answers requests like an assistant, and counts model calls.
struct Counter<R> {
    rule: R,
    counted: RefCell<Vec<Call>>,
}

impl<R: Fn(&Day) -> Result<(), Refusal>> Counter<R> {
    fn answer(&self, request: Request) -> Answer {
        if let Request::Turn(_, Progress::MayRun { blocks, spent, .. }) = request {
            self.counted.borrow_mut().extend(spent);
            let decided = |call| decide(call, &[NOTE], &Authority::MAIN, &Consent::default());
            return Answer::Decided(calls(&blocks).filter_map(decided).map(Ruling::Decided).collect());
        }
        if let Request::Turn(_, Progress::Spent(spent)) = request {
            self.counted.borrow_mut().extend(spent);
            return Answer::Noted;
        }
        let Request::Turn(_, Progress::MaySpend(spent, _)) = request else { return Answer::Noted };
        self.counted.borrow_mut().extend(spent);
        let tokens = self.counted.borrow().iter().map(|call| call.usage.fresh()).sum();
        let answer = (self.rule)(&Day { tokens, ..Day::default() });
        answer.map_or_else(Answer::Overspent, |()| Answer::Noted)
    }
}

/// Runs one turn to its end, with a model that always replies with `line`.
pub fn run(
    account: Account,
    limits: Limits,
    rule: impl Fn(&Day) -> Result<(), Refusal>,
    line: fn() -> Line,
) -> Run {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let model = Arc::new(Puppet::answering(move |_| line()));
    let world = World {
        model: model.clone(),
        hands: Arc::new(Nowhere),
        journal: Arc::new(Forgetful),
        surface: Arc::new(Nowhere),
        instructions: Arc::from(""),
        patience: domain::patience::Limits::NONE,
        limits,
        calls: Arc::new(Places::new(1)),
    };
    let (desk, mut pile) = Desk::new();
    let counter = Counter { rule, counted: RefCell::default() };
    let turn = TurnId(1);
    let branch = Branch::Main;
    let purpose = Purpose::Answer;
    let from = EntryId(1);
    let start = Start {
        turn,
        branch,
        purpose,
        account,
        model: None,
        thinking: Thinking::Off,
        effort: Effort::Low,
        window: Window(200_000),
        human: "julius".to_owned(),
        from,
        seed: 7,
    };
    let how = runtime.expect("a runtime").block_on(async {
        let door = async {
            while let Some(Letter::Asked(request, reply)) = pile.recv().await {
                let _ = reply.send(counter.answer(request));
            }
            std::future::pending::<()>().await
        };
        tokio::select! {
            ended = drive(start, world, desk, Hold::new().1) => ended,
            () = door => unreachable!("it waits for ever"),
        }
    });
    let counted = counter.counted.borrow().len();
    Run { how, calls: model.seen().len(), counted }
}
