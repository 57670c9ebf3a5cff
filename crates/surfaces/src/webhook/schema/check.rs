//! Validates a value against a schema of draft 7.

use regex::Regex;
use serde_json::{Map, Value};

use super::{COMBINATORS, MAX_DEPTH, join_path, resolve};

/// Returns the errors in `value`.
pub(super) fn validate(root: &Value, value: &Value) -> Vec<String> {
    let mut checker = Checker { root, errors: Vec::new() };
    checker.check(root, value, "", MAX_DEPTH);
    checker.errors
}

struct Checker<'a> {
    root: &'a Value,
    errors: Vec<String>,
}

impl Checker<'_> {
    fn check(&mut self, schema: &Value, value: &Value, path: &str, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return self.push_error(path, "lies too deep") };
        let words = match schema {
            Value::Bool(false) => return self.push_error(path, "must not be there"),
            Value::Object(words) => words,
            Value::Null | Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_) => return,
        };
        // Draft 7: keywords next to a reference are ignored.
        if let Some(named) =
            words.get("$ref").and_then(Value::as_str).and_then(|name| resolve(self.root, name))
        {
            return self.check(named, value, path, depth);
        }
        if let Some(types) = words.get("type").filter(|types| !matches_type(types, value)) {
            return self.push_error(path, &format!("must be {}", type_names(types)));
        }
        if let Some(all) = words.get("enum").and_then(Value::as_array).filter(|all| !all.contains(value)) {
            let all: Vec<String> = all.iter().take(20).map(Value::to_string).collect();
            return self.push_error(path, &format!("must be one of {}", all.join(", ")));
        }
        if let Some(only) = words.get("const").filter(|only| *only != value) {
            return self.push_error(path, &format!("must be {only}"));
        }
        match value {
            Value::String(text) => self.check_string(words, text, path),
            Value::Number(_) => self.check_number(words, value.as_f64().unwrap_or(f64::NAN), path),
            Value::Array(items) => self.check_array(words, items, path, depth),
            Value::Object(fields) => self.check_object(words, fields, path, depth),
            Value::Bool(_) | Value::Null => {}
        }
        self.check_combinators(words, value, path, depth);
    }

    fn check_string(&mut self, words: &Map<String, Value>, text: &str, path: &str) {
        self.check_count(words, "minLength", "maxLength", text.chars().count(), path, "characters");
        let pattern = words.get("pattern").and_then(Value::as_str).and_then(|text| Regex::new(text).ok());
        if pattern.is_some_and(|pattern| !pattern.is_match(text)) {
            self.push_error(path, "does not have the form it must have");
        }
    }

    fn check_number(&mut self, words: &Map<String, Value>, number: f64, path: &str) {
        let given = |word: &str| words.get(word).and_then(Value::as_f64);
        if let Some(least) = given("minimum").filter(|least| number < *least) {
            self.push_error(path, &format!("must be at least {least}"));
        }
        if let Some(most) = given("maximum").filter(|most| number > *most) {
            self.push_error(path, &format!("must be at most {most}"));
        }
        if let Some(least) = given("exclusiveMinimum").filter(|least| number <= *least) {
            self.push_error(path, &format!("must be more than {least}"));
        }
        if let Some(most) = given("exclusiveMaximum").filter(|most| number >= *most) {
            self.push_error(path, &format!("must be less than {most}"));
        }
        let off = |step: &f64| ((number / step) - (number / step).round()).abs() > 1e-9;
        if let Some(step) = given("multipleOf").filter(off) {
            self.push_error(path, &format!("must be a multiple of {step}"));
        }
    }

    fn check_array(&mut self, words: &Map<String, Value>, items: &[Value], path: &str, depth: usize) {
        self.check_count(words, "minItems", "maxItems", items.len(), path, "items");
        let unique = words.get("uniqueItems") == Some(&Value::Bool(true));
        if unique && items.iter().enumerate().any(|(index, item)| items[..index].contains(item)) {
            self.push_error(path, "must not hold the same thing twice");
        }
        let extra = words.get("additionalItems");
        for (index, item) in items.iter().enumerate() {
            let schema = match words.get("items") {
                Some(Value::Array(all)) => all.get(index).or(extra),
                one => one,
            };
            if let Some(schema) = schema {
                self.check(schema, item, &join_path(path, &index.to_string()), depth);
            }
        }
        if let Some(schema) = words.get("contains")
            && !items.iter().any(|item| self.fits(schema, item, depth))
        {
            self.push_error(path, "does not hold what it must hold");
        }
    }

    fn check_object(
        &mut self,
        words: &Map<String, Value>,
        fields: &Map<String, Value>,
        path: &str,
        depth: usize,
    ) {
        self.check_count(words, "minProperties", "maxProperties", fields.len(), path, "properties");
        for name in words.get("required").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = name.as_str().filter(|name| !fields.contains_key(*name)) {
                self.push_error(&join_path(path, name), "is missing");
            }
        }
        let known = words.get("properties").and_then(Value::as_object);
        for (name, value) in fields {
            let at = join_path(path, name);
            let own = known.and_then(|known| known.get(name));
            if let Some(schema) = own.or_else(|| words.get("additionalProperties")) {
                self.check(schema, value, &at, depth);
            }
            if let Some(schema) = words.get("propertyNames") {
                self.check(schema, &Value::from(name.as_str()), &at, depth);
            }
        }
    }

    fn check_combinators(&mut self, words: &Map<String, Value>, value: &Value, path: &str, depth: usize) {
        for word in COMBINATORS {
            let Some(all) = words.get(word).and_then(Value::as_array) else { continue };
            let fitting = all.iter().filter(|schema| self.fits(schema, value, depth)).count();
            let right = match word {
                "allOf" => fitting == all.len(),
                "anyOf" => fitting > 0,
                _ => fitting == 1,
            };
            if !right {
                self.push_error(path, &format!("fits {fitting} of the {} that `{word}` names", all.len()));
            }
        }
        if words.get("not").is_some_and(|schema| self.fits(schema, value, depth)) {
            self.push_error(path, "is just what it must not be");
        }
        if let Some(condition) = words.get("if") {
            let then = if self.fits(condition, value, depth) { "then" } else { "else" };
            if let Some(schema) = words.get(then) {
                self.check(schema, value, path, depth);
            }
        }
    }

    fn fits(&self, schema: &Value, value: &Value, depth: usize) -> bool {
        let mut checker = Checker { root: self.root, errors: Vec::new() };
        checker.check(schema, value, "", depth);
        checker.errors.is_empty()
    }

    fn check_count(
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
            self.push_error(path, &format!("must have at least {least} {what}"));
        }
        if let Some(most) = given(most).filter(|most| count > *most) {
            self.push_error(path, &format!("must have at most {most} {what}"));
        }
    }

    fn push_error(&mut self, path: &str, what: &str) {
        let path = if path.is_empty() { "the body" } else { path };
        self.errors.push(format!("{path}: {what}"));
    }
}

fn matches_type(types: &Value, value: &Value) -> bool {
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

fn type_names(types: &Value) -> String {
    let all = types.as_array().map_or_else(|| vec![types], |all| all.iter().collect());
    let names: Vec<&str> = all.into_iter().filter_map(Value::as_str).collect();
    names.join(" or ")
}
