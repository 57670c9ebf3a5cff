//! The environment variables of the program, read once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use journal::Paths;

use super::claude_code::FORWARDED_VARIABLES;
use super::stored_environment;
use crate::exit::CommandError;

/// The variables that the program reads.
pub(super) const KNOWN: &[&str] = &[
    "TERM",
    "NO_COLOR",
    "VISUAL",
    "EDITOR",
    "OLLIM_CLAUDE",
    "OLLIM_DATA_DIR",
    "OLLIM_TIMEZONE",
    "OLLIM_USER_NAME",
    "OLLIM_BOT_NAME",
    "OLLIM_MODEL",
    "OLLIM_THINKING",
    "OLLIM_HTTP",
    "OLLIM_TASKS",
    "OLLIM_CALENDAR",
    "OLLIM_CALDAV_URL",
    "OLLIM_CALDAV_USER",
    "OLLIM_CALDAV_PASSWORD",
    "OLLIM_CALDAV_PASSWORD_FILE",
    "OLLIM_CALDAV_CALENDAR",
    "OLLIM_CALDAV_TASKS",
    "OLLIM_LOG",
    "OLLIM_LOG_FORMAT",
    "OLLIM_METRICS",
    "OLLIM_OTLP_URL",
    "OLLIM_SEARCH",
    "OLLIM_SEARCH_URL",
    "OLLIM_SEARCH_KEY",
    "OLLIM_SEARCH_KEY_FILE",
    "ANTHROPIC_API_KEY_FILE",
    "OPENAI_API_KEY",
    "OPENAI_API_KEY_FILE",
    "OPENAI_BASE_URL",
    "DISCORD_TOKEN",
    "DISCORD_TOKEN_FILE",
    "DISCORD_API_BASE",
    "OLLIM_GOOGLE_BASE",
    "OLLIM_IMAP_URL",
    "OLLIM_IMAP_USER",
    "OLLIM_IMAP_PASSWORD",
    "OLLIM_IMAP_PASSWORD_FILE",
    "WEBHOOK_PORT",
    "WEBHOOK_SECRET",
    "WEBHOOK_SECRET_FILE",
    "XDG_CONFIG_HOME",
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
];

/// Variables and values. Empty variables are ignored.
#[derive(Clone, Default)]
pub struct Environment {
    said: BTreeMap<&'static str, String>,
    /// The variables that come from the stored environment.
    stored: BTreeSet<&'static str>,
}

impl Environment {
    /// Reads all known variables through `look_up`.
    pub fn new(look_up: impl Fn(&str) -> Option<String>) -> Self {
        let found = KNOWN.iter().chain(&FORWARDED_VARIABLES).filter_map(|name| {
            let value = look_up(name)?.trim().to_owned();
            (!value.is_empty()).then_some((*name, value))
        });
        Self { said: found.collect(), stored: BTreeSet::new() }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.said.get(name).map(String::as_str)
    }

    /// Adds the stored variables, where this environment has none.
    pub fn with_stored(&self) -> Result<Self, CommandError> {
        let mut all = self.clone();
        for (name, value) in stored_environment::read(&Paths::new(self.data_dir()?))? {
            // A secret in the environment overrides a stored file name.
            let said = name.strip_suffix("_FILE").is_some_and(|secret| self.get(secret).is_some());
            if !said && self.get(name).is_none() {
                all.said.insert(name, value);
                all.stored.insert(name);
            }
        }
        Ok(all)
    }

    /// Returns the value of `name`, unless it is a stored one.
    pub fn said(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|_| !self.stored.contains(name))
    }

    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut all = self.clone();
        if let Some(name) = KNOWN.iter().chain(&FORWARDED_VARIABLES).find(|known| **known == name) {
            all.said.insert(name, value.to_owned());
        }
        all
    }

    pub fn without(&self, name: &str) -> Self {
        let mut all = self.clone();
        all.said.remove(name);
        all
    }

    pub fn editor(&self) -> Option<String> {
        self.get("VISUAL").or_else(|| self.get("EDITOR")).map(str::to_owned)
    }

    /// Sets the data directory from the command line, which overrides the variable.
    pub fn set_data_dir(&mut self, dir: PathBuf) {
        self.said.insert("OLLIM_DATA_DIR", dir.to_string_lossy().into_owned());
    }

    pub fn data_dir(&self) -> Result<PathBuf, CommandError> {
        if let Some(dir) = self.get("OLLIM_DATA_DIR") {
            return std::path::absolute(dir)
                .map_err(|error| CommandError::Configuration(format!("{dir}: {error}")));
        }
        let home = self.get("HOME").ok_or_else(|| {
            CommandError::Configuration(
                "HOME is not set, so i don't know where to keep things. use --data-dir.".to_owned(),
            )
        })?;
        Ok(PathBuf::from(home).join(".ollim-bot"))
    }
}
