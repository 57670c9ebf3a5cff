//! A scripted Google server on loopback: consent, tokens, mail, tasks and a calendar, in Google's
//! documented format.
//!
//! It shares no code with our client, so that each can catch mistakes of the other. The account can
//! be changed at any time; queued faults are applied before normal responses.

mod calendar;
mod door;
mod gmail;
mod tasks;
mod tokens;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::elsewhere::Elsewhere;
use crate::play::house::House;
pub(crate) use door::pairs;
pub use gmail::mail;
pub use tokens::Code;
pub(crate) use tokens::base64_url;

/// The client id.
pub const CLIENT: &str = "ollim-test.apps.googleusercontent.com";
/// The client secret.
pub const CLIENT_SECRET: &str = "GOCSPX-canary-client";

/// An account and its queued faults.
#[derive(Debug, Default)]
pub struct World {
    /// The valid access tokens.
    pub access: Vec<String>,
    /// The valid refresh tokens.
    pub refresh: Vec<String>,
    /// Scopes that the user deselects on the consent page.
    pub unticked: Vec<&'static str>,
    /// The authorization codes that were issued and not used yet.
    pub codes: Vec<Code>,
    /// The messages, newest first, in the full format of `messages.get`.
    pub mails: Vec<Value>,
    /// The tasks in Google's JSON format.
    pub tasks: Vec<Value>,
    /// The events in Google's JSON format, with recurring events expanded.
    pub events: Vec<Value>,
    /// The maximum number of items on one page.
    pub page: Option<usize>,
    /// The queued faults.
    pub faults: VecDeque<Fault>,
    /// Every request, oldest first.
    pub requests: Vec<Received>,
}

/// A fault for one request.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Applies to the first request whose path contains this.
    pub path: &'static str,
    pub status: u16,
    /// The `retry-after` header, if any.
    pub retry_after: Option<u32>,
    pub body: String,
}

/// A received request.
#[derive(Clone, Debug)]
pub struct Received {
    pub method: String,
    pub path: String,
    /// The decoded query.
    pub query: Vec<(String, String)>,
    pub body: String,
}

impl Received {
    /// Returns a value of the query.
    pub fn asks(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A running server. Dropping it closes the port.
pub struct GoogleServer {
    house: House,
    world: Arc<Mutex<World>>,
}

impl GoogleServer {
    /// Starts a server on a free port, with an empty account.
    pub async fn start() -> std::io::Result<Self> {
        let world = Arc::new(Mutex::new(World::default()));
        let routes = door::routes(Arc::clone(&world));
        Ok(Self { house: House::open(0, routes, CancellationToken::new()).await?, world })
    }

    /// Returns the base URL.
    pub fn url(&self) -> String {
        self.house.url()
    }

    /// Returns the account.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running server in a thread of its own, for tests that wait for real processes.
pub struct GoogleElsewhere {
    server: GoogleServer,
    _elsewhere: Elsewhere,
}

impl GoogleElsewhere {
    /// Starts the server.
    ///
    /// # Panics
    /// If no port is available.
    #[expect(
        clippy::expect_used,
        reason = "a fixture that cannot be made stops the test at once, with its reason"
    )]
    pub fn open() -> Self {
        let elsewhere = Elsewhere::open();
        let server = elsewhere.run(async { GoogleServer::start().await.expect("a port") });
        Self { server, _elsewhere: elsewhere }
    }

    /// Returns the server.
    pub fn server(&self) -> &GoogleServer {
        &self.server
    }
}
