//! Tasks and a calendar on a CalDAV server (RFC 4791): Radicale, Nextcloud, Fastmail and many more.
//!
//! The password is sent only to the configured host, over https or to this machine, and never
//! follows a redirect to another host. Responses are bounded and not trusted more than a file.

mod calendar;
mod client;
mod collection;
mod discovery;
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
pub struct CalDavSettings {
    /// The URL of the server, or of a calendar on it.
    pub url: String,
    pub user: String,
    pub password: PasswordSource,
    /// The name of the calendar or list; without it the first one is used.
    pub name: Option<String>,
    pub limits: Limits,
}

/// The limits for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The timeout of a request.
    pub timeout: Duration,
    /// The maximum size of a response in bytes.
    pub max_response_bytes: usize,
}

impl Limits {
    /// The limits used in production.
    pub const DEFAULT: Self = Self { timeout: Duration::from_secs(30), max_response_bytes: 8_000_000 };
}

/// A secret that is looked up on each use, so a new one needs no restart, and is never printed.
#[derive(Clone)]
pub struct PasswordSource(Arc<dyn Fn() -> String + Send + Sync>);

impl PasswordSource {
    /// Creates a secret that `source` returns.
    pub fn from_fn(source: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }

    fn load(&self) -> String {
        (self.0)()
    }
}

impl fmt::Debug for PasswordSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
