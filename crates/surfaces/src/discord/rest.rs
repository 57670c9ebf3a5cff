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

use crate::discord::rate_limits::{RateLimits, ResponseInfo, Route, Wait, Weight};
use crate::discord::transport::{DiscordTransport, FetchError, HttpRequest, HttpResponse, Method};

mod account;
mod channel;
mod error;
mod interaction;
mod request;

pub use account::{Application, Owner};
pub use error::DiscordError;

use request::Request;

/// REST client. Clones share their limits.
#[derive(Clone)]
pub struct Rest {
    inner: Arc<Inner>,
    /// Whether its requests have priority over others.
    has_priority: bool,
}

struct Inner {
    transport: Arc<dyn DiscordTransport>,
    started_at: Instant,
    limits: Mutex<RateLimits>,
    lanes: Mutex<BTreeMap<Route, Arc<Lane>>>,
}

/// Queue of the requests of one route and channel.
struct Lane {
    /// Held by one normal request at a time.
    normal: Semaphore,
    /// Held by one priority request at a time.
    priority: Semaphore,
    /// Number of pending priority requests.
    priority_pending: watch::Sender<usize>,
}

/// Registers a priority request; normal ones continue after it is dropped.
struct PriorityGuard<'a>(&'a Lane);

impl Lane {
    fn new() -> Self {
        let usual = Semaphore::new(1);
        let overtaking = Semaphore::new(1);
        Self { normal: usual, priority: overtaking, priority_pending: watch::Sender::new(0) }
    }
}

impl<'a> PriorityGuard<'a> {
    fn new(lane: &'a Lane) -> Self {
        lane.priority_pending.send_modify(|ahead| *ahead += 1);
        Self(lane)
    }
}

impl Drop for PriorityGuard<'_> {
    fn drop(&mut self) {
        self.0.priority_pending.send_modify(|ahead| *ahead -= 1);
    }
}

impl Rest {
    /// Creates a client over `transport`.
    pub fn new(wire: Arc<dyn DiscordTransport>) -> Self {
        let office = Inner {
            transport: wire,
            started_at: Instant::now(),
            limits: Mutex::default(),
            lanes: Mutex::default(),
        };
        Self { inner: Arc::new(office), has_priority: false }
    }

    /// Returns a client whose requests have priority.
    pub fn with_priority(&self) -> Self {
        Self { has_priority: true, ..self.clone() }
    }

    /// Downloads an attachment of at most `limit` bytes.
    pub async fn fetch(&self, url: &str, limit: usize) -> Result<Vec<u8>, FetchError> {
        self.inner.transport.fetch(url, limit).await
    }

    /// Sends a request and parses the response.
    async fn request_json(&self, request: Request) -> Result<Value, DiscordError> {
        let method = request.call.method;
        let answer = self.send(request).await?;
        if answer.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer.body).map_err(|error| error::invalid_body(method, &error.to_string()))
    }

    /// Sends a request in its lane and repeats it while it is rate limited.
    async fn send(&self, Request { route, call }: Request) -> Result<HttpResponse, DiscordError> {
        let lane = self.inner.lane(&route);
        let _ahead = self.has_priority.then(|| PriorityGuard::new(&lane));
        // A lane is never closed, so `acquire` succeeds.
        let _turn = if self.has_priority { &lane.priority } else { &lane.normal }.acquire().await;
        loop {
            self.inner.wait(&route, (!self.has_priority).then_some(&lane)).await;
            match self.inner.call_once(&route, &call).await? {
                Attempt::RateLimited => {
                    tracing::debug!(route = route.template, "Discord asks us to come back later")
                }
                Attempt::Answer(answer) => return error::check_status(&call, answer),
            }
        }
    }
}

/// Result of one attempt.
enum Attempt {
    RateLimited,
    Answer(HttpResponse),
}

impl Inner {
    /// Waits until a request may be sent, which is then counted, and until no priority request is
    /// pending in its `lane`.
    async fn wait(&self, route: &Route, lane: Option<&Arc<Lane>>) {
        loop {
            if let Some(lane) = lane {
                // The sender is part of the lane, so it is not dropped while waiting.
                let _ = lane.priority_pending.subscribe().wait_for(|ahead| *ahead == 0).await;
            }
            let wait = lock(&self.limits).check(route, self.now());
            match wait {
                Wait::Go => return,
                Wait::Until(time) => tokio::time::sleep_until(self.started_at + time).await,
            }
        }
    }

    async fn call_once(&self, route: &Route, call: &HttpRequest) -> Result<Attempt, DiscordError> {
        let answer = self.transport.send(call.clone()).await;
        let answer = answer.map_err(|broken| error::from_transport(call.method, broken))?;
        let told = ResponseInfo { status: answer.status, headers: &answer.headers, body: &answer.body };
        lock(&self.limits).update(route, &told, self.now());
        if told.status == 429 && !told.is_edit_limit() {
            return Ok(Attempt::RateLimited);
        }
        Ok(Attempt::Answer(answer))
    }

    fn lane(&self, route: &Route) -> Arc<Lane> {
        let mut lanes = lock(&self.lanes);
        // A lane with only this reference is unused.
        lanes.retain(|_, lane| Arc::strong_count(lane) > 1);
        Arc::clone(lanes.entry(lane_key(route)).or_insert_with(|| Arc::new(Lane::new())))
    }

    fn now(&self) -> Duration {
        self.started_at.elapsed()
    }
}

impl fmt::Debug for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rest(..)")
    }
}

/// Returns the lane of a route. Adding and removing a reaction share one, so that the later request
/// wins.
fn lane_key(route: &Route) -> Route {
    match route.weight {
        Weight::LowPriority => Route { method: Method::Put, ..route.clone() },
        Weight::Normal | Weight::Interaction => route.clone(),
    }
}

fn lock<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
