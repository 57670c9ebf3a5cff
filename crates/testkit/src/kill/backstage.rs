//! A model server in a background thread, for tests that wait for real processes.

use std::future::Future;

use crate::PATIENCE;
use crate::elsewhere::{Elsewhere, runtime};
use crate::model_server::{ModelServer, Options, Received};

pub struct Backstage {
    server: ModelServer,
    _elsewhere: Elsewhere,
}

impl Backstage {
    /// Starts a server with default options.
    ///
    /// # Panics
    /// If no port is available.
    pub fn open() -> Self {
        Self::open_with(Options::default())
    }

    /// Starts a server with `options`.
    ///
    /// # Panics
    /// If no port is available.
    pub fn open_with(options: Options) -> Self {
        let elsewhere = Elsewhere::open();
        let server = elsewhere.run(async { ModelServer::start_with(options).await.expect("a port") });
        Self { server, _elsewhere: elsewhere }
    }

    /// Returns the server.
    pub fn model(&self) -> &ModelServer {
        &self.server
    }

    /// Returns the server's base URL.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Returns every request.
    pub fn requests(&self) -> Vec<Received> {
        self.server.requests()
    }
}

/// Blocks until `future` is complete.
///
/// # Panics
/// If it exceeds the time limit of a test.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    // Longer than timeouts within `future`, so that their messages are reported first.
    runtime().block_on(async { tokio::time::timeout(PATIENCE * 2, future).await }).expect("it comes in time")
}
