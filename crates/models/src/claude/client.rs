//! One running program, and the task that owns it.
//!
//! One `select!` waits for all events, so the program is served while it replies, while it waits
//! for our tools, and while it is idle. A closed update channel interrupts the turn.

mod ask;
mod frames;
mod orders;
mod questions;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::context::Context;
use domain::conversation::Branch;
use domain::effort::Effort;
use domain::failure::Failure;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

pub use ask::{Ask, Compaction, News, Order, Outcome, Wanted};

use super::assembly::Assembly;
use super::company::{Company, Notice, Place};
use super::control::{Answered, Control};
use super::past;
use super::plan::{self, Plan, Start};
use super::process::Process;
use super::refusal;
use super::settings::{Choices, Settings};
use super::tools::Tools;
use super::wire::Frame;

/// The most time that an interrupted turn may take to end.
const DRAIN_TIME: Duration = Duration::from_secs(10);

/// The time to wait for calls of a message that arrive after the others.
const CALL_TIME: Duration = Duration::from_millis(200);

/// The most time that a program waits for our tools: longer than a turn waits for an approval.
const TOOLS_TIME: Duration = Duration::from_secs(30 * 60);

/// The state that all clients share.
pub struct Shared {
    pub settings: Settings,
    pub choices: Mutex<Choices>,
    pub company: Company,
}

impl Shared {
    /// Returns the settings for `context`, which may name its own model.
    fn choices_for(&self, context: &Context) -> Choices {
        let mut choices = self.choices.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(model) = &context.model {
            choices.model = Some(model.clone());
        }
        choices
    }

    /// Returns the best start for `request`.
    fn plan(&self, ask: &Ask) -> Plan {
        Plan::new(&ask.context, &ask.past, &self.company.sessions.all())
    }
}

/// A running program and the requests for it.
struct Client {
    shared: Arc<Shared>,
    branch: Branch,
    orders: mpsc::Receiver<Order>,
    program: Program,
    phase: Phase,
    /// A request that waits until the program is ready for it.
    waiting: Option<Box<Ask>>,
    questions: FuturesUnordered<BoxFuture<'static, (String, Value)>>,
    /// The time of the last event.
    since: Instant,
    /// The number of consecutive failed starts.
    unready: usize,
}

/// A started program, and the settings that it was started with.
struct Program {
    control: Control,
    tools: Tools,
    session: String,
    /// Hash of the instructions that its session began with, if known.
    began_with: Option<String>,
    /// The model in use, or none for the program's default.
    model: Option<String>,
    /// The effort, which cannot be changed while the program runs.
    effort: Effort,
    told: (Arc<str>, Arc<[domain::tool::ToolSpec]>),
}

enum Phase {
    /// Not ready yet: it starts, or it changes its model.
    Starting(oneshot::Receiver<Answered>, Plan),
    Idle,
    Speaking(Box<Speech>),
    /// Waits for our tools, and knows this many entries.
    Calling(usize),
    /// The interrupted turn; it is ending, and its entries count as known afterwards.
    Draining(Option<Box<Speech>>),
}

struct Speech {
    ask: Ask,
    message: Option<Value>,
    /// The number of entries that the program knows after this turn.
    heard: usize,
    assembly: Assembly,
    compaction: Compaction,
    progress: Progress,
    /// The time taken so far, without the time spent waiting for permissions.
    took: Duration,
}

/// The progress of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The program has not reacted yet.
    Sent,
    Heard,
    /// The message was sent again, because the program compacted its session and did not answer.
    AskedAgain,
}

enum Happening {
    Left,
    Ordered(Order),
    Abandoned,
    Told(Frame),
    Gone,
    Decided(String, Value),
    Late,
}

enum Next {
    Go,
    Over,
}

/// Runs until the client is no longer needed, or until the program has ended.
pub async fn live(shared: Arc<Shared>, branch: Branch, mut orders: mpsc::Receiver<Order>) {
    let ask = loop {
        match orders.recv().await {
            Some(Order::Ask(ask)) => break ask,
            // A client that starts later reads the new setting from the shared state.
            Some(Order::Change(_, answer)) => _ = answer.send(Ok(Value::Null)),
            None => return,
        }
    };
    let plan = shared.plan(&ask);
    let (program, phase) = match start(&shared, &branch, plan, &ask.context).await {
        Ok(started) => started,
        Err(failure) => return ask.fail(failure).await,
    };
    let questions = FuturesUnordered::new();
    let since = Instant::now();
    let waiting = Some(ask);
    let mut client = Client { shared, branch, orders, program, phase, waiting, questions, since, unready: 0 };
    while let Next::Go = client.step().await {}
    client.orders.close();
    let end = client.shared.settings.patience.end;
    client.program.control.end(end).await;
}

