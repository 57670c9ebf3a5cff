//! The events of the primary calendar.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::door::{Answer, page, refused};
use super::{Received, World};

/// Handles a calendar request.
pub(super) fn answer(world: &mut World, received: &Received, rest: &[&str]) -> Answer {
    let sent: Value = serde_json::from_str(&received.body).unwrap_or_default();
    match (received.method.as_str(), rest) {
        ("GET", []) => list(world, received),
        ("POST", []) => {
            if sent["start"]["dateTime"].is_string() && sent["end"]["dateTime"].is_string() {
                let mut event = sent;
                event["id"] = json!(format!("event{}", world.events.len()));
                event["status"] = json!("confirmed");
                world.events.push(event.clone());
                (200, event)
            } else {
                refused(400, "required", "Missing end time.")
            }
        }
        (method, [id]) => match world.events.iter().position(|event| event["id"] == *id) {
            Some(at) => one(world, method, at, sent),
            None => refused(404, "notFound", "Not Found"),
        },
        _ => refused(404, "notFound", "Not Found"),
    }
}

/// Lists events. Ordering by start time is only possible for expanded events.
fn list(world: &World, received: &Received) -> Answer {
    let time = |name: &str| received.asks(name).and_then(|time| time.parse::<Timestamp>().ok());
    let (Some(min), Some(max)) = (time("timeMin"), time("timeMax")) else {
        return refused(400, "badRequest", "Bad Request");
    };
    if received.asks("orderBy") == Some("startTime") && received.asks("singleEvents") != Some("true") {
        return refused(
            400,
            "badRequest",
            "The requested ordering is not available for the particular query.",
        );
    }
    let mut found: Vec<Value> = world.events.clone();
    found.retain(|event| edge(&event["end"]) > Some(min) && edge(&event["start"]) < Some(max));
    found.sort_by_key(|event| edge(&event["start"]));
    page(world, received, "items", &found)
}

fn edge(edge: &Value) -> Option<Timestamp> {
    if let Some(time) = edge["dateTime"].as_str() {
        return time.parse().ok();
    }
    let day: jiff::civil::Date = edge["date"].as_str()?.parse().ok()?;
    day.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp())
}

fn one(world: &mut World, method: &str, at: usize, sent: Value) -> Answer {
    match method {
        "GET" => (200, world.events[at].clone()),
        "PATCH" => (200, patched(&mut world.events[at], sent)),
        "DELETE" => {
            world.events.remove(at);
            (204, Value::Null)
        }
        _ => refused(405, "httpMethodNotAllowed", "Method Not Allowed"),
    }
}

/// Merges `sent` into `stored`; null removes a field.
pub(super) fn patched(kept: &mut Value, sent: Value) -> Value {
    if let (Value::Object(fields), Value::Object(sent)) = (&mut *kept, sent) {
        for (name, value) in sent {
            if value.is_null() {
                fields.remove(&name);
            } else if value.is_object() {
                patched(fields.entry(name).or_insert(json!({})), value);
            } else {
                fields.insert(name, value);
            }
        }
    }
    kept.clone()
}
