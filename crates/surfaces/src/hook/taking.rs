//! Handles one webhook call.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use domain::assistant::{Answer, Event, Planning, Request};
use domain::delivery::REPEAT;
use domain::schedule::{Proof, WebhookSpec};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};

use super::proof::{Called, Unproven, is_unguessable};
use super::{Attempts, BAD_A_MINUTE, Ports, Reply, body};

/// Limits in time and bytes for reading the rest of a refused call.
const HEARING_OUT: Duration = Duration::from_secs(1);
const HEARD_OUT: usize = 64 * 1024;

/// The connection of a call.
pub(super) trait Peer {
    fn address(&self) -> IpAddr;
    /// Records that the secret was shown. Completes when there is capacity among the proven
    /// connections.
    fn proved(&self) -> impl Future<Output = ()> + Send;
    /// Records that the whole call was read.
    fn was_read(&self);
}

/// Body of a call.
pub trait Brings: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin {}

impl<B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin> Brings for B {}

/// A caller without a connection of ours.
pub(super) struct Somebody(pub IpAddr);

impl Peer for Somebody {
    fn address(&self) -> IpAddr {
        self.0
    }

    async fn proved(&self) {}

    fn was_read(&self) {}
}

/// Dependencies for handling one call.
pub(super) struct Taking<'a, P: Peer> {
    pub ports: &'a Ports,
    pub attempts: &'a Attempts,
    pub peer: &'a P,
}

impl<P: Peer> Taking<'_, P> {
    /// Handles a call and returns the reply.
    pub(super) async fn take(&self, head: &Parts, mut body: impl Brings) -> Reply {
        match self.try_take(head, &mut body).await {
            Ok(reply) => reply,
            Err(refused) => {
                let _ = tokio::time::timeout(HEARING_OUT, hear_out(&mut body)).await;
                refused
            }
        }
    }

    async fn try_take(&self, head: &Parts, incoming: &mut impl Brings) -> Result<Reply, Reply> {
        // WH-2.
        let id = slug(head.uri.path()).ok_or_else(|| Reply::no(StatusCode::NOT_FOUND, "not found"))?;
        if head.method != Method::POST {
            return Err(Reply::no(StatusCode::METHOD_NOT_ALLOWED, "method not allowed"));
        }
        let hook = self.ports.hooks.find(id);
        let secret = self.ports.hooks.secret(id);
        let called = Called { id, headers: &head.headers, at: self.ports.clock.now().timestamp() };
        let proof = hook.as_ref().map_or(Proof::Bearer, |hook| hook.entrance.proof);
        let caller = self.caller(head);
        // F4: behind a tunnel all callers have the same address, so failures of one must not block
        // callers that prove an unguessable secret.
        if caller.is_over && !secret.as_deref().is_some_and(|secret| is_unguessable(proof, secret)) {
            return Err(too_many());
        }
        // WH-3: checked before anything else.
        self.proven(&caller, called.claims(proof)).await?;
        let secret = self.proven(&caller, secret.ok_or(Unproven)).await?;
        if proof == Proof::Bearer {
            self.proven(&caller, called.shows(&secret)).await?;
            self.peer.proved().await;
        }
        // WH-4.
        let hook =
            hook.ok_or_else(|| Reply::no(StatusCode::NOT_FOUND, format!("webhook not found: {id}")))?;
        let read = read(head, incoming, hook.entrance.limit()).await;
        let unproven = caller.is_over && proof != Proof::Bearer;
        let bytes = read.map_err(|refused| if unproven { too_many() } else { refused })?;
        self.peer.was_read();
        self.proven(&caller, called.signs(proof, &secret, &bytes)).await?;
        self.peer.proved().await;
        self.hand_over(&hook, &called, &bytes).await
    }

    /// P7: the payload is stored before the caller gets a response.
    async fn hand_over(&self, hook: &WebhookSpec, called: &Called<'_>, bytes: &[u8]) -> Result<Reply, Reply> {
        let proof = hook.entrance.proof;
        if called.is_github_ping(proof) {
            return Ok(Reply::Pong);
        }
        let value = body::read(bytes)?;
        let delivery = body::brought(hook, &value, called.marks(proof, &value)).inspect_err(|wrong| {
            if let body::Wrong::Schema(why) = wrong {
                tracing::error!(
                    webhook = called.id,
                    why,
                    "The schema of a webhook is wrong; nobody can call it."
                );
            }
        })?;
        let answer = self.ports.desk.ask(Request::Plan(Planning::Deliver(Box::new(delivery)))).await;
        if answer == Answer::Noted {
            return Ok(Reply::Accepted);
        }
        if matches!(&answer, Answer::Told(text) if text == REPEAT) {
            return Ok(Reply::Repeat);
        }
        // Not stored: the queue is full, the disk fails, or the daemon is stopping.
        let why =
            if let Answer::Refused(why) = answer { why } else { "not taken; try again later".to_owned() };
        Err(Reply::no(StatusCode::TOO_MANY_REQUESTS, why))
    }

    fn caller(&self, head: &Parts) -> Caller {
        let address = caller(self.peer.address(), self.ports.address_header.as_ref(), &head.headers);
        Caller { address, is_over: self.attempts.is_over(address) }
    }

    /// Counts a call without proof as a failed attempt. Calls of a blocked address are not counted,
    /// so the block ends a minute after the last one that was.
    async fn proven<T>(&self, caller: &Caller, proof: Result<T, Unproven>) -> Result<T, Reply> {
        match proof {
            Ok(proven) => return Ok(proven),
            Err(Unproven) if caller.is_over => return Err(too_many()),
            Err(Unproven) => self.attempts.failed(caller.address),
        }
        if self.attempts.is_news(caller.address) {
            self.tell(caller.address).await;
        }
        Err(Reply::unauthorized())
    }

    /// Sends the notice through the assistant, so that it reaches the user on every surface.
    async fn tell(&self, address: IpAddr) {
        tracing::warn!(%address, "Too many calls of webhooks were not proven; that address is not heard for a minute.");
        let told = Event::Told(format!(
            "somebody at {address} called webhooks {BAD_A_MINUTE} times in a minute without the right secret. calls from \
             there with a secret shorter than 24 characters are refused for a minute, also right ones; others are \
             heard. if that goes on, give your webhooks a longer secret: ollim-bot help webhooks."
        ));
        self.ports.desk.tell(told).await;
    }
}

