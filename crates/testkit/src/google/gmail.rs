//! Gmail: messages with their parts, newest first, and labels.

use serde_json::{Value, json};

use super::http::{JsonResponse, error_response, list_page};
use super::tokens::base64_url;
use super::{GoogleAccount, GoogleRequest};

/// Returns an unread message with one text part, in the full format of `messages.get`.
pub fn mail(id: &str, from: &str, subject: &str, text: &str) -> Value {
    json!({
        "id": id,
        "threadId": id,
        "labelIds": ["UNREAD", "INBOX"],
        "internalDate": "1794816000000",
        "payload": {
            "mimeType": "text/plain",
            "headers": [
                { "name": "FROM", "value": from },
                { "name": "To", "value": "me@example.org" },
                { "name": "Subject", "value": subject },
                { "name": "Date", "value": "Mon, 16 Nov 2026 08:00:00 +0100" },
            ],
            "body": { "size": text.len(), "data": base64_url(text.as_bytes()) },
        },
    })
}

/// Handles a request below `users/me`.
pub(super) fn handle(account: &GoogleAccount, request: &GoogleRequest, rest: &[&str]) -> JsonResponse {
    match rest {
        _ if request.method != "GET" => {
            error_response(403, "insufficientPermissions", "Request had insufficient authentication scopes.")
        }
        ["messages"] => {
            let query = request.query_value("q").unwrap_or_default();
            let found = account.messages.iter().filter(|mail| matches_query(query, mail));
            let names: Vec<Value> =
                found.map(|mail| json!({ "id": mail["id"], "threadId": mail["id"] })).collect();
            list_page(account, request, "messages", &names)
        }
        ["messages", id] => match account.messages.iter().find(|mail| mail["id"] == *id) {
            Some(mail) if request.query_value("format") == Some("metadata") => (200, metadata(mail, request)),
            Some(mail) => (200, mail.clone()),
            None => error_response(404, "notFound", "Requested entity was not found."),
        },
        ["labels"] => (
            200,
            json!({ "labels": [
                { "id": "INBOX", "name": "INBOX", "type": "system" },
                { "id": "Label_1", "name": "Familie/Grüße", "type": "user" },
            ] }),
        ),
        _ => error_response(404, "notFound", "Not Found"),
    }
}

fn matches_query(query: &str, mail: &Value) -> bool {
    match query {
        "is:unread" => mail["labelIds"].as_array().is_some_and(|labels| labels.contains(&json!("UNREAD"))),
        text => mail["payload"]["headers"].to_string().to_lowercase().contains(&text.to_lowercase()),
    }
}

/// Returns the message with only the requested headers.
fn metadata(mail: &Value, request: &GoogleRequest) -> Value {
    let is_requested = |header: &&Value| {
        let name = header["name"].as_str().unwrap_or_default();
        request.query.iter().any(|(key, value)| key == "metadataHeaders" && value.eq_ignore_ascii_case(name))
    };
    let headers = mail["payload"]["headers"].as_array();
    let headers: Vec<&Value> = headers.into_iter().flatten().filter(is_requested).collect();
    let mut reduced = mail.clone();
    reduced["payload"] = json!({ "mimeType": mail["payload"]["mimeType"], "headers": headers });
    reduced
}
