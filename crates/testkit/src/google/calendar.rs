//! The events of the primary calendar.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::http::{JsonResponse, error_response, list_page};
use super::{GoogleAccount, GoogleRequest};

/// Handles a calendar request.
pub(super) fn handle(account: &mut GoogleAccount, request: &GoogleRequest, rest: &[&str]) -> JsonResponse {
    let sent: Value = serde_json::from_str(&request.body).unwrap_or_default();
    match (request.method.as_str(), rest) {
        ("GET", []) => list_events(account, request),
        ("POST", []) => {
            if sent["start"]["dateTime"].is_string() && sent["end"]["dateTime"].is_string() {
                let mut event = sent;
                event["id"] = json!(format!("event{}", account.events.len()));
                event["status"] = json!("confirmed");
                account.events.push(event.clone());
                (200, event)
            } else {
                error_response(400, "required", "Missing end time.")
            }
        }
        (method, [id]) => match account.events.iter().position(|event| event["id"] == *id) {
            Some(at) => handle_event(account, method, at, sent),
            None => error_response(404, "notFound", "Not Found"),
        },
        _ => error_response(404, "notFound", "Not Found"),
    }
}

/// Lists events. Ordering by start time is only possible for expanded events.
fn list_events(account: &GoogleAccount, request: &GoogleRequest) -> JsonResponse {
    let time = |name: &str| request.query_value(name).and_then(|time| time.parse::<Timestamp>().ok());
    let (Some(min), Some(max)) = (time("timeMin"), time("timeMax")) else {
        return error_response(400, "badRequest", "Bad Request");
    };
    if request.query_value("orderBy") == Some("startTime")
        && request.query_value("singleEvents") != Some("true")
    {
        return error_response(
            400,
            "badRequest",
            "The requested ordering is not available for the particular query.",
        );
    }
    let mut found: Vec<Value> = account.events.clone();
    found.retain(|event| {
        boundary_time(&event["end"]) > Some(min) && boundary_time(&event["start"]) < Some(max)
    });
    found.sort_by_key(|event| boundary_time(&event["start"]));
    list_page(account, request, "items", &found)
}

fn boundary_time(boundary: &Value) -> Option<Timestamp> {
    if let Some(time) = boundary["dateTime"].as_str() {
        return time.parse().ok();
    }
    let day: jiff::civil::Date = boundary["date"].as_str()?.parse().ok()?;
    day.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp())
}

fn handle_event(account: &mut GoogleAccount, method: &str, at: usize, sent: Value) -> JsonResponse {
    match method {
        "GET" => (200, account.events[at].clone()),
        "PATCH" => (200, apply_patch(&mut account.events[at], sent)),
        "DELETE" => {
            account.events.remove(at);
            (204, Value::Null)
        }
        _ => error_response(405, "httpMethodNotAllowed", "Method Not Allowed"),
    }
}

/// Merges `sent` into `stored`; null removes a field.
pub(super) fn apply_patch(stored: &mut Value, sent: Value) -> Value {
    if let (Value::Object(fields), Value::Object(sent)) = (&mut *stored, sent) {
        for (name, value) in sent {
            if value.is_null() {
                fields.remove(&name);
            } else if value.is_object() {
                apply_patch(fields.entry(name).or_insert(json!({})), value);
            } else {
                fields.insert(name, value);
            }
        }
    }
    stored.clone()
}
