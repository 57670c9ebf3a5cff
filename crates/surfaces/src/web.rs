//! The local page: a chat in the browser, and the API that the page and the command line share.
//!
//! One router, two doors: a port on the loopback address with a guard before it, and a socket in the data
//! directory that only the human can open. Nothing here decides anything about the conversation.

mod api;
mod attention;
pub mod calendar;
mod capture;
pub mod cost;
mod delivery;
pub mod devices;
pub mod door;
mod events;
mod gate;
mod guard;
pub mod job_files;
pub mod metrics;
pub mod notes;
pub mod pairing;
mod pings;
mod reading;
mod refusal;
pub mod reports;
mod schedule;
pub mod search;
pub mod secret;
pub mod sessions;
pub mod shell;
mod span;
mod talk;
mod today;
pub mod vitals;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use engine::desk::Desk;
use engine::ports::{Archive, Clock, History, Journal};

pub use api::BODY_BYTES;
use calendar::Calendar;
use devices::{Devices, Unkept};
use job_files::JobFiles;
use pairing::Pairing;
pub use talk::SAY_BYTES;
use tokio::sync::broadcast;
use vitals::Vitals;

use crate::attempts::Attempts;
use crate::stage::Stage;

/// How many forgotten devices a connection may be late to hear of.
const FORGOTTEN: usize = 16;

/// What the page needs from the rest.
#[derive(Clone)]
pub struct Ports {
    /// How the assistant is reached.
    pub desk: Desk,
    /// What was said.
    pub journal: Arc<dyn Journal>,
    /// What happened.
    pub archive: Arc<dyn Archive>,
    /// What is only looked up to be shown.
    pub history: Arc<dyn History>,
    /// What is shown.
    pub stage: Arc<Stage>,
    /// How the assistant is.
    pub vitals: Arc<dyn Vitals>,
    /// The paired browsers.
    pub devices: Arc<dyn Devices>,
    /// What the human has entered for their days.
    pub calendar: Arc<dyn Calendar>,
    /// The files that plan something.
    pub job_files: Arc<dyn JobFiles>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// How much is borne from whoever connects.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections of browsers and programs that are not paired.
    pub strangers: usize,
    /// Connections of paired devices; and those through the socket file.
    pub known: usize,
    /// How long a connection that is not paired may be silent before another one takes its place.
    pub grace: Duration,
    /// The time to send the head of a request.
    pub head: Duration,
    /// The time to send its body.
    pub body: Duration,
    /// The time a stranger's connection lasts.
    pub stay: Duration,
    /// The time between two signs of life on a silent stream.
    pub heartbeat: Duration,
}

impl Limits {
    /// What the house allows.
    pub const HOUSE: Self = Self {
        strangers: 128,
        known: 256,
        grace: Duration::from_secs(1),
        head: Duration::from_secs(10),
        body: Duration::from_secs(10),
        stay: Duration::from_secs(30),
        heartbeat: Duration::from_secs(15),
    };
}

/// The page, ready to be served through any number of doors.
#[derive(Clone)]
pub struct App(Arc<Parts>);

struct Parts {
    ports: Ports,
    limits: Limits,
    pairing: Pairing,
    /// Wrong pairing codes.
    pairing_attempts: Attempts,
    /// Requests with a wrong cookie or none.
    attempts: Attempts,
    forgotten: broadcast::Sender<String>,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("App(..)")
    }
}

impl App {
    /// The page over `ports`.
    pub fn new(ports: Ports, limits: Limits) -> Self {
        let clock = &ports.clock;
        let pairing = Pairing::new(clock.clone());
        let pairing_attempts = Attempts::new(clock.clone());
        let attempts = Attempts::new(clock.clone());
        let forgotten = broadcast::Sender::new(FORGOTTEN);
        Self(Arc::new(Parts { ports, limits, pairing, pairing_attempts, attempts, forgotten }))
    }

    /// The codes that pair a browser.
    pub fn pairing(&self) -> &Pairing {
        &self.0.pairing
    }

    /// Forgets the device called `id`, and ends its connections.
    pub async fn forget(&self, id: &str) -> Result<(), Unkept> {
        self.ports().devices.remove(id).await?;
        // Nobody listens: no connection is open.
        let _ = self.0.forgotten.send(id.to_owned());
        Ok(())
    }

    /// The names of devices that are forgotten from now on.
    fn forgotten(&self) -> broadcast::Receiver<String> {
        self.0.forgotten.subscribe()
    }

    fn ports(&self) -> &Ports {
        &self.0.ports
    }

    fn limits(&self) -> &Limits {
        &self.0.limits
    }

    fn pairing_attempts(&self) -> &Attempts {
        &self.0.pairing_attempts
    }

    fn attempts(&self) -> &Attempts {
        &self.0.attempts
    }

    fn router(&self) -> Router {
        Router::new()
            .merge(shell::routes())
            .route(gate::PAIR, post(api::pair))
            .route("/api/pairings", post(api::pairings))
            .route("/api/messages", get(talk::messages).post(talk::say))
            .route("/api/buttons", post(talk::press))
            .route("/api/stop", post(api::stop))
            .route("/api/commands", post(api::command))
            .route("/api/sessions", get(sessions::show))
            .merge(schedule::routes())
            .merge(notes::routes())
            .route("/api/today", get(today::show))
            .route("/api/calendar", get(calendar::show))
            .route("/api/context", get(api::context))
            .route("/api/reading", post(reading::show))
            .route("/api/capture", post(capture::capture))
            .route("/api/undo", post(capture::undo))
            .route("/api/inbox", post(capture::sort))
            .route("/api/pings", get(pings::show))
            .route("/api/pings/dislike", post(pings::dislike))
            .route("/api/search", get(search::show))
            .route("/api/delivery", get(delivery::show))
            .route("/api/cost", get(cost::show))
            .route("/api/updates", get(reports::show))
            .route("/api/updates/read", post(reports::read))
            .route("/api/devices", get(api::devices))
            .route("/api/devices/remove", post(api::forget))
            .route("/api/health", get(api::health))
            .route("/api/events", get(events::follow))
            .route(metrics::PATH, get(metrics::show))
            .fallback(shell::nothing)
            .layer(from_fn_with_state(self.clone(), gate::pass))
            .with_state(self.clone())
    }
}
