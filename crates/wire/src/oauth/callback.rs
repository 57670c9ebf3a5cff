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
const REQUEST: usize = 16 * 1024;
/// The timeout of one connection.
const CONNECTION: Duration = Duration::from_secs(10);
/// The most connections at once. Browsers open some that they never use.
const CONNECTIONS: usize = 16;

const DONE: &str = "That is all. You can close this window.";
const REFUSED: &str = "Nothing was connected. You can close this window.";
const STRANGER: &str = "This is not the answer that is waited for. You can close this window.";

/// The receiving end of one sign-in. Dropping it closes the port.
#[derive(Debug)]
pub struct Callback {
    listener: TcpListener,
    target: RedirectTarget,
    to: mpsc::Sender<AuthorizationResponse>,
    pasted: mpsc::Receiver<AuthorizationResponse>,
}

/// Accepts addresses that the user pastes while the [`Callback`] is waited for.
#[derive(Clone, Debug)]
pub struct Paste {
    target: RedirectTarget,
    to: mpsc::Sender<AuthorizationResponse>,
}

/// The outcome of pasting a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pasted {
    /// It is the response of this sign-in.
    Taken,
    /// It looks like a redirect, but belongs to another sign-in.
    Stranger,
    /// It is not a redirect.
    NotForUs,
}

impl Callback {
    /// Listens on 127.0.0.1 at `port` (0 for any free one) and draws a new `state`.
    pub async fn bind(port: u16, path: &'static str) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        let target = RedirectTarget { port, path, state: random_token()? };
        let (to, pasted) = mpsc::channel(1);
        Ok(Self { listener, target, to, pasted })
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
    pub fn paste(&self) -> Paste {
        Paste { target: self.target.clone(), to: self.to.clone() }
    }

    /// Waits for the first response, and returns none if the time is up.
    pub async fn wait(&mut self, patience: Duration) -> Option<AuthorizationResponse> {
        let listener = &self.listener;
        let target = &self.target;
        let pasted = &mut self.pasted;
        let first = async {
            tokio::select! {
                response = listen(listener, target) => response,
                Some(response) = pasted.recv() => response,
            }
        };
        timeout(patience, first).await.ok()
    }
}

impl Paste {
    /// Checks a text from the user, and accepts it if it is the response.
    pub fn offer(&self, text: &str) -> Pasted {
        match self.target.read(text) {
            Some(response) => {
                // A full channel holds an earlier response, which counts.
                let _ = self.to.try_send(response);
                Pasted::Taken
            }
            None if looks_like_redirect(text) => Pasted::Stranger,
            None => Pasted::NotForUs,
        }
    }
}

/// Serves connections until one of them delivers the response.
async fn listen(listener: &TcpListener, target: &RedirectTarget) -> AuthorizationResponse {
    let mut connections: FuturesUnordered<BoxFuture<'_, Option<AuthorizationResponse>>> =
        FuturesUnordered::new();
    loop {
        tokio::select! {
            stream = accept(listener), if connections.len() < CONNECTIONS => {
                connections.push(Box::pin(async move {
                    timeout(CONNECTION, serve(stream, target)).await.ok().flatten()
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
    let requested = requested(&mut stream).await?;
    let response = target.read(&format!("http://127.0.0.1:{}{requested}", target.port));
    let (status, words) = match &response {
        Some(AuthorizationResponse::Granted { .. }) => ("200 OK", DONE),
        Some(AuthorizationResponse::Denied(_)) => ("200 OK", REFUSED),
        None => ("404 Not Found", STRANGER),
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>ollim-bot</title><p>{words}</p>\n");
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
async fn requested(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut piece = [0; 2048];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = stream.read(&mut piece).await.ok().filter(|length| *length > 0)?;
        request.extend_from_slice(&piece[..length]);
        if request.len() > REQUEST {
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
