//! Tasks and a calendar on a server that speaks CalDAV (RFC 4791): Radicale, Nextcloud, Fastmail and many more.
//!
//! The password goes only where the human said: over https, or to this machine, and never after a redirect to
//! somebody else. Whatever comes back is bounded, and believed no more than a file would be.

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

/// Where the server is, and who we are there.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server, or a calendar on it.
    pub url: String,
    /// Who we are.
    pub user: String,
    /// How we show that.
    pub password: Secret,
    /// What the calendar, or the list, is called; without it, the first one will do.
    pub name: Option<String>,
    /// How much we bear.
    pub limits: Limits,
}

/// How much we bear of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long we wait for an answer.
    pub patience: Duration,
    /// The biggest answer that is read, in bytes.
    pub biggest: usize,
}

impl Limits {
    /// What we bear of every server.
    pub const HOUSE: Self = Self { patience: Duration::from_secs(30), biggest: 8_000_000 };
}

/// A secret that does not show itself. It is looked up whenever it is needed, so that a new one needs no restart.
#[derive(Clone)]
pub struct Secret(Arc<dyn Fn() -> String + Send + Sync>);

impl Secret {
    /// The secret that `source` knows when it is asked.
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
