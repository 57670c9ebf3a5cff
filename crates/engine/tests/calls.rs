//! Concurrent model calls against a simulated vendor with rate limits, in virtual time.

#![expect(clippy::expect_used, reason = "a fixture that cannot be created stops the test at once")]

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use domain::assistant::{Answer, Request, TurnKind, TurnOutcome, TurnRequest, TurnStart, Update};
use domain::context::{Context, RequestLimit};
use domain::conversation::{Block, Branch, EntryId, Usage};
use domain::cost::{Account, Attendance, BudgetRefusal, CallConcurrency, CostSource};
use domain::effort::Effort;
use domain::failure::Failure;
use domain::thinking::Thinking;
use domain::tool::{ToolCall, ToolResult, ToolSpec};
use domain::turn::{ModelReply, StopReason, TurnEnding, TurnId, TurnLimits};
use engine::call_slots::CallSlots;
use engine::driver::{MAX_CONCURRENT_CALLS, Services, drive};
use engine::handle::{AssistantHandle, Input};
use engine::ports::{Model, RateLimit, RateLimitUnit, ResponseHead, StreamSinkRef, Surface, ToolRunner};
use engine::turn_control::TurnHandle;
use futures_util::future::BoxFuture;
use testkit::null_journal::NullJournal;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

/// The duration of a streamed reply.
const REPLY_TIME: Duration = Duration::from_secs(6);

/// A simulated vendor that records the calls.
struct Vendor {
    began: Instant,
    state: Mutex<State>,
    /// The requests per minute of each model. `None`: unlimited.
    rate: Option<u64>,
    /// Whether responses state the rate limit.
    states_limits: bool,
    /// The concurrent calls that are processed; others wait up to [`HEAD_TIMEOUT`].
    slots: Semaphore,
}

/// The time after which a call without a response head is given up.
const HEAD_TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Default)]
struct State {
    calls: Vec<(String, Duration)>,
    refused: usize,
    given_up: usize,
    /// The time of each accepted call, with its model.
    accepted: Vec<(String, Instant)>,
    /// While set, every call is refused with this `retry-after` in seconds.
    closed: Option<u64>,
}

impl Vendor {
    fn new(rate: Option<u64>, states_limits: bool, slots: usize) -> Arc<Self> {
        let began = Instant::now();
        let state = Mutex::default();
        let slots = Semaphore::new(slots);
        Arc::new(Self { began, state, rate, states_limits, slots })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panicked here")
    }

    /// Accepts a request of `model`, or returns the seconds until the next one fits. The limit
    /// refills evenly.
    fn accept(&self, model: &str) -> (ResponseHead, Result<(), u64>) {
        let mut state = self.state();
        state.calls.push((model.to_owned(), self.began.elapsed()));
        let Some(rate) = self.rate else { return (head(true, None), state.closed.map_or(Ok(()), Err)) };
        let each = Duration::from_secs(60).div_f64(rate as f64);
        // The used part of the limit, as in a leaky bucket.
        let mut debt = Duration::ZERO;
        let mut last = self.began;
        for (_, at) in state.accepted.iter().filter(|(accepted, _)| accepted == model) {
            debt = debt.saturating_sub(at.duration_since(last)) + each;
            last = *at;
        }
        debt = debt.saturating_sub(last.elapsed());
        let full = Duration::from_secs(60);
        let is_accepted = debt + each <= full && state.closed.is_none();
        if is_accepted {
            state.accepted.push((model.to_owned(), Instant::now()));
            debt += each;
        }
        let remaining = (full - debt.min(full)).div_duration_f64(each) as u64;
        let limit = RateLimit { unit: RateLimitUnit::Requests, limit: rate, remaining, resets_in: debt };
        let result = if is_accepted { Ok(()) } else { Err(state.closed.unwrap_or(each.as_secs() + 1)) };
        (head(is_accepted, self.states_limits.then_some(limit)), result)
    }
}

fn head(accepted: bool, limit: Option<RateLimit>) -> ResponseHead {
    ResponseHead { accepted, limits: limit.into_iter().collect() }
}

impl Model for Vendor {
    fn name(&self) -> &str {
        "vendor"
    }

