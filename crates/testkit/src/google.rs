//! A scripted Google on loopback: consent, tokens, mail, tasks and a calendar, with the wire format that Google
//! documents.
//!
//! It shares no code with our client, so that the two can catch each other's mistakes. What is in the account can be
//! changed at any time, and faults come first.

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

/// What proves who asks for a token: the id of the client.
pub const CLIENT: &str = "ollim-test.apps.googleusercontent.com";
/// What proves who asks for a token: its secret.
pub const CLIENT_SECRET: &str = "GOCSPX-canary-client";

/// An account, and what is to go wrong.
#[derive(Debug, Default)]
pub struct World {
    /// The access tokens that are good.
    pub access: Vec<String>,
    /// The refresh tokens that are good.
    pub refresh: Vec<String>,
    /// Scopes whose boxes the user unticks on the consent page.
    pub unticked: Vec<&'static str>,
    /// The codes that were given out and not used yet.
    pub codes: Vec<Code>,
    /// The messages, newest first, as `messages.get` gives them in full.
    pub mails: Vec<Value>,
    /// The tasks, as they are given out.
    pub tasks: Vec<Value>,
    /// The events, as they are given out, those that recur expanded.
    pub events: Vec<Value>,
    /// The most that stands on one page.
    pub page: Option<usize>,
    /// What goes wrong next.
    pub faults: VecDeque<Fault>,
    /// Every request that came, oldest first.
    pub requests: Vec<Received>,
}

/// One answer that goes wrong.
#[derive(Clone, Debug)]
pub struct Fault {
    /// It strikes the first request whose path has this in it.
    pub path: &'static str,
    /// The status.
    pub status: u16,
    /// `retry-after`, if there is one.
    pub retry_after: Option<u32>,
    /// The body.
    pub body: String,
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct Received {
    /// `GET`, `POST`, ...
    pub method: String,
    /// The path.
    pub path: String,
    /// What follows it.
    pub query: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Received {
    /// What the query says about `name`.
    pub fn asks(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A running server. Dropping it closes the door.
pub struct GoogleServer {
    house: House,
    world: Arc<Mutex<World>>,
}

impl GoogleServer {
    /// One on a port of its own, with an empty account.
    pub async fn start() -> std::io::Result<Self> {
        let world = Arc::new(Mutex::new(World::default()));
        let routes = door::routes(Arc::clone(&world));
        Ok(Self { house: House::open(0, routes, CancellationToken::new()).await?, world })
    }

    /// Its address.
    pub fn url(&self) -> String {
        self.house.url()
    }

    /// The account.
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
    /// Opens one.
    ///
    /// # Panics
    /// If there is no port for it.
    #[expect(
        clippy::expect_used,
        reason = "a fixture that cannot be made stops the test at once, with its reason"
    )]
    pub fn open() -> Self {
        let elsewhere = Elsewhere::open();
        let server = elsewhere.run(async { GoogleServer::start().await.expect("a port") });
        Self { server, _elsewhere: elsewhere }
    }

    /// The server itself.
    pub fn server(&self) -> &GoogleServer {
        &self.server
    }
}
