//! The HTTP client for a vendor: one request and its response, bounded in size and in time.

use std::convert::Infallible;
use std::ops::RangeInclusive;
use std::time::Duration;

use domain::failure::{Failure, InvalidReply};
use domain::turn::ModelReply;
use engine::ports::StreamSinkRef;
use futures_util::stream;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, Url};
use tokio::time::{Instant, timeout, timeout_at};

use crate::assembly::{ReplyAssembler, StreamUpdate, garbled};
use crate::connection::{self, SettingsError};
use crate::key::ApiKey;
use crate::prefix_cache::RequestBody;
use crate::sanitizer::sanitize_failure;
use crate::sse::{Decoder, MAX_EVENT_BYTES};

/// The most bytes of one stream, including pings and the JSON around each delta.
const MAX_STREAM_BYTES: usize = 64 * 1024 * 1024;

/// The most bytes that one token is assumed to represent. The average is about four; long runs of
/// white space have more.
const MAX_TOKEN_BYTES: usize = 16;

/// The range of the byte limit for the content of a reply.
const REPLY_BYTE_RANGE: RangeInclusive<usize> = 256 * 1024..=1024 * 1024;

/// The most bytes of a refusal that are read.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// The timeouts of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestTimeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the first event of a reply, and between any two.
    pub stall: Duration,
    /// For the whole reply.
    pub total: Duration,
}

/// The HTTP client for one address of a vendor.
#[derive(Debug)]
pub struct VendorClient {
    client: Client,
    address: Url,
    key: ApiKey,
    stall: Duration,
    total: Duration,
}

/// The content type of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// A stream of events.
    EventStream,
    /// One JSON text.
    Json,
    /// Another type, or none.
    Other,
}

/// A refused request.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The `retry-after` header, if there is one.
    pub retry_after: Option<String>,
    /// The beginning of the body.
    pub body: Vec<u8>,
}

impl Refusal {
    /// Returns the seconds to wait. A date in the header is ignored.
    pub fn retry_seconds(&self) -> Option<u64> {
        self.retry_after.as_ref()?.trim().parse().ok()
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns whether a refusal without a retry time is about an exhausted account.
    pub fn is_about_money(&self, message: &str) -> bool {
        const SPENT: [&str; 4] = ["spend", "credit", "billing", "quota"];
        let message = message.to_lowercase();
        self.status == 429 && self.retry_after.is_none() && SPENT.iter().any(|word| message.contains(word))
    }
}

/// Returns whether a refusal with this text is about the key or account, and not about the request.
pub fn is_about_key(text: &str) -> bool {
    const WHO: [&str; 10] = [
        "key",
        "keys",
        "permission",
        "permissions",
        "authentication",
        "unauthenticated",
        "authorized",
        "unauthorized",
        "account",
        "credentials",
    ];
    let text = text.to_lowercase();
    text.split(|c: char| !c.is_alphanumeric()).any(|word| WHO.contains(&word))
}

impl VendorClient {
    /// Creates a client for `address`, without connecting.
    pub fn new(address: Url, key: ApiKey, timeouts: RequestTimeouts) -> Result<Self, SettingsError> {
        let client = connection::build_client(&address, timeouts.connect)?;
        Ok(Self { client, address, key, stall: timeouts.stall, total: timeouts.total })
    }

    /// Returns the address of the API.
    pub fn address(&self) -> &Url {
        &self.address
    }

    /// Returns a request that posts `body` to `address`.
    pub fn post(&self, address: Url, body: RequestBody) -> RequestBuilder {
        let request = self.client.post(address).header(CONTENT_TYPE, "application/json");
        let request = request.header(CONTENT_LENGTH, body.len());
        request.body(reqwest::Body::wrap_stream(stream::iter(body.0.into_iter().map(Ok::<_, Infallible>))))
    }

    /// Returns a GET request for `address`.
    pub fn get(&self, address: Url) -> RequestBuilder {
        self.client.get(address)
    }

    /// Sends `request`, and waits for the response head.
    pub async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        match timeout(self.stall, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(connection::connection_failure(error, &self.address)),
            Err(_) => Err(Failure::Unreachable(self.stall_text())),
        }
    }

    /// Reads the body of a refusal.
    pub async fn read_refusal(&self, mut response: Response) -> Refusal {
        let deadline = Instant::now() + self.stall;
        let mut body = Vec::new();
        // The status alone is enough, so errors while reading the body are ignored.
        while let Ok(Ok(Some(chunk))) = timeout_at(deadline, response.chunk()).await {
            body.extend_from_slice(&chunk[..chunk.len().min(MAX_REFUSAL_BYTES - body.len())]);
            if body.len() == MAX_REFUSAL_BYTES {
                break;
            }
        }
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.map(|value| value.to_str().unwrap_or_default().to_owned());
        Refusal { status: response.status().as_u16(), retry_after, body }
    }

