//! How much is logged, in which form, and where.

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

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    /// How much.
    pub level: LevelFilter,
    /// In which form.
    pub form: Form,
    /// Whether somebody wants to see it.
    pub wanted: Wanted,
}

/// Whether somebody asked for a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// OLLIM_LOG says how much.
    Asked,
    /// Nobody said anything.
    Unasked,
}

/// The form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// For programs: a JSON document a line.
    Json,
}

impl Log {
    /// What holds where nothing can be read.
    pub const USUAL: Self = Self { level: LevelFilter::WARN, form: Form::Text, wanted: Wanted::Unasked };
}

/// What OLLIM_LOG and OLLIM_LOG_FORMAT ask for; warnings for people, if they are not set.
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

/// The file that holds the newest lines, for machines on which nobody else keeps them.
pub fn file(paths: &Paths) -> PathBuf {
    paths.state().join("logs").join("ollim-bot.log")
}