    fn name_for(&self, context: &Context) -> String {
        context.model.clone().unwrap_or_default()
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        listener: StreamSinkRef<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, Failure>> {
        Box::pin(async move {
            let (head, accepted) = self.accept(&self.name_for(context));
            if let Err(seconds) = accepted {
                self.state().refused += 1;
                listener.response_head(&head);
                return Err(Failure::Overloaded(Some(seconds)));
            }
            let Ok(_slot) = tokio::time::timeout(HEAD_TIMEOUT, self.slots.acquire()).await else {
                self.state().given_up += 1;
                return Err(Failure::Unreachable("silent for 120 s".to_owned()));
            };
            listener.response_head(&head);
            listener.text("well");
            sleep(REPLY_TIME).await;
            let usage = Usage { input: 100, output: 5, ..Usage::default() };
            Ok(ModelReply {
                blocks: vec![Block::Text("well".to_owned())],
                stop_reason: StopReason::Finished,
                usage,
            })
        })
    }
}

struct NullServices;

impl ToolRunner for NullServices {
    fn tools(&self) -> Arc<[ToolSpec]> {
        Arc::from([])
    }

    fn run<'a>(&'a self, _: TurnId, _: &'a ToolCall, _: &'a AssistantHandle) -> BoxFuture<'a, ToolResult> {
        Box::pin(std::future::pending())
    }
}

impl Surface for NullServices {
    fn show(&self, _: &Update) {}
}

/// Concurrent turns, and an assistant that allows their spending.
struct Turns {
    services: Services,
    handle: AssistantHandle,
    running: JoinSet<TurnOutcome>,
    /// Aborted at the end of the test.
    _assistant: JoinSet<()>,
    next: u64,
}

impl Turns {
    fn new(vendor: &Arc<Vendor>) -> Self {
        Self::near_the_limit(vendor, usize::MAX)
    }

    /// Creates turns of which `most` may spend concurrently.
    fn near_the_limit(vendor: &Arc<Vendor>, most: usize) -> Self {
        let services = Services {
            model: vendor.clone(),
            tools: Arc::new(NullServices),
            journal: Arc::new(NullJournal),
            surface: Arc::new(NullServices),
            instructions: Arc::from(""),
            retry_limits: domain::retry_policy::RetryLimits::DEFAULT,
            limits: TurnLimits::DEFAULT,
            call_slots: Arc::new(CallSlots::new(MAX_CONCURRENT_CALLS)),
        };
        let (handle, inputs) = AssistantHandle::new();
        let mut assistant = JoinSet::new();
        assistant.spawn(allow_spending(inputs, most));
        Self { services, handle, running: JoinSet::new(), _assistant: assistant, next: 0 }
    }

    fn background(&mut self, number: usize, model: &str) {
        let account =
            Account { source: CostSource::Routine("mail".to_owned()), attended: Attendance::Unattended };
        (0..number).for_each(|_| self.start(account.clone(), model));
    }

    fn interactive(&mut self, model: &str) {
        self.start(Account::answer_on(&Branch::Main), model);
    }

    fn start(&mut self, account: Account, model: &str) {
        self.next += 1;
        let number = self.next;
        let start = TurnStart {
            turn: TurnId(number),
            branch: Branch::Main,
            kind: TurnKind::Answer,
            account,
            model: Some(model.to_owned()),
            thinking: Thinking::Off,
            effort: Effort::Low,
            user: "julius".to_owned(),
            from: EntryId(1),
            seed: number,
            window: RequestLimit(200_000),
        };
        let services = self.services.clone();
        let assistant = self.handle.clone();
        self.running.spawn(async move {
            let (_hold, control) = TurnHandle::new();
            drive(start, services, assistant, control).await
        });
    }

    /// Waits until all turns have ended. Returns the number of finished ones.
    async fn answered(&mut self) -> usize {
        let mut answered = 0;
        while let Some(ended) = self.running.join_next().await {
            let ended = ended.expect("no turn panics");
            answered += usize::from(ended.ending == TurnEnding::Finished);
        }
        answered
    }
}

