//! Handles one webhook call.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use domain::assistant::{Answer, Event, Request, ScheduleCommand};
use domain::delivery::REPEAT;
use domain::schedule::{WebhookAuth, WebhookSpec};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};

use super::proof::{InvalidProof, WebhookCall, is_unguessable};
use super::{FailedAttempts, MAX_FAILURES_PER_MINUTE, WebhookPorts, WebhookReply, payload};

/// Limits in time and bytes for reading the rest of a refused call.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
const DRAIN_BYTES: usize = 64 * 1024;

/// The connection of a call.
pub(super) trait Peer {
    fn address(&self) -> IpAddr;
    /// Records that the secret was shown. Completes when there is capacity among the proven
    /// connections.
    fn mark_proven(&self) -> impl Future<Output = ()> + Send;
    /// Records that the whole call was read.
    fn mark_read(&self);
}

/// Body of a call.
pub trait CallBody: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin {}

impl<B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin> CallBody for B {}

/// A caller without a connection of ours.
pub(super) struct AddressOnly(pub IpAddr);

impl Peer for AddressOnly {
    fn address(&self) -> IpAddr {
        self.0
    }

    async fn mark_proven(&self) {}

    fn mark_read(&self) {}
}

/// Dependencies for handling one call.
pub(super) struct CallHandler<'a, P: Peer> {
    pub ports: &'a WebhookPorts,
    pub attempts: &'a FailedAttempts,
    pub peer: &'a P,
}

impl<P: Peer> CallHandler<'_, P> {
    /// Handles a call and returns the reply.
    pub(super) async fn handle(&self, head: &Parts, mut body: impl CallBody) -> WebhookReply {
        match self.try_handle(head, &mut body).await {
            Ok(reply) => reply,
            Err(refused) => {
                let _ = tokio::time::timeout(DRAIN_TIMEOUT, drain(&mut body)).await;
                refused
            }
        }
    }

    async fn try_handle(
        &self,
        head: &Parts,
        incoming: &mut impl CallBody,
    ) -> Result<WebhookReply, WebhookReply> {
        // WH-2.
        let id = webhook_id(head.uri.path())
            .ok_or_else(|| WebhookReply::refuse(StatusCode::NOT_FOUND, "not found"))?;
        if head.method != Method::POST {
            return Err(WebhookReply::refuse(StatusCode::METHOD_NOT_ALLOWED, "method not allowed"));
        }
        let hook = self.ports.webhooks.find(id);
        let secret = self.ports.webhooks.secret(id);
        let called = WebhookCall { id, headers: &head.headers, at: self.ports.clock.now().timestamp() };
        let proof = hook.as_ref().map_or(WebhookAuth::Bearer, |hook| hook.intake.auth);
        let caller = self.caller_status(head);
        // F4: behind a tunnel all callers have the same address, so failures of one must not block
        // callers that prove an unguessable secret.
        if caller.is_blocked && !secret.as_deref().is_some_and(|secret| is_unguessable(proof, secret)) {
            return Err(too_many());
        }
        // WH-3: checked before anything else.
        self.check_proof(&caller, called.check_claims(proof)).await?;
        let secret = self.check_proof(&caller, secret.ok_or(InvalidProof)).await?;
        if proof == WebhookAuth::Bearer {
            self.check_proof(&caller, called.verify_bearer(&secret)).await?;
            self.peer.mark_proven().await;
        }
        // WH-4.
        let hook = hook
            .ok_or_else(|| WebhookReply::refuse(StatusCode::NOT_FOUND, format!("webhook not found: {id}")))?;
        let read = read_body(head, incoming, hook.intake.size_limit()).await;
        let unproven = caller.is_blocked && proof != WebhookAuth::Bearer;
        let bytes = read.map_err(|refused| if unproven { too_many() } else { refused })?;
        self.peer.mark_read();
        self.check_proof(&caller, called.verify(proof, &secret, &bytes)).await?;
        self.peer.mark_proven().await;
        self.deliver(&hook, &called, &bytes).await
    }

    /// P7: the payload is stored before the caller gets a response.
    async fn deliver(
        &self,
        hook: &WebhookSpec,
        called: &WebhookCall<'_>,
        bytes: &[u8],
    ) -> Result<WebhookReply, WebhookReply> {
        let proof = hook.intake.auth;
        if called.is_github_ping(proof) {
            return Ok(WebhookReply::Pong);
        }
        let value = payload::parse(bytes)?;
        let delivery =
            payload::build_delivery(hook, &value, called.marks(proof, &value)).inspect_err(|wrong| {
                if let payload::PayloadError::InvalidSchema(why) = wrong {
                    tracing::error!(
                        webhook = called.id,
                        why,
                        "The schema of a webhook is wrong; nobody can call it."
                    );
                }
            })?;
        let answer = self
            .ports
            .assistant
            .ask(Request::Schedule(ScheduleCommand::DeliverWebhook(Box::new(delivery))))
            .await;
        if answer == Answer::Done {
            return Ok(WebhookReply::Accepted);
        }
        if matches!(&answer, Answer::Text(text) if text == REPEAT) {
            return Ok(WebhookReply::Repeat);
        }
        // Not stored: the queue is full, the disk fails, or the daemon is stopping.
        let why =
            if let Answer::Refused(why) = answer { why } else { "not taken; try again later".to_owned() };
        Err(WebhookReply::refuse(StatusCode::TOO_MANY_REQUESTS, why))
    }

    fn caller_status(&self, head: &Parts) -> CallerStatus {
        let address = caller_address(self.peer.address(), self.ports.address_header.as_ref(), &head.headers);
        CallerStatus { address, is_blocked: self.attempts.is_blocked(address) }
    }

    /// Counts a call without proof as a failed attempt. Calls of a blocked address are not counted,
    /// so the block ends a minute after the last one that was.
    async fn check_proof<T>(
        &self,
        caller: &CallerStatus,
        proof: Result<T, InvalidProof>,
    ) -> Result<T, WebhookReply> {
        match proof {
            Ok(proven) => return Ok(proven),
            Err(InvalidProof) if caller.is_blocked => return Err(too_many()),
            Err(InvalidProof) => self.attempts.record_failure(caller.address),
        }
        if self.attempts.should_notify(caller.address) {
            self.notify_user(caller.address).await;
        }
        Err(WebhookReply::unauthorized())
    }

    /// Sends the notice through the assistant, so that it reaches the user on every surface.
    async fn notify_user(&self, address: IpAddr) {
        tracing::warn!(%address, "Too many calls of webhooks were not proven; that address is not heard for a minute.");
        let told = Event::Announced(format!(
            "somebody at {address} called webhooks {MAX_FAILURES_PER_MINUTE} times in a minute without the right secret. calls from \
             there with a secret shorter than 24 characters are refused for a minute, also right ones; others are \
             heard. if that goes on, give your webhooks a longer secret: ollim-bot help webhooks."
        ));
        self.ports.assistant.send_event(told).await;
    }
}

