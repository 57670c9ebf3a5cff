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
mod book;
mod cache;
pub mod catalog;
mod door;
mod echo;
mod events;
mod foreign;
mod models_api;
mod prompt;
mod reply;
mod rules;
mod search;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use domain::conversation::Usage;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use crate::play::{Act, BadScript, FORMAT, Fault, Found, Gate, Page, Piece, Refused, parse};
pub use binding::Account;
pub use book::{Logged, Received};
pub use catalog::{GENERIC, Lifecycle, ModelSpec};

use crate::play::house::House;
use book::Book;

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
    pub least_cached: u64,
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
    pub fn model(mut self, id: &str, spec: ModelSpec) -> Self {
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
            least_cached: 0,
            host: Host::default(),
            account: Account { id: "org1".to_owned(), is_new: true },
            models: Vec::new(),
            record: None,
        }
    }
}

/// A running server. Dropping it ends all open streams and closes the port.
pub struct ModelServer {
    house: House,
    book: Arc<Mutex<Book>>,
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
        let book = Arc::new(Mutex::new(Book::new(options, record)));
        let routes = door::routes(Arc::clone(&book), stop.clone());
        Ok(Self { house: House::open(port, routes, stop).await?, book })
    }

    /// Returns the base address for a client.
    pub fn url(&self) -> String {
        self.house.url()
    }

    /// Appends `replies` to the script; each request uses one.
    pub fn script(&self, acts: impl IntoIterator<Item = Act>) {
        self.book().programme.script.extend(acts);
    }

    /// Lets `answer` choose the reply for every request that the script does not cover.
    pub fn answering(&self, answer: impl FnMut(&Value) -> Act + Send + 'static) {
        self.book().programme.answer = Some(Box::new(answer));
    }

    /// Returns every request, oldest first, including refused ones.
    pub fn requests(&self) -> Vec<Received> {
        self.book().received.clone()
    }

    /// Returns every request of any endpoint with its status, oldest first.
    pub fn log(&self) -> Vec<Logged> {
        self.book().log.clone()
    }

    /// Returns the requests that a rule of the vendor refused, without refusals by the script.
    pub fn refused(&self) -> Vec<Logged> {
        self.log().into_iter().filter(Logged::is_refused).collect()
    }

    /// Changes the rules of the model `id` by applying `change` to the current ones.
    pub fn change_model(&self, id: &str, change: impl FnOnce(&mut ModelSpec)) {
        let mut book = self.book();
        let declared = book.models.iter().position(|(name, _)| name == id).map(|at| book.models.remove(at).1);
        let mut spec = declared.or_else(|| catalog::find(id).copied()).unwrap_or(GENERIC);
        change(&mut spec);
        book.models.push((id.to_owned(), spec));
    }

    /// Retires the model `id`: requests to it get a 404, its record remains.
    pub fn retire(&self, id: &str) {
        self.change_model(id, |model| model.lifecycle = Lifecycle::Retired);
    }

    /// Removes the key's access to the model `id`: it then behaves like an unknown model.
    pub fn deny_access(&self, id: &str) {
        self.book().denied.push(id.to_owned());
    }

    /// Switches to another account, as after a change of the key.
    pub fn change_account(&self, account: Account) {
        self.book().account = account;
    }

    /// Returns the usage charged for every accepted request, oldest first.
    pub fn usage(&self) -> Vec<Usage> {
        self.book().usage.clone()
    }

    /// Closes the port and waits until all connections have ended.
    pub async fn stop(self) {
        self.house.close().await;
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