async fn start(
    shared: &Shared,
    branch: &Branch,
    plan: Plan,
    context: &Context,
) -> Result<(Program, Phase), Failure> {
    let choices = shared.choices_for(context);
    let settings = &shared.settings;
    let now = past::instructions_print(&context.instructions);
    let began_with = match plan.start.session() {
        None => Some(now.clone()),
        Some(session) => {
            let places = shared.company.sessions.all();
            let place = places.into_iter().find(|(_, place)| place.session == *session);
            place.and_then(|(_, place)| place.instructions)
        }
    };
    let snapshot = began_with.as_ref() == Some(&now);
    let command = settings.command(&choices, &plan.start, context, snapshot);
    let name = settings.program.display().to_string();
    let process = Process::spawn(command).map_err(|error| refusal::unstarted(&name, &error))?;
    let mut control = Control::new(process);
    if let Some(id) = control.id() {
        shared.company.notices.notice(branch, Notice::Started(id));
    }
    let (answer, ready) = oneshot::channel();
    // A failed write means that the program has ended, which reading detects.
    let _ = control.request(&settings.initialize(), answer).await;
    let told = (Arc::clone(&context.instructions), Arc::clone(&context.tools));
    let tools = Tools::new(Arc::clone(&context.tools));
    // Only a resumed session has a known id before the program reports it.
    let session = match &plan.start {
        Start::Resume(session) => session.clone(),
        Start::Fork(_) | Start::Fresh => String::new(),
    };
    let model = choices.model;
    let effort = context.effort;
    let program = Program { control, tools, session, began_with, model, effort, told };
    Ok((program, Phase::Starting(ready, plan)))
}

impl Client {
    async fn step(&mut self) -> Next {
        let is_asked = !self.questions.is_empty();
        let happening = self.happening().await;
        let passed = self.since.elapsed();
        self.since = Instant::now();
        if let Phase::Speaking(speech) = &mut self.phase
            && !is_asked
        {
            speech.took += passed;
            // Frames are read before the deadline is polled, so the total time is also checked
            // here.
            let total = self.shared.settings.patience.total;
            if speech.took >= total {
                return self.over(not_done(total)).await;
            }
        }
        match happening {
            Happening::Left => self.interrupt().await,
            Happening::Ordered(order) => self.ordered(order).await,
            Happening::Abandoned => self.over(Failure::Stopped("i am shutting down.".to_owned())).await,
            Happening::Told(frame) => self.told(frame).await,
            Happening::Gone => self.gone().await,
            Happening::Decided(id, answer) => self.answer(vec![(id, Ok(answer))]).await,
            Happening::Late => self.late().await,
        }
    }

    async fn happening(&mut self) -> Happening {
        let deadline = self.deadline();
        let left = async {
            match &self.phase {
                Phase::Speaking(speech) => speech.ask.news.closed().await,
                Phase::Starting(..) | Phase::Idle | Phase::Calling(_) | Phase::Draining(_) => {
                    std::future::pending().await
                }
            }
        };
        tokio::select! {
            biased;
            () = left => Happening::Left,
            Some((id, answer)) = self.questions.next() => Happening::Decided(id, answer),
            frame = self.program.control.frame() => frame.map_or(Happening::Gone, Happening::Told),
            order = self.orders.recv() => order.map_or(Happening::Abandoned, Happening::Ordered),
            () = sleep_until(deadline) => Happening::Late,
        }
    }

    fn deadline(&self) -> Instant {
        let patience = &self.shared.settings.patience;
        let time = match &self.phase {
            Phase::Starting(..) => patience.start,
            Phase::Idle => patience.idle,
            Phase::Calling(_) => patience.idle.max(TOOLS_TIME),
            Phase::Draining(_) => DRAIN_TIME,
            Phase::Speaking(_) if self.some_calls() => CALL_TIME,
            // The user is being asked, without a time limit.
            Phase::Speaking(_) if !self.questions.is_empty() => {
                patience.stall.max(Duration::from_secs(86_400))
            }
            Phase::Speaking(speech) => patience.stall.min(patience.total.saturating_sub(speech.took)),
        };
        self.since + time
    }

