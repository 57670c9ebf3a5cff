//! Concurrent model calls against a simulated vendor with rate limits, in virtual time.

#![expect(clippy::expect_used, reason = "a fixture that cannot be created stops the test at once")]

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use domain::assistant::{Answer, Ended, Progress, Purpose, Request, Shown, Start};
use domain::context::{Context, Window};
use domain::conversation::{Block, Branch, EntryId, Usage};
use domain::cost::{Account, Attended, Pace, Refusal, Source};
use domain::effort::Effort;
use domain::failure::Failure;
use domain::thinking::Thinking;
use domain::tool::{ToolCall, ToolResult, ToolSpec};
use domain::turn::{Ending, Limits, Reply, Stop, TurnId};
use engine::desk::{Desk, Letter};
use engine::drive::{CALLS, World, drive};
use engine::places::Places;
use engine::ports::{Hands, Head, Listener, Model, RateLimit, Surface, Unit};
use engine::reins::Hold;
use futures_util::future::BoxFuture;
use testkit::forgetful::Forgetful;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

/// The duration of a streamed reply.
const REPLY: Duration = Duration::from_secs(6);

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
const PATIENCE: Duration = Duration::from_secs(120);

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
    fn accept(&self, model: &str) -> (Head, Result<(), u64>) {
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
        let limit = RateLimit { unit: Unit::Requests, limit: rate, remaining, resets_in: debt };
        let result = if is_accepted { Ok(()) } else { Err(state.closed.unwrap_or(each.as_secs() + 1)) };
        (head(is_accepted, self.states_limits.then_some(limit)), result)
    }
}

fn head(accepted: bool, limit: Option<RateLimit>) -> Head {
    Head { accepted, limits: limit.into_iter().collect() }
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
        listener: Listener<'a>,
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        Box::pin(async move {
            let (head, accepted) = self.accept(&self.name_for(context));
            if let Err(seconds) = accepted {
                self.state().refused += 1;
                listener.answered(&head);
                return Err(Failure::Busy(Some(seconds)));
            }
            let Ok(_slot) = tokio::time::timeout(PATIENCE, self.slots.acquire()).await else {
                self.state().given_up += 1;
                return Err(Failure::Unreachable("silent for 120 s".to_owned()));
            };
            listener.answered(&head);
            listener.words("well");
            sleep(REPLY).await;
            let usage = Usage { input: 100, output: 5, ..Usage::default() };
            Ok(Reply { blocks: vec![Block::Text("well".to_owned())], stop: Stop::Said, usage })
        })
    }
}

struct Nothing;

impl Hands for Nothing {
    fn tools(&self) -> Arc<[ToolSpec]> {
        Arc::from([])
    }

    fn run<'a>(&'a self, _: TurnId, _: &'a ToolCall, _: &'a Desk) -> BoxFuture<'a, ToolResult> {
        Box::pin(std::future::pending())
    }
}

impl Surface for Nothing {
    fn show(&self, _: &Shown) {}
}

/// Concurrent turns, and an assistant that allows their spending.
struct Turns {
    world: World,
    desk: Desk,
    running: JoinSet<Ended>,
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
        let world = World {
            model: vendor.clone(),
            hands: Arc::new(Nothing),
            journal: Arc::new(Forgetful),
            surface: Arc::new(Nothing),
            instructions: Arc::from(""),
            patience: domain::patience::Limits::HOUSE,
            limits: Limits::HOUSE,
            calls: Arc::new(Places::new(CALLS)),
        };
        let (desk, pile) = Desk::new();
        let mut assistant = JoinSet::new();
        assistant.spawn(lets_spend(pile, most));
        Self { world, desk, running: JoinSet::new(), _assistant: assistant, next: 0 }
    }

    fn background(&mut self, number: usize, model: &str) {
        let account = Account { source: Source::Routine("mail".to_owned()), attended: Attended::Unattended };
        (0..number).for_each(|_| self.start(account.clone(), model));
    }

    fn of_the_user(&mut self, model: &str) {
        self.start(Account::answer_on(&Branch::Main), model);
    }

    fn start(&mut self, account: Account, model: &str) {
        self.next += 1;
        let number = self.next;
        let start = Start {
            turn: TurnId(number),
            branch: Branch::Main,
            purpose: Purpose::Answer,
            account,
            model: Some(model.to_owned()),
            thinking: Thinking::Off,
            effort: Effort::Low,
            human: "julius".to_owned(),
            from: EntryId(1),
            seed: number,
            window: Window(200_000),
        };
        let world = self.world.clone();
        let desk = self.desk.clone();
        self.running.spawn(async move {
            let (_hold, reins) = Hold::new();
            drive(start, world, desk, reins).await
        });
    }

    /// Waits until all turns have ended. Returns the number of finished ones.
    async fn answered(&mut self) -> usize {
        let mut answered = 0;
        while let Some(ended) = self.running.join_next().await {
            let ended = ended.expect("no turn panics");
            answered += usize::from(ended.ending == Ending::Finished);
        }
        answered
    }
}

