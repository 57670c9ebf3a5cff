//! Log settings: level, format and file.

use std::path::PathBuf;

use journal::Paths;
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

/// The log settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    pub level: LevelFilter,
    pub form: Form,
    /// The user's request for a log.
    pub wanted: Wanted,
}

/// The user's request for a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// `OLLIM_LOG` is set.
    Asked,
    Unasked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Text,
    /// One JSON document per line.
    Json,
}

impl Log {
    /// The defaults, also used if the settings are invalid.
    pub const USUAL: Self = Self { level: LevelFilter::WARN, form: Form::Text, wanted: Wanted::Unasked };
}

/// Reads `OLLIM_LOG` and `OLLIM_LOG_FORMAT`; warnings as text by default.
pub fn read(environment: &Environment) -> Result<Log, Failed> {
    let wanted = environment.get("OLLIM_LOG").unwrap_or("warn");
    let level = LEVELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let level = level.map(|(_, level)| *level).ok_or_else(|| {
        Failed::Configuration(format!(
            "OLLIM_LOG: `{wanted}` is not an amount i know. use off, error, warn, info, debug or trace."
        ))
    })?;
    let form = match environment.get("OLLIM_LOG_FORMAT").unwrap_or("text") {
        "text" => Form::Text,
        "json" => Form::Json,
        other => {
            let text = format!("OLLIM_LOG_FORMAT: `{other}` is no form i know. use text or json.");
            return Err(Failed::Configuration(text));
        }
    };
    let wanted = environment.get("OLLIM_LOG").map_or(Wanted::Unasked, |_| Wanted::Asked);
    Ok(Log { level, form, wanted })
}

/// Returns the path of the log file, for machines without a service manager's log.
pub fn file(paths: &Paths) -> PathBuf {
    paths.state().join("logs").join("ollim-bot.log")
}
