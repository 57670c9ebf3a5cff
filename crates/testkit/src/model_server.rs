//! A scripted model server that speaks the Messages API on loopback, as strict as the vendor.
//!
//! It reads requests as the vendor documents them and shares no code with our client, so that each
//! can catch mistakes of the other. Scripted replies are used first, then the closure of
//! [`ModelServer::answering`], then an echo.
//!
//! The vendor's models have the rules of [`catalog`]: a request that the vendor refuses is refused
//! with the same error text. A name that is not the vendor's (it begins with `claude-test`, or not
//! with `claude-`) is served by [`GENERIC`], which accepts every setting and checks no signatures;
//! [`Options::with_model`] declares other names.
//!
//! [`ModelServer::log`] returns every request with its status, [`ModelServer::refused_requests`]
//! those that broke a rule.

mod betas;
mod binding;
mod cache;
pub mod catalog;
mod echo;
mod events;
mod foreign;
mod http;
mod models_api;
mod prompt;
mod reply;
mod rules;
mod search;
mod state;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use domain::conversation::Usage;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use crate::scripted_replies::{
    ErrorReply, Gate, ReplyFault, ReplyPiece, SCRIPT_FORMAT, ScriptError, ScriptedReply, SearchOutcome,
    WebPage, parse,
};
pub use binding::Account;
pub use catalog::{GENERIC, Lifecycle, ModelSpec};
pub use state::{MessagesRequest, RequestLogEntry};

use crate::scripted_replies::http_server::HttpServer;
use state::ModelServerState;

/// Returns the elapsed time that the cache uses.
pub type Elapsed = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The kind of host that the server simulates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Host {
    #[default]
    Vendor,
    /// Another host behind `ANTHROPIC_BASE_URL`, which refuses the newer fields and has no Models API.
    Foreign,
}

/// Options of a server.
#[derive(Clone)]
pub struct Options {
    /// The port to listen on; 0 lets the system choose.
    pub port: u16,
    /// The only key that is accepted. With `None`, every request is accepted.
    pub key: Option<String>,
    /// The clock of the cache.
    pub elapsed: Elapsed,
    /// The minimum number of tokens that are cached.
    pub min_cached_tokens: u64,
    pub host: Host,
    /// The account of the requests; a new one by default.
    pub account: Account,
    /// Additional models, or changed rules of a vendor's model.
    pub models: Vec<(String, ModelSpec)>,
    /// A file that gets every request as one line of JSON.
    pub record: Option<PathBuf>,
}

impl Options {
    /// Declares the model `id` with the rules of `spec`.
    #[must_use]
    pub fn with_model(mut self, id: &str, spec: ModelSpec) -> Self {
        self.models.push((id.to_owned(), spec));
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        let started = Instant::now();
        Self {
            port: 0,
            key: None,
            elapsed: Arc::new(move || started.elapsed()),
            min_cached_tokens: 0,
            host: Host::default(),
            account: Account { id: "org1".to_owned(), is_new: true },
            models: Vec::new(),
            record: None,
        }
    }
}

/// A running server. Dropping it ends all open streams and closes the port.
pub struct ModelServer {
    http: HttpServer,
    state: Arc<Mutex<ModelServerState>>,
}

impl ModelServer {
    /// Starts a server with default options on a free port.
    pub async fn start() -> std::io::Result<Self> {
        Self::start_with(Options::default()).await
    }

    /// Starts a server with `options`.
    pub async fn start_with(options: Options) -> std::io::Result<Self> {
        let port = options.port;
        let stop = CancellationToken::new();
        let record = options.record.as_ref().map(std::fs::File::create).transpose()?;
        let state = Arc::new(Mutex::new(ModelServerState::new(options, record)));
        let routes = http::routes(Arc::clone(&state), stop.clone());
        Ok(Self { http: HttpServer::start(port, routes, stop).await?, state })
    }

    /// Returns the base address for a client.
    pub fn url(&self) -> String {
        self.http.url()
    }

    /// Appends `replies` to the script; each request uses one.
    pub fn script(&self, replies: impl IntoIterator<Item = ScriptedReply>) {
        self.state().replies.scripted.extend(replies);
    }

    /// Lets `answer` choose the reply for every request that the script does not cover.
    pub fn answering(&self, answer: impl FnMut(&Value) -> ScriptedReply + Send + 'static) {
        self.state().replies.fallback = Some(Box::new(answer));
    }

    /// Returns every request, oldest first, including refused ones.
    pub fn requests(&self) -> Vec<MessagesRequest> {
        self.state().received.clone()
    }

    /// Returns every request of any endpoint with its status, oldest first.
    pub fn log(&self) -> Vec<RequestLogEntry> {
        self.state().log.clone()
    }

    /// Returns the requests that a rule of the vendor refused, without refusals by the script.
    pub fn refused_requests(&self) -> Vec<RequestLogEntry> {
        self.log().into_iter().filter(RequestLogEntry::is_refused).collect()
    }

    /// Changes the rules of the model `id` by applying `change` to the current ones.
    pub fn change_model(&self, id: &str, change: impl FnOnce(&mut ModelSpec)) {
        let mut state = self.state();
        let declared =
            state.models.iter().position(|(name, _)| name == id).map(|at| state.models.remove(at).1);
        let mut spec = declared.or_else(|| catalog::find(id).copied()).unwrap_or(GENERIC);
        change(&mut spec);
        state.models.push((id.to_owned(), spec));
    }

    /// Retires the model `id`: requests to it get a 404, its record remains.
    pub fn retire_model(&self, id: &str) {
        self.change_model(id, |model| model.lifecycle = Lifecycle::Retired);
    }

    /// Removes the key's access to the model `id`: it then behaves like an unknown model.
    pub fn deny_access(&self, id: &str) {
        self.state().denied.push(id.to_owned());
    }

    /// Switches to another account, as after a change of the key.
    pub fn change_account(&self, account: Account) {
        self.state().account = account;
    }

    /// Returns the usage charged for every accepted request, oldest first.
    pub fn usage(&self) -> Vec<Usage> {
        self.state().usage.clone()
    }

    /// Closes the port and waits until all connections have ended.
    pub async fn stop(self) {
        self.http.stop_and_wait().await;
    }

    fn state(&self) -> MutexGuard<'_, ModelServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
