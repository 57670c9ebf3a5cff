//! Checks a schema itself: every keyword is known and has a valid value.

use regex::Regex;
use serde_json::Value;

use super::{COMBINATORS, resolve};

/// Keywords without effect on validation.
const ANNOTATIONS: [&str; 13] = [
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
    "default",
    "example",
    "examples",
    "format",
    "readOnly",
    "writeOnly",
    "contentMediaType",
    "contentEncoding",
];
const COUNT_KEYWORDS: [&str; 6] =
    ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];
const NUMBER_KEYWORDS: [&str; 5] =
    ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const SCHEMA_KEYWORDS: [&str; 6] = ["not", "if", "then", "else", "contains", "propertyNames"];
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "null", "object", "array"];

/// Checks `schema`, which is at `path` in `root`.
pub(super) fn check(root: &Value, schema: &Value, path: &str, depth: usize) -> Result<(), String> {
    let Some(depth) = depth.checked_sub(1) else { return Err(format!("`{path}` lies too deep")) };
    let words = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(words) => words,
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(format!("`{path}` must be a schema: a mapping, or true or false"));
        }
    };
    for (word, given) in words {
        let at = format!("{path}.{word}");
        let inner = |schema: &Value, at: &str| check(root, schema, at, depth);
        match word.as_str() {
            word if ANNOTATIONS.contains(&word) => Ok(()),
            word if COUNT_KEYWORDS.contains(&word) => {
                require(given.is_u64().then_some(()), &at, "a whole number")
            }
            "multipleOf" => {
                require(given.as_f64().filter(|number| *number > 0.0).map(drop), &at, "a number above 0")
            }
            word if NUMBER_KEYWORDS.contains(&word) => {
                require(given.is_number().then_some(()), &at, "a number")
            }
            word if SCHEMA_KEYWORDS.contains(&word) => inner(given, &at),
            word if COMBINATORS.contains(&word) => match given.as_array().filter(|all| !all.is_empty()) {
                Some(all) => all.iter().try_for_each(|schema| inner(schema, &at)),
                None => require(None, &at, "a list of schemas"),
            },
            "properties" | "definitions" | "$defs" => match given.as_object() {
                Some(all) => all.iter().try_for_each(|(name, schema)| inner(schema, &format!("{at}.{name}"))),
                None => require(None, &at, "a mapping of schemas"),
            },
            "items" => match given.as_array() {
                Some(all) => all.iter().try_for_each(|schema| inner(schema, &at)),
                None => inner(given, &at),
            },
            "additionalProperties" | "additionalItems" => inner(given, &at),
            "type" => require(is_type(given).then_some(()), &at, "a type, such as `string`"),
            "enum" => {
                require(given.as_array().filter(|all| !all.is_empty()).map(drop), &at, "a list of values")
            }
            "required" => require(
                given.as_array().filter(|all| all.iter().all(Value::is_string)).map(drop),
                &at,
                "a list of names",
            ),
            "uniqueItems" => require(given.is_boolean().then_some(()), &at, "true or false"),
            "const" => Ok(()),
            "pattern" => check_pattern(given, &at),
            "$ref" => require(
                given.as_str().and_then(|name| resolve(root, name)).map(drop),
                &at,
                "a place in this schema",
            ),
            _ => Err(format!("`{at}` is nothing that can be checked here; correct it or leave it out")),
        }?;
    }
    Ok(())
}

fn require(right: Option<()>, at: &str, what: &str) -> Result<(), String> {
    right.ok_or_else(|| format!("`{at}` must be {what}"))
}

fn is_type(given: &Value) -> bool {
    let known = |given: &Value| given.as_str().is_some_and(|name| TYPES.contains(&name));
    known(given) || given.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(known))
}

fn check_pattern(given: &Value, at: &str) -> Result<(), String> {
    let text = given.as_str().ok_or_else(|| format!("`{at}` must be a text"))?;
    Regex::new(text).map(drop).map_err(|_| format!("`{at}` is a pattern that i can't use"))
}