    /// Reads an event stream to its end. A reply of more than `max_bytes` bytes is stopped there:
    /// the text up to that point is passed to `sink`, and its calls are discarded.
    pub async fn read_stream(
        &self,
        mut response: Response,
        mut assembler: impl ReplyAssembler,
        max_bytes: usize,
        sink: StreamSinkRef<'_>,
    ) -> Result<ModelReply, Failure> {
        let mut decoder = Decoder::default();
        let end = Instant::now() + self.total;
        let mut deadline = Instant::now() + self.stall;
        let mut remaining = MAX_STREAM_BYTES;
        loop {
            // A chunk that is ready is read even after the deadline, so the time is also checked
            // here.
            if Instant::now() >= end {
                return Err(assembler.stall_failure(&self.timeout_text()));
            } else if Instant::now() >= deadline {
                return Err(assembler.stall_failure(&self.stall_text()));
            }
            let chunk = match timeout_at(deadline.min(end), response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) if assembler.is_complete() => return assembler.finish(),
                Ok(Ok(None)) => return Err(assembler.disconnect_failure("its words ended too early")),
                Ok(Err(_)) => return Err(assembler.disconnect_failure("the connection was lost")),
                Err(_) => continue,
            };
            remaining = remaining.checked_sub(chunk.len()).ok_or_else(stream_too_long)?;
            for event in decoder.feed(&chunk).map_err(|error| garbled(&error.to_string()))? {
                let update = assembler.add_event(&event);
                if update != Ok(StreamUpdate::KeepAlive) || assembler.is_working() {
                    deadline = Instant::now() + self.stall;
                }
                sink.usage(assembler.usage());
                let surplus = assembler.byte_count().saturating_sub(max_bytes);
                match update? {
                    StreamUpdate::Text(text) => sink.text(truncate_by(&text, surplus)),
                    StreamUpdate::Progress(text) => sink.progress(&text),
                    StreamUpdate::Ended if surplus == 0 => return assembler.finish(),
                    StreamUpdate::NoText | StreamUpdate::KeepAlive | StreamUpdate::Ended => {}
                }
                if surplus > 0 {
                    return Err(too_large_failure(max_bytes));
                }
            }
        }
    }

    /// Reads a whole body as text.
    pub async fn read_body(&self, mut response: Response) -> Result<String, Failure> {
        let mut body = Vec::new();
        let end = Instant::now() + self.total;
        loop {
            let deadline = end.min(Instant::now() + self.stall);
            match timeout_at(deadline, response.chunk()).await {
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
                Ok(Ok(None)) => break,
                Ok(Err(_)) => return Err(Failure::VendorError("the connection was lost".to_owned())),
                Err(_) if Instant::now() < end => return Err(Failure::Unreachable(self.stall_text())),
                Err(_) => return Err(Failure::Unreachable(self.timeout_text())),
            }
            if body.len() > MAX_EVENT_BYTES {
                return Err(garbled(&format!("an answer longer than {} MB", MAX_EVENT_BYTES / 1024 / 1024)));
            }
        }
        String::from_utf8(body).map_err(|_| garbled("an answer that is not text"))
    }

    /// Returns `failure` with a text that is safe to show. Marks a refused key.
    pub fn sanitize(&self, failure: Failure) -> Failure {
        if matches!(failure, Failure::BadKey(_)) {
            self.key.mark_refused();
        }
        sanitize_failure(failure, &self.key.last_sent())
    }

    /// Returns the current key after `scheme`.
    pub fn header(&self, scheme: &str) -> Result<Option<HeaderValue>, Failure> {
        self.checked_header(scheme).map_err(|bad| Failure::BadKey(bad.to_string()))
    }

    /// Like `header`. Fails for a key that others could read on the way.
    pub fn checked_header(&self, scheme: &str) -> Result<Option<HeaderValue>, SettingsError> {
        match self.key.header(scheme)? {
            Some(header) => connection::check_transport(&self.address).map(|()| Some(header)),
            None => Ok(None),
        }
    }

    /// Returns whether the last key was refused and there is a new one.
    pub fn has_new_key(&self) -> bool {
        self.key.has_new_key()
    }

    fn stall_text(&self) -> String {
        format!("silent for {} s", self.stall.as_secs_f32())
    }

    fn timeout_text(&self) -> String {
        format!("not done after {} s", self.total.as_secs_f32())
    }
}

/// Returns the content type of `response`.
pub fn body_kind(response: &Response) -> BodyKind {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.trim_start().to_ascii_lowercase();
    match kind.split([';', ' ']).next() {
        Some("text/event-stream") => BodyKind::EventStream,
        Some("application/json") => BodyKind::Json,
        Some(_) | None => BodyKind::Other,
    }
}

/// Returns the most bytes of text, thinking and arguments of calls in a reply of at most `tokens`.
///
/// Correct servers stop much earlier. The limit protects memory, the journal and the next request
/// from a server that does not stop.
pub fn max_reply_bytes(tokens: u32) -> usize {
    let bytes = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(MAX_TOKEN_BYTES);
    bytes.clamp(*REPLY_BYTE_RANGE.start(), *REPLY_BYTE_RANGE.end())
}

pub fn too_large_failure(max_bytes: usize) -> Failure {
    InvalidReply::TooLarge { kilobytes: max_bytes / 1024 }.into()
}

/// Returns `text` without the last `surplus` bytes, cut at a character boundary.
pub fn truncate_by(text: &str, surplus: usize) -> &str {
    &text[..text.floor_char_boundary(text.len().saturating_sub(surplus))]
}

fn stream_too_long() -> Failure {
    garbled(&format!("more than {} MB in one stream", MAX_STREAM_BYTES / 1024 / 1024))
}
