//! Log settings: level, format and file.

use std::path::PathBuf;

use journal::Paths;
use tracing_subscriber::filter::LevelFilter;

use super::Environment;
use crate::exit::CommandError;

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
pub struct LogSettings {
    pub level: LevelFilter,
    pub format: LogFormat,
    /// The user's request for a log.
    pub request: LogRequest,
}

/// The user's request for a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogRequest {
    /// `OLLIM_LOG` is set.
    Explicit,
    Unset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    /// One JSON document per line.
    Json,
}

impl LogSettings {
    /// The defaults, also used if the settings are invalid.
    pub const DEFAULT: Self =
        Self { level: LevelFilter::WARN, format: LogFormat::Text, request: LogRequest::Unset };
}

/// Reads `OLLIM_LOG` and `OLLIM_LOG_FORMAT`; warnings as text by default.
pub fn read(environment: &Environment) -> Result<LogSettings, CommandError> {
    let wanted = environment.get("OLLIM_LOG").unwrap_or("warn");
    let level = LEVELS.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let level = level.map(|(_, level)| *level).ok_or_else(|| {
        CommandError::Configuration(format!(
            "OLLIM_LOG: `{wanted}` is not an amount i know. use off, error, warn, info, debug or trace."
        ))
    })?;
    let form = match environment.get("OLLIM_LOG_FORMAT").unwrap_or("text") {
        "text" => LogFormat::Text,
        "json" => LogFormat::Json,
        other => {
            let text = format!("OLLIM_LOG_FORMAT: `{other}` is no form i know. use text or json.");
            return Err(CommandError::Configuration(text));
        }
    };
    let wanted = environment.get("OLLIM_LOG").map_or(LogRequest::Unset, |_| LogRequest::Explicit);
    Ok(LogSettings { level, format: form, request: wanted })
}

/// Returns the path of the log file, for machines without a service manager's log.
pub fn log_path(paths: &Paths) -> PathBuf {
    paths.state().join("logs").join("ollim-bot.log")
}
