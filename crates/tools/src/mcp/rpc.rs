//! The messages of the protocol: what is asked, and which answer belongs to it.

use serde_json::{Value, json};

/// The version of the protocol that we ask for.
pub(super) const VERSION: &str = "2025-06-18";

/// What came in.
#[derive(Debug, PartialEq)]
pub(super) enum Came {
    /// The answer to what we asked under this number.
    Answer(u64, Result<Value, String>),
    /// A question to us, which is answered with this.
    Question(Value),
    /// The tools are others now.
    ToolsChanged,
    /// Something that nobody waits for.
    Else,
}

pub(super) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub(super) fn notification(method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": method })
}

pub(super) fn hello() -> Value {
    json!({
        "protocolVersion": VERSION,
        "capabilities": {},
        "clientInfo": { "name": "ollim-bot", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// What `message` is to us.
pub(super) fn came(message: &Value) -> Came {
    match (message["method"].as_str(), message.get("id")) {
        (Some("notifications/tools/list_changed"), None) => Came::ToolsChanged,
        (Some(_), None) => Came::Else,
        (Some("ping"), Some(id)) => Came::Question(json!({ "jsonrpc": "2.0", "id": id, "result": {} })),
        // A server asks for nothing here that we would give.
        (Some(method), Some(id)) => {
            let error =
                json!({ "code": -32601, "message": format!("there is no method called `{method}` here.") });
            Came::Question(json!({ "jsonrpc": "2.0", "id": id, "error": error }))
        }
        (None, Some(id)) => match (id.as_u64(), message.get("result"), message.get("error")) {
            (Some(id), Some(result), None) => Came::Answer(id, Ok(result.clone())),
            (Some(id), _, Some(error)) => Came::Answer(id, Err(told(error))),
            _ => Came::Else,
        },
        (None, None) => Came::Else,
    }
}

fn told(error: &Value) -> String {
    let text = error["message"].as_str().unwrap_or("it does not say why");
    text.chars().take(500).collect()
}
