//! The messages of the Model Context Protocol: revisions, the request envelope of the modern era,
//! and JSON-RPC.
//!
//! There are two eras. Revisions up to 2025-11-25 begin with an `initialize` handshake. Since
//! 2026-07-28 every request is self-contained and has its revision and the client's capabilities in
//! `params._meta`.

use serde_json::{Map, Value, json};

/// The revision that needs no handshake.
pub const MODERN_VERSION: &str = "2026-07-28";
/// The revisions that begin with `initialize`, the newest first.
pub const HANDSHAKE_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// `_meta`: the revision of a modern request.
pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// `_meta`: the client's capabilities in a modern request.
pub const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// `_meta`: the client's name in a modern request.
pub const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// `_meta`: the server's name in a modern result.
pub const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// JSON-RPC: the method is unknown.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The server does not speak the requested revision; `data.supported` lists those it speaks.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// The maximum number of characters of a stored error message of a server.
const MAX_ERROR_CHARS: usize = 500;

/// The era of a connection, with the agreed revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// Opened with `initialize`.
    Handshake(String),
    /// Every request carries its envelope.
    Modern(String),
}

/// An error response of a server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Value,
}

impl RpcError {
    /// Reads the `error` member of a response.
    pub(super) fn parse(error: &Value) -> Self {
        let message = error["message"].as_str().unwrap_or("it does not say why");
        Self {
            code: error["code"].as_i64().unwrap_or_default(),
            message: crate::plain_text::strip_invisible(message).chars().take(MAX_ERROR_CHARS).collect(),
            data: error["data"].clone(),
        }
    }

    /// Returns the revisions that an [`UNSUPPORTED_VERSION`] error names, if it names any.
    pub(super) fn supported_versions(&self) -> Option<Vec<&str>> {
        string_array(self.data.get("supported")?)
    }
}

/// Returns the elements of a JSON array of strings.
pub(super) fn string_array(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// A message from a server.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    /// The response to the request with this id.
    Response(u64, Result<Value, RpcError>),
    /// A request to us, with the message that answers it.
    Request(Value),
    /// The list of tools has changed.
    ToolsChanged,
    /// Anything else; it needs no reaction.
    Other,
}

/// A request message.
pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A notification message.
pub(super) fn notification(method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": method })
}

/// The parameters of `initialize`, which offer the newest handshake revision.
pub(super) fn initialize_params() -> Value {
    json!({
        "protocolVersion": HANDSHAKE_VERSIONS[0],
        "capabilities": {},
        "clientInfo": client_info(),
    })
}

/// Adds the envelope of the modern era to `params`. We declare no capabilities.
pub(super) fn add_envelope(params: &mut Map<String, Value>, version: &str) {
    let envelope = json!({
        META_VERSION: version,
        META_CAPABILITIES: {},
        META_CLIENT: client_info(),
    });
    params.insert("_meta".to_owned(), envelope);
}

fn client_info() -> Value {
    json!({ "name": "ollim-bot", "version": env!("CARGO_PKG_VERSION") })
}

/// Classifies a message from a server.
pub(super) fn classify(message: &Value) -> Incoming {
    match (message["method"].as_str(), message.get("id")) {
        (Some("notifications/tools/list_changed"), None) => Incoming::ToolsChanged,
        (Some(_), None) => Incoming::Other,
        (Some("ping"), Some(id)) => Incoming::Request(json!({ "jsonrpc": "2.0", "id": id, "result": {} })),
        // Sampling, elicitation and roots are not offered.
        (Some(method), Some(id)) => {
            let method: String = method.chars().take(100).collect();
            let error = json!({ "code": METHOD_NOT_FOUND, "message": format!("there is no method called `{method}` here.") });
            Incoming::Request(json!({ "jsonrpc": "2.0", "id": id, "error": error }))
        }
        (None, Some(id)) => match (id.as_u64(), message.get("result"), message.get("error")) {
            (Some(id), Some(result), None) => Incoming::Response(id, Ok(result.clone())),
            (Some(id), _, Some(error)) => Incoming::Response(id, Err(RpcError::parse(error))),
            _ => Incoming::Other,
        },
        (None, None) => Incoming::Other,
    }
}
