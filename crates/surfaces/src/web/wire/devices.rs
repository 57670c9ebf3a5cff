//! Paired devices on the wire.

use serde::{Deserialize, Serialize};

use super::super::devices::Device;

/// A device, named on the way in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceName {
    pub id: String,
}

/// The paired devices.
#[derive(Serialize)]
pub struct DeviceList {
    pub devices: Vec<DeviceWire>,
}

/// A paired device, without anything that would let somebody be it.
#[derive(Serialize)]
pub struct DeviceWire {
    pub id: String,
    pub label: String,
    pub paired: String,
}

impl From<&Device> for DeviceWire {
    fn from(device: &Device) -> Self {
        let Device { id, label, paired, .. } = device;
        Self { id: id.clone(), label: label.clone(), paired: paired.to_string() }
    }
}
