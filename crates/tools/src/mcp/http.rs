//! A server at an address: each message is posted, and answered with a document or a stream of events.
//!
//! Redirects are not followed, because what is sent along is for that address alone.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::Value;

use super::line::{BESIDE, Line, MESSAGE, Trouble};
use super::rpc::{Came, VERSION, came, notification, request};

const CONNECT: Duration = Duration::from_secs(10);
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// An address, and what is sent along.
pub(super) struct Posts {
    client: Client,
    url: Url,
    headers: HeaderMap,
    asked: u64,
    changed: bool,
}

impl Posts {
    pub(super) fn new(url: &str, headers: &BTreeMap<String, String>) -> Result<Self, Trouble> {
        let url: Url =
            url.parse().map_err(|error| Trouble::broken(format!("has a wrong address ({error})")))?;
        let client =
            wire::client(&url, |builder| builder.connect_timeout(CONNECT)).map_err(Trouble::Broken)?;
        let mut sent = HeaderMap::new();
        for (name, value) in headers {
            let header = (name.parse::<HeaderName>(), HeaderValue::from_str(value));
            let (Ok(name), Ok(value)) = header else {
                return Err(Trouble::broken(format!("has a header `{name}` that cannot be sent")));
            };
            sent.insert(name, value);
        }
        sent.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        sent.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        sent.insert(PROTOCOL, HeaderValue::from_static(VERSION));
        Ok(Self { client, url, headers: sent, asked: 0, changed: false })
    }

    async fn post(&mut self, message: &Value) -> Result<Response, Trouble> {
        let sent =
            self.client.post(self.url.clone()).headers(self.headers.clone()).body(message.to_string()).send();
        let response = sent
            .await
            .map_err(|error| Trouble::broken(format!("cannot be reached ({})", wire::reason(&error))))?;
        match response.status() {
            status if status.is_success() => {}
            status if status.is_redirection() => {
                return Err(Trouble::broken("sends us elsewhere; write its real address into mcp.json"));
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(Trouble::broken("does not let us in; check its `headers` in mcp.json"));
            }
            status => return Err(Trouble::broken(format!("answers with {status}"))),
        }
        if let Some(session) = response.headers().get(SESSION) {
            self.headers.insert(SESSION, session.clone());
        }
        Ok(response)
    }

    /// The answer under the number `wanted` in what comes back.
    async fn answer(&mut self, mut response: Response, wanted: u64) -> Result<Value, Trouble> {
        let mut incoming = Incoming::new(Form::of(&response));
        for _ in 0..BESIDE {
            let Some(message) = incoming.next()? else {
                match response.chunk().await.map_err(|_| Trouble::broken("broke off"))? {
                    Some(chunk) => incoming.bytes.extend(chunk),
                    None if incoming.ended => break,
                    None => incoming.ended = true,
                }
                continue;
            };
            match came(&message) {
                Came::Answer(id, answer) if id == wanted => return answer.map_err(Trouble::Refused),
                Came::ToolsChanged => self.changed = true,
                Came::Answer(..) | Came::Question(_) | Came::Else => {}
            }
        }
        Err(Trouble::broken("does not answer what it was asked"))
    }
}

/// What an answer comes as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One message.
    Document,
    /// Events, each with a message.
    Stream,
}

impl Form {
    fn of(response: &Response) -> Self {
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/event-stream") { Self::Stream } else { Self::Document }
    }
}

/// What has come, and how much of it was read.
pub(super) struct Incoming {
    form: Form,
    bytes: Vec<u8>,
    read: usize,
    ended: bool,
}

impl Incoming {
    pub(super) fn new(form: Form) -> Self {
        Self { form, bytes: Vec::new(), read: 0, ended: false }
    }

    /// These bytes are all that comes.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ended = true;
    }

    /// The next message: nothing, if none is whole yet.
    pub(super) fn next(&mut self) -> Result<Option<Value>, Trouble> {
        if self.bytes.len() > MESSAGE {
            return Err(Trouble::broken("says more than anybody can read"));
        }
        match self.form {
            Form::Document if self.ended && self.read < self.bytes.len() => {
                self.read = self.bytes.len();
                parsed(&self.bytes).map(Some)
            }
            Form::Document => Ok(None),
            Form::Stream => self.next_event(),
        }
    }

    fn next_event(&mut self) -> Result<Option<Value>, Trouble> {
        while let Some(end) = event_end(&self.bytes[self.read..]) {
            let event = String::from_utf8_lossy(&self.bytes[self.read..self.read + end]).into_owned();
            self.read += end;
            let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
            let data = data.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n");
            if !data.is_empty() {
                return parsed(data.as_bytes()).map(Some);
            }
        }
        Ok(None)
    }
}

fn parsed(bytes: &[u8]) -> Result<Value, Trouble> {
    serde_json::from_slice(bytes).map_err(|_| Trouble::broken("talks nonsense"))
}

/// How long the first event is, with the empty line that ends it.
fn event_end(bytes: &[u8]) -> Option<usize> {
    let ends = [&b"\n\n"[..], b"\r\n\r\n", b"\r\r"];
    let end = |end: &&[u8]| bytes.windows(end.len()).position(|part| part == *end).map(|at| at + end.len());
    ends.iter().filter_map(end).min()
}

impl Line for Posts {
    fn ask<'a>(&'a mut self, method: &'a str, params: Value) -> BoxFuture<'a, Result<Value, Trouble>> {
        Box::pin(async move {
            self.asked += 1;
            let id = self.asked;
            let response = self.post(&request(id, method, params)).await?;
            self.answer(response, id).await
        })
    }

    fn tell<'a>(&'a mut self, method: &'a str) -> BoxFuture<'a, Result<(), Trouble>> {
        Box::pin(async move { self.post(&notification(method)).await.map(drop) })
    }

    fn tools_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }
}
