//! A scripted model server that speaks the Messages API on loopback.
//!
//! It reads requests as the vendor documents them and shares no code with our client, so that the two can
//! catch each other's mistakes. Scripted acts come first, then the closure of [`ModelServer::answering`], then
//! an echo.

mod book;
mod cache;
mod door;
mod echo;
mod events;
mod prompt;
mod rules;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use domain::conversation::Usage;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use crate::play::{Act, BadScript, FORMAT, Fault, Gate, Piece, Refused, parse};
pub use book::Received;

use crate::play::house::House;
use book::Book;

/// The time since some moment, as the cache knows it.
pub type Elapsed = Arc<dyn Fn() -> Duration + Send + Sync>;

/// How a server differs from the usual one.
#[derive(Clone)]
pub struct Options {
    /// Where to listen; 0 lets the machine choose.
    pub port: u16,
    /// The only key that is accepted; any, if there is none.
    pub key: Option<String>,
    /// What time it is for the cache.
    pub elapsed: Elapsed,
    /// The fewest tokens worth caching.
    pub least_cached: u64,
}

impl Default for Options {
    fn default() -> Self {
        let started = Instant::now();
        Self { port: 0, key: None, elapsed: Arc::new(move || started.elapsed()), least_cached: 0 }
    }
}

/// A running server. Dropping it ends every stream it holds and closes the door.
pub struct ModelServer {
    house: House,
    book: Arc<Mutex<Book>>,
}

impl ModelServer {
    /// The usual server, on a port of its own.
    pub async fn start() -> std::io::Result<Self> {
        Self::start_with(Options::default()).await
    }

    /// A server as `options` want it.
    pub async fn start_with(options: Options) -> std::io::Result<Self> {
        let (port, stop) = (options.port, CancellationToken::new());
        let book = Arc::new(Mutex::new(Book::new(options)));
        let routes = door::routes(Arc::clone(&book), stop.clone());
        Ok(Self { house: House::open(port, routes, stop).await?, book })
    }

    /// The base address to give to a client.
    pub fn url(&self) -> String {
        self.house.url()
    }

    /// Adds `acts` to what will be played, one to a request.
    pub fn script(&self, acts: impl IntoIterator<Item = Act>) {
        self.book().programme.script.extend(acts);
    }

    /// Lets `answer` choose the act for every request that the script does not cover.
    pub fn answering(&self, answer: impl FnMut(&Value) -> Act + Send + 'static) {
        self.book().programme.answer = Some(Box::new(answer));
    }

    /// Every request that came, oldest first, the refused ones too.
    pub fn requests(&self) -> Vec<Received> {
        self.book().received.clone()
    }

    /// What every accepted request was charged, oldest first.
    pub fn usage(&self) -> Vec<Usage> {
        self.book().usage.clone()
    }

    /// Closes the door and waits until everybody has left.
    pub async fn stop(self) {
        self.house.close().await;
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
