//! The local page, and the HTTP API shared by the page and the command line.
//!
//! One router with two listeners: a loopback port that requires pairing, and a socket file in the
//! data directory that only the user can open. Nothing here decides about the conversation.

mod api;
mod api_error;
pub mod assets;
mod attention;
mod authentication;
pub mod calendar;
mod capture;
pub mod cost;
mod days_query;
pub mod devices;
mod dto;
mod events;
mod guard;
pub mod health;
pub mod job_files;
mod lateness;
pub mod listener;
mod messages;
pub mod metrics;
pub mod notes;
pub mod pairing;
mod pings;
mod reading;
mod schedule;
pub mod search;
pub mod secret;
pub mod sessions;
mod today;
pub mod updates;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use engine::handle::AssistantHandle;
use engine::ports::{Archive, Clock, History, Journal};

pub use api::MAX_BODY_BYTES;
use calendar::Calendar;
use devices::{DeviceStore, DeviceStoreError};
use health::HealthSource;
use job_files::JobFiles;
pub use messages::MAX_MESSAGE_BYTES;
use pairing::Pairing;
use tokio::sync::broadcast;

use crate::attempts::FailedAttempts;
use crate::event_hub::EventHub;

/// Capacity of the channel that reports removed devices.
const REMOVED_DEVICES_BUFFER: usize = 16;

/// Dependencies of the page.
#[derive(Clone)]
pub struct WebPorts {
    pub assistant: AssistantHandle,
    pub journal: Arc<dyn Journal>,
    pub archive: Arc<dyn Archive>,
    /// Read-only queries for display.
    pub history: Arc<dyn History>,
    pub event_hub: Arc<EventHub>,
    pub health_source: Arc<dyn HealthSource>,
    /// The paired browsers.
    pub devices: Arc<dyn DeviceStore>,
    /// The user's appointments.
    pub calendar: Arc<dyn Calendar>,
    pub job_files: Arc<dyn JobFiles>,
    pub clock: Arc<dyn Clock>,
}

/// Limits for connections.
#[derive(Clone, Copy, Debug)]
pub struct WebLimits {
    /// Connections of clients that are not paired.
    pub unpaired: usize,
    /// Connections of paired devices, and those through the socket file.
    pub paired: usize,
    /// How long an unpaired connection may be silent before it can be dropped for another one.
    pub grace: Duration,
    /// Timeout for the head of a request.
    pub head_timeout: Duration,
    /// Timeout for the body of a request.
    pub body_timeout: Duration,
    /// Maximum lifetime of an unpaired connection.
    pub unpaired_lifetime: Duration,
    /// Interval of heartbeats on an idle event stream.
    pub heartbeat_interval: Duration,
}

impl WebLimits {
    /// The limits in production.
    pub const DEFAULT: Self = Self {
        unpaired: 128,
        paired: 256,
        grace: Duration::from_secs(1),
        head_timeout: Duration::from_secs(10),
        body_timeout: Duration::from_secs(10),
        unpaired_lifetime: Duration::from_secs(30),
        heartbeat_interval: Duration::from_secs(15),
    };
}

/// The page, which can be served by any number of listeners.
#[derive(Clone)]
pub struct App(Arc<AppInner>);

struct AppInner {
    ports: WebPorts,
    limits: WebLimits,
    pairing: Pairing,
    /// Failed pairing codes.
    pairing_attempts: FailedAttempts,
    /// Requests with an invalid cookie or none.
    attempts: FailedAttempts,
    removed_devices: broadcast::Sender<String>,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("App(..)")
    }
}

impl App {
    /// Creates the page over `ports`.
    pub fn new(ports: WebPorts, limits: WebLimits) -> Self {
        let clock = &ports.clock;
        let pairing = Pairing::new(clock.clone());
        let pairing_attempts = FailedAttempts::new(clock.clone());
        let attempts = FailedAttempts::new(clock.clone());
        let forgotten = broadcast::Sender::new(REMOVED_DEVICES_BUFFER);
        Self(Arc::new(AppInner {
            ports,
            limits,
            pairing,
            pairing_attempts,
            attempts,
            removed_devices: forgotten,
        }))
    }

    /// Returns the pairing codes.
    pub fn pairing(&self) -> &Pairing {
        &self.0.pairing
    }

    /// Removes the device `id` and closes its connections.
    pub async fn remove_device(&self, id: &str) -> Result<(), DeviceStoreError> {
        self.ports().devices.remove(id).await?;
        // An error means that no connection is open.
        let _ = self.0.removed_devices.send(id.to_owned());
        Ok(())
    }

    /// Subscribes to the ids of removed devices.
    fn removed_devices(&self) -> broadcast::Receiver<String> {
        self.0.removed_devices.subscribe()
    }

    fn ports(&self) -> &WebPorts {
        &self.0.ports
    }

    fn limits(&self) -> &WebLimits {
        &self.0.limits
    }

    fn pairing_attempts(&self) -> &FailedAttempts {
        &self.0.pairing_attempts
    }

    fn attempts(&self) -> &FailedAttempts {
        &self.0.attempts
    }

    fn router(&self) -> Router {
        Router::new()
            .merge(assets::routes())
            .route(authentication::PAIR_PATH, post(api::pair))
            .route("/api/pairings", post(api::create_pairing_link))
            .route("/api/messages", get(messages::messages).post(messages::say))
            .route("/api/buttons", post(messages::press))
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
            .route("/api/inbox", post(capture::sort_inbox))
            .route("/api/pings", get(pings::show))
            .route("/api/pings/dislike", post(pings::dislike))
            .route("/api/search", get(search::show))
            .route("/api/delivery", get(lateness::show))
            .route("/api/cost", get(cost::show))
            .route("/api/updates", get(updates::show))
            .route("/api/updates/read", post(updates::mark_read))
            .route("/api/devices", get(api::devices))
            .route("/api/devices/remove", post(api::remove_device))
            .route("/api/health", get(api::health))
            .route("/api/events", get(events::stream_events))
            .route(metrics::PATH, get(metrics::show))
            .fallback(assets::not_found)
            .layer(from_fn_with_state(self.clone(), authentication::authenticate))
            .with_state(self.clone())
    }
}
