//! Paired browsers, stored in the journal and cached in memory, because every request needs them.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use journal::{Journal, KnownDevice};
use surfaces::web::devices::{Device, Devices, Unkept};
use surfaces::web::secret::Digest;
use tokio::sync::watch;

pub struct KeptDevices {
    journal: Arc<Journal>,
    known: watch::Sender<Arc<[Device]>>,
}

impl KeptDevices {
    /// Loads the devices from `journal`.
    pub async fn load(journal: Arc<Journal>) -> Result<Self, Unkept> {
        let devices = journal.devices().await.map_err(|error| Unkept(error.to_string()))?;
        let known = watch::Sender::new(devices.into_iter().map(device).collect());
        Ok(Self { journal, known })
    }
}

impl Devices for KeptDevices {
    fn list(&self) -> BoxFuture<'_, Result<Arc<[Device]>, Unkept>> {
        Box::pin(async { Ok(self.known.borrow().clone()) })
    }

    fn add(&self, device: Device) -> BoxFuture<'_, Result<(), Unkept>> {
        Box::pin(async move {
            self.journal.add_device(kept(&device)).await.map_err(|error| Unkept(error.to_string()))?;
            self.known.send_modify(|known| *known = known.iter().cloned().chain([device]).collect());
            Ok(())
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Unkept>> {
        Box::pin(async move {
            let removed = self.journal.remove_device(id.to_owned()).await;
            removed.map_err(|error| Unkept(error.to_string()))?;
            self.known.send_modify(|known| {
                *known = known.iter().filter(|device| device.id != id).cloned().collect();
            });
            Ok(())
        })
    }
}

fn device(kept: KnownDevice) -> Device {
    Device { id: kept.id, label: kept.label, credential: Digest(kept.credential), paired: kept.paired }
}

fn kept(device: &Device) -> KnownDevice {
    KnownDevice {
        id: device.id.clone(),
        label: device.label.clone(),
        credential: device.credential.0,
        paired: device.paired,
    }
}
