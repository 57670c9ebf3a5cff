//! One running program, and the task that owns it.
//!
//! One `select!` waits for all events, so the program is served while it replies, while it waits
//! for our tools, and while it is idle. A closed update channel interrupts the turn.

mod commands;
mod frames;
mod questions;
mod turn_request;

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

pub use turn_request::{ClientCommand, CompactionStats, TurnGoal, TurnOutput, TurnRequest, TurnUpdate};

use super::assembly::TurnAssembler;
use super::callbacks::{Callbacks, Notice, SessionPosition};
use super::control::{ControlChannel, ControlResponse};
use super::history;
use super::process::Process;
use super::protocol::Frame;
use super::refusal;
use super::settings::{RuntimeSettings, Settings};
use super::start_plan::{self, SessionStart, StartPlan};
use super::tool_server::ToolServer;

/// The most time that an interrupted turn may take to end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The time to wait for calls of a message that arrive after the others.
const CALL_GRACE_PERIOD: Duration = Duration::from_millis(200);

/// The most time that a program waits for our tools: longer than a turn waits for an approval.
const TOOLS_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// The state that all clients share.
pub struct SharedState {
    pub settings: Settings,
    pub runtime: Mutex<RuntimeSettings>,
    pub callbacks: Callbacks,
}

impl SharedState {
    /// Returns the settings for `context`, which may name its own model.
    fn runtime_settings_for(&self, context: &Context) -> RuntimeSettings {
        let mut runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(model) = &context.model {
            runtime.model = Some(model.clone());
        }
        runtime
    }

    /// Returns the best start for `request`.
    fn plan_start(&self, request: &TurnRequest) -> StartPlan {
        StartPlan::new(&request.context, &request.history, &self.callbacks.sessions.all())
    }
}

/// A running program and the requests for it.
struct Client {
    shared: Arc<SharedState>,
    branch: Branch,
    commands: mpsc::Receiver<ClientCommand>,
    program: Program,
    phase: Phase,
    /// A request that waits until the program is ready for it.
    pending: Option<Box<TurnRequest>>,
    questions: FuturesUnordered<BoxFuture<'static, (String, Value)>>,
    /// The time of the last event.
    last_event: Instant,
    /// The number of consecutive failed starts.
    unready: usize,
}

/// A started program, and the settings that it was started with.
struct Program {
    control: ControlChannel,
    tool_server: ToolServer,
    session: String,
    /// Hash of the instructions that its session began with, if known.
    instructions_hash: Option<String>,
    /// The model in use, or none for the program's default.
    model: Option<String>,
    /// The effort, which cannot be changed while the program runs.
    effort: Effort,
    started_with: (Arc<str>, Arc<[domain::tool::ToolSpec]>),
}

enum Phase {
    /// Not ready yet: it starts, or it changes its model.
    Starting(oneshot::Receiver<ControlResponse>, StartPlan),
    Idle,
    Replying(Box<ActiveTurn>),
    /// Waits for our tools, and knows this many entries.
    WaitingForTools(usize),
    /// The interrupted turn; it is ending, and its entries count as known afterwards.
    Draining(Option<Box<ActiveTurn>>),
}

struct ActiveTurn {
    request: TurnRequest,
    message: Option<Value>,
    /// The number of entries that the program knows after this turn.
    known_entries: usize,
    assembler: TurnAssembler,
    compaction: CompactionStats,
    progress: TurnProgress,
    /// The time taken so far, without the time spent waiting for permissions.
    elapsed: Duration,
}

/// The progress of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnProgress {
    /// The program has not reacted yet.
    Sent,
    Acknowledged,
    /// The message was sent again, because the program compacted its session and did not answer.
    Resent,
}

enum ClientEvent {
    RequesterLeft,
    Command(ClientCommand),
    CommandsClosed,
    Frame(Frame),
    ProgramEnded,
    QuestionAnswered(String, Value),
    TimedOut,
}

enum Flow {
    Continue,
    End,
}

/// Runs until the client is no longer needed, or until the program has ended.
pub async fn run_client(
    shared: Arc<SharedState>,
    branch: Branch,
    mut commands: mpsc::Receiver<ClientCommand>,
) {
    let request = loop {
        match commands.recv().await {
            Some(ClientCommand::RunTurn(request)) => break request,
            // A client that starts later reads the new setting from the shared state.
            Some(ClientCommand::Control(_, answer)) => _ = answer.send(Ok(Value::Null)),
            None => return,
        }
    };
    let plan = shared.plan_start(&request);
    let (program, phase) = match start_program(&shared, &branch, plan, &request.context).await {
        Ok(started) => started,
        Err(failure) => return request.fail(failure).await,
    };
    let questions = FuturesUnordered::new();
    let last_event = Instant::now();
    let pending = Some(request);
    let mut client =
        Client { shared, branch, commands, program, phase, pending, questions, last_event, unready: 0 };
    while let Flow::Continue = client.step().await {}
    client.commands.close();
    let end = client.shared.settings.timeouts.end;
    client.program.control.stop(end).await;
}

