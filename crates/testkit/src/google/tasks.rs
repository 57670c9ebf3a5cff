//! The tasks of the default list.

use serde_json::{Value, json};

use super::door::{Answer, page, refused};
use super::{Received, World};

/// Handles a request about the list.
pub(super) fn answer(world: &mut World, received: &Received, rest: &[&str]) -> Answer {
    let sent: Value = serde_json::from_str(&received.body).unwrap_or_default();
    match (received.method.as_str(), rest) {
        ("GET", []) => {
            let all = received.asks("showCompleted") != Some("false");
            let found = world.tasks.iter().filter(|task| all || task["status"] != "completed");
            let found: Vec<Value> = found.cloned().collect();
            page(world, received, "items", &found)
        }
        ("POST", []) => {
            let mut task = sent;
            task["id"] = json!(format!("task-{}", world.tasks.len()));
            task["status"] = json!("needsAction");
            world.tasks.push(task.clone());
            (200, task)
        }
        (method, [id]) => match world.tasks.iter().position(|task| task["id"] == *id) {
            Some(at) => one(world, method, at, sent),
            None => refused(404, "notFound", "Not Found"),
        },
        _ => refused(404, "notFound", "Not Found"),
    }
}

fn one(world: &mut World, method: &str, at: usize, sent: Value) -> Answer {
    match method {
        "GET" => (200, world.tasks[at].clone()),
        "PATCH" => (200, super::calendar::patched(&mut world.tasks[at], sent)),
        "DELETE" => {
            world.tasks.remove(at);
            (204, Value::Null)
        }
        _ => refused(405, "httpMethodNotAllowed", "Method Not Allowed"),
    }
}
