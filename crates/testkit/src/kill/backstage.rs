//! Backstage: a model server in a thread of its own, for tests that wait for real processes.

use std::future::Future;

use crate::PATIENCE;
use crate::elsewhere::{Elsewhere, runtime};
use crate::model_server::{ModelServer, Options, Received};

/// A running model server.
pub struct Backstage {
    server: ModelServer,
    _elsewhere: Elsewhere,
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
        let elsewhere = Elsewhere::open();
        let server = elsewhere.run(async { ModelServer::start_with(options).await.expect("a port") });
        Self { server, _elsewhere: elsewhere }
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

/// Waits for `future` here.
///
/// # Panics
/// If it takes longer than any test may.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    // Longer than what is waited for within `future`, so that its own message is the one that is seen.
    runtime().block_on(async { tokio::time::timeout(PATIENCE * 2, future).await }).expect("it comes in time")
}