struct CallerStatus {
    address: IpAddr,
    /// Too many failed attempts came from there recently.
    is_blocked: bool,
}

/// Returns the address of the caller: that of the connection, or the last one in `header` if the user has named the
/// header that their proxy on this machine writes.
fn caller_address(own: IpAddr, header: Option<&HeaderName>, headers: &HeaderMap) -> IpAddr {
    let Some(header) = header.filter(|_| own.to_canonical().is_loopback()) else { return own };
    let told = headers.get_all(header).iter().next_back().and_then(|value| value.to_str().ok());
    let last = told.and_then(|told| told.rsplit(',').next());
    last.and_then(|last| last.trim().parse().ok()).unwrap_or(own)
}

fn too_many() -> WebhookReply {
    WebhookReply::refuse(StatusCode::TOO_MANY_REQUESTS, "too many bad attempts; wait a minute")
}

/// Reads and discards the rest of a short call. Otherwise the connection would be reset before the
/// caller reads the response.
async fn drain(body: &mut impl CallBody) {
    let mut left = DRAIN_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// Returns the name of the webhook in `path`.
fn webhook_id(path: &str) -> Option<&str> {
    path.strip_prefix("/hook/").filter(|slug| !slug.is_empty() && !slug.contains('/'))
}

/// WH-5, F4: reads a body within its limit. A body announced as too long is not read at all.
async fn read_body(head: &Parts, body: &mut impl CallBody, limit: usize) -> Result<Bytes, WebhookReply> {
    let too_long = || {
        WebhookReply::refuse(StatusCode::PAYLOAD_TOO_LARGE, format!("the body has more than {limit} bytes"))
    };
    let length = head.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if length.and_then(|length| length.parse::<usize>().ok()).is_some_and(|length| length > limit) {
        return Err(too_long());
    }
    let read = Limited::new(body, limit).collect().await;
    read.map(http_body_util::Collected::to_bytes).map_err(|error| {
        if error.is::<LengthLimitError>() {
            too_long()
        } else {
            WebhookReply::refuse(StatusCode::BAD_REQUEST, "the body ended too early")
        }
    })
}
