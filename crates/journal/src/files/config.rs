//! The settings that the user changed: `config.json`.

use std::path::Path;
use std::sync::Arc;

use domain::settings::{InvalidSetting, Setting, SettingValue, Settings};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::state_file::{ParsedText, StateFile, parse_json};
use super::{Damage, FileError};
use crate::disk::Disk;

/// Content of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    pub settings: Settings,
    extra: Map<String, Value>,
}

/// The settings as they were loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedConfig {
    /// The settings, with defaults for missing and invalid ones.
    pub value: Config,
    /// The damage of the file, if any.
    pub damage: Option<Damage>,
    /// Invalid settings.
    pub warnings: Vec<InvalidSetting>,
}

#[derive(Clone)]
pub struct ConfigFile {
    file: StateFile,
}

impl ConfigFile {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("config.json")) }
    }

    /// Loads the settings.
    pub fn load(&self, now: Timestamp) -> Result<LoadedConfig, FileError> {
        let found =
            self.file.load(now, |text| Ok(ParsedText::Complete(parse_json::<Map<String, Value>>(text)?)))?;
        let (value, warnings) = parse_settings(found.value.unwrap_or_default());
        for warning in &warnings {
            tracing::warn!(path = %self.file.path().display(), "{warning} the usual value is used");
        }
        Ok(LoadedConfig { value, damage: found.damage, warnings })
    }

    /// The settings and their errors, without changing the file.
    pub fn preview(&self) -> (Settings, Vec<String>) {
        let found =
            self.file.preview(|text| Ok(ParsedText::Complete(parse_json::<Map<String, Value>>(text)?)));
        let (config, warnings) = parse_settings(found.as_ref().ok().cloned().flatten().unwrap_or_default());
        let warnings = warnings.iter().map(|warning| format!("state/config.json: {warning}"));
        (config.settings, found.err().into_iter().chain(warnings).collect())
    }

    pub fn save(&mut self, config: &Config) -> Result<(), FileError> {
        let mut map = config.extra.clone();
        for setting in Setting::ALL {
            map.insert(setting.key().to_owned(), to_json(setting.stored_value(&config.settings)));
        }
        let text = serde_json::to_vec_pretty(&map);
        self.file.save(&text.map_err(|error| FileError::refused(self.file.path(), error))?)
    }

    /// Sets `setting` to its value in `settings`. Returns the previous configuration. Concurrent
    /// edits of other settings in the file are preserved.
    pub fn set(
        &mut self,
        setting: Setting,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<Config, FileError> {
        let before = self.load(now)?.value;
        let mut config = before.clone();
        setting.copy(&mut config.settings, settings);
        self.save(&config)?;
        Ok(before)
    }
}

fn parse_settings(mut map: Map<String, Value>) -> (Config, Vec<InvalidSetting>) {
    let mut config = Config::default();
    let mut warnings = Vec::new();
    for setting in Setting::ALL {
        let Some(value) = map.remove(setting.key()) else { continue };
        if let Err(wrong) = parse_setting(setting, &mut config.settings, &value) {
            warnings.push(wrong);
        }
    }
    config.extra = map;
    (config, warnings)
}

/// RC-4: older files have a flag instead of a thinking mode.
fn parse_setting(setting: Setting, settings: &mut Settings, value: &Value) -> Result<(), InvalidSetting> {
    use Setting::{
        AutoUpdate, DailyLimit, EffortBackground, EffortMain, ModelFork, ModelMain, Name, ThinkingFork,
        ThinkingMain,
    };
    let typed = match (setting, value) {
        (ModelMain | ModelFork | ThinkingMain | ThinkingFork, Value::Null)
        | (EffortMain | EffortBackground | DailyLimit | Name, Value::Null) => "null".to_owned(),
        (ThinkingMain | ThinkingFork, Value::Bool(true)) => "adaptive".to_owned(),
        (ThinkingMain | ThinkingFork, Value::Bool(false)) => "off".to_owned(),
        (AutoUpdate, Value::Bool(flag)) => flag.to_string(),
        (_, Value::String(text)) => text.clone(),
        (ModelMain | ModelFork, Value::Number(_)) => return Err(setting.invalid(&shortened(value))),
        (_, Value::Number(number)) => number.to_string(),
        (_, Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            return Err(setting.invalid(&shortened(value)));
        }
    };
    setting.set(settings, &typed)
}

fn to_json(given: SettingValue) -> Value {
    match given {
        SettingValue::Unset => Value::Null,
        SettingValue::Text(text) => text.into(),
        SettingValue::Number(number) => number.into(),
        SettingValue::Flag(flag) => flag.into(),
    }
}

fn shortened(value: &Value) -> String {
    format!("`{}`", value.to_string().chars().take(40).collect::<String>())
}
