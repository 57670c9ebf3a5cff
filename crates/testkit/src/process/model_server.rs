//! A model server in a background thread, for tests that wait for real processes.

use std::future::Future;

use crate::TEST_TIMEOUT;
use crate::background_runtime::{BackgroundRuntime, new_runtime};
use crate::model_server::{MessagesRequest, ModelServer, Options};

pub struct BackgroundModelServer {
    server: ModelServer,
    _runtime: BackgroundRuntime,
}

impl BackgroundModelServer {
    /// Starts a server with default options.
    ///
    /// # Panics
    /// If no port is available.
    pub fn start() -> Self {
        Self::start_with(Options::default())
    }

    /// Starts a server with `options`.
    ///
    /// # Panics
    /// If no port is available.
    pub fn start_with(options: Options) -> Self {
        let runtime = BackgroundRuntime::start();
        let server = runtime.run(async { ModelServer::start_with(options).await.expect("a port") });
        Self { server, _runtime: runtime }
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
    pub fn requests(&self) -> Vec<MessagesRequest> {
        self.server.requests()
    }
}

/// Blocks until `future` is complete.
///
/// # Panics
/// If it exceeds the time limit of a test.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    // Longer than timeouts within `future`, so that their messages are reported first.
    new_runtime()
        .block_on(async { tokio::time::timeout(TEST_TIMEOUT * 2, future).await })
        .expect("it comes in time")
}
