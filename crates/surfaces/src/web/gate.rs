//! The gate: every request passes it, and every response leaves through it.
//!
//! Over TCP a request must get past the guard, and to the API only with the credential of a paired device.
//! Whoever can open the unix socket is the human already: the file's permissions say so.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::App;
use super::guard::Visit;
use super::refusal::Refusal;
use super::secret::Digest;
use crate::admission::Admitted;

/// Where a device pairs; the only part of the API that strangers reach.
pub(super) const PAIR: &str = "/api/pair";

/// The most cookies of ours that are tried in one request.
const COOKIES_TRIED: usize = 8;
const COOKIE_PREFIX: &str = "ollim-";
const COOKIE_LASTS_SECONDS: u32 = 400 * 24 * 60 * 60;

const SEALS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The way a request came in.
#[derive(Clone, Debug)]
pub(super) struct Through {
    pub door: Door,
    pub stop: CancellationToken,
}

/// Which door.
#[derive(Clone, Debug)]
pub(super) enum Door {
    /// The page's port.
    Tcp(Arc<Socket>),
    /// The file in the data directory.
    Unix,
}

/// One connection over TCP.
#[derive(Debug)]
pub(super) struct Socket {
    pub port: u16,
    /// The address of the other side.
    pub address: IpAddr,
    admitted: Admitted,
    /// The id of the paired device on the other side, once it has shown its credential.
    device: watch::Sender<Option<String>>,
}

impl Socket {
    /// A connection of somebody we don't know.
    pub fn new(port: u16, address: IpAddr, admitted: Admitted) -> Self {
        Self { port, address, admitted, device: watch::Sender::new(None) }
    }

    /// Notes that the other side has shown the credential of `device`, if there is room for one more connection of
    /// paired devices.
    pub fn welcome(&self, device: &str) -> Result<(), Refusal> {
        self.prove()?;
        if !self.is(device) {
            self.device.send_replace(Some(device.to_owned()));
        }
        Ok(())
    }

    /// Notes that the other side has shown a right secret.
    pub fn prove(&self) -> Result<(), Refusal> {
        if self.admitted.try_prove() { Ok(()) } else { Err(Refusal::full()) }
    }

    /// Notes that a whole request has come.
    pub fn answering(&self) {
        self.admitted.answering();
    }

    /// Ends when the connection has to make room for another one.
    pub async fn dropped(&self) {
        self.admitted.dropped().await;
    }

    /// Whether `device` is on the other side.
    pub fn is(&self, device: &str) -> bool {
        self.device.borrow().as_deref() == Some(device)
    }

    /// Waits until a device is on the other side.
    pub async fn welcomed(&self) {
        let mut peer = self.device.subscribe();
        // The sender is `self`, so it outlives this wait.
        let _ = peer.wait_for(Option::is_some).await;
    }
}

/// Lets a request through, or answers it with a refusal; and seals the response.
pub(super) async fn pass(State(app): State<App>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let api = parts.uri.path().starts_with("/api/");
    let admitted = admit(&app, &parts).await;
    if let Some(Through { door: Door::Tcp(socket), .. }) = parts.extensions.get()
        && body.is_end_stream()
    {
        socket.answering();
    }
    let mut response = match admitted {
        Ok(Standing::Known) => next.run(Request::from_parts(parts, body)).await,
        Ok(Standing::Stranger) => parting(next.run(Request::from_parts(parts, body)).await),
        Err(refusal) => parting(refusal.into_response()),
    };
    let headers = response.headers_mut();
    for (name, value) in SEALS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let cache = if api { "no-store" } else { "no-cache" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    response
}

/// Whether we know who asks.
enum Standing {
    Known,
    Stranger,
}

async fn admit(app: &App, request: &Parts) -> Result<Standing, Refusal> {
    let Some(through) = request.extensions.get::<Through>() else {
        return Err(Refusal::broken("this request came in through no door."));
    };
    let socket = match &through.door {
        Door::Unix => return Ok(Standing::Known),
        Door::Tcp(socket) => socket,
    };
    let headers = &request.headers;
    Visit { method: &request.method, uri: &request.uri, headers }.check(socket.port)?;
    if let Some(device) = device(app, headers).await? {
        socket.welcome(&device)?;
        return Ok(Standing::Known);
    }
    let path = request.uri.path();
    if path == PAIR || !path.starts_with("/api/") {
        return Ok(Standing::Stranger);
    }
    if app.attempts().is_over(socket.address) {
        return Err(Refusal::too_many());
    }
    app.attempts().failed(socket.address);
    Err(Refusal::unpaired())
}

/// The paired device whose credential a cookie holds. All are compared, always.
async fn device(app: &App, headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let mut tried = credentials(headers).map(Digest::of).peekable();
    if tried.peek().is_none() {
        return Ok(None);
    }
    let devices = app.ports().devices.list().await.map_err(|unkept| Refusal::broken(unkept.0))?;
    let mut known = None;
    for digest in tried {
        for device in devices.iter() {
            if device.credential.matches(&digest) {
                known = Some(device.id.clone());
            }
        }
    }
    Ok(known)
}

/// What our cookies hold. Browsers share cookies between ports, so there may be some of other assistants.
fn credentials(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| name.starts_with(COOKIE_PREFIX)).map(|(_, value)| value).take(COOKIES_TRIED)
}

/// The cookie that makes a browser known.
pub(super) fn cookie(port: u16, credential: &str) -> Result<HeaderValue, Refusal> {
    let text = format!(
        "{COOKIE_PREFIX}{port}={credential}; HttpOnly; SameSite=Strict; Path=/; Max-Age={COOKIE_LASTS_SECONDS}"
    );
    HeaderValue::from_str(&text).map_err(|_| Refusal::broken("the key does not fit into a cookie."))
}

/// Strangers get one answer per connection, so that they don't keep others out.
fn parting(mut response: Response) -> Response {
    if !response.headers().contains_key(header::SET_COOKIE) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
