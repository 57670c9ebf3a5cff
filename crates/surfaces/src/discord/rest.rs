//! Typed client for Discord's REST API. It waits for rate limits itself; other failures are
//! returned as [`DiscordError`].
//!
//! Requests of one route and channel keep their order: each waits in a lane until the previous one
//! was answered. Lanes are independent, so a reaction never delays a message. A priority request is
//! sent before all others of its lane, even before one that waits for a rate limit.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use crate::discord::limits::{Limits, Route, Told, Wait, Weight};
use crate::discord::wire::{Answer, Call, Method, Unfetched, Wire};

mod account;
mod channel;
mod interaction;
mod request;
mod trouble;

pub use account::{Application, Owner};
pub use trouble::Trouble;

use request::Request;

/// REST client. Clones share their limits.
#[derive(Clone)]
pub struct Rest {
    office: Arc<Office>,
    /// Whether its requests have priority over others.
    overtakes: bool,
}

struct Office {
    wire: Arc<dyn Wire>,
    opened: Instant,
    limits: Mutex<Limits>,
    lanes: Mutex<BTreeMap<Route, Arc<Lane>>>,
}

/// Queue of the requests of one route and channel.
struct Lane {
    /// Held by one normal request at a time.
    usual: Semaphore,
    /// Held by one priority request at a time.
    overtaking: Semaphore,
    /// Number of pending priority requests.
    ahead: watch::Sender<usize>,
}

/// Registers a priority request; normal ones continue after it is dropped.
struct Ahead<'a>(&'a Lane);

impl Lane {
    fn new() -> Self {
        let usual = Semaphore::new(1);
        let overtaking = Semaphore::new(1);
        Self { usual, overtaking, ahead: watch::Sender::new(0) }
    }
}

impl<'a> Ahead<'a> {
    fn of(lane: &'a Lane) -> Self {
        lane.ahead.send_modify(|ahead| *ahead += 1);
        Self(lane)
    }
}

impl Drop for Ahead<'_> {
    fn drop(&mut self) {
        self.0.ahead.send_modify(|ahead| *ahead -= 1);
    }
}

impl Rest {
    /// Creates a client over `transport`.
    pub fn new(wire: Arc<dyn Wire>) -> Self {
        let office =
            Office { wire, opened: Instant::now(), limits: Mutex::default(), lanes: Mutex::default() };
        Self { office: Arc::new(office), overtakes: false }
    }

    /// Returns a client whose requests have priority.
    pub fn overtaking(&self) -> Self {
        Self { overtakes: true, ..self.clone() }
    }

    /// Downloads an attachment of at most `limit` bytes.
    pub async fn fetch(&self, url: &str, limit: usize) -> Result<Vec<u8>, Unfetched> {
        self.office.wire.fetch(url, limit).await
    }

    /// Sends a request and parses the response.
    async fn ask(&self, request: Request) -> Result<Value, Trouble> {
        let method = request.call.method;
        let answer = self.send(request).await?;
        if answer.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer.body).map_err(|error| trouble::unreadable(method, &error.to_string()))
    }

    /// Sends a request in its lane and repeats it while it is rate limited.
    async fn send(&self, Request { route, call }: Request) -> Result<Answer, Trouble> {
        let lane = self.office.lane(&route);
        let _ahead = self.overtakes.then(|| Ahead::of(&lane));
        // A lane is never closed, so `acquire` succeeds.
        let _turn = if self.overtakes { &lane.overtaking } else { &lane.usual }.acquire().await;
        loop {
            self.office.wait(&route, (!self.overtakes).then_some(&lane)).await;
            match self.office.once(&route, &call).await? {
                Heard::Later => tracing::debug!(route = route.template, "Discord asks us to come back later"),
                Heard::Answer(answer) => return trouble::sort(&call, answer),
            }
        }
    }
}

/// Result of one attempt.
enum Heard {
    Later,
    Answer(Answer),
}

impl Office {
    /// Waits until a request may be sent, which is then counted, and until no priority request is
    /// pending in its `lane`.
    async fn wait(&self, route: &Route, lane: Option<&Arc<Lane>>) {
        loop {
            if let Some(lane) = lane {
                // The sender is part of the lane, so it is not dropped while waiting.
                let _ = lane.ahead.subscribe().wait_for(|ahead| *ahead == 0).await;
            }
            let wait = held(&self.limits).before(route, self.now());
            match wait {
                Wait::Go => return,
                Wait::Until(time) => tokio::time::sleep_until(self.opened + time).await,
            }
        }
    }

    async fn once(&self, route: &Route, call: &Call) -> Result<Heard, Trouble> {
        let answer = self.wire.call(call.clone()).await;
        let answer = answer.map_err(|broken| trouble::broken(call.method, broken))?;
        let told = Told { status: answer.status, headers: &answer.headers, body: &answer.body };
        held(&self.limits).learn(route, &told, self.now());
        if told.status == 429 && !told.is_of_one_message() {
            return Ok(Heard::Later);
        }
        Ok(Heard::Answer(answer))
    }

    fn lane(&self, route: &Route) -> Arc<Lane> {
        let mut lanes = held(&self.lanes);
        // A lane with only this reference is unused.
        lanes.retain(|_, lane| Arc::strong_count(lane) > 1);
        Arc::clone(lanes.entry(in_lane(route)).or_insert_with(|| Arc::new(Lane::new())))
    }

    fn now(&self) -> Duration {
        self.opened.elapsed()
    }
}

impl fmt::Debug for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rest(..)")
    }
}

/// Returns the lane of a route. Adding and removing a reaction share one, so that the later request
/// wins.
fn in_lane(route: &Route) -> Route {
    match route.weight {
        Weight::Light => Route { method: Method::Put, ..route.clone() },
        Weight::Plain | Weight::Apart => route.clone(),
    }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
