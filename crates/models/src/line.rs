//! The HTTP client for a vendor: one request and its response, bounded in size and in time.

use std::convert::Infallible;
use std::ops::RangeInclusive;
use std::time::Duration;

use domain::failure::{Failure, Unsaid};
use domain::turn::Reply;
use engine::ports::Listener;
use futures_util::stream;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, Url};
use tokio::time::{Instant, timeout, timeout_at};

use crate::assembly::{Assembly, News, garbled};
use crate::beginnings::Body;
use crate::door::{self, BadSettings};
use crate::key::Key;
use crate::presentable::presentable;
use crate::sse::{Decoder, EVENT_BYTES};

/// The most bytes of one stream, including pings and the JSON around each delta.
const STREAM_BYTES: usize = 64 * 1024 * 1024;

/// The most bytes that one token is assumed to represent. The average is about four; long runs of
/// white space have more.
const TOKEN_BYTES: usize = 16;

/// The range of the byte limit for the content of a reply.
const REPLY_BYTES: RangeInclusive<usize> = 256 * 1024..=1024 * 1024;

/// The most bytes of a refusal that are read.
const REFUSAL_BYTES: usize = 64 * 1024;

/// The timeouts of a request.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For the first event of a reply, and between any two.
    pub stall: Duration,
    /// For the whole reply.
    pub total: Duration,
}

/// The HTTP client for one address of a vendor.
#[derive(Debug)]
pub struct Line {
    client: Client,
    address: Url,
    key: Key,
    stall: Duration,
    total: Duration,
}

