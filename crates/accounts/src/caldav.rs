//! Tasks and a calendar on a CalDAV server (RFC 4791): Radicale, Nextcloud, Fastmail and many more.
//!
//! The password is sent only to the configured host, over https or to this machine, and never
//! follows a redirect to another host. Responses are bounded and not trusted more than a file.

mod calendar;
mod collection;
mod discovery;
mod door;
pub(crate) mod multistatus;
mod requests;
mod tasks;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use calendar::CalDavCalendar;
pub use tasks::CalDavTasks;

/// The server and the account on it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The URL of the server, or of a calendar on it.
    pub url: String,
    pub user: String,
    pub password: Secret,
    /// The name of the calendar or list; without it the first one is used.
    pub name: Option<String>,
    pub limits: Limits,
}

/// The limits for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The timeout of a request.
    pub patience: Duration,
    /// The maximum size of a response in bytes.
    pub biggest: usize,
}

impl Limits {
    /// The limits used in production.
    pub const HOUSE: Self = Self { patience: Duration::from_secs(30), biggest: 8_000_000 };
}

/// A secret that is looked up on each use, so a new one needs no restart, and is never printed.
#[derive(Clone)]
pub struct Secret(Arc<dyn Fn() -> String + Send + Sync>);

impl Secret {
    /// Creates a secret that `source` returns.
    pub fn kept_by(source: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }

    fn told(&self) -> String {
        (self.0)()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
