//! The user's time zone: configured, from the machine, or UTC.

use jiff::tz::TimeZone;

use super::{Environment, WithSource};
use crate::exit::CommandError;

/// Reads the configured zone, or detects it.
pub fn read(environment: &Environment) -> Result<WithSource<TimeZone>, CommandError> {
    if let Some(name) = environment.get("OLLIM_TIMEZONE") {
        let zone = TimeZone::get(name).map_err(|_| {
            CommandError::Configuration(format!(
                "OLLIM_TIMEZONE: there is no time zone called `{name}`. use a name like Europe/Berlin."
            ))
        })?;
        return Ok(WithSource { value: zone, source: "OLLIM_TIMEZONE" });
    }
    Ok(detect())
}

/// Detects the zone of the machine.
pub fn detect() -> WithSource<TimeZone> {
    from_machine().unwrap_or(WithSource { value: TimeZone::UTC, source: "a guess" })
}

fn from_machine() -> Option<WithSource<TimeZone>> {
    let timezone = std::fs::read_to_string("/etc/timezone").ok();
    if let Some(zone) = timezone.and_then(|name| TimeZone::get(name.trim()).ok()) {
        return Some(WithSource { value: zone, source: "/etc/timezone" });
    }
    let localtime = std::fs::read_link("/etc/localtime").ok()?;
    let (_, name) = localtime.to_str()?.split_once("/zoneinfo/")?;
    Some(WithSource { value: TimeZone::get(name).ok()?, source: "/etc/localtime" })
}
