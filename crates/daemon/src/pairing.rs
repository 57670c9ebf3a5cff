//! Paired browsers, stored in the journal and cached in memory, because every request needs them.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use journal::{Journal, PairedDevice};
use surfaces::web::devices::{Device, DeviceStore, DeviceStoreError};
use surfaces::web::secret::Digest;
use tokio::sync::watch;

pub struct JournalDeviceStore {
    journal: Arc<Journal>,
    devices: watch::Sender<Arc<[Device]>>,
}

impl JournalDeviceStore {
    /// Loads the devices from `journal`.
    pub async fn load(journal: Arc<Journal>) -> Result<Self, DeviceStoreError> {
        let devices = journal.devices().await.map_err(|error| DeviceStoreError(error.to_string()))?;
        let known = watch::Sender::new(devices.into_iter().map(from_stored).collect());
        Ok(Self { journal, devices: known })
    }
}

impl DeviceStore for JournalDeviceStore {
    fn list(&self) -> BoxFuture<'_, Result<Arc<[Device]>, DeviceStoreError>> {
        Box::pin(async { Ok(self.devices.borrow().clone()) })
    }

    fn add(&self, device: Device) -> BoxFuture<'_, Result<(), DeviceStoreError>> {
        Box::pin(async move {
            self.journal
                .add_device(to_stored(&device))
                .await
                .map_err(|error| DeviceStoreError(error.to_string()))?;
            self.devices.send_modify(|known| *known = known.iter().cloned().chain([device]).collect());
            Ok(())
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), DeviceStoreError>> {
        Box::pin(async move {
            let removed = self.journal.remove_device(id.to_owned()).await;
            removed.map_err(|error| DeviceStoreError(error.to_string()))?;
            self.devices.send_modify(|known| {
                *known = known.iter().filter(|device| device.id != id).cloned().collect();
            });
            Ok(())
        })
    }
}

fn from_stored(kept: PairedDevice) -> Device {
    Device { id: kept.id, label: kept.label, credential: Digest(kept.credential), paired: kept.paired }
}

fn to_stored(device: &Device) -> PairedDevice {
    PairedDevice {
        id: device.id.clone(),
        label: device.label.clone(),
        credential: device.credential.0,
        paired: device.paired,
    }
}
