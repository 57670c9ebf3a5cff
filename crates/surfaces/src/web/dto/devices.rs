//! Paired devices as JSON.

use serde::{Deserialize, Serialize};

use super::super::devices::Device;

/// Request about a device.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceRequest {
    pub id: String,
}

#[derive(Serialize)]
pub struct DeviceList {
    pub devices: Vec<DeviceDto>,
}

/// A paired device, without its credential.
#[derive(Serialize)]
pub struct DeviceDto {
    pub id: String,
    pub label: String,
    pub paired: String,
}

impl From<&Device> for DeviceDto {
    fn from(device: &Device) -> Self {
        let Device { id, label, paired, .. } = device;
        Self { id: id.clone(), label: label.clone(), paired: paired.to_string() }
    }
}
