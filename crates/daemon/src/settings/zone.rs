//! The user's time zone: configured, from the machine, or UTC.

use jiff::tz::TimeZone;

use super::{Environment, Guessed};
use crate::exit::Failed;

/// Reads the configured zone, or detects it.
pub fn read(environment: &Environment) -> Result<Guessed<TimeZone>, Failed> {
    if let Some(name) = environment.get("OLLIM_TIMEZONE") {
        let zone = TimeZone::get(name).map_err(|_| {
            Failed::Configuration(format!(
                "OLLIM_TIMEZONE: there is no time zone called `{name}`. use a name like Europe/Berlin."
            ))
        })?;
        return Ok(Guessed { value: zone, from: "OLLIM_TIMEZONE" });
    }
    Ok(guessed())
}

/// Detects the zone of the machine.
pub fn guessed() -> Guessed<TimeZone> {
    from_machine().unwrap_or(Guessed { value: TimeZone::UTC, from: "a guess" })
}

fn from_machine() -> Option<Guessed<TimeZone>> {
    let timezone = std::fs::read_to_string("/etc/timezone").ok();
    if let Some(zone) = timezone.and_then(|name| TimeZone::get(name.trim()).ok()) {
        return Some(Guessed { value: zone, from: "/etc/timezone" });
    }
    let localtime = std::fs::read_link("/etc/localtime").ok()?;
    let (_, name) = localtime.to_str()?.split_once("/zoneinfo/")?;
    Some(Guessed { value: TimeZone::get(name).ok()?, from: "/etc/localtime" })
}
