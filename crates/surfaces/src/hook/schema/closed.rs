//! Rejects undeclared fields at any depth and over-long texts. Combined schemas may describe the
//! same value; a field declared by any of them is declared.

use domain::delivery::Kind;
use serde_json::Value;

use super::{CHARS, COMBINED, DEPTH, below, named};

/// Walks a value together with the schemas that apply to it.
pub(super) struct Walk<'a> {
    root: &'a Value,
}

impl<'a> Walk<'a> {
    pub(super) fn over(root: &'a Value) -> Self {
        Self { root }
    }

    /// F5, WH-8: returns errors for undeclared fields and over-long texts.
    pub(super) fn mistakes(&self, brought: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        self.look(&self.parts(&[self.root]), brought, "", DEPTH, &mut wrong);
        wrong
    }

    /// Returns whether `value` contains text that is not enumerated.
    pub(super) fn kind(&self, name: &str, value: &Value) -> Kind {
        let field = self.under(&self.parts(&[self.root]), name);
        if self.is_fixed(&field, value, DEPTH) { Kind::Fixed } else { Kind::Free }
    }

    fn look(&self, schemas: &[&'a Value], value: &Value, path: &str, depth: usize, wrong: &mut Vec<String>) {
        let Some(depth) = depth.checked_sub(1) else { return wrong.push(format!("{path}: lies too deep")) };
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let at = below(path, name);
                    let inner = self.under(schemas, name);
                    if inner.is_empty() {
                        wrong.push(format!("{at}: is not declared"))
                    } else {
                        self.look(&inner, value, &at, depth, wrong)
                    }
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    let at = below(path, &index.to_string());
                    let inner = self.within(schemas, index);
                    if inner.is_empty() {
                        wrong.push(format!("{at}: is not declared"))
                    } else {
                        self.look(&inner, value, &at, depth, wrong)
                    }
                }
            }
            Value::String(text) => {
                let said = schemas.iter().any(|schema| schema.get("maxLength").is_some());
                let listed = schemas.iter().any(|schema| lists(schema, value));
                if !said && !listed && text.chars().count() > CHARS {
                    wrong.push(format!("{path}: must have at most {CHARS} characters"));
                }
            }
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    fn is_fixed(&self, schemas: &[&'a Value], value: &Value, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        match value {
            Value::String(_) => schemas.iter().any(|schema| lists(schema, value)),
            Value::Number(_) | Value::Bool(_) | Value::Null => true,
            Value::Object(fields) => {
                fields.iter().all(|(name, value)| self.is_fixed(&self.under(schemas, name), value, depth))
            }
            Value::Array(items) => items
                .iter()
                .enumerate()
                .all(|(index, value)| self.is_fixed(&self.within(schemas, index), value, depth)),
        }
    }

    /// Returns the schemas of the field `name`.
    fn under(&self, schemas: &[&'a Value], name: &str) -> Vec<&'a Value> {
        let found: Vec<&Value> =
            schemas.iter().filter_map(|schema| schema.get("properties")?.get(name)).collect();
        self.parts(&found)
    }

    /// Returns the schemas of the item `index`.
    fn within(&self, schemas: &[&'a Value], index: usize) -> Vec<&'a Value> {
        let item = |schema: &&'a Value| {
            let items = schema.get("items")?;
            items.as_array().map_or(Some(items), |all| all.get(index))
        };
        let found: Vec<&Value> = schemas.iter().filter_map(item).collect();
        self.parts(&found)
    }

    /// Returns `schemas` and all schemas that they combine.
    fn parts(&self, schemas: &[&'a Value]) -> Vec<&'a Value> {
        let (mut parts, mut left): (Vec<&Value>, Vec<&Value>) = (Vec::new(), schemas.to_vec());
        while let Some(schema) = left.pop() {
            // A schema may be reachable in several ways, including through itself.
            if parts.iter().any(|part| std::ptr::eq(*part, schema)) {
                continue;
            }
            parts.push(schema);
            for word in COMBINED {
                left.extend(schema.get(word).and_then(Value::as_array).into_iter().flatten());
            }
            left.extend(["then", "else"].into_iter().filter_map(|word| schema.get(word)));
            let reference = schema.get("$ref").and_then(Value::as_str);
            left.extend(reference.and_then(|name| named(self.root, name)));
        }
        parts
    }
}

/// Returns true if `schema` enumerates `value`.
fn lists(schema: &Value, value: &Value) -> bool {
    let listed = schema.get("enum").and_then(Value::as_array).is_some_and(|all| all.contains(value));
    listed || schema.get("const") == Some(value)
}
