//! Checks a schema itself: every keyword is known and has a valid value.

use regex::Regex;
use serde_json::Value;

use super::{COMBINED, named};

/// Keywords without effect on validation.
const DESCRIBING: [&str; 13] = [
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
const COUNTS: [&str; 6] =
    ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];
const NUMBERS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const SCHEMAS: [&str; 6] = ["not", "if", "then", "else", "contains", "propertyNames"];
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
            word if DESCRIBING.contains(&word) => Ok(()),
            word if COUNTS.contains(&word) => is(given.is_u64().then_some(()), &at, "a whole number"),
            "multipleOf" => {
                is(given.as_f64().filter(|number| *number > 0.0).map(drop), &at, "a number above 0")
            }
            word if NUMBERS.contains(&word) => is(given.is_number().then_some(()), &at, "a number"),
            word if SCHEMAS.contains(&word) => inner(given, &at),
            word if COMBINED.contains(&word) => match given.as_array().filter(|all| !all.is_empty()) {
                Some(all) => all.iter().try_for_each(|schema| inner(schema, &at)),
                None => is(None, &at, "a list of schemas"),
            },
            "properties" | "definitions" | "$defs" => match given.as_object() {
                Some(all) => all.iter().try_for_each(|(name, schema)| inner(schema, &format!("{at}.{name}"))),
                None => is(None, &at, "a mapping of schemas"),
            },
            "items" => match given.as_array() {
                Some(all) => all.iter().try_for_each(|schema| inner(schema, &at)),
                None => inner(given, &at),
            },
            "additionalProperties" | "additionalItems" => inner(given, &at),
            "type" => is(is_type(given).then_some(()), &at, "a type, such as `string`"),
            "enum" => is(given.as_array().filter(|all| !all.is_empty()).map(drop), &at, "a list of values"),
            "required" => is(
                given.as_array().filter(|all| all.iter().all(Value::is_string)).map(drop),
                &at,
                "a list of names",
            ),
            "uniqueItems" => is(given.is_boolean().then_some(()), &at, "true or false"),
            "const" => Ok(()),
            "pattern" => pattern(given, &at),
            "$ref" => {
                is(given.as_str().and_then(|name| named(root, name)).map(drop), &at, "a place in this schema")
            }
            _ => Err(format!("`{at}` is nothing that can be checked here; correct it or leave it out")),
        }?;
    }
    Ok(())
}

fn is(right: Option<()>, at: &str, what: &str) -> Result<(), String> {
    right.ok_or_else(|| format!("`{at}` must be {what}"))
}

fn is_type(given: &Value) -> bool {
    let known = |given: &Value| given.as_str().is_some_and(|name| TYPES.contains(&name));
    known(given) || given.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(known))
}

fn pattern(given: &Value, at: &str) -> Result<(), String> {
    let text = given.as_str().ok_or_else(|| format!("`{at}` must be a text"))?;
    Regex::new(text).map(drop).map_err(|_| format!("`{at}` is a pattern that i can't use"))
}