struct Caller {
    address: IpAddr,
    /// Too many failed attempts came from there recently.
    is_over: bool,
}

/// Returns the address of the caller: that of the connection, or the last one in `header` if the user has named the
/// header that their proxy on this machine writes.
fn caller(own: IpAddr, header: Option<&HeaderName>, headers: &HeaderMap) -> IpAddr {
    let Some(header) = header.filter(|_| own.to_canonical().is_loopback()) else { return own };
    let told = headers.get_all(header).iter().next_back().and_then(|value| value.to_str().ok());
    let last = told.and_then(|told| told.rsplit(',').next());
    last.and_then(|last| last.trim().parse().ok()).unwrap_or(own)
}

fn too_many() -> Reply {
    Reply::no(StatusCode::TOO_MANY_REQUESTS, "too many bad attempts; wait a minute")
}

/// Reads and discards the rest of a short call. Otherwise the connection would be reset before the
/// caller reads the response.
async fn hear_out(body: &mut impl Brings) {
    let mut left = HEARD_OUT;
    while let Some(Ok(frame)) = body.frame().await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// Returns the name of the webhook in `path`.
fn slug(path: &str) -> Option<&str> {
    path.strip_prefix("/hook/").filter(|slug| !slug.is_empty() && !slug.contains('/'))
}

/// WH-5, F4: reads a body within its limit. A body announced as too long is not read at all.
async fn read(head: &Parts, body: &mut impl Brings, limit: usize) -> Result<Bytes, Reply> {
    let too_long =
        || Reply::no(StatusCode::PAYLOAD_TOO_LARGE, format!("the body has more than {limit} bytes"));
    let length = head.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if length.and_then(|length| length.parse::<usize>().ok()).is_some_and(|length| length > limit) {
        return Err(too_long());
    }
    let read = Limited::new(body, limit).collect().await;
    read.map(http_body_util::Collected::to_bytes).map_err(|error| {
        if error.is::<LengthLimitError>() {
            too_long()
        } else {
            Reply::no(StatusCode::BAD_REQUEST, "the body ended too early")
        }
    })
}
