//! One call, from its first line to what the caller hears.

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

/// How long, and for how many bytes, somebody who is refused is heard out.
const HEARING_OUT: Duration = Duration::from_secs(1);
const HEARD_OUT: usize = 64 * 1024;

/// Who is on the other side of a connection.
pub(super) trait Peer {
    /// Its address.
    fn address(&self) -> IpAddr;
    /// It has shown that it knows the secret. Ends when there is room for it among those that have.
    fn proved(&self) -> impl Future<Output = ()> + Send;
    /// All that it sends was read.
    fn was_read(&self);
}

/// What a call brings, piece by piece.
pub trait Brings: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin {}

impl<B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin> Brings for B {}

/// Somebody of whom only the address is known.
pub(super) struct Somebody(pub IpAddr);

impl Peer for Somebody {
    fn address(&self) -> IpAddr {
        self.0
    }

    async fn proved(&self) {}

    fn was_read(&self) {}
}

/// What is known while a call is taken.
pub(super) struct Taking<'a, P: Peer> {
    pub ports: &'a Ports,
    pub attempts: &'a Attempts,
    pub peer: &'a P,
}

impl<P: Peer> Taking<'_, P> {
    /// Takes a call, or says why not.
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
        // F4: behind a tunnel all have one address, so who fails there must not shut others out who prove what nobody
        // guesses.
        if caller.is_over && !secret.as_deref().is_some_and(|secret| is_unguessable(proof, secret)) {
            return Err(too_many());
        }
        // WH-3: nothing else is looked at before.
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

    /// P7: what was brought is on disk before anybody is told so.
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
        // It is not on disk: there is no room for it, the disk fails, or the house is closing.
        let why =
            if let Answer::Refused(why) = answer { why } else { "not taken; try again later".to_owned() };
        Err(Reply::no(StatusCode::TOO_MANY_REQUESTS, why))
    }

    fn caller(&self, head: &Parts) -> Caller {
        let address = caller(self.peer.address(), self.ports.address_header.as_ref(), &head.headers);
        Caller { address, is_over: self.attempts.is_over(address) }
    }

    /// A call that proves nothing counts as a bad attempt. One that was over its limit before is not counted: it ends a
    /// minute after the last that was.
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

    /// The assistant tells it, so that it reaches the human wherever they are.
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

/// Who calls.
struct Caller {
    address: IpAddr,
    /// There were too many bad attempts from there lately.
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

/// Lets whoever is refused finish what they were saying, as far as it is short: who is cut off in the middle does not
/// hear why. Nothing of it is kept.
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

/// The webhook that `path` names.
fn slug(path: &str) -> Option<&str> {
    path.strip_prefix("/hook/").filter(|slug| !slug.is_empty() && !slug.contains('/'))
}

/// WH-5, F4: all of a body that is not too long. One that says it is too long is not read at all.
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
