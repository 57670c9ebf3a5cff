//! Transport that passes requests directly to the fake Discord.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use surfaces::discord::transport::{
    Auth, Body, DiscordTransport, FetchError, GatewaySocket, Headers, HttpRequest, HttpResponse, Incoming,
    Method, TransportError,
};
use testkit::fake_discord as played;

/// In-memory transport to the fake Discord.
#[derive(Clone)]
pub struct FakeTransport {
    discord: played::FakeDiscord,
    token: String,
    /// Number of invalidated sessions reported to the client.
    invalidations: Arc<AtomicUsize>,
}

impl FakeTransport {
    /// Creates a transport to `discord` with its token.
    pub fn new(discord: &played::FakeDiscord) -> Self {
        let token = discord.token();
        Self { discord: discord.clone(), token, invalidations: Arc::default() }
    }

    pub fn invalidations(&self) -> usize {
        self.invalidations.load(Ordering::Relaxed)
    }

    async fn execute(&self, call: HttpRequest) -> Result<HttpResponse, TransportError> {
        let token = match call.auth {
            Auth::Bot => Some(format!("Bot {}", self.token)),
            Auth::Path => None,
        };
        let call = played::ApiRequest {
            method: method(call.method).into(),
            path: call.path,
            token,
            body: body(call.body),
        };
        match self.discord.request(call).wait().await {
            played::ApiReply::Response(answer) => Ok(to_response(answer)),
            played::ApiReply::Lost => Err(TransportError::MaybeSent("the line broke".into())),
        }
    }
}

impl DiscordTransport for FakeTransport {
    fn send(&self, call: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        Box::pin(self.execute(call))
    }

    fn connect<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Box<dyn GatewaySocket>, TransportError>> {
        Box::pin(async move {
            let socket =
                self.discord.connect(url).map_err(|error| TransportError::NotSent(error.to_string()))?;
            let line = FakeSocket { socket, invalidations: Arc::clone(&self.invalidations) };
            Ok(Box::new(line) as Box<dyn GatewaySocket>)
        })
    }

    fn fetch<'a>(&'a self, url: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<u8>, FetchError>> {
        Box::pin(async move {
            let call =
                HttpRequest { method: Method::Get, path: url.into(), body: Body::Empty, auth: Auth::Path };
            let answer =
                self.execute(call).await.map_err(|broken| FetchError::Connection(broken.to_string()))?;
            match answer.status {
                200 if answer.body.len() <= limit => Ok(answer.body.into()),
                200 => Err(FetchError::TooBig(limit)),
                status => Err(FetchError::Status(status)),
            }
        })
    }
}

struct FakeSocket {
    socket: played::GatewaySocket,
    invalidations: Arc<AtomicUsize>,
}

impl GatewaySocket for FakeSocket {
    fn send(&mut self, text: String) -> BoxFuture<'_, Result<(), TransportError>> {
        self.socket.send(&text);
        Box::pin(std::future::ready(Ok(())))
    }

    fn next(&mut self) -> BoxFuture<'_, Incoming> {
        Box::pin(async {
            match self.socket.next().await {
                played::SocketEvent::Text(text) => {
                    if text.contains("\"op\":9") && text.contains("\"d\":false") {
                        self.invalidations.fetch_add(1, Ordering::Relaxed);
                    }
                    Incoming::Text(text)
                }
                played::SocketEvent::Closed(code) => {
                    self.invalidations.fetch_add(usize::from(code == 4007), Ordering::Relaxed);
                    Incoming::Closed(Some(code))
                }
                played::SocketEvent::Dropped => Incoming::Lost,
            }
        })
    }

    fn close(&mut self, code: u16) -> BoxFuture<'_, ()> {
        self.socket.close(code);
        Box::pin(std::future::ready(()))
    }
}

fn method(method: Method) -> &'static str {
    match method {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Patch => "PATCH",
        Method::Delete => "DELETE",
    }
}

fn body(body: Body) -> played::Body {
    match body {
        Body::Empty => played::Body::Empty,
        Body::Json(value) => played::Body::Json(value),
        Body::Multipart { payload, files } => {
            let files = files.into_iter().map(|file| (file.name, file.bytes.to_vec())).collect();
            played::Body::Multipart { payload, files }
        }
    }
}

fn to_response(answer: played::ApiResponse) -> HttpResponse {
    let headers = answer.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    HttpResponse { status: answer.status, headers: Headers::select(headers), body: answer.body.into() }
}