/// An assistant whose daily limit allows `most` concurrent calls.
async fn lets_spend(mut pile: mpsc::Receiver<Letter>, most: usize) {
    let mut spending = 0;
    while let Some(letter) = pile.recv().await {
        let Letter::Asked(request, reply) = letter else { continue };
        let answer = if let Request::Turn(_, Progress::MaySpend(_, next)) = request {
            if next.pace == Pace::Beside && spending >= most {
                Answer::Overspent(Refusal::Taken)
            } else {
                spending += 1;
                Answer::Noted
            }
        } else {
            spending -= usize::from(matches!(request, Request::Turn(_, Progress::Spent(_))));
            Answer::Noted
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
async fn ten_background_runs_reach_the_model_at_once() {
    let vendor = Vendor::new(None, false, CALLS);
    let mut turns = Turns::new(&vendor);
    turns.background(10, "sonnet");
    assert_eq!(turns.answered().await, 10);
    let times = times(&vendor, "sonnet");
    println!("the last of 10 background runs reaches the model: {} ns", last(&times).as_nanos());
    assert!(times.len() == 10 && last(&times) < Duration::from_millis(200), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_background_runs_go_on_together() {
    let vendor = Vendor::new(None, false, CALLS);
    let mut turns = Turns::new(&vendor);
    turns.background(100, "sonnet");
    assert_eq!(turns.answered().await, 100);
    println!("100 background runs of 6 s are answered: {} ns", vendor.began.elapsed().as_nanos());
    assert!(vendor.began.elapsed() < 7 * SECOND, "{:?}", vendor.began.elapsed());
}

/// One slot stays free for the user, whatever the number of runs.
#[tokio::test(start_paused = true)]
async fn the_user_is_answered_beside_any_number_of_runs() {
    let vendor = Vendor::new(None, false, 2 * CALLS);
    let mut turns = Turns::new(&vendor);
    turns.background(3 * CALLS, "sonnet");
    sleep(SECOND).await;
    turns.of_the_user("sonnet");
    sleep(SECOND).await;
    let times = times(&vendor, "sonnet");
    assert_eq!((times.len(), last(&times)), (CALLS, SECOND), "127 runs and the user");
    assert_eq!(turns.answered().await, 3 * CALLS + 1);
}

/// The vendor states a limit of 50 requests a minute. The user's turns run before and in the
/// middle.
#[tokio::test(start_paused = true)]
async fn runs_keep_to_the_stated_rate_limit_and_leave_a_part_of_it_for_the_user() {
    let vendor = Vendor::new(Some(50), true, CALLS);
    let mut turns = Turns::new(&vendor);
    turns.of_the_user("sonnet");
    assert_eq!(turns.answered().await, 1);
    turns.background(100, "sonnet");
    sleep(20 * SECOND).await;
    (0..4).for_each(|_| turns.of_the_user("sonnet"));
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
    let vendor = Vendor::new(Some(50), false, CALLS);
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
    let vendor = Vendor::new(None, false, CALLS);
    let mut turns = Turns::new(&vendor);
    vendor.state().closed = Some(30);
    turns.background(1, "opus");
    sleep(SECOND).await;
    vendor.state().closed = None;
    turns.background(9, "opus");
    turns.background(1, "haiku");
    turns.of_the_user("opus");
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
async fn near_the_daily_limit_as_many_runs_go_on_as_fit() {
    let vendor = Vendor::new(None, false, CALLS);
    let mut turns = Turns::near_the_limit(&vendor, 12);
    turns.background(100, "sonnet");
    assert_eq!(turns.answered().await, 100);
    let times = times(&vendor, "sonnet");
    assert_eq!(times.iter().filter(|at| **at < SECOND).count(), 12);
    assert!(vendor.began.elapsed() < 9 * REPLY + SECOND, "{:?}", vendor.began.elapsed());
}

/// A call that waited for the daily limit checks the rate limits again, and does not delay other
/// models.
#[tokio::test(start_paused = true)]
async fn a_call_that_waited_for_the_daily_limit_looks_at_the_rate_limits_again() {
    let vendor = Vendor::new(None, false, CALLS);
    let mut turns = Turns::near_the_limit(&vendor, 0);
    turns.background(1, "opus");
    sleep(SECOND).await;
    turns.background(1, "sonnet");
    sleep(SECOND).await;
    vendor.state().closed = Some(30);
    turns.of_the_user("sonnet");
    sleep(SECOND).await;
    vendor.state().closed = None;
    turns.background(1, "haiku");
    assert_eq!(turns.answered().await, 4);
    assert_eq!(times(&vendor, "haiku"), [REPLY]);
    let times = times(&vendor, "sonnet");
    assert_eq!((times.len(), times[0]), (3, 2 * SECOND), "{times:?}");
    assert!(times[1] >= 32 * SECOND, "{times:?}");
}

/// E4: calls run one after the other if the limit has no room for two.
#[tokio::test(start_paused = true)]
async fn at_the_daily_limit_runs_go_alone() {
    let vendor = Vendor::new(None, false, CALLS);
    let mut turns = Turns::near_the_limit(&vendor, 0);
    turns.background(3, "sonnet");
    assert_eq!(turns.answered().await, 3);
    assert_eq!(times(&vendor, "sonnet"), [Duration::ZERO, REPLY, 2 * REPLY]);
}
