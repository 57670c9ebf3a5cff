//! Listeners of the page: a loopback port, and a socket file that only the user can open.

mod socket_file;

use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::serve::Listener;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

pub use socket_file::{SocketFileListener, bind_file, connect_file};

use super::authentication::{Connection, TcpConnection, Transport};
use super::{App, WebLimits};
use crate::admission::{Admission, Capacity};

/// Default port.
pub const DEFAULT_PORT: u16 = 7645;
/// Number of following ports tried if one is in use.
const MAX_PORTS_TRIED: u16 = 20;
/// Maximum size of the head of a request.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Maximum number of headers.
const MAX_HEADERS: usize = 64;
/// How long connections may take to end at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

const FULL_RESPONSE: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 10\r\n\
    connection: close\r\nx-content-type-options: nosniff\r\ncache-control: no-store\r\n\r\n\
    {\"ok\":false,\"error\":{\"kind\":\"full\",\"message\":\"Too many connections are open. Close other tabs, or try \
    again in ten seconds.\"}}";

/// A port on the loopback address. It cannot be bound to another address.
#[derive(Debug)]
pub struct PortListener {
    listener: TcpListener,
    address: SocketAddr,
}

impl PortListener {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of the page for a browser.
    pub fn page_url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Why no port was opened.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Other machines could reach the address.
    #[error(
        "the page does not listen on {0}, because other machines could reach it there. use 127.0.0.1 or [::1], \
         and a tunnel (ssh -L, tailscale serve) to come from elsewhere."
    )]
    NotLoopback(SocketAddr),
    /// The port and those after it are in use.
    #[error("the ports from {} on are taken. set OLLIM_HTTP to a free one, such as 127.0.0.1:8765.", .0.port())]
    InUse(SocketAddr),
    #[error("the page cannot listen on {0}: {1}. set OLLIM_HTTP to another address, such as 127.0.0.1:8765.")]
    Denied(SocketAddr, #[source] io::Error),
}

