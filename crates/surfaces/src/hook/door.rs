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

use super::taking::{Peer, Taking};
use super::{Attempts, Limits, Ports};
use crate::admission::{Admission, Admitted, Room};
use crate::web::door::{accept, finish};

/// Maximum size of the head of a request.
const HEAD_BYTES: usize = 16 * 1024;
/// Maximum number of headers.
const HEADERS: usize = 64;

const FULL: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 10\r\n\
    connection: close\r\n\r\n{\"error\":\"too many connections without the secret; try again in ten seconds\"}";

/// A port on the loopback address. It cannot be bound to another address.
#[derive(Debug)]
pub struct HookDoor {
    listener: TcpListener,
    address: SocketAddr,
}

impl HookDoor {
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// WH-1: opens `port` on the loopback address.
pub async fn bind(port: u16) -> io::Result<HookDoor> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let address = listener.local_addr()?;
    Ok(HookDoor { listener, address })
}

/// WH-1: accepts calls until `stop`, then waits for those in progress.
pub async fn serve(mut door: HookDoor, ports: Ports, limits: Limits, stop: CancellationToken) {
    let attempts = Arc::new(Attempts::new(ports.clock.clone()));
    let room = Room { unproven: limits.strangers, proven: limits.known, grace: limits.grace };
    let admission = Admission::new(room);
    let mut sockets = JoinSet::new();
    while let Some(stream) = stop.run_until_cancelled(accept(&mut door.listener, &mut sockets)).await {
        // A closed connection has no address.
        let Ok(address) = stream.peer_addr() else { continue };
        let Some(admitted) = stop.run_until_cancelled(admission.admit()).await else { break };
        let caller = Arc::new(Caller::new(address.ip(), admitted));
        let talk = Talk { ports: ports.clone(), attempts: attempts.clone(), caller };
        let admission = admission.clone();
        sockets.spawn(async move {
            if let Some(stream) = talk.hold(stream, limits).await {
                admission.refuse(stream, FULL).await;
            }
        });
    }
    finish(sockets).await;
}

/// State of a connection that is shared with its call.
struct Caller {
    address: IpAddr,
    admitted: Admitted,
    read: watch::Sender<bool>,
    /// A response was started.
    answered: AtomicBool,
}

impl Caller {
    fn new(address: IpAddr, admitted: Admitted) -> Self {
        Self { address, admitted, read: watch::Sender::new(false), answered: AtomicBool::new(false) }
    }
}

impl Peer for Caller {
    fn address(&self) -> IpAddr {
        self.address
    }

    async fn proved(&self) {
        self.admitted.prove().await;
    }

    fn was_read(&self) {
        self.admitted.answering();
        self.read.send_replace(true);
    }
}

/// A connection and what is needed to serve it.
struct Talk {
    ports: Ports,
    attempts: Arc<Attempts>,
    caller: Arc<Caller>,
}

impl Talk {
    /// Serves the connection to its end. Returns it if it was dropped for another one before it was
    /// answered.
    async fn hold(self, stream: TcpStream, limits: Limits) -> Option<TcpStream> {
        let caller = self.caller.clone();
        let answer = service_fn(move |request: hyper::Request<Incoming>| {
            let ports = self.ports.clone();
            let attempts = self.attempts.clone();
            let caller = self.caller.clone();
            async move {
                let (head, body) = request.into_parts();
                let taking = Taking { ports: &ports, attempts: &attempts, peer: &*caller };
                let reply = taking.take(&head, body).await;
                caller.answered.store(true, Ordering::Relaxed);
                Ok::<Response, Infallible>(reply.into_response())
            }
        });
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.call)
            .keep_alive(false)
            .max_buf_size(HEAD_BYTES)
            .max_headers(HEADERS)
            .serve_connection(TokioIo::new(stream), answer);
        tokio::select! {
            // Errors on the caller's connection are ignored.
            _ = &mut connection => None,
            () = dawdles(&caller, limits) => None,
            () = caller.admitted.dropped() => {
                let unanswered = !caller.answered.load(Ordering::Relaxed);
                unanswered.then(|| connection.into_parts().io.into_inner())
            }
        }
    }
}

/// F4: completes when the call was not received in time.
async fn dawdles(caller: &Caller, limits: Limits) {
    let mut read = caller.read.subscribe();
    let whole = async { read.wait_for(|read| *read).await.is_ok() };
    if tokio::time::timeout(limits.call, whole).await.is_ok() {
        std::future::pending::<()>().await;
    }
}
