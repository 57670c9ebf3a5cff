//! The Claude Code program as a model: one process per branch, driven over a line-based protocol.
//!
//! The program's own agent loop is not used: it gets our tools, and when it calls one, the call
//! ends the reply and the process waits until the turn returns the result. Approvals, the journal
//! and the limits therefore work as for every other model.

mod assembly;
mod callbacks;
mod client;
mod control;
mod history;
mod inspection;
mod process;
pub(crate) mod protocol;
mod refusal;
mod settings;
mod sign_in;
mod start_plan;
mod tool_server;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::context::Context;
use domain::conversation::Branch;
use domain::failure::Failure;
use domain::turn::ModelReply;
use engine::ports::{Model, StreamSinkRef};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

pub use callbacks::{
    Callbacks, CompactionBoundary, CompactionTrigger, HistoryMark, InMemorySessions, Notice, NoticeSink,
    PermissionDecision, PermissionHandler, SessionPosition, SessionStore, StopAttempt, StopDecision, ToolUse,
    TurnHooks,
};
pub use client::CompactionStats;
pub use inspection::ProgramInfo;
pub use settings::{
    Environment, ParentDeathGuard, PermissionMode, ProgramSettingsError, ProgramTimeouts, RuntimeSettings,
    Settings,
};
pub use sign_in::{SignInEvent, SignInProcess};

use client::{ClientCommand, SharedState, TurnGoal, TurnOutput, TurnRequest, TurnUpdate};
use history::HistoryHashes;

use crate::vendor_client::{max_reply_bytes, too_large_failure, truncate_by};

/// The most queued commands of one client, and queued updates of one request.
const QUEUE_SIZE: usize = 64;

/// The most tokens of a reply of the newest models; the program sets the limit itself.
const MAX_REPLY_TOKENS: u32 = 128_000;
/// The most concurrent processes.
const MAX_PROCESSES: usize = 4;

/// A model that runs one program for each active branch.
pub struct Claude {
    name: String,
    shared: Arc<SharedState>,
    clients: Mutex<Clients>,
    /// The vendor's id of the model that answered last on each branch.
    last_models: Mutex<HashMap<Branch, String>>,
}

#[derive(Default)]
struct Clients {
    senders: HashMap<Branch, mpsc::Sender<ClientCommand>>,
    tasks: JoinSet<()>,
}

impl Claude {
    /// Creates a model for the program in `settings`, with these `callbacks`. No process is
    /// started yet.
    pub fn new(settings: Settings, callbacks: Callbacks) -> Result<Self, ProgramSettingsError> {
        settings.check()?;
        let name = match &settings.runtime.model {
            Some(model) => format!("claude:{model}"),
            None => "claude".to_owned(),
        };
        let runtime = Mutex::new(settings.runtime.clone());
        let shared = Arc::new(SharedState { settings, runtime, callbacks });
        Ok(Self { name, shared, clients: Mutex::default(), last_models: Mutex::default() })
    }

    /// Changes the permission mode of all processes, from now on.
    pub async fn set_mode(&self, mode: PermissionMode) -> Result<(), Failure> {
        self.runtime().mode = mode;
        self.change_all(&json!({"subtype": "set_permission_mode", "mode": mode.as_str()})).await
    }

    /// CP-1: lets the program summarize its history of the branch of `context`, guided by
    /// `instructions`.
    pub async fn compact(&self, context: &Context, instructions: &str) -> Result<CompactionStats, Failure> {
        let command = format!("/compact {}", instructions.trim());
        let wanted = TurnGoal::Summary(command.trim_end().to_owned());
        self.ask(context, &wanted, &|_: &str| {}).await.map(|outcome| outcome.compaction)
    }

    /// Ends the program of a finished branch and discards its session.
    pub async fn end_branch(&self, branch: &Branch) {
        self.clients().senders.remove(branch);
        self.last_models().remove(branch);
        self.shared.callbacks.sessions.remove(branch).await;
    }

