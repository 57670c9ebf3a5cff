//! Waits for the authorization response: a small HTTP listener on loopback for a local browser, and
//! pasted addresses for a browser on another device. The first response counts.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::{AuthorizationResponse, RedirectTarget, looks_like_redirect, random_token};
use crate::Secret;

/// The most bytes of a request that are read.
const MAX_REQUEST_BYTES: usize = 16 * 1024;
/// The timeout of one connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// The most connections at once. Browsers open some that they never use.
const MAX_CONNECTIONS: usize = 16;

const GRANTED_TEXT: &str = "That is all. You can close this window.";
const DENIED_TEXT: &str = "Nothing was connected. You can close this window.";
const UNEXPECTED_TEXT: &str = "This is not the answer that is waited for. You can close this window.";

/// The receiving end of one sign-in. Dropping it closes the port.
#[derive(Debug)]
pub struct Callback {
    listener: TcpListener,
    target: RedirectTarget,
    sender: mpsc::Sender<AuthorizationResponse>,
    pasted: mpsc::Receiver<AuthorizationResponse>,
}

/// Accepts addresses that the user pastes while the [`Callback`] is waited for.
#[derive(Clone, Debug)]
pub struct PasteInput {
    target: RedirectTarget,
    sender: mpsc::Sender<AuthorizationResponse>,
}

/// The outcome of pasting a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasteOutcome {
    /// It is the response of this sign-in.
    Accepted,
    /// It looks like a redirect, but belongs to another sign-in.
    OtherSignIn,
    /// It is not a redirect.
    NotARedirect,
}

impl Callback {
    /// Listens on 127.0.0.1 at `port` (0 for any free one) and draws a new `state`.
    pub async fn bind(port: u16, path: &'static str) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        let target = RedirectTarget { port, path, state: random_token()? };
        let (sender, pasted) = mpsc::channel(1);
        Ok(Self { listener, target, sender, pasted })
    }

    /// Returns the port that is listened on.
    pub fn port(&self) -> u16 {
        self.target.port
    }

    /// Returns the redirect URI for the authorization request and the token request.
    pub fn redirect_uri(&self) -> String {
        self.target.uri()
    }

    /// Returns the `state` for the authorization URL.
    pub fn state(&self) -> &Secret {
        &self.target.state
    }

    /// Returns the input for pasted addresses.
    pub fn paste_input(&self) -> PasteInput {
        PasteInput { target: self.target.clone(), sender: self.sender.clone() }
    }

    /// Waits for the first response, and returns none if the time is up.
    pub async fn wait(&mut self, limit: Duration) -> Option<AuthorizationResponse> {
        let listener = &self.listener;
        let target = &self.target;
        let pasted = &mut self.pasted;
        let first = async {
            tokio::select! {
                response = listen(listener, target) => response,
                Some(response) = pasted.recv() => response,
            }
        };
        timeout(limit, first).await.ok()
    }
}

impl PasteInput {
    /// Checks a text from the user, and accepts it if it is the response.
    pub fn offer(&self, text: &str) -> PasteOutcome {
        match self.target.parse_response(text) {
            Some(response) => {
                // A full channel holds an earlier response, which counts.
                let _ = self.sender.try_send(response);
                PasteOutcome::Accepted
            }
            None if looks_like_redirect(text) => PasteOutcome::OtherSignIn,
            None => PasteOutcome::NotARedirect,
        }
    }
}

/// Serves connections until one of them delivers the response.
async fn listen(listener: &TcpListener, target: &RedirectTarget) -> AuthorizationResponse {
    let mut connections: FuturesUnordered<BoxFuture<'_, Option<AuthorizationResponse>>> =
        FuturesUnordered::new();
    loop {
        tokio::select! {
            stream = accept(listener), if connections.len() < MAX_CONNECTIONS => {
                connections.push(Box::pin(async move {
                    timeout(CONNECTION_TIMEOUT, serve(stream, target)).await.ok().flatten()
                }));
            }
            Some(response) = connections.next(), if !connections.is_empty() => {
                if let Some(response) = response {
                    return response;
                }
            }
        }
    }
}

/// Accepts the next connection. Retries after errors, such as a lack of file descriptors.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(_) => sleep(Duration::from_secs(1)).await,
        }
    }
}

async fn serve(mut stream: TcpStream, target: &RedirectTarget) -> Option<AuthorizationResponse> {
    let path = request_target(&mut stream).await?;
    let response = target.parse_response(&format!("http://127.0.0.1:{}{path}", target.port));
    let (status, text) = match &response {
        Some(AuthorizationResponse::Granted { .. }) => ("200 OK", GRANTED_TEXT),
        Some(AuthorizationResponse::Denied(_)) => ("200 OK", DENIED_TEXT),
        None => ("404 Not Found", UNEXPECTED_TEXT),
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>ollim-bot</title><p>{text}</p>\n");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
        page.len()
    );
    // The response counts even if the browser has disconnected.
    let _ = stream.write_all((head + &page).as_bytes()).await;
    let _ = stream.shutdown().await;
    response
}

/// Reads the request target, such as `/?code=...`. Returns nothing for anything but a GET.
async fn request_target(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut chunk = [0; 2048];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = stream.read(&mut chunk).await.ok().filter(|length| *length > 0)?;
        request.extend_from_slice(&chunk[..length]);
        if request.len() > MAX_REQUEST_BYTES {
            return None;
        }
    }
    let text = String::from_utf8(request).ok()?;
    let mut words = text.lines().next()?.split(' ');
    match (words.next(), words.next(), words.next()) {
        (Some("GET"), Some(target), Some("HTTP/1.1" | "HTTP/1.0")) if target.starts_with('/') => {
            Some(target.to_owned())
        }
        _ => None,
    }
}
