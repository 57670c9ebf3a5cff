//! The local page, and the HTTP API shared by the page and the command line.
//!
//! One router with two listeners: a loopback port that requires pairing, and a socket file in the
//! data directory that only the user can open. Nothing here decides about the conversation.

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

/// Capacity of the channel that reports removed devices.
const FORGOTTEN: usize = 16;

/// Dependencies of the page.
#[derive(Clone)]
pub struct Ports {
    pub desk: Desk,
    pub journal: Arc<dyn Journal>,
    pub archive: Arc<dyn Archive>,
    /// Read-only queries for display.
    pub history: Arc<dyn History>,
    pub stage: Arc<Stage>,
    pub vitals: Arc<dyn Vitals>,
    /// The paired browsers.
    pub devices: Arc<dyn Devices>,
    /// The user's appointments.
    pub calendar: Arc<dyn Calendar>,
    pub job_files: Arc<dyn JobFiles>,
    pub clock: Arc<dyn Clock>,
}

/// Limits for connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections of clients that are not paired.
    pub strangers: usize,
    /// Connections of paired devices, and those through the socket file.
    pub known: usize,
    /// How long an unpaired connection may be silent before it can be dropped for another one.
    pub grace: Duration,
    /// Timeout for the head of a request.
    pub head: Duration,
    /// Timeout for the body of a request.
    pub body: Duration,
    /// Maximum lifetime of an unpaired connection.
    pub stay: Duration,
    /// Interval of heartbeats on an idle event stream.
    pub heartbeat: Duration,
}

impl Limits {
    /// The limits in production.
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

/// The page, which can be served by any number of listeners.
#[derive(Clone)]
pub struct App(Arc<Parts>);

struct Parts {
    ports: Ports,
    limits: Limits,
    pairing: Pairing,
    /// Failed pairing codes.
    pairing_attempts: Attempts,
    /// Requests with an invalid cookie or none.
    attempts: Attempts,
    forgotten: broadcast::Sender<String>,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("App(..)")
    }
}

impl App {
    /// Creates the page over `ports`.
    pub fn new(ports: Ports, limits: Limits) -> Self {
        let clock = &ports.clock;
        let pairing = Pairing::new(clock.clone());
        let pairing_attempts = Attempts::new(clock.clone());
        let attempts = Attempts::new(clock.clone());
        let forgotten = broadcast::Sender::new(FORGOTTEN);
        Self(Arc::new(Parts { ports, limits, pairing, pairing_attempts, attempts, forgotten }))
    }

    /// Returns the pairing codes.
    pub fn pairing(&self) -> &Pairing {
        &self.0.pairing
    }

    /// Removes the device `id` and closes its connections.
    pub async fn forget(&self, id: &str) -> Result<(), Unkept> {
        self.ports().devices.remove(id).await?;
        // An error means that no connection is open.
        let _ = self.0.forgotten.send(id.to_owned());
        Ok(())
    }

    /// Subscribes to the ids of removed devices.
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
