//! The transport to one server: one request at a time, which ends with its response or breaks the
//! transport.

use futures_util::future::BoxFuture;
use reqwest::StatusCode;
use serde_json::Value;

use super::protocol::RpcError;

/// The maximum number of bytes of a message, and of an HTTP response.
pub(super) const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// The maximum number of other messages before the awaited response.
pub(super) const MAX_UNRELATED_MESSAGES: usize = 1_000;

/// A connection to a server.
pub(super) trait Transport: Send + Sync {
    /// Sends the request `message`, whose id is `id`, and returns the result.
    fn request<'a>(
        &'a mut self,
        id: u64,
        message: &'a Value,
        headers: &'a Headers,
    ) -> BoxFuture<'a, Result<Value, TransportError>>;

    /// Sends a notification.
    fn notify<'a>(
        &'a mut self,
        message: &'a Value,
        headers: &'a Headers,
    ) -> BoxFuture<'a, Result<(), TransportError>>;

    /// Returns whether the server announced a changed tool list since the last call.
    fn take_tools_changed(&mut self) -> bool;
}

/// The HTTP headers that repeat parts of a message. Stdio transports ignore them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Headers {
    /// `MCP-Protocol-Version`; absent only on `initialize`.
    pub version: Option<String>,
    /// `Mcp-Method`, modern era.
    pub method: Option<String>,
    /// `Mcp-EntryMark`, modern era; not encoded yet.
    pub name: Option<String>,
    /// `Mcp-Param-*`, modern era: the rest of the name, and the value, which is not encoded yet.
    pub params: Vec<(String, String)>,
}

/// The reason why a request has no result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TransportError {
    /// The server answered with an error. Other requests can follow.
    Refused(RpcError),
    /// The server answered with this HTTP status and no JSON-RPC error.
    Status(StatusCode),
    /// The server requires an access token, and none is stored.
    SignInNeeded,
    /// The server rejects the access token, and it cannot be refreshed.
    SignInExpired,
    /// The server accepts the access token but refuses the request.
    Forbidden,
    /// The server has forgotten the session, so the request was not carried out.
    SessionExpired,
    /// The transport is unusable; the text is the end of a sentence about the server.
    Broken(String),
}

impl TransportError {
    pub(super) fn broken(why: impl Into<String>) -> Self {
        Self::Broken(why.into())
    }

    /// Returns whether the server answered. During negotiation such an answer means "not this era".
    pub(super) fn is_answer(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Status(_) | Self::SessionExpired)
    }

    /// Returns the end of a sentence that begins with the name of `server`.
    pub(super) fn describe(&self, server: &str) -> String {
        match self {
            Self::Refused(error) => format!("refuses: {}", error.message),
            Self::Status(status) => format!("answers with {status}"),
            Self::SignInNeeded => {
                format!("needs you to sign in. Run `ollim-bot mcp-servers login {server}` in a terminal")
            }
            Self::SignInExpired => {
                format!("has ended your sign-in. Run `ollim-bot mcp-servers login {server}` in a terminal")
            }
            Self::Forbidden => format!(
                "refuses access. Your account may lack the permission; `ollim-bot mcp-servers login {server}` signs in \
                 again"
            ),
            Self::SessionExpired => "has forgotten the session".to_owned(),
            Self::Broken(why) => why.clone(),
        }
    }
}
