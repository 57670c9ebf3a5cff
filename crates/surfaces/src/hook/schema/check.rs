//! Validates a value against a schema of draft 7.

use regex::Regex;
use serde_json::{Map, Value};

use super::{COMBINED, DEPTH, below, named};

/// Returns the errors in `value`.
pub(super) fn mistakes(root: &Value, value: &Value) -> Vec<String> {
    let mut checker = Checker { root, wrong: Vec::new() };
    checker.check(root, value, "", DEPTH);
    checker.wrong
}

struct Checker<'a> {
    root: &'a Value,
    wrong: Vec<String>,
}

impl Checker<'_> {
    fn check(&mut self, schema: &Value, value: &Value, path: &str, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return self.note(path, "lies too deep") };
        let words = match schema {
            Value::Bool(false) => return self.note(path, "must not be there"),
            Value::Object(words) => words,
            Value::Null | Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_) => return,
        };
        // Draft 7: keywords next to a reference are ignored.
        if let Some(named) = words.get("$ref").and_then(Value::as_str).and_then(|name| named(self.root, name))
        {
            return self.check(named, value, path, depth);
        }
        if let Some(types) = words.get("type").filter(|types| !is_of(types, value)) {
            return self.note(path, &format!("must be {}", told(types)));
        }
        if let Some(all) = words.get("enum").and_then(Value::as_array).filter(|all| !all.contains(value)) {
            let all: Vec<String> = all.iter().take(20).map(Value::to_string).collect();
            return self.note(path, &format!("must be one of {}", all.join(", ")));
        }
        if let Some(only) = words.get("const").filter(|only| *only != value) {
            return self.note(path, &format!("must be {only}"));
        }
        match value {
            Value::String(text) => self.text(words, text, path),
            Value::Number(_) => self.number(words, value.as_f64().unwrap_or(f64::NAN), path),
            Value::Array(items) => self.list(words, items, path, depth),
            Value::Object(fields) => self.object(words, fields, path, depth),
            Value::Bool(_) | Value::Null => {}
        }
        self.combined(words, value, path, depth);
    }

    fn text(&mut self, words: &Map<String, Value>, text: &str, path: &str) {
        self.count(words, "minLength", "maxLength", text.chars().count(), path, "characters");
        let pattern = words.get("pattern").and_then(Value::as_str).and_then(|text| Regex::new(text).ok());
        if pattern.is_some_and(|pattern| !pattern.is_match(text)) {
            self.note(path, "does not have the form it must have");
        }
    }

    fn number(&mut self, words: &Map<String, Value>, number: f64, path: &str) {
        let given = |word: &str| words.get(word).and_then(Value::as_f64);
        if let Some(least) = given("minimum").filter(|least| number < *least) {
            self.note(path, &format!("must be at least {least}"));
        }
        if let Some(most) = given("maximum").filter(|most| number > *most) {
            self.note(path, &format!("must be at most {most}"));
        }
        if let Some(least) = given("exclusiveMinimum").filter(|least| number <= *least) {
            self.note(path, &format!("must be more than {least}"));
        }
        if let Some(most) = given("exclusiveMaximum").filter(|most| number >= *most) {
            self.note(path, &format!("must be less than {most}"));
        }
        let off = |step: &f64| ((number / step) - (number / step).round()).abs() > 1e-9;
        if let Some(step) = given("multipleOf").filter(off) {
            self.note(path, &format!("must be a multiple of {step}"));
        }
    }

    fn list(&mut self, words: &Map<String, Value>, items: &[Value], path: &str, depth: usize) {
        self.count(words, "minItems", "maxItems", items.len(), path, "items");
        let unique = words.get("uniqueItems") == Some(&Value::Bool(true));
        if unique && items.iter().enumerate().any(|(index, item)| items[..index].contains(item)) {
            self.note(path, "must not hold the same thing twice");
        }
        let extra = words.get("additionalItems");
        for (index, item) in items.iter().enumerate() {
            let schema = match words.get("items") {
                Some(Value::Array(all)) => all.get(index).or(extra),
                one => one,
            };
            if let Some(schema) = schema {
                self.check(schema, item, &below(path, &index.to_string()), depth);
            }
        }
        if let Some(schema) = words.get("contains")
            && !items.iter().any(|item| self.fits(schema, item, depth))
        {
            self.note(path, "does not hold what it must hold");
        }
    }

    fn object(&mut self, words: &Map<String, Value>, fields: &Map<String, Value>, path: &str, depth: usize) {
        self.count(words, "minProperties", "maxProperties", fields.len(), path, "properties");
        for name in words.get("required").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = name.as_str().filter(|name| !fields.contains_key(*name)) {
                self.note(&below(path, name), "is missing");
            }
        }
        let known = words.get("properties").and_then(Value::as_object);
        for (name, value) in fields {
            let at = below(path, name);
            let own = known.and_then(|known| known.get(name));
            if let Some(schema) = own.or_else(|| words.get("additionalProperties")) {
                self.check(schema, value, &at, depth);
            }
            if let Some(schema) = words.get("propertyNames") {
                self.check(schema, &Value::from(name.as_str()), &at, depth);
            }
        }
    }

    fn combined(&mut self, words: &Map<String, Value>, value: &Value, path: &str, depth: usize) {
        for word in COMBINED {
            let Some(all) = words.get(word).and_then(Value::as_array) else { continue };
            let fitting = all.iter().filter(|schema| self.fits(schema, value, depth)).count();
            let right = match word {
                "allOf" => fitting == all.len(),
                "anyOf" => fitting > 0,
                _ => fitting == 1,
            };
            if !right {
                self.note(path, &format!("fits {fitting} of the {} that `{word}` names", all.len()));
            }
        }
        if words.get("not").is_some_and(|schema| self.fits(schema, value, depth)) {
            self.note(path, "is just what it must not be");
        }
        if let Some(condition) = words.get("if") {
            let then = if self.fits(condition, value, depth) { "then" } else { "else" };
            if let Some(schema) = words.get(then) {
                self.check(schema, value, path, depth);
            }
        }
    }

    fn fits(&self, schema: &Value, value: &Value, depth: usize) -> bool {
        let mut checker = Checker { root: self.root, wrong: Vec::new() };
        checker.check(schema, value, "", depth);
        checker.wrong.is_empty()
    }

    fn count(
        &mut self,
        words: &Map<String, Value>,
        least: &str,
        most: &str,
        count: usize,
        path: &str,
        what: &str,
    ) {
        let given = |word: &str| words.get(word).and_then(Value::as_u64);
        let count = count as u64;
        if let Some(least) = given(least).filter(|least| count < *least) {
            self.note(path, &format!("must have at least {least} {what}"));
        }
        if let Some(most) = given(most).filter(|most| count > *most) {
            self.note(path, &format!("must have at most {most} {what}"));
        }
    }

    fn note(&mut self, path: &str, what: &str) {
        let path = if path.is_empty() { "the body" } else { path };
        self.wrong.push(format!("{path}: {what}"));
    }
}

fn is_of(types: &Value, value: &Value) -> bool {
    let one = |name: &Value| match (name.as_str().unwrap_or_default(), value) {
        ("string", Value::String(_))
        | ("number", Value::Number(_))
        | ("boolean", Value::Bool(_))
        | ("null", Value::Null)
        | ("object", Value::Object(_))
        | ("array", Value::Array(_)) => true,
        ("integer", Value::Number(number)) => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => false,
    };
    types.as_array().map_or_else(|| one(types), |all| all.iter().any(one))
}

fn told(types: &Value) -> String {
    let all = types.as_array().map_or_else(|| vec![types], |all| all.iter().collect());
    let names: Vec<&str> = all.into_iter().filter_map(Value::as_str).collect();
    names.join(" or ")
}
