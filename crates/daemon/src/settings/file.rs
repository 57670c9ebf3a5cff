//! The settings file: `settings.toml` of the data directory, laid over the defaults in the binary.

use std::collections::BTreeMap;

use journal::Paths;
use serde::Deserialize;
use toml::{Table, Value};

use super::refused::UNREADABLE;
use crate::exit::Failed;

const DEFAULTS: &str = include_str!("../../defaults.toml");

/// All of it. A misspelt setting is an error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub model: Model,
    pub page: Page,
    pub spend: Spend,
    pub prices: BTreeMap<String, Price>,
    pub search: Search,
    pub update: Update,
    pub webhooks: Webhooks,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    pub r#use: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhooks {
    pub address_header: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Update {
    pub checkout: String,
    pub build: String,
    pub binary: String,
    pub program: String,
    pub signers: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    pub r#use: String,
    /// Left out for the default of the service.
    pub max_tokens: Option<u32>,
    pub context_tokens: u64,
    pub compact_at_percent: u64,
    pub thinking: String,
    pub tries: u32,
    pub connect_seconds: u64,
    pub silence_seconds: u64,
    pub aliases: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    pub address: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spend {
    pub unattended_dollars_per_day: Most,
    pub unattended_tokens_per_day: Most,
    pub turn_tokens: u64,
}

/// A limit: an amount, or the word `none`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Most {
    Amount(f64),
    Word(String),
}

/// Dollars for a million tokens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    pub cache_write_1h: Option<f64>,
    pub long_prompt: Option<LongPrompt>,
    /// Dollars for each call, besides its tokens.
    pub per_call: Option<f64>,
}

/// Dollars for a million tokens of a call that reads more than `above` tokens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongPrompt {
    pub above: u64,
    pub input: f64,
    pub output: f64,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    pub cache_write_1h: Option<f64>,
}

impl File {
    /// What holds where nobody says anything.
    pub fn usual() -> Result<Self, Failed> {
        defaults()?.try_into().map_err(|error| Failed::Configuration(error.to_string()))
    }

    /// Reads the file of the directory at `paths`, if there is one.
    pub fn read(paths: &Paths) -> Result<Self, Failed> {
        let path = paths.root().join("settings.toml");
        let wrong = |error: &dyn std::fmt::Display| {
            Failed::Configuration(format!("{}: {}", path.display(), error.to_string().trim()))
        };
        let mut table = defaults()?;
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let over = text.parse().map_err(|error| wrong(&error))?;
                drop_derived_prices(&mut table, &over);
                lay_over(&mut table, over);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            // Whether the directory itself can be used is told by whoever opens it.
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {}
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => return Err(wrong(&error)),
            Err(error) => return Err(wrong(&format!("{UNREADABLE}: {error}."))),
        }
        table.try_into().map_err(|error| wrong(&error))
    }
}

fn defaults() -> Result<Table, Failed> {
    DEFAULTS.parse().map_err(|error: toml::de::Error| Failed::Configuration(error.to_string()))
}

/// Drops the built-in prices for one hour and for long prompts of each model whose price the user gives: they follow
/// from the price that is replaced.
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

fn lay_over(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) => lay_over(under, over),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}