async fn start_program(
    shared: &SharedState,
    branch: &Branch,
    plan: StartPlan,
    context: &Context,
) -> Result<(Program, Phase), Failure> {
    let runtime = shared.runtime_settings_for(context);
    let settings = &shared.settings;
    let current_hash = history::instructions_hash(&context.instructions);
    let instructions_hash = match plan.start.session() {
        None => Some(current_hash.clone()),
        Some(session) => {
            let places = shared.callbacks.sessions.all();
            let place = places.into_iter().find(|(_, place)| place.session == *session);
            place.and_then(|(_, place)| place.instructions_hash)
        }
    };
    let snapshot = instructions_hash.as_ref() == Some(&current_hash);
    let command = settings.command(&runtime, &plan.start, context, snapshot);
    let name = settings.program.display().to_string();
    let process = Process::spawn(command).map_err(|error| refusal::start_failure(&name, &error))?;
    let mut control = ControlChannel::new(process);
    if let Some(id) = control.id() {
        shared.callbacks.notices.notice(branch, Notice::Started(id));
    }
    let (answer, ready) = oneshot::channel();
    // A failed write means that the program has ended, which reading detects.
    let _ = control.request(&settings.initialize(), answer).await;
    let started_with = (Arc::clone(&context.instructions), Arc::clone(&context.tools));
    let tools = ToolServer::new(Arc::clone(&context.tools));
    // Only a resumed session has a known id before the program reports it.
    let session = match &plan.start {
        SessionStart::Resume(session) => session.clone(),
        SessionStart::Fork(_) | SessionStart::Fresh => String::new(),
    };
    let model = runtime.model;
    let effort = context.effort;
    let program =
        Program { control, tool_server: tools, session, instructions_hash, model, effort, started_with };
    Ok((program, Phase::Starting(ready, plan)))
}

impl Client {
    async fn step(&mut self) -> Flow {
        let has_questions = !self.questions.is_empty();
        let event = self.next_event().await;
        let passed = self.last_event.elapsed();
        self.last_event = Instant::now();
        if let Phase::Replying(speech) = &mut self.phase
            && !has_questions
        {
            speech.elapsed += passed;
            // Frames are read before the deadline is polled, so the total time is also checked
            // here.
            let total = self.shared.settings.timeouts.total;
            if speech.elapsed >= total {
                return self.end_with(timeout_failure(total)).await;
            }
        }
        match event {
            ClientEvent::RequesterLeft => self.interrupt().await,
            ClientEvent::Command(order) => self.handle_command(order).await,
            ClientEvent::CommandsClosed => {
                self.end_with(Failure::Stopped("i am shutting down.".to_owned())).await
            }
            ClientEvent::Frame(frame) => self.handle_frame(frame).await,
            ClientEvent::ProgramEnded => self.on_program_end().await,
            ClientEvent::QuestionAnswered(id, answer) => self.send_answers(vec![(id, Ok(answer))]).await,
            ClientEvent::TimedOut => self.on_timeout().await,
        }
    }

    async fn next_event(&mut self) -> ClientEvent {
        let deadline = self.deadline();
        let left = async {
            match &self.phase {
                Phase::Replying(speech) => speech.request.updates.closed().await,
                Phase::Starting(..) | Phase::Idle | Phase::WaitingForTools(_) | Phase::Draining(_) => {
                    std::future::pending().await
                }
            }
        };
        tokio::select! {
            biased;
            () = left => ClientEvent::RequesterLeft,
            Some((id, answer)) = self.questions.next() => ClientEvent::QuestionAnswered(id, answer),
            frame = self.program.control.next_frame() => frame.map_or(ClientEvent::ProgramEnded, ClientEvent::Frame),
            order = self.commands.recv() => order.map_or(ClientEvent::CommandsClosed, ClientEvent::Command),
            () = sleep_until(deadline) => ClientEvent::TimedOut,
        }
    }

    fn deadline(&self) -> Instant {
        let patience = &self.shared.settings.timeouts;
        let time = match &self.phase {
            Phase::Starting(..) => patience.start,
            Phase::Idle => patience.idle,
            Phase::WaitingForTools(_) => patience.idle.max(TOOLS_TIMEOUT),
            Phase::Draining(_) => DRAIN_TIMEOUT,
            Phase::Replying(_) if self.has_new_calls() => CALL_GRACE_PERIOD,
            // The user is being asked, without a time limit.
            Phase::Replying(_) if !self.questions.is_empty() => {
                patience.stall.max(Duration::from_secs(86_400))
            }
            Phase::Replying(speech) => patience.stall.min(patience.total.saturating_sub(speech.elapsed)),
        };
        self.last_event + time
    }

