//! What the human set while the program ran: `config.json`.

mod setting;

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::state::{Reading, StateFile, json};
use super::{Damage, Trouble};
use crate::disk::Disk;
use domain::permission::Mode;
pub use setting::{BadSetting, Deliberation, KnownModel, Setting};

/// Everything that can be set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Who answers.
    pub models: Models,
    /// How much is thought before an answer.
    pub thinking: Deliberations,
    /// When to stop waiting.
    pub timeouts: Timeouts,
    /// What may be done without asking.
    pub permission_mode: Mode,
    /// Whether and when the program renews itself.
    pub updates: Updates,
    extra: Map<String, Value>,
}

/// Who answers: nothing for the usual one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Models {
    /// In the main conversation.
    pub main: Option<KnownModel>,
    /// In forks.
    pub fork: Option<KnownModel>,
}

/// How much is thought before an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deliberations {
    /// In the main conversation.
    pub main: Deliberation,
    /// In forks.
    pub fork: Deliberation,
}

impl Default for Deliberations {
    fn default() -> Self {
        Self { main: Deliberation::Off, fork: Deliberation::Adaptive }
    }
}

/// When to stop waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a background fork, in seconds.
    pub bg_fork_seconds: u32,
    /// For the human in a fork, in minutes.
    pub fork_idle_minutes: u32,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { bg_fork_seconds: 1800, fork_idle_minutes: 10 }
    }
}

/// Whether and when the program renews itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Updates {
    /// Whether it does.
    pub automatic: bool,
    /// How often it looks, in minutes.
    pub interval_minutes: u32,
    /// The hour of the day.
    pub hour: u32,
}

impl Default for Updates {
    fn default() -> Self {
        Self { automatic: false, interval_minutes: 60, hour: 6 }
    }
}

/// The settings as they were found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundConfig {
    /// The settings, with the usual value where there is none or a wrong one.
    pub value: Config,
    /// The damage the file had, if it had any.
    pub damage: Option<Damage>,
    /// What was wrong with single settings.
    pub warnings: Vec<BadSetting>,
}

/// The file `config.json`.
#[derive(Clone)]
pub struct ConfigFile {
    file: StateFile,
}

impl ConfigFile {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("config.json")) }
    }

    /// The settings.
    pub fn load(&self, now: Timestamp) -> Result<FoundConfig, Trouble> {
        let found = self.file.load(now, |text| Ok(Reading::Whole(json::<Map<String, Value>>(text)?)))?;
        let (value, warnings) = read(found.value.unwrap_or_default());
        for warning in &warnings {
            tracing::warn!(path = %self.file.path().display(), "{warning}. the usual value is used");
        }
        Ok(FoundConfig { value, damage: found.damage, warnings })
    }

    /// Keeps all settings.
    pub fn save(&mut self, config: &Config) -> Result<(), Trouble> {
        let mut map = config.extra.clone();
        for setting in Setting::ALL {
            map.insert(setting.key().to_owned(), setting.kept(config));
        }
        let text = serde_json::to_vec_pretty(&map);
        self.file.save(&text.map_err(|error| Trouble::refused(self.file.path(), error))?)
    }
}

fn read(mut map: Map<String, Value>) -> (Config, Vec<BadSetting>) {
    let mut config = Config::default();
    let mut warnings = Vec::new();
    for setting in Setting::ALL {
        let Some(value) = map.remove(setting.key()) else { continue };
        if let Err(wrong) = setting.read(&mut config, &value) {
            warnings.push(wrong);
        }
    }
    config.extra = map;
    (config, warnings)
}