    /// Ends every program, and waits until all have exited. A later reply starts a new one.
    async fn stop_all(&self) {
        let mut tasks = {
            let mut clients = self.clients();
            clients.senders.clear();
            std::mem::take(&mut clients.tasks)
        };
        while tasks.join_next().await.is_some() {}
    }

    async fn ask(
        &self,
        context: &Context,
        goal: &TurnGoal,
        sink: StreamSinkRef<'_>,
    ) -> Result<TurnOutput, Failure> {
        let history = HistoryHashes::of(context);
        // A client that was just ending never received this request; it is sent to a new one.
        for _ in 0..2 {
            let (news, mut updates) = mpsc::channel(QUEUE_SIZE);
            let context = context.clone();
            let history = history.clone();
            let goal = goal.clone();
            let branch = context.branch.clone();
            let request = TurnRequest { context, history, goal, updates: news, attempts: 0 };
            if self.client_for(&branch).send(ClientCommand::RunTurn(Box::new(request))).await.is_err() {
                continue;
            }
            let most = max_reply_bytes(MAX_REPLY_TOKENS);
            let mut streamed_bytes = 0;
            while let Some(news) = updates.recv().await {
                match news {
                    TurnUpdate::Text(words) => {
                        streamed_bytes += words.len();
                        let surplus = streamed_bytes.saturating_sub(most);
                        sink.text(truncate_by(&words, surplus));
                        if surplus > 0 {
                            return Err(too_large_failure(most));
                        }
                    }
                    TurnUpdate::Usage(usage, model) => {
                        self.last_models().insert(branch.clone(), model);
                        sink.usage(usage);
                    }
                    TurnUpdate::Done(done) => return done,
                }
            }
        }
        Err(refusal::exit_failure(""))
    }

    /// Returns the live client of `branch`, creating one if there is none.
    fn client_for(&self, branch: &Branch) -> mpsc::Sender<ClientCommand> {
        let mut clients = self.clients();
        while clients.tasks.try_join_next().is_some() {}
        if let Some(live) = clients.senders.get(branch).filter(|live| !live.is_closed()) {
            return live.clone();
        }
        // Every run has its own branch: remove those whose program has ended.
        clients.senders.retain(|_, live| !live.is_closed());
        self.last_models().retain(|branch, _| clients.senders.contains_key(branch));
        let (sender, commands) = mpsc::channel(QUEUE_SIZE);
        clients.tasks.spawn(client::run_client(Arc::clone(&self.shared), branch.clone(), commands));
        clients.senders.insert(branch.clone(), sender.clone());
        sender
    }

    async fn change_all(&self, request: &Value) -> Result<(), Failure> {
        let live: Vec<_> = self.clients().senders.values().cloned().collect();
        for client in live {
            let (answer, response) = oneshot::channel();
            if client.send(ClientCommand::Control(request.clone(), answer)).await.is_err() {
                continue;
            }
            // A client that ended uses the new setting when it starts again.
            if let Ok(Err(why)) = response.await {
                return Err(Failure::Rejected(why));
            }
        }
        Ok(())
    }

    fn runtime(&self) -> MutexGuard<'_, RuntimeSettings> {
        self.shared.runtime.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last_models(&self) -> MutexGuard<'_, HashMap<Branch, String>> {
        self.last_models.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for Claude {
    fn name(&self) -> &str {
        &self.name
    }

    /// The program may run with an alias or no model name; the ledger needs the vendor's own name.
    fn name_for(&self, context: &Context) -> String {
        let last_model = self.last_models().get(&context.branch).cloned().filter(|model| !model.is_empty());
        match last_model.or_else(|| context.model.clone()) {
            Some(model) => format!("claude:{model}"),
            None => self.name.clone(),
        }
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        sink: StreamSinkRef<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, Failure>> {
        self.ask(context, &TurnGoal::Reply, sink).map(|outcome| outcome.map(|outcome| outcome.reply)).boxed()
    }

    /// Each process uses about 200 MB.
    fn max_concurrent_calls(&self) -> usize {
        MAX_PROCESSES
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.stop_all().boxed()
    }
}
