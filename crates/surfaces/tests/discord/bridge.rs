//! Transport that passes requests directly to the fake Discord.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use surfaces::discord::wire::{
    Answer, Auth, Body, Broken, Call, Headers, Incoming, Method, Socket, Unfetched, Wire,
};
use testkit::discord as played;

/// In-memory transport to the fake Discord.
#[derive(Clone)]
pub struct Bridge {
    discord: played::Discord,
    token: String,
    /// Number of invalidated sessions reported to the client.
    invalidations: Arc<AtomicUsize>,
}

impl Bridge {
    /// Creates a transport to `discord` with its token.
    pub fn new(discord: &played::Discord) -> Self {
        let token = discord.token();
        Self { discord: discord.clone(), token, invalidations: Arc::default() }
    }

    pub fn invalidations(&self) -> usize {
        self.invalidations.load(Ordering::Relaxed)
    }

    async fn carry(&self, call: Call) -> Result<Answer, Broken> {
        let token = match call.auth {
            Auth::Bot => Some(format!("Bot {}", self.token)),
            Auth::Path => None,
        };
        let call = played::Call {
            method: method(call.method).into(),
            path: call.path,
            token,
            body: body(call.body),
        };
        match self.discord.call(call).arrives().await {
            played::Reply::Answered(answer) => Ok(read(answer)),
            played::Reply::Lost => Err(Broken::Maybe("the line broke".into())),
        }
    }
}

impl Wire for Bridge {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Answer, Broken>> {
        Box::pin(self.carry(call))
    }

    fn connect<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Box<dyn Socket>, Broken>> {
        Box::pin(async move {
            let socket = self.discord.connect(url).map_err(|error| Broken::Before(error.to_string()))?;
            let line = Line { socket, invalidations: Arc::clone(&self.invalidations) };
            Ok(Box::new(line) as Box<dyn Socket>)
        })
    }

    fn fetch<'a>(&'a self, url: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<u8>, Unfetched>> {
        Box::pin(async move {
            let call = Call { method: Method::Get, path: url.into(), body: Body::Empty, auth: Auth::Path };
            let answer = self.carry(call).await.map_err(|broken| Unfetched::Broken(broken.to_string()))?;
            match answer.status {
                200 if answer.body.len() <= limit => Ok(answer.body.into()),
                200 => Err(Unfetched::TooBig(limit)),
                status => Err(Unfetched::Status(status)),
            }
        })
    }
}

struct Line {
    socket: played::Socket,
    invalidations: Arc<AtomicUsize>,
}

impl Socket for Line {
    fn say(&mut self, text: String) -> BoxFuture<'_, Result<(), Broken>> {
        self.socket.say(&text);
        Box::pin(std::future::ready(Ok(())))
    }

    fn next(&mut self) -> BoxFuture<'_, Incoming> {
        Box::pin(async {
            match self.socket.next().await {
                played::Incoming::Text(text) => {
                    if text.contains("\"op\":9") && text.contains("\"d\":false") {
                        self.invalidations.fetch_add(1, Ordering::Relaxed);
                    }
                    Incoming::Text(text)
                }
                played::Incoming::Closed(code) => {
                    self.invalidations.fetch_add(usize::from(code == 4007), Ordering::Relaxed);
                    Incoming::Closed(Some(code))
                }
                played::Incoming::Dropped => Incoming::Dropped,
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

fn read(answer: played::Answer) -> Answer {
    let headers = answer.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    Answer { status: answer.status, headers: Headers::of(headers), body: answer.body.into() }
}
