//! Schemas of webhook payloads: JSON Schema (draft 7) in the webhook's file.
//!
//! Annotations are ignored. An unknown keyword makes the schema invalid, so that a typo does not
//! disable a check. Beyond the standard, undeclared fields are rejected.

mod check;
mod closed;
mod shape;

use domain::delivery::Kind;
use serde_json::{Map, Value};

/// WH-7: maximum number of fields.
pub const FIELDS: usize = 20;
/// WH-8: maximum length of a text without `maxLength`, in characters.
pub const CHARS: usize = 500;
/// Maximum number of errors reported at once.
const TOLD: usize = 10;
/// Maximum nesting depth of schemas and values.
const DEPTH: usize = 32;

/// A valid schema.
#[derive(Clone, Debug)]
pub struct Schema(Value);

impl Schema {
    /// WH-9: parses a schema and checks it.
    pub fn read(text: &str) -> Result<Self, String> {
        let schema: Value =
            serde_json::from_str(text).map_err(|error| format!("`fields` is no JSON ({error})"))?;
        shape::check(&schema, &schema, "fields", DEPTH)?;
        Ok(Self(schema))
    }

    /// Returns the names of the fields.
    pub fn names(&self) -> Vec<&str> {
        let fields = self.0["properties"].as_object();
        fields.into_iter().flat_map(Map::keys).map(String::as_str).collect()
    }

    /// Returns the names of the required fields.
    pub fn required(&self) -> Vec<&str> {
        self.0["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// WH-6: returns the errors in `payload`; none if it is valid.
    pub fn mistakes(&self, brought: &Map<String, Value>) -> Vec<String> {
        let fields = self.0["properties"].as_object().map_or(0, Map::len);
        if fields > FIELDS {
            return vec![format!("the webhook declares {fields} properties, and the most is {FIELDS}")];
        }
        let brought = Value::Object(brought.clone());
        let mut wrong = closed::Walk::over(&self.0).mistakes(&brought);
        if wrong.is_empty() {
            wrong = check::mistakes(&self.0, &brought);
        }
        let more = wrong.len().saturating_sub(TOLD);
        wrong.truncate(TOLD);
        wrong.extend((more > 0).then(|| format!("and {more} more")));
        wrong
    }

    /// WH-15: returns whether the field's `value` contains text that the schema does not enumerate.
    pub fn kind(&self, name: &str, value: &Value) -> Kind {
        closed::Walk::over(&self.0).kind(name, value)
    }
}

/// Resolves `reference` in `root`.
fn named<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

/// Keywords that combine schemas.
const COMBINED: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Appends `name` to the path shown in an error.
fn below(path: &str, name: &str) -> String {
    let name: String = name.chars().take(60).collect();
    if path.is_empty() { name } else { format!("{path}.{name}") }
}
