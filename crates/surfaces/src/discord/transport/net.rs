//! Network transport: HTTPS for requests and attachments, a WebSocket for the gateway. The
//! WebSocket is opened through the same HTTP client, so both use the same certificates and proxies.

use std::fmt;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, USER_AGENT};
use reqwest::multipart::{Form, Part};
use reqwest::{Client, ClientBuilder, RequestBuilder, Response, Url};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::{client::generate_key, derive_accept_key};
use tokio_tungstenite::tungstenite::protocol::frame::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use wire::is_loopback;

use super::{
    Auth, Body, DiscordTransport, FetchError, File, GatewaySocket, Headers, HttpRequest, HttpResponse,
    Incoming, Method, TransportError,
};
use crate::discord::Token;

/// Base address of the API.
pub const API_BASE: &str = "https://discord.com/api/v10";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of a whole request. Uploads of several megabytes over a slow connection take longest.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum size of a response body.
const MAX_RESPONSE_BYTES: usize = 8 * 1024 * 1024;
/// Maximum size of a gateway message.
const MAX_FRAME_BYTES: usize = 16 * 1024 * 1024;

#[derive(Clone)]
pub struct NetworkTransport {
    client: Client,
    base: Url,
    authorization: HeaderValue,
}

/// Invalid settings. The user must fix them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSettings {
    #[error("`{0}` is not Discord's address; leave API_BASE_API_BASE out, or give one like {API_BASE}")]
    Address(String),
    /// The token would be sent unencrypted.
    #[error("`{0}` is not a secure address, and the token would be seen on the way; begin it with https://")]
    Insecure(String),
    #[error("the Discord token has a character that no token has; copy it once more")]
    Token,
    /// TLS cannot be initialized.
    #[error("this machine cannot make a secure connection: {0}")]
    Tls(String),
}

impl NetworkTransport {
    /// Creates the transport to the API at `base` for the bot of `token`.
    pub fn new(base: &str, token: &Token) -> Result<Self, InvalidSettings> {
        let shown = || wire::redact_address(base);
        let url: Url = base.trim().parse().map_err(|_| InvalidSettings::Address(shown()))?;
        let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !plain {
            return Err(InvalidSettings::Address(shown()));
        }
        if url.scheme() == "http" && !is_loopback(&url) {
            return Err(InvalidSettings::Insecure(shown()));
        }
        let mut authorization =
            HeaderValue::from_str(&format!("Bot {}", token.reveal())).map_err(|_| InvalidSettings::Token)?;
        authorization.set_sensitive(true);
        Ok(Self { client: client(&url)?, base: url, authorization })
    }

    fn request(&self, call: HttpRequest) -> Result<RequestBuilder, TransportError> {
        let address = format!("{}{}", self.base.as_str().trim_end_matches('/'), call.path);
        let mut request = self.client.request(method(call.method), address).timeout(REQUEST_TIMEOUT);
        if call.auth == Auth::Bot {
            request = request.header(AUTHORIZATION, self.authorization.clone());
        }
        Ok(match call.body {
            // Discord requires a content length even for an empty body.
            Body::Empty if call.method == Method::Get => request,
            Body::Empty => request.body(Bytes::new()),
            Body::Json(value) => request.json(&value),
            Body::Multipart { payload, files } => request.multipart(form(&payload.to_string(), files)?),
        })
    }

    async fn execute(&self, call: HttpRequest) -> Result<HttpResponse, TransportError> {
        let response = self.request(call)?.send().await.map_err(|error| to_transport_error(&error))?;
        let status = response.status().as_u16();
        let headers = headers(response.headers());
        match read_body(response, MAX_RESPONSE_BYTES).await {
            Ok(body) => Ok(HttpResponse { status, headers, body: body.into() }),
            Err(error) => Err(TransportError::MaybeSent(error.to_string())),
        }
    }

    async fn open_socket(&self, url: &str) -> Result<Box<dyn GatewaySocket>, TransportError> {
        let before = |why: &str| TransportError::NotSent(why.to_owned());
        let url = self.gateway_url(url).ok_or_else(|| before("the gateway's address is not a secure one"))?;
        let key = generate_key();
        let request = self.client.get(url).header("connection", "upgrade").header("upgrade", "websocket");
        let request = request.header("sec-websocket-version", "13").header("sec-websocket-key", &key);
        let response = request.send().await.map_err(|error| TransportError::NotSent(root_cause(&error)))?;
        let accepted = response.headers().get("sec-websocket-accept").map(HeaderValue::as_bytes);
        if response.status().as_u16() != 101 || accepted != Some(derive_accept_key(key.as_bytes()).as_bytes())
        {
            return Err(TransportError::NotSent(format!("the gateway answered {}", response.status())));
        }
        let upgraded =
            response.upgrade().await.map_err(|error| TransportError::NotSent(root_cause(&error)))?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_FRAME_BYTES))
            .max_frame_size(Some(MAX_FRAME_BYTES));
        let stream = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await;
        Ok(Box::new(NetworkSocket(stream)))
    }

    /// Converts the gateway address to HTTP: with TLS, or plain on loopback if the API is there
    /// too.
    fn gateway_url(&self, url: &str) -> Option<Url> {
        let url: Url = url.parse().ok()?;
        let scheme = url.scheme();
        let rest = url.as_str().split_once(':')?.1;
        match scheme {
            "wss" => format!("https:{rest}").parse().ok(),
            "ws" if is_loopback(&url) && is_loopback(&self.base) => format!("http:{rest}").parse().ok(),
            _ => None,
        }
    }

    async fn download(&self, url: &str, limit: usize) -> Result<Vec<u8>, FetchError> {
        let url: Url = url.parse().map_err(|_| FetchError::InsecureAddress)?;
        let is_loopback_http = url.scheme() == "http" && is_loopback(&url) && is_loopback(&self.base);
        if url.scheme() != "https" && !is_loopback_http {
            return Err(FetchError::InsecureAddress);
        }
        let response = self.client.get(url).timeout(REQUEST_TIMEOUT).send().await;
        let response = response.map_err(|error| FetchError::Connection(root_cause(&error)))?;
        if response.status().as_u16() != 200 {
            return Err(FetchError::Status(response.status().as_u16()));
        }
        read_body(response, limit).await
    }
}

