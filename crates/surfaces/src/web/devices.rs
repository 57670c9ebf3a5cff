//! Devices: the browsers that were paired, each known only by the hash of its credential.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::watch;

use super::secret::Digest;

/// A browser that was paired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// What it is called in lists: the first characters of its hash.
    pub id: String,
    /// What the browser says it is.
    pub label: String,
    /// The hash of its credential.
    pub credential: Digest,
    /// When it was paired.
    pub paired: Timestamp,
}

/// Where paired devices are kept.
pub trait Devices: Send + Sync {
    /// All of them. This is asked at every request.
    fn list(&self) -> BoxFuture<'_, Result<Arc<[Device]>, Unkept>>;

    /// Keeps one more. When this returns `Ok` it survives a restart.
    fn add(&self, device: Device) -> BoxFuture<'_, Result<(), Unkept>>;

    /// Forgets the one called `id`, if there is one.
    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Unkept>>;
}

/// The devices cannot be read or written. The human must act: it says what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unkept(pub String);

/// Devices that are forgotten when the program ends.
#[derive(Debug)]
pub struct Fleeting(watch::Sender<Arc<[Device]>>);

impl Default for Fleeting {
    fn default() -> Self {
        Self(watch::Sender::new(Arc::default()))
    }
}

impl Devices for Fleeting {
    fn list(&self) -> BoxFuture<'_, Result<Arc<[Device]>, Unkept>> {
        Box::pin(async { Ok(self.0.borrow().clone()) })
    }

    fn add(&self, device: Device) -> BoxFuture<'_, Result<(), Unkept>> {
        self.0.send_modify(|all| *all = all.iter().cloned().chain([device]).collect());
        Box::pin(async { Ok(()) })
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Unkept>> {
        self.0.send_modify(|all| *all = all.iter().filter(|device| device.id != id).cloned().collect());
        Box::pin(async { Ok(()) })
    }
}
