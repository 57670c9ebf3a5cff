//! Listener for webhooks: on the loopback address, with a limited number of connections, each for
//! one call.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::call_handler::{CallHandler, Peer};
use super::{FailedAttempts, WebhookLimits, WebhookPorts};
use crate::admission::{Admission, Admitted, Capacity};
use crate::web::listener::{accept_next, finish_connections};

/// Maximum size of the head of a request.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Maximum number of headers.
const MAX_HEADERS: usize = 64;

const FULL_RESPONSE: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 10\r\n\
    connection: close\r\n\r\n{\"error\":\"too many connections without the secret; try again in ten seconds\"}";

/// A port on the loopback address. It cannot be bound to another address.
#[derive(Debug)]
pub struct WebhookListener {
    listener: TcpListener,
    address: SocketAddr,
}

impl WebhookListener {
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// WH-1: opens `port` on the loopback address.
pub async fn bind(port: u16) -> io::Result<WebhookListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let address = listener.local_addr()?;
    Ok(WebhookListener { listener, address })
}

/// WH-1: accepts calls until `stop`, then waits for those in progress.
pub async fn serve(
    mut listener: WebhookListener,
    ports: WebhookPorts,
    limits: WebhookLimits,
    stop: CancellationToken,
) {
    let attempts = Arc::new(FailedAttempts::new(ports.clock.clone()));
    let capacity = Capacity { unproven: limits.unproven, proven: limits.proven, grace: limits.grace };
    let admission = Admission::new(capacity);
    let mut sockets = JoinSet::new();
    while let Some(stream) = stop.run_until_cancelled(accept_next(&mut listener.listener, &mut sockets)).await
    {
        // A closed connection has no address.
        let Ok(address) = stream.peer_addr() else { continue };
        let Some(admitted) = stop.run_until_cancelled(admission.admit()).await else { break };
        let caller = Arc::new(CallerState::new(address.ip(), admitted));
        let connection = WebhookConnection { ports: ports.clone(), attempts: attempts.clone(), caller };
        let admission = admission.clone();
        sockets.spawn(async move {
            if let Some(stream) = connection.serve(stream, limits).await {
                admission.refuse(stream, FULL_RESPONSE).await;
            }
        });
    }
    finish_connections(sockets).await;
}

/// State of a connection that is shared with its call.
struct CallerState {
    address: IpAddr,
    admitted: Admitted,
    read: watch::Sender<bool>,
    /// A response was started.
    answered: AtomicBool,
}

impl CallerState {
    fn new(address: IpAddr, admitted: Admitted) -> Self {
        Self { address, admitted, read: watch::Sender::new(false), answered: AtomicBool::new(false) }
    }
}

impl Peer for CallerState {
    fn address(&self) -> IpAddr {
        self.address
    }

    async fn mark_proven(&self) {
        self.admitted.prove().await;
    }

    fn mark_read(&self) {
        self.admitted.mark_answering();
        self.read.send_replace(true);
    }
}

/// A connection and what is needed to serve it.
struct WebhookConnection {
    ports: WebhookPorts,
    attempts: Arc<FailedAttempts>,
    caller: Arc<CallerState>,
}

impl WebhookConnection {
    /// Serves the connection to its end. Returns it if it was dropped for another one before it was
    /// answered.
    async fn serve(self, stream: TcpStream, limits: WebhookLimits) -> Option<TcpStream> {
        let caller = self.caller.clone();
        let answer = service_fn(move |request: hyper::Request<Incoming>| {
            let ports = self.ports.clone();
            let attempts = self.attempts.clone();
            let caller = self.caller.clone();
            async move {
                let (head, body) = request.into_parts();
                let handler = CallHandler { ports: &ports, attempts: &attempts, peer: &*caller };
                let reply = handler.handle(&head, body).await;
                caller.answered.store(true, Ordering::Relaxed);
                Ok::<Response, Infallible>(reply.into_response())
            }
        });
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.call_timeout)
            .keep_alive(false)
            .max_buf_size(MAX_HEAD_BYTES)
            .max_headers(MAX_HEADERS)
            .serve_connection(TokioIo::new(stream), answer);
        tokio::select! {
            // Errors on the caller's connection are ignored.
            _ = &mut connection => None,
            () = call_timed_out(&caller, limits) => None,
            () = caller.admitted.dropped() => {
                let unanswered = !caller.answered.load(Ordering::Relaxed);
                unanswered.then(|| connection.into_parts().io.into_inner())
            }
        }
    }
}

/// F4: completes when the call was not received in time.
async fn call_timed_out(caller: &CallerState, limits: WebhookLimits) {
    let mut read = caller.read.subscribe();
    let whole = async { read.wait_for(|read| *read).await.is_ok() };
    if tokio::time::timeout(limits.call_timeout, whole).await.is_ok() {
        std::future::pending::<()>().await;
    }
}