impl DiscordTransport for NetworkTransport {
    fn send(&self, call: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        Box::pin(self.execute(call))
    }

    fn connect<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Box<dyn GatewaySocket>, TransportError>> {
        Box::pin(self.open_socket(url))
    }

    fn fetch<'a>(&'a self, url: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<u8>, FetchError>> {
        Box::pin(self.download(url, limit))
    }
}

impl fmt::Debug for NetworkTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Net").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

struct NetworkSocket(WebSocketStream<reqwest::Upgraded>);

impl GatewaySocket for NetworkSocket {
    fn send(&mut self, text: String) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move {
            self.0
                .send(Message::text(text))
                .await
                .map_err(|error| TransportError::MaybeSent(error.to_string()))
        })
    }

    fn next(&mut self) -> BoxFuture<'_, Incoming> {
        Box::pin(async move {
            loop {
                match self.0.next().await {
                    Some(Ok(Message::Text(text))) => return Incoming::Text(text.as_str().to_owned()),
                    Some(Ok(Message::Close(frame))) => {
                        return Incoming::Closed(frame.map(|frame| frame.code.into()));
                    }
                    Some(Ok(
                        Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_),
                    )) => {}
                    Some(Err(_)) | None => return Incoming::Lost,
                }
            }
        })
    }

    fn close(&mut self, code: u16) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // The connection is dropped even if the close frame is not delivered.
            let _ = self.0.close(Some(CloseFrame { code: code.into(), reason: "".into() })).await;
        })
    }
}

/// Creates the HTTP client. A machine without certificates uses bundled ones.
fn client(base: &Url) -> Result<Client, InvalidSettings> {
    let name = concat!("DiscordBot (ollim-bot, ", env!("CARGO_PKG_VERSION"), ")");
    let named = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(name))]);
    // A WebSocket handshake needs HTTP/1.1.
    let shape = |builder: ClientBuilder| {
        builder.http1_only().connect_timeout(CONNECT_TIMEOUT).default_headers(named.clone())
    };
    wire::build_client(base, shape).map_err(InvalidSettings::Tls)
}

fn method(method: Method) -> reqwest::Method {
    match method {
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        Method::Patch => reqwest::Method::PATCH,
        Method::Delete => reqwest::Method::DELETE,
    }
}

fn form(payload: &str, files: Vec<File>) -> Result<Form, TransportError> {
    let json = |part: Part| {
        part.mime_str("application/json").map_err(|error| TransportError::NotSent(error.to_string()))
    };
    let mut form = Form::new().part("payload_json", json(Part::text(payload.to_owned()))?);
    for (id, file) in files.into_iter().enumerate() {
        form = form.part(format!("files[{id}]"), Part::stream(file.bytes).file_name(file.name));
    }
    Ok(form)
}

fn headers(all: &HeaderMap) -> Headers {
    Headers::select(all.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))))
}

async fn read_body(mut response: Response, limit: usize) -> Result<Vec<u8>, FetchError> {
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Err(FetchError::TooBig(limit));
    }
    let mut body = BytesMut::new();
    while let Some(chunk) =
        response.chunk().await.map_err(|error| FetchError::Connection(root_cause(&error)))?
    {
        if body.len() + chunk.len() > limit {
            return Err(FetchError::TooBig(limit));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.into())
}

/// Converts an error; a connection that was never made has sent nothing.
fn to_transport_error(error: &reqwest::Error) -> TransportError {
    if error.is_connect() || error.is_builder() {
        TransportError::NotSent(root_cause(error))
    } else {
        TransportError::MaybeSent(root_cause(error))
    }
}

/// Returns the root cause. The outer errors only add the address, which may contain a token.
fn root_cause(error: &reqwest::Error) -> String {
    let first: &(dyn std::error::Error + 'static) = error;
    let causes = std::iter::successors(Some(first), |error| (*error).source());
    let cause = causes.skip(1).last().map(ToString::to_string);
    cause
        .unwrap_or_else(|| if error.is_timeout() { "it took too long" } else { "no reason given" }.to_owned())
}
