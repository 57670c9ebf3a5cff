//! Gmail: messages with their parts, newest first, and labels.

use serde_json::{Value, json};

use super::door::{Answer, page, refused};
use super::tokens::base64_url;
use super::{Received, World};

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
pub(super) fn answer(world: &World, received: &Received, rest: &[&str]) -> Answer {
    match rest {
        _ if received.method != "GET" => {
            refused(403, "insufficientPermissions", "Request had insufficient authentication scopes.")
        }
        ["messages"] => {
            let query = received.asks("q").unwrap_or_default();
            let found = world.mails.iter().filter(|mail| finds(query, mail));
            let names: Vec<Value> =
                found.map(|mail| json!({ "id": mail["id"], "threadId": mail["id"] })).collect();
            page(world, received, "messages", &names)
        }
        ["messages", id] => match world.mails.iter().find(|mail| mail["id"] == *id) {
            Some(mail) if received.asks("format") == Some("metadata") => (200, metadata(mail, received)),
            Some(mail) => (200, mail.clone()),
            None => refused(404, "notFound", "Requested entity was not found."),
        },
        ["labels"] => (
            200,
            json!({ "labels": [
                { "id": "INBOX", "name": "INBOX", "type": "system" },
                { "id": "Label_1", "name": "Familie/Grüße", "type": "user" },
            ] }),
        ),
        _ => refused(404, "notFound", "Not Found"),
    }
}

fn finds(query: &str, mail: &Value) -> bool {
    match query {
        "is:unread" => mail["labelIds"].as_array().is_some_and(|labels| labels.contains(&json!("UNREAD"))),
        words => mail["payload"]["headers"].to_string().to_lowercase().contains(&words.to_lowercase()),
    }
}

/// Returns the message with only the requested headers.
fn metadata(mail: &Value, received: &Received) -> Value {
    let wanted = |header: &&Value| {
        let name = header["name"].as_str().unwrap_or_default();
        received.query.iter().any(|(key, value)| key == "metadataHeaders" && value.eq_ignore_ascii_case(name))
    };
    let headers = mail["payload"]["headers"].as_array();
    let headers: Vec<&Value> = headers.into_iter().flatten().filter(wanted).collect();
    let mut told = mail.clone();
    told["payload"] = json!({ "mimeType": mail["payload"]["mimeType"], "headers": headers });
    told
}
