//! The Claude Code program as a model: one process per branch, driven over a line-based protocol.
//!
//! The program's own agent loop is not used: it gets our tools, and when it calls one, the call
//! ends the reply and the process waits until the turn returns the result. Approvals, the journal
//! and the limits therefore work as for every other model.

mod assembly;
mod client;
mod company;
mod control;
mod examination;
mod past;
mod plan;
mod process;
mod refusal;
mod settings;
mod signing_in;
mod tools;
pub(crate) mod wire;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::context::Context;
use domain::conversation::Branch;
use domain::failure::Failure;
use domain::turn::Reply;
use engine::ports::{Listener, Model};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

pub use client::Compaction;
pub use company::{
    Boundary, Company, Hooks, Mark, Notice, Notices, Opinion, Permissions, Place, Remembered, Sessions,
    Stopping, Trigger, Use, Verdict,
};
pub use examination::Examined;
pub use settings::{BadSettings, Choices, Environment, Leash, Mode, Patience, Settings};
pub use signing_in::{SigningIn, Told};

use client::{Ask, News, Order, Outcome, Shared, Wanted};
use past::Past;

use crate::line::{reply_bytes, too_large, without_end};

/// The most queued commands of one client, and queued updates of one request.
const QUEUE: usize = 64;

/// The most tokens of a reply of the newest models; the program sets the limit itself.
const REPLY_TOKENS: u32 = 128_000;
/// The most concurrent processes.
const PROCESSES: usize = 4;

/// A model that runs one program for each active branch.
pub struct Claude {
    name: String,
    shared: Arc<Shared>,
    clients: Mutex<Clients>,
    /// The vendor's id of the model that answered last on each branch.
    spoke: Mutex<HashMap<Branch, String>>,
}

#[derive(Default)]
struct Clients {
    live: HashMap<Branch, mpsc::Sender<Order>>,
    tasks: JoinSet<()>,
}

impl Claude {
    /// Creates a model for the program in `settings`, with these `callbacks`. No process is
    /// started yet.
    pub fn new(settings: Settings, company: Company) -> Result<Self, BadSettings> {
        settings.check()?;
        let name = match &settings.choices.model {
            Some(model) => format!("claude:{model}"),
            None => "claude".to_owned(),
        };
        let choices = Mutex::new(settings.choices.clone());
        let shared = Arc::new(Shared { settings, choices, company });
        Ok(Self { name, shared, clients: Mutex::default(), spoke: Mutex::default() })
    }

    /// Changes the permission mode of all processes, from now on.
    pub async fn set_mode(&self, mode: Mode) -> Result<(), Failure> {
        self.choices().mode = mode;
        self.change(&json!({"subtype": "set_permission_mode", "mode": mode.as_str()})).await
    }

    /// CP-1: lets the program summarize its history of the branch of `context`, guided by
    /// `instructions`.
    pub async fn compact(&self, context: &Context, instructions: &str) -> Result<Compaction, Failure> {
        let command = format!("/compact {}", instructions.trim());
        let wanted = Wanted::Summary(command.trim_end().to_owned());
        self.ask(context, &wanted, &|_: &str| {}).await.map(|outcome| outcome.compaction)
    }

    /// Ends the program of a finished branch and discards its session.
    pub async fn leave(&self, branch: &Branch) {
        self.clients().live.remove(branch);
        self.spoke().remove(branch);
        self.shared.company.sessions.forget(branch).await;
    }

    /// Ends every program, and waits until all have exited. A later reply starts a new one.
    async fn end(&self) {
        let mut tasks = {
            let mut clients = self.clients();
            clients.live.clear();
            std::mem::take(&mut clients.tasks)
        };
        while tasks.join_next().await.is_some() {}
    }

    async fn ask(
        &self,
        context: &Context,
        wanted: &Wanted,
        listener: Listener<'_>,
    ) -> Result<Outcome, Failure> {
        let past = Past::of(context);
        // A client that was just ending never received this request; it is sent to a new one.
        for _ in 0..2 {
            let (news, mut heard) = mpsc::channel(QUEUE);
            let context = context.clone();
            let past = past.clone();
            let wanted = wanted.clone();
            let branch = context.branch.clone();
            let ask = Ask { context, past, wanted, news, attempts: 0 };
            if self.client(&branch).send(Order::Ask(Box::new(ask))).await.is_err() {
                continue;
            }
            let most = reply_bytes(REPLY_TOKENS);
            let mut told = 0;
            while let Some(news) = heard.recv().await {
                match news {
                    News::Words(words) => {
                        told += words.len();
                        let surplus = told.saturating_sub(most);
                        listener.words(without_end(&words, surplus));
                        if surplus > 0 {
                            return Err(too_large(most));
                        }
                    }
                    News::Used(usage, model) => {
                        self.spoke().insert(branch.clone(), model);
                        listener.used(usage);
                    }
                    News::Done(done) => return done,
                }
            }
        }
        Err(refusal::gone(""))
    }

    /// Returns the live client of `branch`, creating one if there is none.
    fn client(&self, branch: &Branch) -> mpsc::Sender<Order> {
        let mut clients = self.clients();
        while clients.tasks.try_join_next().is_some() {}
        if let Some(live) = clients.live.get(branch).filter(|live| !live.is_closed()) {
            return live.clone();
        }
        // Every run has its own branch: remove those whose program has ended.
        clients.live.retain(|_, live| !live.is_closed());
        self.spoke().retain(|branch, _| clients.live.contains_key(branch));
        let (sender, orders) = mpsc::channel(QUEUE);
        clients.tasks.spawn(client::live(Arc::clone(&self.shared), branch.clone(), orders));
        clients.live.insert(branch.clone(), sender.clone());
        sender
    }

    async fn change(&self, request: &Value) -> Result<(), Failure> {
        let live: Vec<_> = self.clients().live.values().cloned().collect();
        for client in live {
            let (answer, answered) = oneshot::channel();
            if client.send(Order::Change(request.clone(), answer)).await.is_err() {
                continue;
            }
            // A client that ended uses the new setting when it starts again.
            if let Ok(Err(why)) = answered.await {
                return Err(Failure::Rejected(why));
            }
        }
        Ok(())
    }

    fn choices(&self) -> MutexGuard<'_, Choices> {
        self.shared.choices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spoke(&self) -> MutexGuard<'_, HashMap<Branch, String>> {
        self.spoke.lock().unwrap_or_else(PoisonError::into_inner)
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
        let spoke = self.spoke().get(&context.branch).cloned().filter(|model| !model.is_empty());
        match spoke.or_else(|| context.model.clone()) {
            Some(model) => format!("claude:{model}"),
            None => self.name.clone(),
        }
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        listener: Listener<'a>,
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        self.ask(context, &Wanted::Reply, listener)
            .map(|outcome| outcome.map(|outcome| outcome.reply))
            .boxed()
    }

    /// Each process uses about 200 MB.
    fn most_calls(&self) -> usize {
        PROCESSES
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.end().boxed()
    }
}
