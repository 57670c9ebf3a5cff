//! A line to a vendor: one request, and whatever comes back, bounded in size and in time.

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

/// The most bytes of one stream, with pings and the JSON around a few words at a time.
const STREAM_BYTES: usize = 64 * 1024 * 1024;

/// The most bytes that a token is believed to stand for. Most stand for about four, and long runs of white space for more.
const TOKEN_BYTES: usize = 16;

/// The fewest and the most bytes to which the content of a reply is bounded.
const REPLY_BYTES: RangeInclusive<usize> = 256 * 1024..=1024 * 1024;

/// The most bytes of a refusal that are read.
const REFUSAL_BYTES: usize = 64 * 1024;

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For the first event of a reply, and between any two.
    pub stall: Duration,
    /// For the whole reply.
    pub total: Duration,
}

/// A line to a vendor.
#[derive(Debug)]
pub struct Line {
    client: Client,
    address: Url,
    key: Key,
    stall: Duration,
    total: Duration,
}

/// What kind of body an answer says it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A stream of events.
    Events,
    /// One JSON text.
    Json,
    /// Something else, or it does not say.
    Other,
}

/// A refused request.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// What the `retry-after` header says, if there is one.
    pub retry_after: Option<String>,
    /// The beginning of the body.
    pub body: Vec<u8>,
}

impl Refusal {
    /// A date instead of a number still asks to wait; for how long is not worth a calendar.
    pub fn seconds(&self) -> Option<u64> {
        self.retry_after.as_ref()?.trim().parse().ok()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Whether a refusal that gives no time to come back speaks of an account without money.
    pub fn is_about_money(&self, message: &str) -> bool {
        const SPENT: [&str; 4] = ["spend", "credit", "billing", "quota"];
        let message = message.to_lowercase();
        self.status == 429 && self.retry_after.is_none() && SPENT.iter().any(|word| message.contains(word))
    }
}

/// Whether a refusal in these words is about who we are, and not about what we said.
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
    /// A line to `address`. Nobody is called yet.
    pub fn new(address: Url, key: Key, patience: Patience) -> Result<Self, BadSettings> {
        let client = door::client(&address, patience.connect)?;
        Ok(Self { client, address, key, stall: patience.stall, total: patience.total })
    }

    /// Where it leads to.
    pub fn address(&self) -> &Url {
        &self.address
    }

    /// A request that sends `body` to `address`.
    pub fn post(&self, address: Url, body: Body) -> RequestBuilder {
        let request = self.client.post(address).header(CONTENT_TYPE, "application/json");
        let request = request.header(CONTENT_LENGTH, body.len());
        request.body(reqwest::Body::wrap_stream(stream::iter(body.0.into_iter().map(Ok::<_, Infallible>))))
    }

    /// A request that only looks at `address`.
    pub fn get(&self, address: Url) -> RequestBuilder {
        self.client.get(address)
    }

    /// Sends `request`, and waits for the head of the answer.
    pub async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        match timeout(self.stall, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(door::unanswered(error, &self.address)),
            Err(_) => Err(Failure::Unreachable(self.silence())),
        }
    }

    /// Reads why a request was refused.
    pub async fn refused(&self, mut response: Response) -> Refusal {
        let deadline = Instant::now() + self.stall;
        let mut body = Vec::new();
        // Half a refusal still has its status, so how its body ends does not matter.
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

    /// Hears a stream of events to its end. A reply of more than `most` bytes is stopped there: its words up to then are
    /// told to `listener`, and its calls are lost.
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
            // A piece that is there already is read even after the deadline, so the time is looked at here too.
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

    /// Reads a body that comes as one text.
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

    /// `failure` with words that are safe to show. A refused key is remembered as such.
    pub fn presentable(&self, failure: Failure) -> Failure {
        if matches!(failure, Failure::BadKey(_)) {
            self.key.refused();
        }
        presentable(failure, &self.key.sent())
    }

    /// The key after `scheme`, as it is now.
    pub fn header(&self, scheme: &str) -> Result<Option<HeaderValue>, Failure> {
        self.guarded(scheme).map_err(|bad| Failure::BadKey(bad.to_string()))
    }

    /// The same: a key that others could read on the way is not given to anybody who would send it.
    pub fn guarded(&self, scheme: &str) -> Result<Option<HeaderValue>, BadSettings> {
        match self.key.header(scheme)? {
            Some(header) => door::guarded(&self.address).map(|()| Some(header)),
            None => Ok(None),
        }
    }

    /// Whether the key is another one than was last refused.
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

/// What kind of body `response` says it has.
pub fn kind(response: &Response) -> Kind {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.trim_start().to_ascii_lowercase();
    match kind.split([';', ' ']).next() {
        Some("text/event-stream") => Kind::Events,
        Some("application/json") => Kind::Json,
        Some(_) | None => Kind::Other,
    }
}

/// Returns the most bytes of words, thinking and arguments of calls in a reply of at most `tokens`.
///
/// A correct server stops much earlier. The bound protects memory, the journal and the next request from one that does
/// not stop.
pub fn reply_bytes(tokens: u32) -> usize {
    let bytes = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(TOKEN_BYTES);
    bytes.clamp(*REPLY_BYTES.start(), *REPLY_BYTES.end())
}

/// Returns the failure of a reply that has more than `most` bytes.
pub fn too_large(most: usize) -> Failure {
    Unsaid::TooLarge { kilobytes: most / 1024 }.into()
}

/// Returns `words` without the last `surplus` bytes, cut between two characters.
pub fn without_end(words: &str, surplus: usize) -> &str {
    &words[..words.floor_char_boundary(words.len().saturating_sub(surplus))]
}

fn too_much() -> Failure {
    garbled(&format!("more than {} MB in one stream", STREAM_BYTES / 1024 / 1024))
}
