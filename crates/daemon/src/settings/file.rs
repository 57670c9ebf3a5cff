//! The settings file `settings.toml`, merged over the built-in defaults.
//!
//! Each start with a valid file stores a copy of its text in `state`. If the file is broken later,
//! the program starts with that copy.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::Path;

use domain::model::OFFLINE;
use journal::Paths;
use serde::Deserialize;
use toml::de::DeTable;
use toml::{Table, Value};

use super::rejections::UNREADABLE;
use crate::exit::CommandError;

const DEFAULTS: &str = include_str!("../../defaults.toml");

/// The name of the settings file, in the data directory.
const FILE_NAME: &str = "settings.toml";

/// The name of the copy of the last valid text that was not empty, in `state`.
pub const LAST_GOOD: &str = "settings.last-good.toml";

/// The token limit of one answer while the user's limit is unknown: a few model calls.
pub const RESTRICTED_TURN_TOKENS: u64 = 100_000;
/// The range of the model's timeouts in seconds: up to a day.
const SECONDS_RANGE: RangeInclusive<u64> = 1..=86_400;

/// The settings file. Unknown settings are errors.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsFile {
    /// The text; empty if there is no file.
    #[serde(skip)]
    pub text: String,
    pub model: ModelTable,
    pub page: PageTable,
    pub spend: SpendTable,
    pub prices: BTreeMap<String, PriceEntry>,
    pub search: SearchTable,
    pub update: UpdateTable,
    pub webhooks: WebhooksTable,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchTable {
    pub r#use: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhooksTable {
    pub address_header: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpdateTable {
    pub checkout: String,
    pub build: String,
    pub binary: String,
    pub program: String,
    pub signers: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelTable {
    pub r#use: String,
    /// The vendor's default if left out.
    pub max_tokens: Option<u32>,
    /// The server's default if left out.
    pub context_tokens: Option<u64>,
    pub compact_at_percent: u64,
    pub thinking: String,
    pub tries: u32,
    pub connect_seconds: u64,
    pub silence_seconds: u64,
    pub reply_seconds: u64,
    pub aliases: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageTable {
    pub address: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpendTable {
    pub unattended_dollars_per_day: LimitValue,
    pub unattended_tokens_per_day: LimitValue,
    pub turn_tokens: u64,
}

/// A limit: an amount, or the word `none`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum LimitValue {
    Amount(f64),
    Word(String),
}

/// Dollars per million tokens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceEntry {
    pub input: f64,
    pub output: f64,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    pub cache_write_1h: Option<f64>,
    pub long_prompt: Option<LongPromptEntry>,
    /// Dollars per call, in addition to its tokens.
    pub per_call: Option<f64>,
}

/// Dollars per million tokens for calls with more than `above` input tokens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongPromptEntry {
    pub above: u64,
    pub input: f64,
    pub output: f64,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    pub cache_write_1h: Option<f64>,
}

impl SettingsFile {
    /// Returns the built-in defaults.
    pub fn default_file() -> Result<Self, CommandError> {
        defaults()?.try_into().map_err(|error| CommandError::Configuration(error.to_string()))
    }

    /// Reads the settings file of the directory at `paths`, or the defaults if there is none.
    pub fn read(paths: &Paths) -> Result<Self, CommandError> {
        match Self::read_at(&paths.root().join(FILE_NAME))? {
            Some(file) => Ok(file),
            None => Self::default_file(),
        }
    }

    /// Reads the last good copy of the directory at `paths`, if there is one.
    pub fn last_good(paths: &Paths) -> Result<Option<Self>, CommandError> {
        Self::read_at(&paths.state().join(LAST_GOOD))
    }

    /// Reads the file at `path`, if there is one.
    fn read_at(path: &Path) -> Result<Option<Self>, CommandError> {
        let wrong = |why: &str| CommandError::Configuration(format!("{}: {why}", path.display()));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            // Problems of the directory itself are reported when it is opened.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(wrong("it is not text in UTF-8."));
            }
            Err(error) => return Err(wrong(&format!("{UNREADABLE}: {error}."))),
        };
        Self::parse(text).map(Some).map_err(|Mistake { line, why }| match line {
            Some(line) => CommandError::Configuration(format!("{}, line {line}: {why}.", path.display())),
            None => wrong(&format!("{why}.")),
        })
    }

    /// Returns restricted defaults: the model, web search, unattended spending and updates are off,
    /// and the token limit of one answer is small.
    pub fn restricted() -> Result<Self, CommandError> {
        let mut file = Self::default_file()?;
        file.model.r#use = OFFLINE.to_owned();
        file.search.r#use = "none".to_owned();
        file.spend.unattended_dollars_per_day = LimitValue::Amount(0.0);
        file.spend.unattended_tokens_per_day = LimitValue::Amount(0.0);
        file.spend.turn_tokens = RESTRICTED_TURN_TOKENS;
        file.update.checkout = "none".to_owned();
        Ok(file)
    }

    fn parse(text: String) -> Result<Self, Mistake> {
        let mut table = defaults().map_err(|failed| Mistake { line: None, why: failed.to_string() })?;
        let over = text.parse().map_err(|error| Mistake::from_toml_error(&text, &error))?;
        drop_derived_prices(&mut table, &over);
        merge(&mut table, over);
        let file: Self = table.try_into().map_err(|error| Mistake::from_toml_error(&text, &error))?;
        file.check_seconds(&text)?;
        Ok(Self { text, ..file })
    }
}

