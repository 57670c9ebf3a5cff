//! The door on this machine at which a browser comes back: it reads one line of a request and shows a small page.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::{Answer, Redirect};

/// The most bytes of a request that are read.
const REQUEST: usize = 16 * 1024;
/// How long a visitor may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many visitors there may be at once: browsers open lines that they never use.
const VISITORS: usize = 16;

const DONE: &str = "That is all. You can close this window.";
const REFUSED: &str = "Nothing was connected. You can close this window.";
const STRANGER: &str = "This is not the answer that is waited for. You can close this window.";

/// A door on this machine.
#[derive(Debug)]
pub struct Door {
    listener: TcpListener,
    port: u16,
}

impl Door {
    /// Opens one where there is room.
    pub async fn open() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// Where it is.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The first answer that somebody brings to `redirect`. Others are shown out.
    pub async fn answer(&self, redirect: &Redirect) -> Answer {
        let mut visitors: FuturesUnordered<BoxFuture<'_, Option<Answer>>> = FuturesUnordered::new();
        loop {
            tokio::select! {
                stream = self.visitor(), if visitors.len() < VISITORS => {
                    visitors.push(Box::pin(async move {
                        timeout(PATIENCE, visit(stream, redirect)).await.ok().flatten()
                    }));
                }
                Some(answer) = visitors.next(), if !visitors.is_empty() => {
                    if let Some(answer) = answer {
                        return answer;
                    }
                }
            }
        }
    }

    /// The next one at the door. A machine that has no room for visitors has it again later.
    async fn visitor(&self) -> TcpStream {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => return stream,
                Err(_) => sleep(Duration::from_secs(1)).await,
            }
        }
    }
}

async fn visit(mut stream: TcpStream, redirect: &Redirect) -> Option<Answer> {
    let target = target(&mut stream).await?;
    let answer = redirect.read(&format!("{}{target}", redirect.address()));
    let (status, words) = match &answer {
        Some(Answer::Yes(_)) => ("200 OK", DONE),
        Some(Answer::No(_)) => ("200 OK", REFUSED),
        None => ("404 Not Found", STRANGER),
    };
    let page = format!("<!doctype html><meta charset=utf-8><title>ollim-bot</title><p>{words}</p>\n");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
        page.len()
    );
    // Who went away has answered all the same.
    let _ = stream.write_all((head + &page).as_bytes()).await;
    let _ = stream.shutdown().await;
    answer
}

/// What a visitor asks for: `/?code=...`. Nothing, if this is no request to look at something.
async fn target(stream: &mut TcpStream) -> Option<String> {
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
