//! Backstage: a model server in a thread of its own, for tests that wait for real processes.

use std::future::Future;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::model_server::{ModelServer, Options, Received};

const PATIENCE: Duration = Duration::from_secs(30);

/// A running model server.
pub struct Backstage {
    server: Arc<ModelServer>,
    stop: CancellationToken,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Backstage {
    /// Opens one.
    ///
    /// # Panics
    /// If there is no port for it.
    pub fn open() -> Self {
        Self::open_with(Options::default())
    }

    /// Opens one as `options` want it.
    ///
    /// # Panics
    /// If there is no port for it.
    pub fn open_with(options: Options) -> Self {
        let (ready, opened) = mpsc::channel();
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            runtime().block_on(async move {
                let server = Arc::new(ModelServer::start_with(options).await.expect("a port"));
                let _ = ready.send(server);
                stopped.cancelled().await;
            });
        });
        let server = opened.recv().expect("a server");
        Self { server, stop, thread: Some(thread) }
    }

    /// The server itself.
    pub fn model(&self) -> &ModelServer {
        &self.server
    }

    /// Its address.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Every request that came.
    pub fn requests(&self) -> Vec<Received> {
        self.server.requests()
    }
}

impl Drop for Backstage {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits for `future` here.
///
/// # Panics
/// If it takes longer than any test may.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(async { tokio::time::timeout(PATIENCE, future).await }).expect("it comes in time")
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}
