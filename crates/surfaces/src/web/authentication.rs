//! Authentication middleware for every request, and security headers for every response.
//!
//! Over TCP, a request must pass the guard, and API requests need the credential of a paired
//! device. Connections through the socket file are authenticated by its permissions.

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
use super::api_error::ApiError;
use super::guard::RequestHead;
use super::secret::Digest;
use crate::admission::Admitted;

/// Path for pairing; the only API path without authentication.
pub(super) const PAIR_PATH: &str = "/api/pair";

/// Maximum number of our cookies tried per request.
const MAX_COOKIES: usize = 8;
const COOKIE_PREFIX: &str = "ollim-";
const COOKIE_MAX_AGE_SECONDS: u32 = 400 * 24 * 60 * 60;

const SECURITY_HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The connection of a request.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub transport: Transport,
    pub stop: CancellationToken,
}

/// Kind of the connection.
#[derive(Clone, Debug)]
pub(super) enum Transport {
    Tcp(Arc<TcpConnection>),
    Unix,
}

/// A TCP connection.
#[derive(Debug)]
pub(super) struct TcpConnection {
    pub port: u16,
    /// Address of the client.
    pub address: IpAddr,
    admitted: Admitted,
    /// Id of the paired device, once its credential was shown.
    device: watch::Sender<Option<String>>,
}

impl TcpConnection {
    /// Creates an unauthenticated connection.
    pub fn new(port: u16, address: IpAddr, admitted: Admitted) -> Self {
        Self { port, address, admitted, device: watch::Sender::new(None) }
    }

    /// Records that the credential of `device` was shown, if there is capacity for another
    /// authenticated connection.
    pub fn set_device(&self, device: &str) -> Result<(), ApiError> {
        self.prove()?;
        if !self.is_device(device) {
            self.device.send_replace(Some(device.to_owned()));
        }
        Ok(())
    }

    /// Records that a valid secret was shown.
    pub fn prove(&self) -> Result<(), ApiError> {
        if self.admitted.try_prove() { Ok(()) } else { Err(ApiError::too_many_connections()) }
    }

    /// Records that a whole request was received.
    pub fn mark_answering(&self) {
        self.admitted.mark_answering();
    }

    /// Completes when the connection is dropped in favour of another one.
    pub async fn dropped(&self) {
        self.admitted.dropped().await;
    }

    /// Returns true if `device` was authenticated on this connection.
    pub fn is_device(&self, device: &str) -> bool {
        self.device.borrow().as_deref() == Some(device)
    }

    /// Waits until a device is authenticated.
    pub async fn wait_for_device(&self) {
        let mut peer = self.device.subscribe();
        // The sender is part of `self` and outlives this wait.
        let _ = peer.wait_for(Option::is_some).await;
    }
}

/// Authenticates a request, and adds security headers to its response.
pub(super) async fn authenticate(State(app): State<App>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let api = parts.uri.path().starts_with("/api/");
    let admitted = authenticate_request(&app, &parts).await;
    if let Some(Connection { transport: Transport::Tcp(socket), .. }) = parts.extensions.get()
        && body.is_end_stream()
    {
        socket.mark_answering();
    }
    let mut response = match admitted {
        Ok(ClientStatus::Paired) => next.run(Request::from_parts(parts, body)).await,
        Ok(ClientStatus::Unpaired) => close_after(next.run(Request::from_parts(parts, body)).await),
        Err(refusal) => close_after(refusal.into_response()),
    };
    let headers = response.headers_mut();
    for (name, value) in SECURITY_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let cache = if api { "no-store" } else { "no-cache" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    response
}

/// Whether the client is authenticated.
enum ClientStatus {
    Paired,
    Unpaired,
}

async fn authenticate_request(app: &App, request: &Parts) -> Result<ClientStatus, ApiError> {
    let Some(through) = request.extensions.get::<Connection>() else {
        return Err(ApiError::internal("this request came in through no door."));
    };
    let socket = match &through.transport {
        Transport::Unix => return Ok(ClientStatus::Paired),
        Transport::Tcp(socket) => socket,
    };
    let headers = &request.headers;
    RequestHead { method: &request.method, uri: &request.uri, headers }.check(socket.port)?;
    if let Some(device) = find_device(app, headers).await? {
        socket.set_device(&device)?;
        return Ok(ClientStatus::Paired);
    }
    let path = request.uri.path();
    if path == PAIR_PATH || !path.starts_with("/api/") {
        return Ok(ClientStatus::Unpaired);
    }
    if app.attempts().is_blocked(socket.address) {
        return Err(ApiError::too_many_attempts());
    }
    app.attempts().record_failure(socket.address);
    Err(ApiError::unpaired())
}

/// Returns the paired device whose credential is in a cookie. All are compared to keep the time
/// constant.
async fn find_device(app: &App, headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut tried = cookie_values(headers).map(Digest::of).peekable();
    if tried.peek().is_none() {
        return Ok(None);
    }
    let devices = app.ports().devices.list().await.map_err(|unkept| ApiError::internal(unkept.0))?;
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

/// Returns the values of our cookies. Browsers share cookies between ports, so some may belong to
/// other instances.
fn cookie_values(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| name.starts_with(COOKIE_PREFIX)).map(|(_, value)| value).take(MAX_COOKIES)
}

/// Returns the cookie that authenticates a browser.
pub(super) fn device_cookie(port: u16, credential: &str) -> Result<HeaderValue, ApiError> {
    let text = format!(
        "{COOKIE_PREFIX}{port}={credential}; HttpOnly; SameSite=Strict; Path=/; Max-Age={COOKIE_MAX_AGE_SECONDS}"
    );
    HeaderValue::from_str(&text).map_err(|_| ApiError::internal("the key does not fit into a cookie."))
}

/// Closes the connection after the response, so unpaired clients do not occupy connections.
fn close_after(mut response: Response) -> Response {
    if !response.headers().contains_key(header::SET_COOKIE) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
