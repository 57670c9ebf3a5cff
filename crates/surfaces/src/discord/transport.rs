//! Access to the network: requests, sockets and downloads. The only part that tests replace.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::Value;

pub mod net;

/// Network access to Discord.
pub trait DiscordTransport: Send + Sync {
    /// Sends one request, with the bot's token if `call.auth` demands it.
    fn send(&self, call: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>>;

    /// Opens a gateway connection to `url`, which includes the version and encoding.
    fn connect<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Box<dyn GatewaySocket>, TransportError>>;

    /// Downloads an attachment of at most `limit` bytes, without sending the token.
    fn fetch<'a>(&'a self, url: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<u8>, FetchError>>;
}

#[derive(Clone, Debug)]
pub struct HttpRequest {
    pub method: Method,
    /// Path and query below the base address, such as `/users/@me`.
    pub path: String,
    pub body: Body,
    pub auth: Auth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

#[derive(Clone, Debug)]
pub enum Body {
    Empty,
    Json(Value),
    Multipart {
        payload: Value,
        /// The files; their indexes are their ids in the payload.
        files: Vec<File>,
    },
}

/// File attached to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub name: String,
    /// Alternative text.
    pub description: String,
    pub bytes: Bytes,
}

/// How a request is authorized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// With the bot's token.
    Bot,
    /// By the token in the path.
    Path,
}

#[derive(Clone, Debug, Default)]
pub struct HttpResponse {
    pub status: u16,
    /// The headers about rate limits.
    pub headers: Headers,
    pub body: Bytes,
}

/// The headers that are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// Selects the used headers among `all`.
    pub fn select<'a>(all: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let read = |name: &str| name == "retry-after" || name.starts_with("x-ratelimit-");
        let lower = all.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        Self(lower.filter(|(name, _)| read(name)).collect())
    }

    /// Returns the value of `name`, which is lower-case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// Why a request has no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The request was not sent.
    #[error("Discord cannot be reached: {0}")]
    NotSent(String),
    /// It may have been executed.
    #[error("the connection to Discord broke: {0}")]
    MaybeSent(String),
}

/// Why an attachment was not downloaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// Larger than the limit.
    #[error("it is bigger than {0} bytes")]
    TooBig(usize),
    /// Not an https address.
    #[error("its address is not a secure one")]
    InsecureAddress,
    /// Unexpected status.
    #[error("Discord answered {0}")]
    Status(u16),
    #[error("{0}")]
    Connection(String),
}

pub trait GatewaySocket: Send {
    fn send(&mut self, text: String) -> BoxFuture<'_, Result<(), TransportError>>;

    /// Returns the next frame. Cancel safe.
    fn next(&mut self) -> BoxFuture<'_, Incoming>;

    /// Closes the connection with `code`.
    fn close(&mut self, code: u16) -> BoxFuture<'_, ()>;
}

/// A frame or the end of a gateway connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    Text(String),
    /// Closed by Discord, with a code if there was one.
    Closed(Option<u16>),
    /// The connection was lost.
    Lost,
}
