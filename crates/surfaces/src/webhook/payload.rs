//! Payload of a call: parsed as JSON, reduced to the picked fields, validated, and converted to
//! untrusted values.

use axum::http::StatusCode;
use domain::conversation::Json;
use domain::delivery::{Delivery, Value as Brought};
use domain::schedule::WebhookSpec;
use serde_json::{Map, Value, json};

use super::WebhookReply;
use super::schema::Schema;

/// Why a payload is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PayloadError {
    /// Not JSON, or JSON that parsers interpret differently.
    InvalidJson,
    /// Violates the schema.
    Invalid(Vec<String>),
    /// Lacks these fields, which the webhook's text refers to.
    MissingFields(Vec<String>),
    /// The schema itself is invalid.
    InvalidSchema(String),
}

impl From<PayloadError> for WebhookReply {
    fn from(wrong: PayloadError) -> Self {
        match wrong {
            PayloadError::InvalidJson => Self::refuse(StatusCode::BAD_REQUEST, "invalid json"),
            PayloadError::Invalid(details) => Self::Refused(
                StatusCode::BAD_REQUEST,
                json!({ "error": "validation failed", "details": details }),
            ),
            PayloadError::MissingFields(names) => Self::refuse(
                StatusCode::BAD_REQUEST,
                format!("payload missing fields referenced in template: {}", json!(names)),
            ),
            PayloadError::InvalidSchema(why) => {
                Self::refuse(StatusCode::INTERNAL_SERVER_ERROR, format!("the webhook is not usable: {why}"))
            }
        }
    }
}

/// Parses `body` as JSON.
pub(super) fn parse(body: &[u8]) -> Result<Value, PayloadError> {
    let text = std::str::from_utf8(body).map_err(|_| PayloadError::InvalidJson)?;
    let value: Value = serde_json::from_str(text).map_err(|_| PayloadError::InvalidJson)?;
    // Parsers disagree about duplicate keys.
    if value.is_object() && !Json(text.to_owned()).is_valid_object() {
        Err(PayloadError::InvalidJson)
    } else {
        Ok(value)
    }
}

/// Checks `body` like that of a call, without marks.
pub fn check_payload(hook: &WebhookSpec, body: &[u8]) -> Result<Delivery, PayloadError> {
    build_delivery(hook, &parse(body)?, Vec::new())
}

/// WH-5 to WH-10, F5: validates `value` and builds a delivery with `marks`.
pub fn build_delivery(
    hook: &WebhookSpec,
    value: &Value,
    marks: Vec<String>,
) -> Result<Delivery, PayloadError> {
    let schema = Schema::parse(&hook.fields).map_err(PayloadError::InvalidSchema)?;
    let Some(fields) = value.as_object() else {
        return Err(PayloadError::Invalid(vec!["the body: must be object".to_owned()]));
    };
    let fields = pick_fields(hook, value).unwrap_or_else(|| fields.clone());
    let mistakes = schema.errors(&fields);
    if !mistakes.is_empty() {
        return Err(PayloadError::Invalid(mistakes));
    }
    let value = |(name, value): (&String, &Value)| Brought {
        name: name.clone(),
        json: Json(value.to_string()),
        kind: schema.kind(name, value),
    };
    let delivery = Delivery { webhook: hook.clone(), values: fields.iter().map(value).collect(), marks };
    let missing = delivery.missing_values();
    if missing.is_empty() { Ok(delivery) } else { Err(PayloadError::MissingFields(missing)) }
}

/// Returns the fields selected by the webhook, if it selects any.
fn pick_fields(hook: &WebhookSpec, value: &Value) -> Option<Map<String, Value>> {
    let pick = &hook.intake.pick;
    let one = |(name, path): &(String, String)| Some((name.clone(), value.pointer(path)?.clone()));
    (!pick.is_empty()).then(|| pick.iter().filter_map(one).collect())
}
