//! Payload of a call: parsed as JSON, reduced to the picked fields, validated, and converted to
//! untrusted values.

use axum::http::StatusCode;
use domain::conversation::Json;
use domain::delivery::{Delivery, Value as Brought};
use domain::schedule::WebhookSpec;
use serde_json::{Map, Value, json};

use super::Reply;
use super::schema::Schema;

/// Why a payload is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Not JSON, or JSON that parsers interpret differently.
    NoJson,
    /// Violates the schema.
    Unfit(Vec<String>),
    /// Lacks these fields, which the webhook's text refers to.
    Missing(Vec<String>),
    /// The schema itself is invalid.
    Schema(String),
}

impl From<Wrong> for Reply {
    fn from(wrong: Wrong) -> Self {
        match wrong {
            Wrong::NoJson => Self::no(StatusCode::BAD_REQUEST, "invalid json"),
            Wrong::Unfit(details) => Self::Refused(
                StatusCode::BAD_REQUEST,
                json!({ "error": "validation failed", "details": details }),
            ),
            Wrong::Missing(names) => Self::no(
                StatusCode::BAD_REQUEST,
                format!("payload missing fields referenced in template: {}", json!(names)),
            ),
            Wrong::Schema(why) => {
                Self::no(StatusCode::INTERNAL_SERVER_ERROR, format!("the webhook is not usable: {why}"))
            }
        }
    }
}

/// Parses `body` as JSON.
pub(super) fn read(body: &[u8]) -> Result<Value, Wrong> {
    let text = std::str::from_utf8(body).map_err(|_| Wrong::NoJson)?;
    let value: Value = serde_json::from_str(text).map_err(|_| Wrong::NoJson)?;
    // Parsers disagree about duplicate keys.
    if value.is_object() && !Json(text.to_owned()).is_readable() { Err(Wrong::NoJson) } else { Ok(value) }
}

/// Checks `body` like that of a call, without marks.
pub fn checked(hook: &WebhookSpec, body: &[u8]) -> Result<Delivery, Wrong> {
    brought(hook, &read(body)?, Vec::new())
}

/// WH-5 to WH-10, F5: validates `value` and builds a delivery with `marks`.
pub fn brought(hook: &WebhookSpec, value: &Value, marks: Vec<String>) -> Result<Delivery, Wrong> {
    let schema = Schema::read(&hook.fields).map_err(Wrong::Schema)?;
    let Some(fields) = value.as_object() else {
        return Err(Wrong::Unfit(vec!["the body: must be object".to_owned()]));
    };
    let fields = picked(hook, value).unwrap_or_else(|| fields.clone());
    let mistakes = schema.mistakes(&fields);
    if !mistakes.is_empty() {
        return Err(Wrong::Unfit(mistakes));
    }
    let value = |(name, value): (&String, &Value)| Brought {
        name: name.clone(),
        json: Json(value.to_string()),
        kind: schema.kind(name, value),
    };
    let delivery = Delivery { hook: hook.clone(), values: fields.iter().map(value).collect(), marks };
    let missing = delivery.missing();
    if missing.is_empty() { Ok(delivery) } else { Err(Wrong::Missing(missing)) }
}

/// Returns the fields selected by the webhook, if it selects any.
fn picked(hook: &WebhookSpec, value: &Value) -> Option<Map<String, Value>> {
    let pick = &hook.entrance.pick;
    let one = |(name, path): &(String, String)| Some((name.clone(), value.pointer(path)?.clone()));
    (!pick.is_empty()).then(|| pick.iter().filter_map(one).collect())
}
