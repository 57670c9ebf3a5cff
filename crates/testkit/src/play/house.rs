//! A played server's house: a port on loopback, and everybody in it.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// A house with an open door. Dropping it ends every stream in it and closes the door.
pub struct House {
    address: SocketAddr,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl House {
    /// Opens the door at `port`; 0 lets the machine choose. `stop` is cancelled when it closes.
    pub async fn open(port: u16, routes: Router, stop: CancellationToken) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        // Words are sent as they come; a socket that gathers them costs every event 40 ms.
        let listener = listener.tap_io(|socket| {
            let _ = socket.set_nodelay(true);
        });
        let mut tasks = JoinSet::new();
        let stopped = stop.clone().cancelled_owned();
        tasks.spawn(async move {
            // The listener of a loopback address only fails when the machine does.
            let _ = axum::serve(listener, routes).with_graceful_shutdown(stopped).await;
        });
        Ok(Self { address, stop, tasks })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes the door and waits until everybody has left.
    pub async fn close(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
