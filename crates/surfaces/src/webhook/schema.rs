//! Schemas of webhook payloads: JSON Schema (draft 7) in the webhook's file.
//!
//! Annotations are ignored. An unknown keyword makes the schema invalid, so that a typo does not
//! disable a check. Beyond the standard, undeclared fields are rejected.

mod check;
mod declared;
mod definition;

use domain::delivery::ValueKind;
use serde_json::{Map, Value};

/// WH-7: maximum number of fields.
pub const MAX_FIELDS: usize = 20;
/// WH-8: maximum length of a text without `maxLength`, in characters.
pub const DEFAULT_MAX_CHARS: usize = 500;
/// Maximum number of errors reported at once.
const MAX_ERRORS: usize = 10;
/// Maximum nesting depth of schemas and values.
const MAX_DEPTH: usize = 32;

/// A valid schema.
#[derive(Clone, Debug)]
pub struct Schema(Value);

impl Schema {
    /// WH-9: parses a schema and checks it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let schema: Value =
            serde_json::from_str(text).map_err(|error| format!("`fields` is no JSON ({error})"))?;
        definition::check(&schema, &schema, "fields", MAX_DEPTH)?;
        Ok(Self(schema))
    }

    /// Returns the names of the fields.
    pub fn field_names(&self) -> Vec<&str> {
        let fields = self.0["properties"].as_object();
        fields.into_iter().flat_map(Map::keys).map(String::as_str).collect()
    }

    /// Returns the names of the required fields.
    pub fn required(&self) -> Vec<&str> {
        self.0["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// WH-6: returns the errors in `payload`; none if it is valid.
    pub fn errors(&self, payload: &Map<String, Value>) -> Vec<String> {
        let fields = self.0["properties"].as_object().map_or(0, Map::len);
        if fields > MAX_FIELDS {
            return vec![format!("the webhook declares {fields} properties, and the most is {MAX_FIELDS}")];
        }
        let payload = Value::Object(payload.clone());
        let mut errors = declared::DeclarationCheck::new(&self.0).errors(&payload);
        if errors.is_empty() {
            errors = check::validate(&self.0, &payload);
        }
        let more = errors.len().saturating_sub(MAX_ERRORS);
        errors.truncate(MAX_ERRORS);
        errors.extend((more > 0).then(|| format!("and {more} more")));
        errors
    }

    /// WH-15: returns whether the field's `value` contains text that the schema does not enumerate.
    pub fn kind(&self, name: &str, value: &Value) -> ValueKind {
        declared::DeclarationCheck::new(&self.0).kind(name, value)
    }
}

/// Resolves `reference` in `root`.
fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

/// Keywords that combine schemas.
const COMBINATORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Appends `name` to the path shown in an error.
fn join_path(path: &str, name: &str) -> String {
    let name: String = name.chars().take(60).collect();
    if path.is_empty() { name } else { format!("{path}.{name}") }
}
