//! Schemas: what a call must bring, as JSON Schema (draft 7) in the file of its webhook.
//!
//! What only describes is ignored; a word that would check something and is not known here makes the schema wrong, so
//! that nothing passes because of a slip of the pen. Beyond the standard, only what is declared comes in at all.

mod check;
mod closed;
mod shape;

use domain::delivery::Kind;
use serde_json::{Map, Value};

/// WH-7: the most fields of a webhook.
pub const FIELDS: usize = 20;
/// WH-8: the most characters of a text whose schema says nothing about that.
pub const CHARS: usize = 500;
/// The most mistakes that are told at once.
const TOLD: usize = 10;
/// How deep schemas and values may lie in each other.
const DEPTH: usize = 32;

/// A schema that can be held against values.
#[derive(Clone, Debug)]
pub struct Schema(Value);

impl Schema {
    /// WH-9: reads a schema, or says what is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let schema: Value =
            serde_json::from_str(text).map_err(|error| format!("`fields` is no JSON ({error})"))?;
        shape::check(&schema, &schema, "fields", DEPTH)?;
        Ok(Self(schema))
    }

    /// The names of its fields.
    pub fn names(&self) -> Vec<&str> {
        let fields = self.0["properties"].as_object();
        fields.into_iter().flat_map(Map::keys).map(String::as_str).collect()
    }

    /// The same names, without those that may be left out.
    pub fn required(&self) -> Vec<&str> {
        self.0["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// WH-6: what is wrong with `brought`; nothing, if it fits.
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

    /// WH-15: whether there are words in the `value` of the field `name` that the schema does not list.
    pub fn kind(&self, name: &str, value: &Value) -> Kind {
        closed::Walk::over(&self.0).kind(name, value)
    }
}

/// The schema that `reference` names in `root`.
fn named<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

/// The words that combine schemas.
const COMBINED: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Where in what was brought something is, for whoever reads a mistake.
fn below(path: &str, name: &str) -> String {
    let name: String = name.chars().take(60).collect();
    if path.is_empty() { name } else { format!("{path}.{name}") }
}
