//! Validates input against the JSON Schema that the model was shown.
//!
//! Only the part of JSON Schema that our own tools use is supported. The recursion follows the
//! schema, never the input, so the input cannot make it deep.

use serde_json::{Map, Value};

/// The maximum number of reported mistakes.
const TOLD: usize = 5;
/// The maximum number of characters of an unknown property name.
const NAME_CHARS: usize = 60;

/// Parses `input` as JSON that fits `schema`, or returns what is wrong and what would be right.
pub fn read(schema: &str, input: &str) -> Result<Value, String> {
    let input: Value = serde_json::from_str(input)
        .map_err(|error| format!("it is not JSON ({error}). send one JSON object."))?;
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let mut wrong = Vec::new();
    check(&schema, &input, "", &mut wrong);
    if wrong.is_empty() {
        return Ok(input);
    }
    let more = wrong.len().saturating_sub(TOLD);
    wrong.truncate(TOLD);
    let more = if more > 0 { format!(" {more} more like these.") } else { String::new() };
    Err(wrong.join(" ") + &more)
}

fn check(schema: &Value, input: &Value, path: &str, wrong: &mut Vec<String>) {
    let at = if path.is_empty() { "the input".to_owned() } else { format!("`{path}`") };
    if let Some(kind) = schema["type"].as_str().filter(|kind| !is_a(kind, input)) {
        return wrong.push(format!("{at} must be {}, and is {}.", named(kind), kind_of(input)));
    }
    if let Some(known) = schema["enum"].as_array().filter(|known| !known.contains(input)) {
        let known: Vec<String> = known.iter().map(Value::to_string).collect();
        return wrong.push(format!("{at} must be one of {}.", known.join(", ")));
    }
    match input {
        Value::Object(fields) => check_object(schema, fields, path, wrong),
        Value::Array(items) => check_list(schema, items, path, &at, wrong),
        Value::String(text) => {
            let least = schema["minLength"].as_u64().unwrap_or(0);
            if (text.chars().take(least as usize).count() as u64) < least {
                wrong.push(format!("{at} must have at least {least} {}.", plural(least, "character")));
            }
        }
        Value::Number(number) => {
            let least = schema["minimum"].as_f64().unwrap_or(f64::MIN);
            if number.as_f64().is_some_and(|number| number < least) {
                wrong.push(format!("{at} must be at least {least}, and is {number}."));
            }
        }
        Value::Bool(_) | Value::Null => {}
    }
}

fn check_object(schema: &Value, fields: &Map<String, Value>, path: &str, wrong: &mut Vec<String>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let known = schema["properties"].as_object();
    let kind = |name: &str| schema["properties"][name]["type"].as_str().map_or("something", named);
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            wrong.push(format!("`{}` is missing; it must be {}.", below(name), kind(name)));
        }
    }
    for (name, value) in fields {
        match known.and_then(|known| known.get(name)) {
            Some(schema) => check(schema, value, &below(name), wrong),
            None if schema["additionalProperties"] == Value::Bool(false) => {
                wrong.push(unknown(&below(&shortened(name)), known));
            }
            None => {}
        }
    }
}

fn check_list(schema: &Value, items: &[Value], path: &str, at: &str, wrong: &mut Vec<String>) {
    if let Some(most) = schema["maxItems"].as_u64().filter(|most| items.len() as u64 > *most) {
        let items_word = plural(most, "item");
        return wrong.push(format!("{at} may have at most {most} {items_word}, and has {}.", items.len()));
    }
    for (n, item) in items.iter().enumerate() {
        check(&schema["items"], item, &format!("{path}[{n}]"), wrong);
    }
}

fn unknown(path: &str, known: Option<&Map<String, Value>>) -> String {
    let known: Vec<String> = known.into_iter().flatten().map(|(name, _)| format!("`{name}`")).collect();
    if known.is_empty() {
        format!("`{path}` is not known; leave it out.")
    } else {
        format!("`{path}` is not known; use {}.", known.join(", "))
    }
}

fn is_a(kind: &str, input: &Value) -> bool {
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

fn named(kind: &str) -> &'static str {
    match kind {
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "text",
        "boolean" => "true or false",
        "array" => "a list",
        _ => "an object",
    }
}

fn kind_of(input: &Value) -> &'static str {
    match input {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

fn plural(count: u64, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}
