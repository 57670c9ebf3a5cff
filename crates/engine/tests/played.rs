//! Simulated time: `simulate` waits for the same work as `run`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::approval::{Approval, ApprovalAnswer, ApprovalId, ApprovalReply, Waiter};
use domain::assistant::{Assistant, Request, State, Update};
use domain::compaction::ContextWindow;
use domain::conversation::{Branch, Conversation, EntryId, Json};
use domain::label::Label;
use domain::record::SurfaceName;
use domain::rng::Rng;
use domain::tool::{Outcome, ToolCall, ToolResult, ToolSpec};
use domain::turn::{TurnId, TurnLimits};
use engine::call_slots::CallSlots;
use engine::driver::Services;
use engine::event_loop::EventLoop;
use engine::handle::{AssistantHandle, Input};
use engine::ports::{Clock, Surface, ToolRunner};
use engine::simulation::SimClock;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Zoned;
use testkit::null_journal::NullJournal;
use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use tokio::sync::oneshot;

const MINUTE: Duration = Duration::from_secs(60);

/// A tool runner that takes a minute for each call, and a surface that collects notices.
struct SlowServices {
    clock: Arc<SimClock>,
    shown: Mutex<Vec<String>>,
}

impl ToolRunner for SlowServices {
    fn tools(&self) -> Arc<[ToolSpec]> {
        Arc::from([])
    }

    fn run<'a>(&'a self, _: TurnId, call: &'a ToolCall, _: &'a AssistantHandle) -> BoxFuture<'a, ToolResult> {
        async {
            self.clock.sleep(MINUTE).await;
            let call = call.id.clone();
            let text = "tidied".to_owned();
            ToolResult { call, text, outcome: Outcome::Done, label: Label::PLAIN }
        }
        .boxed()
    }
}

impl Surface for SlowServices {
    fn show(&self, shown: &Update) {
        if let (Update::Notice(text), Ok(mut seen)) = (shown, self.shown.lock()) {
            seen.push(text.clone());
        }
    }
}

/// Returns the state of an assistant with an open approval card.
fn state_with_a_card(now: &Zoned) -> State {
    let mut memory = State::new(Conversation::new(BTreeMap::new(), EntryId(1)));
    let id = "call-1".to_owned();
    let name = "tidy".to_owned();
    let call = ToolCall { id, name, input: Json("{}".to_owned()) };
    let id = ApprovalId(1);
    let at = now.timestamp();
    let turn = TurnId(1);
    let branch = Branch::Main;
    memory.approvals.open.push(Approval {
        id,
        step: id,
        at,
        turn,
        branch,
        call,
        label: domain::label::Label::PLAIN,
        waiter: Waiter::Card,
    });
    memory.approvals.next_id = ApprovalId(2);
    memory
}

/// An approved call runs in simulated time, takes its time, and its result is shown.
#[tokio::test]
async fn approved_call_runs_in_simulated_time() {
    let start: Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
    let clock = Arc::new(SimClock::new(&start));
    let slow_services = Arc::new(SlowServices { clock: clock.clone(), shown: Mutex::default() });
    let services = Services {
        model: Arc::new(ScriptedModel::answering(|_| ModelOutcome::text("Yes."))),
        tools: slow_services.clone(),
        journal: Arc::new(NullJournal),
        surface: slow_services.clone(),
        instructions: Arc::from(""),
        retry_limits: domain::retry_policy::RetryLimits::NONE,
        limits: TurnLimits::DEFAULT,
        call_slots: Arc::new(CallSlots::new(1)),
    };
    let assistant =
        Assistant::new(state_with_a_card(&start), Arc::from([]), ContextWindow::DEFAULT, Rng::new(7));
    let mut event_loop = EventLoop::new(assistant, services, clock.clone(), AssistantHandle::new());
    let (reply, _answer) = oneshot::channel();
    let which = "1".to_owned();
    let verdict = ApprovalAnswer::Allow;
    let by = SurfaceName::Terminal;
    event_loop
        .handle(Input::Request(
            Request::Approve(ApprovalReply { selector: which, answer: verdict, surface: by }),
            reply,
        ))
        .await;

    event_loop.simulate(&clock, MINUTE / 2).await;
    let told =
        || slow_services.shown.lock().unwrap().iter().filter(|shown| *shown == "card 1: tidied").count();
    assert_eq!(told(), 0, "it takes a minute");
    event_loop.simulate(&clock, MINUTE).await;
    assert_eq!(told(), 1, "{:?} at {}", slow_services.shown.lock().unwrap(), clock.now());
    event_loop.shut_down().await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}