impl SettingsFile {
    /// Checks the timeouts: a longer one would overflow the clock.
    fn check_seconds(&self, text: &str) -> Result<(), Mistake> {
        let times = [
            ("connect_seconds", self.model.connect_seconds),
            ("silence_seconds", self.model.silence_seconds),
            ("reply_seconds", self.model.reply_seconds),
        ];
        for (name, seconds) in times {
            if !SECONDS_RANGE.contains(&seconds) {
                let why = format!(
                    "`{name}` is {seconds}; write a number from {} to {}",
                    SECONDS_RANGE.start(),
                    SECONDS_RANGE.end()
                );
                return Err(Mistake { line: line_of(text, &format!("model.{name}")), why });
            }
        }
        Ok(())
    }
}

/// A mistake in the settings file.
struct Mistake {
    /// The line, if it is known.
    line: Option<usize>,
    why: String,
}

impl Mistake {
    fn from_toml_error(text: &str, error: &toml::de::Error) -> Self {
        let message = error.message();
        // An error of a value names the table or the setting after its message: "in `model.tries`".
        let all = error.to_string();
        let key = all.rsplit_once("in `").and_then(|(_, rest)| rest.trim_end().strip_suffix('`'));
        if let Some(name) = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next()) {
            let path = key.map_or(name.to_owned(), |table| format!("{table}.{name}"));
            return Self {
                line: line_of(text, &path),
                why: format!("there is no setting called `{name}` here"),
            };
        }
        let name = key.and_then(|key| key.rsplit('.').next());
        match (error.span(), key, name) {
            (Some(span), ..) => Self {
                line: Some(line_at(text, span.start)),
                why: format!("this is not valid TOML ({message})"),
            },
            (None, Some(key), Some(name)) => {
                Self { line: line_of(text, key), why: format!("`{name}` cannot have this value ({message})") }
            }
            (None, ..) => Self { line: None, why: message.to_owned() },
        }
    }
}

/// Returns the line of the byte at `at`.
fn line_at(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Returns the line of the setting or table at `path`, such as `model.tries`.
fn line_of(text: &str, path: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    key_offset(document.get_ref(), path).map(|at| line_at(text, at))
}

/// Returns the byte offset of the key at `path` of `table`. Keys may contain dots, as in names of
/// models.
fn key_offset(table: &DeTable<'_>, path: &str) -> Option<usize> {
    table.iter().find_map(|(key, value)| match path.strip_prefix(&**key.get_ref())? {
        "" => Some(key.span().start),
        rest => key_offset(value.get_ref().as_table()?, rest.strip_prefix('.')?),
    })
}

fn defaults() -> Result<Table, CommandError> {
    DEFAULTS.parse().map_err(|error: toml::de::Error| CommandError::Configuration(error.to_string()))
}

/// Drops the built-in prices for one-hour caching and long prompts of each model whose price the
/// user sets, because they derive from the replaced price.
fn drop_derived_prices(defaults: &mut Table, over: &Table) {
    let (Some(Value::Table(defaults)), Some(Value::Table(over))) =
        (defaults.get_mut("prices"), over.get("prices"))
    else {
        return;
    };
    for name in over.keys() {
        if let Some(Value::Table(price)) = defaults.get_mut(name) {
            price.remove("cache_write_1h");
            price.remove("long_prompt");
        }
    }
}

fn merge(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => merge(under, over),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistake_is_reported_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let told = |text: &str| {
            std::fs::write(dir.path().join(FILE_NAME), text).unwrap();
            let told = SettingsFile::read(&Paths::new(dir.path())).unwrap_err().to_string();
            told.replace(&dir.path().display().to_string(), "")
        };
        assert!(
            told("[model]\ntries = 2\n[page\n")
                .starts_with("/settings.toml, line 3: this is not valid TOML (")
        );
        let unknown = "# colour = 1\n[model]\ntries = 2\ncolour = 1\n";
        assert_eq!(told(unknown), "/settings.toml, line 4: there is no setting called `colour` here.");
        assert!(
            told("\n[modle]\nuse = \"x\"")
                .starts_with("/settings.toml, line 2: there is no setting called `modle`")
        );
        let twice = "[spend]\nuse = 1\n[search]\nuse = \"none\"\n[model]\ntries = 2\n";
        assert_eq!(told(twice), "/settings.toml, line 2: there is no setting called `use` here.");
        let twice = "[search]\nuse = \"none\"\n[model]\nuse = 1\n";
        assert!(told(twice).starts_with("/settings.toml, line 4: `use` cannot have this value ("));
        let model =
            "[prices]\n\"m-1\" = { input = 1, output = 1 }\n\"m-1.5\" = { input = 1, output = \"x\" }\n";
        assert!(told(model).starts_with("/settings.toml, line 3: `output` cannot have this value ("));
        let dotted = "search.use = \"none\"\nmodel.use = 1\n";
        assert!(told(dotted).starts_with("/settings.toml, line 2: `use` cannot have this value ("));
        let value = told("[model]\nuse = \"auto\"\ntries = \"many\"\n");
        assert!(value.starts_with("/settings.toml, line 3: `tries` cannot have this value ("), "{value}");
        for (name, seconds) in
            [("silence_seconds", "0"), ("reply_seconds", "86401"), ("connect_seconds", "9223372036854775807")]
        {
            assert_eq!(
                told(&format!("[model]\ntries = 2\n{name} = {seconds}\n")),
                format!("/settings.toml, line 3: `{name}` is {seconds}; write a number from 1 to 86400.")
            );
        }
        std::fs::write(dir.path().join(FILE_NAME), [0xff, 0xfe]).unwrap();
        let bytes = SettingsFile::read(&Paths::new(dir.path())).unwrap_err().to_string();
        assert!(bytes.ends_with("settings.toml: it is not text in UTF-8."), "{bytes}");
    }
}
