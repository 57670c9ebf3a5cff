//! The tasks of the default list.

use serde_json::{Value, json};

use super::http::{JsonResponse, error_response, list_page};
use super::{GoogleAccount, GoogleRequest};

/// Handles a request about the list.
pub(super) fn handle(account: &mut GoogleAccount, request: &GoogleRequest, rest: &[&str]) -> JsonResponse {
    let sent: Value = serde_json::from_str(&request.body).unwrap_or_default();
    match (request.method.as_str(), rest) {
        ("GET", []) => {
            let all = request.query_value("showCompleted") != Some("false");
            let found = account.tasks.iter().filter(|task| all || task["status"] != "completed");
            let found: Vec<Value> = found.cloned().collect();
            list_page(account, request, "items", &found)
        }
        ("POST", []) => {
            let mut task = sent;
            task["id"] = json!(format!("task-{}", account.tasks.len()));
            task["status"] = json!("needsAction");
            account.tasks.push(task.clone());
            (200, task)
        }
        (method, [id]) => match account.tasks.iter().position(|task| task["id"] == *id) {
            Some(at) => handle_task(account, method, at, sent),
            None => error_response(404, "notFound", "Not Found"),
        },
        _ => error_response(404, "notFound", "Not Found"),
    }
}

fn handle_task(account: &mut GoogleAccount, method: &str, at: usize, sent: Value) -> JsonResponse {
    match method {
        "GET" => (200, account.tasks[at].clone()),
        "PATCH" => (200, super::calendar::apply_patch(&mut account.tasks[at], sent)),
        "DELETE" => {
            account.tasks.remove(at);
            (204, Value::Null)
        }
        _ => error_response(405, "httpMethodNotAllowed", "Method Not Allowed"),
    }
}