/// Opens a port at `address`, or the next free one after it.
pub async fn bind(address: SocketAddr) -> Result<PortListener, BindError> {
    if address.ip() != Ipv4Addr::LOCALHOST && address.ip() != Ipv6Addr::LOCALHOST {
        return Err(BindError::NotLoopback(address));
    }
    for step in 0..=MAX_PORTS_TRIED {
        let Some(port) = address.port().checked_add(step) else { break };
        let wanted = SocketAddr::new(address.ip(), port);
        match TcpListener::bind(wanted).await {
            Ok(listener) => {
                let address = listener.local_addr().map_err(|error| BindError::Denied(wanted, error))?;
                return Ok(PortListener { listener, address });
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(BindError::Denied(wanted, error)),
        }
    }
    Err(BindError::InUse(address))
}

/// Serves the page on a port until `stop`, then waits for its connections to end.
pub async fn serve_tcp(mut listener: PortListener, app: App, stop: CancellationToken) {
    let limits = *app.limits();
    let router = app.router();
    let port = listener.address.port();
    let capacity = Capacity { unproven: limits.unpaired, proven: limits.paired, grace: limits.grace };
    let admission = Admission::new(capacity);
    let mut sockets = JoinSet::new();
    while let Some(stream) = stop.run_until_cancelled(accept_next(&mut listener.listener, &mut sockets)).await
    {
        // A closed connection has no address.
        let Ok(peer) = stream.peer_addr() else { continue };
        let Some(admitted) = stop.run_until_cancelled(admission.admit()).await else { break };
        let socket = Arc::new(TcpConnection::new(port, peer.ip(), admitted));
        let connection = Connection { transport: Transport::Tcp(socket.clone()), stop: stop.clone() };
        let server = ConnectionServer { router: router.clone(), connection, limits };
        let forgotten = app.removed_devices();
        let admission = admission.clone();
        sockets.spawn(async move {
            let dropped = tokio::select! {
                dropped = server.serve(stream, socket.dropped()) => dropped,
                () = unauthenticated_too_long(&socket, limits.unpaired_lifetime) => None,
                () = device_removed(&socket, forgotten) => None,
            };
            if let Some(stream) = dropped {
                admission.refuse(stream, FULL_RESPONSE).await;
            }
        });
    }
    finish_connections(sockets).await;
}

/// Serves the page through a socket file until `stop`, then waits for its connections to end.
pub async fn serve_unix(mut listener: SocketFileListener, app: App, stop: CancellationToken) {
    let router = app.router();
    let limits = *app.limits();
    // The file permissions authenticate the user, so every connection counts as proven.
    let admission = Admission::new(Capacity { unproven: 1, proven: limits.paired, grace: limits.grace });
    let mut sockets = JoinSet::new();
    while let Some(stream) = stop.run_until_cancelled(accept_next(&mut listener.listener, &mut sockets)).await
    {
        let Some(admitted) = stop.run_until_cancelled(admission.admit()).await else { break };
        if !admitted.try_prove() {
            let admission = admission.clone();
            sockets.spawn(async move { admission.refuse(stream, FULL_RESPONSE).await });
            continue;
        }
        let connection = Connection { transport: Transport::Unix, stop: stop.clone() };
        let server = ConnectionServer { router: router.clone(), connection, limits };
        sockets.spawn(async move {
            server.serve(stream, admitted.dropped()).await;
        });
    }
    finish_connections(sockets).await;
}

/// Accepts the next connection and removes finished ones.
pub(crate) async fn accept_next<L: Listener>(listener: &mut L, sockets: &mut JoinSet<()>) -> L::Io {
    loop {
        tokio::select! {
            (stream, _) = listener.accept() => return stream,
            Some(_) = sockets.join_next() => {}
        }
    }
}

/// Serves one connection.
struct ConnectionServer {
    router: Router,
    connection: Connection,
    limits: WebLimits,
}

impl ConnectionServer {
    /// Serves the connection to its end. Returns it if `dropped` completes before it was answered.
    async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send>(
        self,
        stream: S,
        dropped: impl Future<Output = ()>,
    ) -> Option<S> {
        let Self { router, connection: connection_info, limits } = self;
        let stop = connection_info.stop.clone();
        let answered = Arc::new(AtomicBool::new(false));
        let answering = answered.clone();
        let answer = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(connection_info.clone());
            let request: Request = request.map(Body::new);
            let answer = router.clone().oneshot(request);
            let answering = answering.clone();
            async move {
                let response = answer.await;
                answering.store(true, Ordering::Relaxed);
                response
            }
        });
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_timeout)
            .max_buf_size(MAX_HEAD_BYTES)
            .max_headers(MAX_HEADERS)
            .serve_connection(TokioIo::new(stream), answer);
        tokio::select! {
            // Errors on the client's connection are ignored.
            _ = &mut connection => return None,
            () = stop.cancelled() => std::pin::Pin::new(&mut connection).graceful_shutdown(),
            () = dropped => {
                let unanswered = !answered.load(Ordering::Relaxed);
                return unanswered.then(|| connection.into_parts().io.into_inner());
            }
        }
        let _ = connection.await;
        None
    }
}

/// Completes when the connection was not authenticated in time.
async fn unauthenticated_too_long(socket: &TcpConnection, limit: Duration) {
    if tokio::time::timeout(limit, socket.wait_for_device()).await.is_ok() {
        pending::<()>().await;
    }
}

/// Completes when the device of the connection was removed.
async fn device_removed(socket: &TcpConnection, mut removed_devices: broadcast::Receiver<String>) {
    loop {
        match removed_devices.recv().await {
            Ok(device) if !socket.is_device(&device) => {}
            // The removed device may be among the missed ids. A browser that is still paired
            // reconnects.
            Ok(_) | Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => pending::<()>().await,
        }
    }
}

/// Waits briefly for connections to end, then aborts them.
pub(crate) async fn finish_connections(mut sockets: JoinSet<()>) {
    let all = async { while sockets.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, all).await;
    sockets.shutdown().await;
}
