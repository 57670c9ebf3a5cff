//! The streamable HTTP transport: each message is posted, and answered with a document or a stream of events.
//!
//! Redirects are not followed, because the headers and the access token belong to that address
//! alone. A status of 401 leads to one refresh of the access token, if there is one.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::Value;
use wire::Secret;

use super::oauth::{RefreshOutcome, TokenProvider};
use super::protocol::{Incoming, RpcError, classify};
use super::transport::{Headers, MAX_MESSAGE_BYTES, MAX_UNRELATED_MESSAGES, Transport, TransportError};

/// The maximum number of bytes that are read of an error response.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");

/// An address with the headers of `mcp.json` and, if the user signed in, an access token.
pub(super) struct HttpTransport {
    client: Client,
    url: Url,
    headers: HeaderMap,
    session: Option<HeaderValue>,
    /// Absent if `mcp.json` has an `Authorization` header.
    authorizer: Option<TokenProvider>,
    token: Option<Secret>,
    tools_changed: bool,
}

impl HttpTransport {
    pub(super) fn new(
        url: &str,
        headers: &BTreeMap<String, String>,
        authorizer: TokenProvider,
    ) -> Result<Self, TransportError> {
        let url: Url =
            url.parse().map_err(|error| TransportError::broken(format!("has a wrong address ({error})")))?;
        let client = wire::build_client(&url, |builder| builder.connect_timeout(CONNECT_TIMEOUT))
            .map_err(TransportError::Broken)?;
        let mut sent = HeaderMap::new();
        for (name, value) in headers {
            let header = (name.parse::<HeaderName>(), HeaderValue::from_str(value));
            let (Ok(name), Ok(value)) = header else {
                return Err(TransportError::broken(format!("has a header `{name}` that cannot be sent")));
            };
            sent.insert(name, value);
        }
        let authorizer = Some(authorizer).filter(|_| !sent.contains_key(AUTHORIZATION));
        let token = match &authorizer {
            Some(authorizer) => authorizer.token().map_err(TransportError::Broken)?,
            None => None,
        };
        sent.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        sent.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self { client, url, headers: sent, session: None, authorizer, token, tools_changed: false })
    }

    /// Posts `message`. A rejected access token is refreshed once.
    async fn post(&mut self, message: &Value, headers: &Headers) -> Result<Response, TransportError> {
        let response = self.send(message, headers).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return self.check(response).await;
        }
        let Some(authorizer) = &self.authorizer else {
            return Err(TransportError::broken("does not accept the `Authorization` header in mcp.json"));
        };
        let Some(rejected) = self.token.take() else { return Err(TransportError::SignInNeeded) };
        match authorizer.refresh(&rejected).await.map_err(TransportError::Broken)? {
            RefreshOutcome::Token(token) => self.token = Some(token),
            RefreshOutcome::Ended => return Err(TransportError::SignInExpired),
        }
        let response = self.send(message, headers).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            return Err(TransportError::SignInExpired);
        }
        self.check(response).await
    }

    async fn send(&self, message: &Value, headers: &Headers) -> Result<Response, TransportError> {
        let mut sent = self.headers.clone();
        sent.extend(self.session.clone().map(|session| (SESSION_HEADER, session)));
        if let Some(token) = &self.token {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.reveal()))
                .map_err(|_| TransportError::SignInExpired)?;
            value.set_sensitive(true);
            sent.insert(AUTHORIZATION, value);
        }
        let known = [
            (VERSION_HEADER, &headers.version),
            (METHOD_HEADER, &headers.method),
            (NAME_HEADER, &headers.name),
        ];
        for (name, value) in known {
            if let Some(value) = value {
                sent.insert(name, encode_header(value)?);
            }
        }
        for (name, value) in &headers.params {
            if let Ok(name) = format!("mcp-param-{}", name.to_ascii_lowercase()).parse::<HeaderName>() {
                sent.insert(name, encode_header(value)?);
            }
        }
        let request = self.client.post(self.url.clone()).headers(sent).body(message.to_string());
        let unreachable =
            |error| TransportError::broken(format!("cannot be reached ({})", wire::root_cause(&error)));
        request.send().await.map_err(unreachable)
    }

    /// Checks the status of a response. A JSON-RPC error may come with any status.
    async fn check(&mut self, response: Response) -> Result<Response, TransportError> {
        let status = response.status();
        if status.is_success() {
            if let Some(session) = response.headers().get(SESSION_HEADER) {
                self.session = Some(session.clone());
            }
            return Ok(response);
        }
        if status.is_redirection() {
            return Err(TransportError::broken(
                "redirects to another address; write that address into mcp.json",
            ));
        }
        if let Some(error) = read_rpc_error(response).await {
            return Err(TransportError::Refused(error));
        }
        Err(match status {
            StatusCode::FORBIDDEN if self.authorizer.is_some() => TransportError::Forbidden,
            StatusCode::FORBIDDEN => {
                TransportError::broken("refuses access; check its `headers` in mcp.json")
            }
            StatusCode::NOT_FOUND if self.session.is_some() => TransportError::SessionExpired,
            status => TransportError::Status(status),
        })
    }

    /// Reads the response to the request `id`, and answers server requests that precede it.
    async fn read_response(
        &mut self,
        mut response: Response,
        expected_id: u64,
        headers: &Headers,
    ) -> Result<Value, TransportError> {
        let mut body = ResponseBody::new(BodyFormat::of(&response));
        for _ in 0..MAX_UNRELATED_MESSAGES {
            let Some(message) = body.next_message()? else {
                match response.chunk().await.map_err(|_| TransportError::broken("broke off"))? {
                    Some(chunk) => body.bytes.extend(chunk),
                    None if body.ended => break,
                    None => body.ended = true,
                }
                continue;
            };
            match classify(&message) {
                Incoming::Response(id, answer) if id == expected_id => {
                    return answer.map_err(TransportError::Refused);
                }
                Incoming::ToolsChanged => self.tools_changed = true,
                // The modern era has no requests from the server.
                Incoming::Request(answer) if headers.method.is_none() => {
                    let version = headers.version.clone();
                    let headers = Headers { version, ..Headers::default() };
                    self.post(&answer, &headers).await.map(drop)?;
                }
                Incoming::Response(..) | Incoming::Request(_) | Incoming::Other => {}
            }
        }
        Err(TransportError::broken("does not answer what it was asked"))
    }
}

