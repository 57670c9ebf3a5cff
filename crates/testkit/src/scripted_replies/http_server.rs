//! The HTTP server of a fake: a port on loopback and its connections.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// A running HTTP server. Dropping it ends all streams and closes the port.
pub struct HttpServer {
    address: SocketAddr,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl HttpServer {
    /// Starts the server on `port`; 0 lets the system choose. `stop` is cancelled when it closes.
    pub async fn start(port: u16, routes: Router, stop: CancellationToken) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        // Events are sent immediately; Nagle's algorithm would delay each by 40 ms.
        let listener = listener.tap_io(|socket| {
            let _ = socket.set_nodelay(true);
        });
        let mut tasks = JoinSet::new();
        let stopped = stop.clone().cancelled_owned();
        tasks.spawn(async move {
            // The listener of a loopback address fails only with the machine.
            let _ = axum::serve(listener, routes).with_graceful_shutdown(stopped).await;
        });
        Ok(Self { address, stop, tasks })
    }

    /// Returns the base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes the port and waits until all connections have ended.
    pub async fn stop_and_wait(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
