//! A line to a vendor: one request, and whatever comes back, bounded in size and in time.

use std::convert::Infallible;
use std::time::Duration;

use domain::failure::Failure;
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

/// The most bytes of one reply, pings included.
const REPLY_BYTES: usize = 64 * 1024 * 1024;

/// The most bytes of a refusal that are read.
const REFUSAL_BYTES: usize = 64 * 1024;

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For the first event, and between any two.
    pub stall: Duration,
}

/// A line to a vendor.
#[derive(Debug)]
pub struct Line {
    client: Client,
    address: Url,
    key: Key,
    stall: Duration,
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
        Ok(Self { client, address, key, stall: patience.stall })
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

    /// Hears a stream of events to its end.
    pub async fn hear(
        &self,
        mut response: Response,
        mut assembly: impl Assembly,
        listener: Listener<'_>,
    ) -> Result<Reply, Failure> {
        let mut decoder = Decoder::default();
        let mut deadline = Instant::now() + self.stall;
        let mut left = REPLY_BYTES;
        loop {
            let piece = match timeout_at(deadline, response.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) if assembly.is_whole() => return assembly.finish(),
                Ok(Ok(None)) => return Err(assembly.broke_off("its words ended too early")),
                Ok(Err(_)) => return Err(assembly.broke_off("the connection was lost")),
                Err(_) => return Err(assembly.went_silent(&self.silence())),
            };
            left = left.checked_sub(piece.len()).ok_or_else(too_much)?;
            for event in decoder.feed(&piece).map_err(|error| garbled(&error.to_string()))? {
                deadline = Instant::now() + self.stall;
                let taken = assembly.take(&event);
                listener.used(assembly.used());
                match taken? {
                    News::Quiet => {}
                    News::Words(words) => listener.words(&words),
                    News::Progress(text) => listener.progress(&text),
                    News::Ended => return assembly.finish(),
                }
            }
        }
    }

    /// Reads a body that comes as one text.
    pub async fn whole(&self, mut response: Response) -> Result<String, Failure> {
        let mut body = Vec::new();
        loop {
            match timeout(self.stall, response.chunk()).await {
                Ok(Ok(Some(piece))) => body.extend_from_slice(&piece),
                Ok(Ok(None)) => break,
                Ok(Err(_)) => return Err(Failure::Broken("the connection was lost".to_owned())),
                Err(_) => return Err(Failure::Unreachable(self.silence())),
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

fn too_much() -> Failure {
    garbled(&format!("more than {} MB in one reply", REPLY_BYTES / 1024 / 1024))
}