/// An assistant whose daily limit allows `most` concurrent calls.
async fn allow_spending(mut inputs: mpsc::Receiver<Input>, most: usize) {
    let mut spending = 0;
    while let Some(input) = inputs.recv().await {
        let Input::Request(request, reply) = input else { continue };
        let answer = if let Request::Turn(_, TurnRequest::MayCallModel(_, next)) = request {
            if next.concurrency == CallConcurrency::Concurrent && spending >= most {
                Answer::OverBudget(BudgetRefusal::Reserved)
            } else {
                spending += 1;
                Answer::Done
            }
        } else {
            spending -= usize::from(matches!(request, Request::Turn(_, TurnRequest::CallsMade(_))));
            Answer::Done
        };
        let _ = reply.send(answer);
    }
}

/// Returns when the calls of `model` reached the vendor.
fn times(vendor: &Vendor, model: &str) -> Vec<Duration> {
    vendor.state().calls.iter().filter(|(called, _)| called == model).map(|(_, at)| *at).collect()
}

fn last(times: &[Duration]) -> Duration {
    times.last().copied().expect("a call")
}

/// With a limit of four calls, one of them reserved for the user, the last of ten began after 18 s.
#[tokio::test(start_paused = true)]
async fn ten_background_runs_call_the_model_at_once() {
    let vendor = Vendor::new(None, false, MAX_CONCURRENT_CALLS);
    let mut turns = Turns::new(&vendor);
    turns.background(10, "sonnet");
    assert_eq!(turns.answered().await, 10);
    let times = times(&vendor, "sonnet");
    println!("the last of 10 background runs reaches the model: {} ns", last(&times).as_nanos());
    assert!(times.len() == 10 && last(&times) < Duration::from_millis(200), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_background_runs_are_concurrent() {
    let vendor = Vendor::new(None, false, MAX_CONCURRENT_CALLS);
    let mut turns = Turns::new(&vendor);
    turns.background(100, "sonnet");
    assert_eq!(turns.answered().await, 100);
    println!("100 background runs of 6 s are answered: {} ns", vendor.began.elapsed().as_nanos());
    assert!(vendor.began.elapsed() < 7 * SECOND, "{:?}", vendor.began.elapsed());
}

/// One slot stays free for the user, whatever the number of runs.
#[tokio::test(start_paused = true)]
async fn the_user_is_answered_beside_any_number_of_runs() {
    let vendor = Vendor::new(None, false, 2 * MAX_CONCURRENT_CALLS);
    let mut turns = Turns::new(&vendor);
    turns.background(3 * MAX_CONCURRENT_CALLS, "sonnet");
    sleep(SECOND).await;
    turns.interactive("sonnet");
    sleep(SECOND).await;
    let times = times(&vendor, "sonnet");
    assert_eq!((times.len(), last(&times)), (MAX_CONCURRENT_CALLS, SECOND), "127 runs and the user");
    assert_eq!(turns.answered().await, 3 * MAX_CONCURRENT_CALLS + 1);
}

/// The vendor states a limit of 50 requests a minute. The user's turns run before and in the
/// middle.
#[tokio::test(start_paused = true)]
async fn runs_keep_to_the_stated_rate_limit_and_leave_a_part_of_it_for_the_user() {
    let vendor = Vendor::new(Some(50), true, MAX_CONCURRENT_CALLS);
    let mut turns = Turns::new(&vendor);
    turns.interactive("sonnet");
    assert_eq!(turns.answered().await, 1);
    turns.background(100, "sonnet");
    sleep(20 * SECOND).await;
    (0..4).for_each(|_| turns.interactive("sonnet"));
    assert_eq!(turns.answered().await, 104);
    let state = vendor.state();
    assert_eq!(state.refused, 0, "{:?}", state.calls);
    // 45 at once, and the other 55 at 50 a minute.
    assert!(vendor.began.elapsed() < 90 * SECOND, "{:?}", vendor.began.elapsed());
}

/// Without rate limit headers the vendor can only refuse. Each run has six tries; all of them are
/// answered.
#[tokio::test(start_paused = true)]
async fn runs_are_all_answered_by_a_vendor_that_only_refuses() {
    let vendor = Vendor::new(Some(50), false, MAX_CONCURRENT_CALLS);
    let mut turns = Turns::new(&vendor);
    turns.background(100, "sonnet");
    assert_eq!(turns.answered().await, 100);
    assert!(vendor.began.elapsed() < 150 * SECOND, "{:?}", vendor.began.elapsed());
    let refused = vendor.state().refused;
    assert!((1..=120).contains(&refused), "{refused} refusals");
}

/// A refusal delays the background calls of one model. Other models of the vendor have limits of
/// their own, and the user's turn makes its own attempt.
#[tokio::test(start_paused = true)]
async fn a_refusal_holds_up_the_background_calls_of_that_model_only() {
    let vendor = Vendor::new(None, false, MAX_CONCURRENT_CALLS);
    let mut turns = Turns::new(&vendor);
    vendor.state().closed = Some(30);
    turns.background(1, "opus");
    sleep(SECOND).await;
    vendor.state().closed = None;
    turns.background(9, "opus");
    turns.background(1, "haiku");
    turns.interactive("opus");
    sleep(SECOND).await;
    assert_eq!(times(&vendor, "haiku"), [SECOND]);
    assert_eq!(times(&vendor, "opus"), [Duration::ZERO, SECOND], "the refused one and the user's");
    assert_eq!(turns.answered().await, 12);
    let others = times(&vendor, "opus").split_off(2);
    assert!(others.iter().all(|at| *at >= 30 * SECOND), "{others:?}");
}

/// A local server with few slots delays the other calls until they are given up.
#[tokio::test(start_paused = true)]
async fn runs_are_all_answered_by_a_server_with_few_slots() {
    let vendor = Vendor::new(None, false, 1);
    let mut turns = Turns::new(&vendor);
    turns.background(100, "qwen3");
    assert_eq!(turns.answered().await, 100);
    let given_up = vendor.state().given_up;
    assert!(given_up < 150, "{given_up} calls were given up");
}

/// E4: each call reserves its maximum cost. A call that does not fit beside the others starts when
/// one of them has ended, not when all have.
#[tokio::test(start_paused = true)]
async fn near_the_daily_limit_as_many_calls_run_as_fit() {
    let vendor = Vendor::new(None, false, MAX_CONCURRENT_CALLS);
    let mut turns = Turns::near_the_limit(&vendor, 12);
    turns.background(100, "sonnet");
    assert_eq!(turns.answered().await, 100);
    let times = times(&vendor, "sonnet");
    assert_eq!(times.iter().filter(|at| **at < SECOND).count(), 12);
    assert!(vendor.began.elapsed() < 9 * REPLY_TIME + SECOND, "{:?}", vendor.began.elapsed());
}

/// A call that waited for the daily limit checks the rate limits again, and does not delay other
/// models.
#[tokio::test(start_paused = true)]
async fn call_that_waited_for_the_daily_limit_checks_the_rate_limits_again() {
    let vendor = Vendor::new(None, false, MAX_CONCURRENT_CALLS);
    let mut turns = Turns::near_the_limit(&vendor, 0);
    turns.background(1, "opus");
    sleep(SECOND).await;
    turns.background(1, "sonnet");
    sleep(SECOND).await;
    vendor.state().closed = Some(30);
    turns.interactive("sonnet");
    sleep(SECOND).await;
    vendor.state().closed = None;
    turns.background(1, "haiku");
    assert_eq!(turns.answered().await, 4);
    assert_eq!(times(&vendor, "haiku"), [REPLY_TIME]);
    let times = times(&vendor, "sonnet");
    assert_eq!((times.len(), times[0]), (3, 2 * SECOND), "{times:?}");
    assert!(times[1] >= 32 * SECOND, "{times:?}");
}

/// E4: calls run one after the other if the limit has no room for two.
#[tokio::test(start_paused = true)]
async fn at_the_daily_limit_calls_run_one_by_one() {
    let vendor = Vendor::new(None, false, MAX_CONCURRENT_CALLS);
    let mut turns = Turns::near_the_limit(&vendor, 0);
    turns.background(3, "sonnet");
    assert_eq!(turns.answered().await, 3);
    assert_eq!(times(&vendor, "sonnet"), [Duration::ZERO, REPLY_TIME, 2 * REPLY_TIME]);
}
