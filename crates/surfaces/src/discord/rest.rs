//! Requests to Discord, typed. Limits are waited out in here; every other trouble is a value that says who must act.
//!
//! Requests of one route and one channel keep their order: each waits in a lane until the one before it was answered.
//! Different lanes do not wait for each other, so a reaction never holds up a message. A request that overtakes leaves
//! before all others of its lane, also before one that waits for a rate limit.

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

/// Discord's REST API. Clones share their limits.
#[derive(Clone)]
pub struct Rest {
    office: Arc<Office>,
    /// Whether its requests leave before those of others.
    overtakes: bool,
}

struct Office {
    wire: Arc<dyn Wire>,
    opened: Instant,
    limits: Mutex<Limits>,
    lanes: Mutex<BTreeMap<Route, Arc<Lane>>>,
}

/// The requests of one route and one channel.
struct Lane {
    /// One request at a time.
    usual: Semaphore,
    /// One request that overtakes at a time.
    overtaking: Semaphore,
    /// How many requests want to overtake.
    ahead: watch::Sender<usize>,
}

/// A request that overtakes; the others leave after it is dropped.
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
    /// Requests over `wire`.
    pub fn new(wire: Arc<dyn Wire>) -> Self {
        let office =
            Office { wire, opened: Instant::now(), limits: Mutex::default(), lanes: Mutex::default() };
        Self { office: Arc::new(office), overtakes: false }
    }

    /// The same, with requests that leave before all others.
    pub fn overtaking(&self) -> Self {
        Self { overtakes: true, ..self.clone() }
    }

    /// Reads what an attachment's `url` holds, if that is at most `limit` bytes.
    pub async fn fetch(&self, url: &str, limit: usize) -> Result<Vec<u8>, Unfetched> {
        self.office.wire.fetch(url, limit).await
    }

    /// Makes a request and reads what comes back.
    async fn ask(&self, request: Request) -> Result<Value, Trouble> {
        let method = request.call.method;
        let answer = self.send(request).await?;
        if answer.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer.body).map_err(|error| trouble::unreadable(method, &error.to_string()))
    }

    /// Makes a request in its lane, as often as it is told to come back later.
    async fn send(&self, Request { route, call }: Request) -> Result<Answer, Trouble> {
        let lane = self.office.lane(&route);
        let _ahead = self.overtakes.then(|| Ahead::of(&lane));
        // Nobody closes a lane, so whoever waits gets their turn.
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

/// What a request was told.
enum Heard {
    /// To come back later.
    Later,
    /// This.
    Answer(Answer),
}

impl Office {
    /// Waits until a request may leave, which then counts as sent, and until nothing overtakes it in its `lane`.
    async fn wait(&self, route: &Route, lane: Option<&Arc<Lane>>) {
        loop {
            if let Some(lane) = lane {
                // The lane is there as long as somebody stands in it.
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
        // A lane in which nobody stands is known to this list alone.
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

/// The lane of a route. A mark is put and taken away in one, so that the later of the two stays.
fn in_lane(route: &Route) -> Route {
    match route.weight {
        Weight::Light => Route { method: Method::Put, ..route.clone() },
        Weight::Plain | Weight::Apart => route.clone(),
    }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
