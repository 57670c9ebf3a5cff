//! Paired browsers, each identified by the hash of its credential.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::watch;

use super::secret::Digest;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Name in lists: the first characters of the hash.
    pub id: String,
    /// User agent of the browser.
    pub label: String,
    /// Hash of the credential.
    pub credential: Digest,
    pub paired: Timestamp,
}

/// Stores paired devices.
pub trait DeviceStore: Send + Sync {
    /// Returns all devices. Called for every request.
    fn list(&self) -> BoxFuture<'_, Result<Arc<[Device]>, DeviceStoreError>>;

    /// Adds a device. It is stored durably when this returns `Ok`.
    fn add(&self, device: Device) -> BoxFuture<'_, Result<(), DeviceStoreError>>;

    /// Removes the device `id`, if there is one.
    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), DeviceStoreError>>;
}

/// The devices cannot be read or written, with a text for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DeviceStoreError(pub String);

/// Devices kept in memory only.
#[derive(Debug)]
pub struct InMemoryDevices(watch::Sender<Arc<[Device]>>);

impl Default for InMemoryDevices {
    fn default() -> Self {
        Self(watch::Sender::new(Arc::default()))
    }
}

impl DeviceStore for InMemoryDevices {
    fn list(&self) -> BoxFuture<'_, Result<Arc<[Device]>, DeviceStoreError>> {
        Box::pin(async { Ok(self.0.borrow().clone()) })
    }

    fn add(&self, device: Device) -> BoxFuture<'_, Result<(), DeviceStoreError>> {
        self.0.send_modify(|all| *all = all.iter().cloned().chain([device]).collect());
        Box::pin(async { Ok(()) })
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), DeviceStoreError>> {
        self.0.send_modify(|all| *all = all.iter().filter(|device| device.id != id).cloned().collect());
        Box::pin(async { Ok(()) })
    }
}