/// The content type of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A stream of events.
    Events,
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
    pub fn seconds(&self) -> Option<u64> {
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
pub fn is_about_key(words: &str) -> bool {
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
    let words = words.to_lowercase();
    words.split(|c: char| !c.is_alphanumeric()).any(|word| WHO.contains(&word))
}

impl Line {
    /// Creates a client for `address`, without connecting.
    pub fn new(address: Url, key: Key, patience: Patience) -> Result<Self, BadSettings> {
        let client = door::client(&address, patience.connect)?;
        Ok(Self { client, address, key, stall: patience.stall, total: patience.total })
    }

    /// Returns the address of the API.
    pub fn address(&self) -> &Url {
        &self.address
    }

    /// Returns a request that posts `body` to `address`.
    pub fn post(&self, address: Url, body: Body) -> RequestBuilder {
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
            Ok(Err(error)) => Err(door::unanswered(error, &self.address)),
            Err(_) => Err(Failure::Unreachable(self.silence())),
        }
    }

    /// Reads the body of a refusal.
    pub async fn refused(&self, mut response: Response) -> Refusal {
        let deadline = Instant::now() + self.stall;
        let mut body = Vec::new();
        // The status alone is enough, so errors while reading the body are ignored.
        while let Ok(Ok(Some(piece))) = timeout_at(deadline, response.chunk()).await {
            body.extend_from_slice(&piece[..piece.len().min(REFUSAL_BYTES - body.len())]);
            if body.len() == REFUSAL_BYTES {
                break;
            }
        }
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.map(|value| value.to_str().unwrap_or_default().to_owned());
        Refusal { status: response.status().as_u16(), retry_after, body }
    }

    /// Reads an event stream to its end. A reply of more than `max_bytes` bytes is stopped there:
    /// the text up to that point is passed to `sink`, and its calls are discarded.
    pub async fn hear(
        &self,
        mut response: Response,
        mut assembly: impl Assembly,
        most: usize,
        listener: Listener<'_>,
    ) -> Result<Reply, Failure> {
        let mut decoder = Decoder::default();
        let end = Instant::now() + self.total;
        let mut deadline = Instant::now() + self.stall;
        let mut left = STREAM_BYTES;
        loop {
            // A chunk that is ready is read even after the deadline, so the time is also checked
            // here.
            if Instant::now() >= end {
                return Err(assembly.went_silent(&self.overdue()));
            } else if Instant::now() >= deadline {
                return Err(assembly.went_silent(&self.silence()));
            }
            let piece = match timeout_at(deadline.min(end), response.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) if assembly.is_whole() => return assembly.finish(),
                Ok(Ok(None)) => return Err(assembly.broke_off("its words ended too early")),
                Ok(Err(_)) => return Err(assembly.broke_off("the connection was lost")),
                Err(_) => continue,
            };
            left = left.checked_sub(piece.len()).ok_or_else(too_much)?;
            for event in decoder.feed(&piece).map_err(|error| garbled(&error.to_string()))? {
                let taken = assembly.take(&event);
                if taken != Ok(News::KeepAlive) || assembly.is_working() {
                    deadline = Instant::now() + self.stall;
                }
                listener.used(assembly.used());
                let surplus = assembly.held().saturating_sub(most);
                match taken? {
                    News::Words(words) => listener.words(without_end(&words, surplus)),
                    News::Progress(text) => listener.progress(&text),
                    News::Ended if surplus == 0 => return assembly.finish(),
                    News::Quiet | News::KeepAlive | News::Ended => {}
                }
                if surplus > 0 {
                    return Err(too_large(most));
                }
            }
        }
    }

    /// Reads a whole body as text.
    pub async fn whole(&self, mut response: Response) -> Result<String, Failure> {
        let mut body = Vec::new();
        let end = Instant::now() + self.total;
        loop {
            let deadline = end.min(Instant::now() + self.stall);
            match timeout_at(deadline, response.chunk()).await {
                Ok(Ok(Some(piece))) => body.extend_from_slice(&piece),
                Ok(Ok(None)) => break,
                Ok(Err(_)) => return Err(Failure::Broken("the connection was lost".to_owned())),
                Err(_) if Instant::now() < end => return Err(Failure::Unreachable(self.silence())),
                Err(_) => return Err(Failure::Unreachable(self.overdue())),
            }
            if body.len() > EVENT_BYTES {
                return Err(garbled(&format!("an answer longer than {} MB", EVENT_BYTES / 1024 / 1024)));
            }
        }
        String::from_utf8(body).map_err(|_| garbled("an answer that is not text"))
    }

    /// Returns `failure` with a text that is safe to show. Marks a refused key.
    pub fn presentable(&self, failure: Failure) -> Failure {
        if matches!(failure, Failure::BadKey(_)) {
            self.key.refused();
        }
        presentable(failure, &self.key.sent())
    }

    /// Returns the current key after `scheme`.
    pub fn header(&self, scheme: &str) -> Result<Option<HeaderValue>, Failure> {
        self.guarded(scheme).map_err(|bad| Failure::BadKey(bad.to_string()))
    }

    /// Like `header`. Fails for a key that others could read on the way.
    pub fn guarded(&self, scheme: &str) -> Result<Option<HeaderValue>, BadSettings> {
        match self.key.header(scheme)? {
            Some(header) => door::guarded(&self.address).map(|()| Some(header)),
            None => Ok(None),
        }
    }

    /// Returns whether the last key was refused and there is a new one.
    pub fn renewed(&self) -> bool {
        self.key.renewed()
    }

    fn silence(&self) -> String {
        format!("silent for {} s", self.stall.as_secs_f32())
    }

    fn overdue(&self) -> String {
        format!("not done after {} s", self.total.as_secs_f32())
    }
}

/// Returns the content type of `response`.
pub fn kind(response: &Response) -> Kind {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.trim_start().to_ascii_lowercase();
    match kind.split([';', ' ']).next() {
        Some("text/event-stream") => Kind::Events,
        Some("application/json") => Kind::Json,
        Some(_) | None => Kind::Other,
    }
}

/// Returns the most bytes of text, thinking and arguments of calls in a reply of at most `tokens`.
///
/// Correct servers stop much earlier. The limit protects memory, the journal and the next request
/// from a server that does not stop.
pub fn reply_bytes(tokens: u32) -> usize {
    let bytes = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(TOKEN_BYTES);
    bytes.clamp(*REPLY_BYTES.start(), *REPLY_BYTES.end())
}

pub fn too_large(most: usize) -> Failure {
    Unsaid::TooLarge { kilobytes: most / 1024 }.into()
}

/// Returns `text` without the last `surplus` bytes, cut at a character boundary.
pub fn without_end(words: &str, surplus: usize) -> &str {
    &words[..words.floor_char_boundary(words.len().saturating_sub(surplus))]
}

fn too_much() -> Failure {
    garbled(&format!("more than {} MB in one stream", STREAM_BYTES / 1024 / 1024))
}
