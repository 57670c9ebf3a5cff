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

use super::{Answer, Auth, Body, Broken, Call, File, Headers, Incoming, Method, Socket, Unfetched, Wire};
use crate::discord::Token;

/// Base address of the API.
pub const DISCORD: &str = "https://discord.com/api/v10";

const CONNECT: Duration = Duration::from_secs(10);
/// Timeout of a whole request. Uploads of several megabytes over a slow connection take longest.
const WHOLE: Duration = Duration::from_secs(60);
/// Maximum size of a response body.
const ANSWER: usize = 8 * 1024 * 1024;
/// Maximum size of a gateway message.
const TEXT: usize = 16 * 1024 * 1024;

#[derive(Clone)]
pub struct Net {
    client: Client,
    base: Url,
    authorization: HeaderValue,
}

/// Invalid settings. The user must fix them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSettings {
    #[error("`{0}` is not Discord's address; leave DISCORD_API_BASE out, or give one like {DISCORD}")]
    Address(String),
    /// The token would be sent unencrypted.
    #[error("`{0}` is not a secure address, and the token would be seen on the way; begin it with https://")]
    Insecure(String),
    #[error("the Discord token has a character that no token has; copy it once more")]
    Token,
    /// TLS cannot be initialized.
    #[error("this machine cannot make a secure connection: {0}")]
    Secure(String),
}

impl Net {
    /// Creates the transport to the API at `base` for the bot of `token`.
    pub fn new(base: &str, token: &Token) -> Result<Self, BadSettings> {
        let shown = || wire::without_secrets(base);
        let url: Url = base.trim().parse().map_err(|_| BadSettings::Address(shown()))?;
        let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !plain {
            return Err(BadSettings::Address(shown()));
        }
        if url.scheme() == "http" && !is_loopback(&url) {
            return Err(BadSettings::Insecure(shown()));
        }
        let mut authorization =
            HeaderValue::from_str(&format!("Bot {}", token.reveal())).map_err(|_| BadSettings::Token)?;
        authorization.set_sensitive(true);
        Ok(Self { client: client(&url)?, base: url, authorization })
    }

    fn request(&self, call: Call) -> Result<RequestBuilder, Broken> {
        let address = format!("{}{}", self.base.as_str().trim_end_matches('/'), call.path);
        let mut request = self.client.request(method(call.method), address).timeout(WHOLE);
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

    async fn carry(&self, call: Call) -> Result<Answer, Broken> {
        let response = self.request(call)?.send().await.map_err(|error| broken(&error))?;
        let status = response.status().as_u16();
        let headers = headers(response.headers());
        match read(response, ANSWER).await {
            Ok(body) => Ok(Answer { status, headers, body: body.into() }),
            Err(error) => Err(Broken::Maybe(error.to_string())),
        }
    }

    async fn open(&self, url: &str) -> Result<Box<dyn Socket>, Broken> {
        let before = |why: &str| Broken::Before(why.to_owned());
        let url = self.gateway(url).ok_or_else(|| before("the gateway's address is not a secure one"))?;
        let key = generate_key();
        let request = self.client.get(url).header("connection", "upgrade").header("upgrade", "websocket");
        let request = request.header("sec-websocket-version", "13").header("sec-websocket-key", &key);
        let response = request.send().await.map_err(|error| Broken::Before(reason(&error)))?;
        let accepted = response.headers().get("sec-websocket-accept").map(HeaderValue::as_bytes);
        if response.status().as_u16() != 101 || accepted != Some(derive_accept_key(key.as_bytes()).as_bytes())
        {
            return Err(Broken::Before(format!("the gateway answered {}", response.status())));
        }
        let upgraded = response.upgrade().await.map_err(|error| Broken::Before(reason(&error)))?;
        let config = WebSocketConfig::default().max_message_size(Some(TEXT)).max_frame_size(Some(TEXT));
        let stream = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await;
        Ok(Box::new(NetSocket(stream)))
    }

    /// Converts the gateway address to HTTP: with TLS, or plain on loopback if the API is there
    /// too.
    fn gateway(&self, url: &str) -> Option<Url> {
        let url: Url = url.parse().ok()?;
        let scheme = url.scheme();
        let rest = url.as_str().split_once(':')?.1;
        match scheme {
            "wss" => format!("https:{rest}").parse().ok(),
            "ws" if is_loopback(&url) && is_loopback(&self.base) => format!("http:{rest}").parse().ok(),
            _ => None,
        }
    }

    async fn download(&self, url: &str, limit: usize) -> Result<Vec<u8>, Unfetched> {
        let url: Url = url.parse().map_err(|_| Unfetched::NotAllowed)?;
        let near = url.scheme() == "http" && is_loopback(&url) && is_loopback(&self.base);
        if url.scheme() != "https" && !near {
            return Err(Unfetched::NotAllowed);
        }
        let response = self.client.get(url).timeout(WHOLE).send().await;
        let response = response.map_err(|error| Unfetched::Broken(reason(&error)))?;
        if response.status().as_u16() != 200 {
            return Err(Unfetched::Status(response.status().as_u16()));
        }
        read(response, limit).await
    }
}

impl Wire for Net {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Broken>> {
        Box::pin(self.carry(call))
    }

