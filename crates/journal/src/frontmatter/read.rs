//! Reads the YAML of a head into typed keys.

use domain::schedule::InvalidField;
use serde::de::DeserializeOwned;
use serde_saphyr::{Options, budget, options};

use super::scan::entries;
use super::split::LINES_BEFORE_YAML;
use super::{BadText, Split};

/// The maximum number of nodes, counting each use of an alias.
const MAX_NODES: usize = 10_000;
/// The maximum nesting depth.
const MAX_DEPTH: usize = 64;

/// Reads the keys of a file into `T`.
pub(crate) fn read<T: DeserializeOwned>(split: &Split<'_>) -> Result<T, BadText> {
    serde_saphyr::from_str_with_options(split.yaml, strict_options())
        .map_err(|error| parse_error(split.yaml, &error))
}

/// The error for a key with an invalid value, with its line.
pub(crate) fn invalid_value(split: &Split<'_>, invalid: InvalidField) -> BadText {
    let found = entries(split.yaml).into_iter().find(|entry| entry.key == invalid.field);
    let line = found.map(|entry| entry.first + 1 + LINES_BEFORE_YAML);
    BadText { line, field: Some(invalid.field.to_owned()), reason: invalid.reason }
}

/// Returns `job` if the body is not empty.
pub(crate) fn require_body<T>(split: &Split<'_>, job: T) -> Result<T, BadText> {
    if split.body.contains(char::is_alphanumeric) {
        return Ok(job);
    }
    let line = Some(split.yaml.lines().count() + LINES_BEFORE_YAML + 1);
    Err(BadText {
        line,
        ..BadText::whole("it is told to do nothing; write what to do under the second `---`")
    })
}

pub(super) fn strict_options() -> Options {
    options! {
        strict_booleans: true,
        with_snippet: false,
        budget: budget! { max_nodes: MAX_NODES, max_depth: MAX_DEPTH, max_documents: 1 },
    }
}

fn parse_error(yaml: &str, error: &serde_saphyr::Error) -> BadText {
    let at = error.location().and_then(|place| usize::try_from(place.line()).ok()).filter(|line| *line > 0);
    let field = at.and_then(|line| key_at(yaml, line - 1));
    let reason = describe_error(error, field.as_deref());
    BadText { line: at.map(|line| line + LINES_BEFORE_YAML), field, reason }
}

fn describe_error(error: &serde_saphyr::Error, field: Option<&str>) -> String {
    if matches!(error, serde_saphyr::Error::DuplicateMappingKey { .. }) {
        return "it is there twice; keep one of them".to_owned();
    }
    let said = error.to_string();
    if said.contains("budget breached") {
        return "there is too much in it; settings are a few lines".to_owned();
    }
    let said = said.split(" at line ").next().unwrap_or_default();
    let hint = field.and_then(expected_value).map(|shape| format!("; write {shape}")).unwrap_or_default();
    format!("{said}{hint}")
}

/// The key that a line belongs to. An unclosed quote is reported below its key.
fn key_at(yaml: &str, line: usize) -> Option<String> {
    entries(yaml).into_iter().rfind(|entry| entry.first <= line).map(|entry| entry.key)
}

/// Describes the expected value of a key.
fn expected_value(key: &str) -> Option<&'static str> {
    match key {
        "background" | "thinking" | "isolated" | "allow-ping" => Some("`true` or `false`"),
        "chain-depth" | "max-chain" => Some("a whole number like `0` or `3`"),
        "allowed-tools" | "disallowed-tools" | "skills" => {
            Some("a list, each item on a line like `  - \"name\"`")
        }
        "paused" => Some("`true`, or a time like `2026-03-05T14:00:00-08:00`"),
        "fields" => Some("a mapping, which is a JSON Schema"),
        "id"
        | "cron"
        | "every"
        | "from"
        | "until"
        | "timezone"
        | "run-at"
        | "cue"
        | "description"
        | "model"
        | "effort"
        | "session"
        | "chain-parent"
        | "name"
        | "if-missed"
        | "overlap"
        | "update-main-session" => Some("words in double quotes"),
        _ => None,
    }
}
