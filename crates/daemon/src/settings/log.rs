//! How much is logged.

use tracing_subscriber::filter::LevelFilter;

use super::Environment;
use crate::exit::Failed;

const LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

/// What OLLIM_LOG asks for; warnings, if it is not set.
pub fn read(environment: &Environment) -> Result<LevelFilter, Failed> {
    let wanted = environment.get("OLLIM_LOG").unwrap_or("warn");
    let level = LEVELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    level.map(|(_, level)| *level).ok_or_else(|| {
        Failed::Configuration(format!(
            "OLLIM_LOG: `{wanted}` is not an amount i know. use off, error, warn, info, debug or trace."
        ))
    })
}
