//! Time zones by their IANA name.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::schedule::InvalidField;

/// A time zone, compared and hashed by name.
#[derive(Clone, Debug)]
pub struct Zone {
    name: Arc<str>,
    zone: TimeZone,
}

impl Zone {
    /// Looks up an IANA name such as `Europe/Berlin`.
    pub fn named(name: &str) -> Result<Self, InvalidField> {
        let zone = TimeZone::get(name.trim()).map_err(|_| {
            let reason = format!("{name:?} is not a zone; write its name, such as `Europe/Berlin` or `UTC`");
            InvalidField::new("timezone", reason)
        })?;
        let name = zone.iana_name().unwrap_or(name).into();
        Ok(Self { name, zone })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn time_zone(&self) -> &TimeZone {
        &self.zone
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Zone {}

impl Hash for Zone {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}