    async fn late(&mut self) -> Next {
        match &self.phase {
            Phase::Speaking(_) if self.some_calls() => self.hand_over_calls().await,
            Phase::Idle | Phase::Calling(_) => Next::Over,
            Phase::Draining(_) => self.begin_again().await,
            Phase::Starting(..) => self.unready().await,
            Phase::Speaking(_) => {
                let seconds = self.shared.settings.patience.stall.as_secs_f32();
                self.over(Failure::CutOff(format!("silent for {seconds} s"))).await
            }
        }
    }

    /// BF-12: a program that was not ready in time is started again, at most twice.
    async fn unready(&mut self) -> Next {
        let patience = self.shared.settings.patience;
        let complaint = self.shared.settings.environment.hide(&self.program.control.complaint());
        let pause = patience.again.get(self.unready).filter(|_| self.waiting.is_some());
        let Some(pause) = pause else {
            let seconds = patience.start.as_secs_f32();
            let why = format!("the claude program was not ready after {seconds} s {complaint}");
            return self.over(Failure::Unreachable(why.trim_end().to_owned())).await;
        };
        self.unready += 1;
        self.program.control.end(patience.end).await;
        let left = async {
            match &self.waiting {
                Some(ask) => ask.news.closed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = left => Next::Over,
            () = tokio::time::sleep(*pause) => self.begin_again().await,
        }
    }

    /// Sends a message that the program never received to a new program, once.
    async fn gone(&mut self) -> Next {
        let unheard = |speech: &Speech| speech.progress == Progress::Sent && speech.ask.attempts == 0;
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Speaking(speech) if unheard(&speech) => {
                self.waiting = Some(Box::new(Ask { attempts: 1, ..speech.ask }));
                self.begin_again().await
            }
            phase @ (Phase::Starting(..) | Phase::Speaking(_)) => {
                self.phase = phase;
                let complaint = self.shared.settings.environment.hide(&self.program.control.complaint());
                self.over(refusal::gone(&complaint)).await
            }
            Phase::Idle | Phase::Calling(_) | Phase::Draining(_) => self.begin_again().await,
        }
    }

    /// Starts a new program for the pending request, with as much session history as fits.
    async fn begin_again(&mut self) -> Next {
        let Some(ask) = self.waiting.take() else { return Next::Over };
        let plan = self.shared.plan(&ask);
        self.restart(plan, ask).await
    }

    /// Restarts the program. The old one must end first, because only then its session is on disk.
    async fn restart(&mut self, plan: Plan, ask: Box<Ask>) -> Next {
        self.program.control.end(self.shared.settings.patience.end).await;
        self.questions.clear();
        match start(&self.shared, &self.branch, plan, &ask.context).await {
            Ok(started) => {
                (self.program, self.phase) = started;
                self.waiting = Some(ask);
                self.since = Instant::now();
                Next::Go
            }
            Err(failure) => {
                ask.fail(failure).await;
                Next::Over
            }
        }
    }

    /// Ends the client and reports `failure` to the active and the pending request.
    async fn over(&mut self, failure: Failure) -> Next {
        if let Phase::Speaking(speech) = std::mem::replace(&mut self.phase, Phase::Idle) {
            speech.ask.fail(failure.clone()).await;
        }
        if let Some(ask) = self.waiting.take() {
            ask.fail(failure).await;
        }
        Next::Over
    }

    /// Saves that the program knows the first `received` entries of `request`, and that the first `sent`
    /// are being sent. Transient requests run in a copy of the session and are not saved.
    async fn keep(&mut self, ask: &Ask, heard: usize, told: usize) {
        if self.program.session.is_empty() || plan::is_apart(&ask.context) {
            return;
        }
        let session = self.program.session.clone();
        let instructions = self.program.began_with.clone();
        let place = Place { session, heard: ask.past.mark(heard), told: ask.past.mark(told), instructions };
        self.shared.company.sessions.keep(&self.branch, place).await;
    }

    /// Interrupts the turn, and waits for its end in the next phase.
    async fn interrupt(&mut self) -> Next {
        let heard = match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Speaking(speech) => Some(speech),
            Phase::Starting(..) | Phase::Idle | Phase::Calling(_) | Phase::Draining(_) => None,
        };
        self.phase = Phase::Draining(heard);
        self.questions.clear();
        let (answer, _) = oneshot::channel();
        // A failed write means that the program has ended, which reading detects.
        let _ = self.program.control.request(&json!({"subtype": "interrupt"}), answer).await;
        Next::Go
    }
}

/// Returns the failure of a reply that takes longer than `total`.
fn not_done(total: Duration) -> Failure {
    Failure::CutOff(format!("not done after {} s", total.as_secs_f32()))
}
