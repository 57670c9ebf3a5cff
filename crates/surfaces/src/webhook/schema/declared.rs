//! Rejects undeclared fields at any depth and over-long texts. Combined schemas may describe the
//! same value; a field declared by any of them is declared.

use domain::delivery::ValueKind;
use serde_json::Value;

use super::{COMBINATORS, DEFAULT_MAX_CHARS, MAX_DEPTH, join_path, resolve};

/// Walks a value together with the schemas that apply to it.
pub(super) struct DeclarationCheck<'a> {
    root: &'a Value,
}

impl<'a> DeclarationCheck<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root }
    }

    /// F5, WH-8: returns errors for undeclared fields and over-long texts.
    pub(super) fn errors(&self, brought: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        self.visit(&self.expand(&[self.root]), brought, "", MAX_DEPTH, &mut wrong);
        wrong
    }

    /// Returns whether `value` contains text that is not enumerated.
    pub(super) fn kind(&self, name: &str, value: &Value) -> ValueKind {
        let field = self.field_schemas(&self.expand(&[self.root]), name);
        if self.is_fixed(&field, value, MAX_DEPTH) { ValueKind::Fixed } else { ValueKind::Free }
    }

    fn visit(&self, schemas: &[&'a Value], value: &Value, path: &str, depth: usize, wrong: &mut Vec<String>) {
        let Some(depth) = depth.checked_sub(1) else { return wrong.push(format!("{path}: lies too deep")) };
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let at = join_path(path, name);
                    let inner = self.field_schemas(schemas, name);
                    if inner.is_empty() {
                        wrong.push(format!("{at}: is not declared"))
                    } else {
                        self.visit(&inner, value, &at, depth, wrong)
                    }
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    let at = join_path(path, &index.to_string());
                    let inner = self.item_schemas(schemas, index);
                    if inner.is_empty() {
                        wrong.push(format!("{at}: is not declared"))
                    } else {
                        self.visit(&inner, value, &at, depth, wrong)
                    }
                }
            }
            Value::String(text) => {
                let said = schemas.iter().any(|schema| schema.get("maxLength").is_some());
                let listed = schemas.iter().any(|schema| enumerates(schema, value));
                if !said && !listed && text.chars().count() > DEFAULT_MAX_CHARS {
                    wrong.push(format!("{path}: must have at most {DEFAULT_MAX_CHARS} characters"));
                }
            }
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    fn is_fixed(&self, schemas: &[&'a Value], value: &Value, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        match value {
            Value::String(_) => schemas.iter().any(|schema| enumerates(schema, value)),
            Value::Number(_) | Value::Bool(_) | Value::Null => true,
            Value::Object(fields) => fields
                .iter()
                .all(|(name, value)| self.is_fixed(&self.field_schemas(schemas, name), value, depth)),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .all(|(index, value)| self.is_fixed(&self.item_schemas(schemas, index), value, depth)),
        }
    }

    /// Returns the schemas of the field `name`.
    fn field_schemas(&self, schemas: &[&'a Value], name: &str) -> Vec<&'a Value> {
        let found: Vec<&Value> =
            schemas.iter().filter_map(|schema| schema.get("properties")?.get(name)).collect();
        self.expand(&found)
    }

    /// Returns the schemas of the item `index`.
    fn item_schemas(&self, schemas: &[&'a Value], index: usize) -> Vec<&'a Value> {
        let item = |schema: &&'a Value| {
            let items = schema.get("items")?;
            items.as_array().map_or(Some(items), |all| all.get(index))
        };
        let found: Vec<&Value> = schemas.iter().filter_map(item).collect();
        self.expand(&found)
    }

    /// Returns `schemas` and all schemas that they combine.
    fn expand(&self, schemas: &[&'a Value]) -> Vec<&'a Value> {
        let (mut parts, mut left): (Vec<&Value>, Vec<&Value>) = (Vec::new(), schemas.to_vec());
        while let Some(schema) = left.pop() {
            // A schema may be reachable in several ways, including through itself.
            if parts.iter().any(|part| std::ptr::eq(*part, schema)) {
                continue;
            }
            parts.push(schema);
            for word in COMBINATORS {
                left.extend(schema.get(word).and_then(Value::as_array).into_iter().flatten());
            }
            left.extend(["then", "else"].into_iter().filter_map(|word| schema.get(word)));
            let reference = schema.get("$ref").and_then(Value::as_str);
            left.extend(reference.and_then(|name| resolve(self.root, name)));
        }
        parts
    }
}

/// Returns true if `schema` enumerates `value`.
fn enumerates(schema: &Value, value: &Value) -> bool {
    let listed = schema.get("enum").and_then(Value::as_array).is_some_and(|all| all.contains(value));
    listed || schema.get("const") == Some(value)
}
