//! Validates input against the JSON Schema that the model was shown.
//!
//! Only the part of JSON Schema that our own tools use is supported. The recursion follows the
//! schema, never the input, so the input cannot make it deep.

use serde_json::{Map, Value};

/// The maximum number of reported mistakes.
const MAX_REPORTED: usize = 5;
/// The maximum number of characters of an unknown property name.
const MAX_NAME_CHARS: usize = 60;

/// Parses `input` as JSON that fits `schema`, or returns what is wrong and what would be right.
pub fn parse(schema: &str, input: &str) -> Result<Value, String> {
    let input: Value = serde_json::from_str(input)
        .map_err(|error| format!("it is not JSON ({error}). send one JSON object."))?;
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let mut problems = Vec::new();
    check(&schema, &input, "", &mut problems);
    if problems.is_empty() {
        return Ok(input);
    }
    let more = problems.len().saturating_sub(MAX_REPORTED);
    problems.truncate(MAX_REPORTED);
    let more = if more > 0 { format!(" {more} more like these.") } else { String::new() };
    Err(problems.join(" ") + &more)
}

fn check(schema: &Value, input: &Value, path: &str, problems: &mut Vec<String>) {
    let at = if path.is_empty() { "the input".to_owned() } else { format!("`{path}`") };
    if let Some(kind) = schema["type"].as_str().filter(|kind| !has_type(kind, input)) {
        return problems.push(format!(
            "{at} must be {}, and is {}.",
            type_name(kind),
            value_type_name(input)
        ));
    }
    if let Some(known) = schema["enum"].as_array().filter(|known| !known.contains(input)) {
        let known: Vec<String> = known.iter().map(Value::to_string).collect();
        return problems.push(format!("{at} must be one of {}.", known.join(", ")));
    }
    match input {
        Value::Object(fields) => check_object(schema, fields, path, problems),
        Value::Array(items) => check_list(schema, items, path, &at, problems),
        Value::String(text) => {
            let min = schema["minLength"].as_u64().unwrap_or(0);
            if (text.chars().take(min as usize).count() as u64) < min {
                problems.push(format!("{at} must have at least {min} {}.", plural(min, "character")));
            }
        }
        Value::Number(number) => {
            let min = schema["minimum"].as_f64().unwrap_or(f64::MIN);
            if number.as_f64().is_some_and(|number| number < min) {
                problems.push(format!("{at} must be at least {min}, and is {number}."));
            }
        }
        Value::Bool(_) | Value::Null => {}
    }
}

fn check_object(schema: &Value, fields: &Map<String, Value>, path: &str, problems: &mut Vec<String>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let known = schema["properties"].as_object();
    let kind = |name: &str| schema["properties"][name]["type"].as_str().map_or("something", type_name);
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            problems.push(format!("`{}` is missing; it must be {}.", below(name), kind(name)));
        }
    }
    for (name, value) in fields {
        match known.and_then(|known| known.get(name)) {
            Some(schema) => check(schema, value, &below(name), problems),
            None if schema["additionalProperties"] == Value::Bool(false) => {
                problems.push(unknown_property_text(&below(&truncate(name)), known));
            }
            None => {}
        }
    }
}

fn check_list(schema: &Value, items: &[Value], path: &str, at: &str, problems: &mut Vec<String>) {
    if let Some(max) = schema["maxItems"].as_u64().filter(|max| items.len() as u64 > *max) {
        let items_word = plural(max, "item");
        return problems.push(format!("{at} may have at most {max} {items_word}, and has {}.", items.len()));
    }
    for (n, item) in items.iter().enumerate() {
        check(&schema["items"], item, &format!("{path}[{n}]"), problems);
    }
}

fn unknown_property_text(path: &str, known: Option<&Map<String, Value>>) -> String {
    let known: Vec<String> = known.into_iter().flatten().map(|(name, _)| format!("`{name}`")).collect();
    if known.is_empty() {
        format!("`{path}` is not known; leave it out.")
    } else {
        format!("`{path}` is not known; use {}.", known.join(", "))
    }
}

fn has_type(kind: &str, input: &Value) -> bool {
    match kind {
        "integer" => input.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => input.is_number(),
        "string" => input.is_string(),
        "boolean" => input.is_boolean(),
        "array" => input.is_array(),
        "object" => input.is_object(),
        _ => false,
    }
}

fn type_name(kind: &str) -> &'static str {
    match kind {
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "text",
        "boolean" => "true or false",
        "array" => "a list",
        _ => "an object",
    }
}

fn value_type_name(input: &Value) -> &'static str {
    match input {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn truncate(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

fn plural(count: u64, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}