/// A header value as the modern era encodes it: text that is not plain ASCII is wrapped in base64.
fn encode_header(value: &str) -> Result<HeaderValue, TransportError> {
    let is_plain = value.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && value.trim() == value
        && !(value.starts_with("=?base64?") && value.ends_with("?="));
    let text = if is_plain { value.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(value)) };
    HeaderValue::from_str(&text).map_err(|_| TransportError::broken("has a tool whose input cannot be sent"))
}

/// The JSON-RPC error in the body of a failed request, if there is one.
async fn read_rpc_error(mut response: Response) -> Option<RpcError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        bytes.extend(chunk);
        if bytes.len() > MAX_ERROR_BODY_BYTES {
            return None;
        }
    }
    let body: Value = serde_json::from_slice(&bytes).ok()?;
    let error = body.get("error").filter(|error| error.is_object() && body["jsonrpc"] == "2.0")?;
    Some(RpcError::parse(error))
}

/// The format of a response body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFormat {
    Json,
    /// Server-sent events with one message each.
    EventStream,
}

impl BodyFormat {
    fn of(response: &Response) -> Self {
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/event-stream") { Self::EventStream } else { Self::Json }
    }
}

/// The received bytes, and how many of them were parsed.
pub(super) struct ResponseBody {
    format: BodyFormat,
    bytes: Vec<u8>,
    parsed_bytes: usize,
    ended: bool,
}

impl ResponseBody {
    pub(super) fn new(form: BodyFormat) -> Self {
        Self { format: form, bytes: Vec::new(), parsed_bytes: 0, ended: false }
    }

    /// Sets the complete body.
    pub(super) fn set_complete(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ended = true;
    }

    /// Returns the next complete message, if there is one.
    pub(super) fn next_message(&mut self) -> Result<Option<Value>, TransportError> {
        if self.bytes.len() > MAX_MESSAGE_BYTES {
            return Err(TransportError::broken("sent a message of more than 4 MB"));
        }
        match self.format {
            BodyFormat::Json if self.ended && self.parsed_bytes < self.bytes.len() => {
                self.parsed_bytes = self.bytes.len();
                parse_json(&self.bytes).map(Some)
            }
            BodyFormat::Json => Ok(None),
            BodyFormat::EventStream => self.next_event(),
        }
    }

    fn next_event(&mut self) -> Result<Option<Value>, TransportError> {
        while let Some(end) = event_end(&self.bytes[self.parsed_bytes..]) {
            let event =
                String::from_utf8_lossy(&self.bytes[self.parsed_bytes..self.parsed_bytes + end]).into_owned();
            self.parsed_bytes += end;
            let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
            let data = data.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n");
            if !data.is_empty() {
                return parse_json(data.as_bytes()).map(Some);
            }
        }
        Ok(None)
    }
}

fn parse_json(bytes: &[u8]) -> Result<Value, TransportError> {
    serde_json::from_slice(bytes).map_err(|_| TransportError::broken("sent something that is not JSON"))
}

/// The length of the first event, including the empty line that ends it.
fn event_end(bytes: &[u8]) -> Option<usize> {
    let ends = [&b"\n\n"[..], b"\r\n\r\n", b"\r\r"];
    let end = |end: &&[u8]| bytes.windows(end.len()).position(|part| part == *end).map(|at| at + end.len());
    ends.iter().filter_map(end).min()
}

impl Transport for HttpTransport {
    fn request<'a>(
        &'a mut self,
        id: u64,
        message: &'a Value,
        headers: &'a Headers,
    ) -> BoxFuture<'a, Result<Value, TransportError>> {
        Box::pin(async move {
            let response = self.post(message, headers).await?;
            self.read_response(response, id, headers).await
        })
    }

    fn notify<'a>(
        &'a mut self,
        message: &'a Value,
        headers: &'a Headers,
    ) -> BoxFuture<'a, Result<(), TransportError>> {
        Box::pin(async move { self.post(message, headers).await.map(drop) })
    }

    fn take_tools_changed(&mut self) -> bool {
        std::mem::take(&mut self.tools_changed)
    }
}
