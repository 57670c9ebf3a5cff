//! What a call brought: read as JSON, picked, held against the schema, and made into values that only are data.

use axum::http::StatusCode;
use domain::conversation::Json;
use domain::delivery::{Delivery, Value as Brought};
use domain::schedule::WebhookSpec;
use serde_json::{Map, Value, json};

use super::Reply;
use super::schema::Schema;

/// Why what was brought is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It is no JSON, or not JSON that everybody reads in the same way.
    NoJson,
    /// It does not fit the schema.
    Unfit(Vec<String>),
    /// The words of the webhook have places for these.
    Missing(Vec<String>),
    /// The schema itself is wrong.
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

/// Reads `body` as JSON.
pub(super) fn read(body: &[u8]) -> Result<Value, Wrong> {
    let text = std::str::from_utf8(body).map_err(|_| Wrong::NoJson)?;
    let value: Value = serde_json::from_str(text).map_err(|_| Wrong::NoJson)?;
    // What names a thing twice means one thing to one reader and another to the next.
    if value.is_object() && !Json(text.to_owned()).is_readable() { Err(Wrong::NoJson) } else { Ok(value) }
}

/// What `body` brings to `hook`, checked as a call would be and known by nothing.
pub fn checked(hook: &WebhookSpec, body: &[u8]) -> Result<Delivery, Wrong> {
    brought(hook, &read(body)?, Vec::new())
}

/// WH-5 to WH-10, F5: what `value` brings to `hook`, under `marks`.
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

/// What the webhook wants of a call that brings more; what it does not name is left where it is.
fn picked(hook: &WebhookSpec, value: &Value) -> Option<Map<String, Value>> {
    let pick = &hook.entrance.pick;
    let one = |(name, path): &(String, String)| Some((name.clone(), value.pointer(path)?.clone()));
    (!pick.is_empty()).then(|| pick.iter().filter_map(one).collect())
}