    async fn on_timeout(&mut self) -> Flow {
        match &self.phase {
            Phase::Replying(_) if self.has_new_calls() => self.return_calls().await,
            Phase::Idle | Phase::WaitingForTools(_) => Flow::End,
            Phase::Draining(_) => self.restart_for_pending().await,
            Phase::Starting(..) => self.unready().await,
            Phase::Replying(_) => {
                let seconds = self.shared.settings.timeouts.stall.as_secs_f32();
                self.end_with(Failure::CutOff(format!("silent for {seconds} s"))).await
            }
        }
    }

    /// BF-12: a program that was not ready in time is started again, at most twice.
    async fn unready(&mut self) -> Flow {
        let patience = self.shared.settings.timeouts;
        let stderr = self.shared.settings.environment.redact(&self.program.control.stderr_text());
        let pause = patience.restart_delays.get(self.unready).filter(|_| self.pending.is_some());
        let Some(pause) = pause else {
            let seconds = patience.start.as_secs_f32();
            let why = format!("the claude program was not ready after {seconds} s {stderr}");
            return self.end_with(Failure::Unreachable(why.trim_end().to_owned())).await;
        };
        self.unready += 1;
        self.program.control.stop(patience.end).await;
        let left = async {
            match &self.pending {
                Some(ask) => ask.updates.closed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = left => Flow::End,
            () = tokio::time::sleep(*pause) => self.restart_for_pending().await,
        }
    }

    /// Sends a message that the program never received to a new program, once.
    async fn on_program_end(&mut self) -> Flow {
        let is_unacknowledged =
            |speech: &ActiveTurn| speech.progress == TurnProgress::Sent && speech.request.attempts == 0;
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Replying(speech) if is_unacknowledged(&speech) => {
                self.pending = Some(Box::new(TurnRequest { attempts: 1, ..speech.request }));
                self.restart_for_pending().await
            }
            phase @ (Phase::Starting(..) | Phase::Replying(_)) => {
                self.phase = phase;
                let stderr = self.shared.settings.environment.redact(&self.program.control.stderr_text());
                self.end_with(refusal::exit_failure(&stderr)).await
            }
            Phase::Idle | Phase::WaitingForTools(_) | Phase::Draining(_) => self.restart_for_pending().await,
        }
    }

    /// Starts a new program for the pending request, with as much session history as fits.
    async fn restart_for_pending(&mut self) -> Flow {
        let Some(request) = self.pending.take() else { return Flow::End };
        let plan = self.shared.plan_start(&request);
        self.restart(plan, request).await
    }

    /// Restarts the program. The old one must end first, because only then its session is on disk.
    async fn restart(&mut self, plan: StartPlan, request: Box<TurnRequest>) -> Flow {
        self.program.control.stop(self.shared.settings.timeouts.end).await;
        self.questions.clear();
        match start_program(&self.shared, &self.branch, plan, &request.context).await {
            Ok(started) => {
                (self.program, self.phase) = started;
                self.pending = Some(request);
                self.last_event = Instant::now();
                Flow::Continue
            }
            Err(failure) => {
                request.fail(failure).await;
                Flow::End
            }
        }
    }

    /// Ends the client and reports `failure` to the active and the pending request.
    async fn end_with(&mut self, failure: Failure) -> Flow {
        if let Phase::Replying(speech) = std::mem::replace(&mut self.phase, Phase::Idle) {
            speech.request.fail(failure.clone()).await;
        }
        if let Some(request) = self.pending.take() {
            request.fail(failure).await;
        }
        Flow::End
    }

    /// Saves that the program knows the first `received` entries of `request`, and that the first `sent`
    /// are being sent. Transient requests run in a copy of the session and are not saved.
    async fn save_position(&mut self, request: &TurnRequest, received: usize, sent: usize) {
        if self.program.session.is_empty() || start_plan::is_transient(&request.context) {
            return;
        }
        let session = self.program.session.clone();
        let instructions = self.program.instructions_hash.clone();
        let place = SessionPosition {
            session,
            received: request.history.mark(received),
            sent: request.history.mark(sent),
            instructions_hash: instructions,
        };
        self.shared.callbacks.sessions.save(&self.branch, place).await;
    }

    /// Interrupts the turn, and waits for its end in the next phase.
    async fn interrupt(&mut self) -> Flow {
        let turn = match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Replying(speech) => Some(speech),
            Phase::Starting(..) | Phase::Idle | Phase::WaitingForTools(_) | Phase::Draining(_) => None,
        };
        self.phase = Phase::Draining(turn);
        self.questions.clear();
        let (answer, _) = oneshot::channel();
        // A failed write means that the program has ended, which reading detects.
        let _ = self.program.control.request(&json!({"subtype": "interrupt"}), answer).await;
        Flow::Continue
    }
}

/// Returns the failure of a reply that takes longer than `total`.
fn timeout_failure(total: Duration) -> Failure {
    Failure::CutOff(format!("not done after {} s", total.as_secs_f32()))
}