    fn connect<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Box<dyn Socket>, Broken>> {
        Box::pin(self.open(url))
    }

    fn fetch<'a>(&'a self, url: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<u8>, Unfetched>> {
        Box::pin(self.download(url, limit))
    }
}

impl fmt::Debug for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Net").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

struct NetSocket(WebSocketStream<reqwest::Upgraded>);

impl Socket for NetSocket {
    fn say(&mut self, text: String) -> BoxFuture<'_, Result<(), Broken>> {
        Box::pin(async move {
            self.0.send(Message::text(text)).await.map_err(|error| Broken::Maybe(error.to_string()))
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
                    Some(Err(_)) | None => return Incoming::Dropped,
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
fn client(base: &Url) -> Result<Client, BadSettings> {
    let name = concat!("DiscordBot (ollim-bot, ", env!("CARGO_PKG_VERSION"), ")");
    let named = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(name))]);
    // A WebSocket handshake needs HTTP/1.1.
    let shape =
        |builder: ClientBuilder| builder.http1_only().connect_timeout(CONNECT).default_headers(named.clone());
    wire::client(base, shape).map_err(BadSettings::Secure)
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

fn form(payload: &str, files: Vec<File>) -> Result<Form, Broken> {
    let json =
        |part: Part| part.mime_str("application/json").map_err(|error| Broken::Before(error.to_string()));
    let mut form = Form::new().part("payload_json", json(Part::text(payload.to_owned()))?);
    for (id, file) in files.into_iter().enumerate() {
        form = form.part(format!("files[{id}]"), Part::stream(file.bytes).file_name(file.name));
    }
    Ok(form)
}

fn headers(all: &HeaderMap) -> Headers {
    Headers::of(all.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))))
}

async fn read(mut response: Response, limit: usize) -> Result<Vec<u8>, Unfetched> {
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Err(Unfetched::TooBig(limit));
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| Unfetched::Broken(reason(&error)))? {
        if body.len() + chunk.len() > limit {
            return Err(Unfetched::TooBig(limit));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.into())
}

/// Converts an error; a connection that was never made has sent nothing.
fn broken(error: &reqwest::Error) -> Broken {
    if error.is_connect() || error.is_builder() {
        Broken::Before(reason(error))
    } else {
        Broken::Maybe(reason(error))
    }
}

/// Returns the root cause. The outer errors only add the address, which may contain a token.
fn reason(error: &reqwest::Error) -> String {
    let first: &(dyn std::error::Error + 'static) = error;
    let causes = std::iter::successors(Some(first), |error| (*error).source());
    let cause = causes.skip(1).last().map(ToString::to_string);
    cause
        .unwrap_or_else(|| if error.is_timeout() { "it took too long" } else { "no reason given" }.to_owned())
}
