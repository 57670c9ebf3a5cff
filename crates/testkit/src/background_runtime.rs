//! A background thread with its own runtime in real time, for servers and clients used from tests
//! with paused time.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]
use std::sync::mpsc;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio_util::sync::CancellationToken;

/// A running runtime. Dropping it aborts its tasks and joins the thread.
pub struct BackgroundRuntime {
    handle: Handle,
    stop: CancellationToken,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl BackgroundRuntime {
    /// Starts the thread.
    ///
    /// # Panics
    /// If the thread cannot be started.
    pub fn start() -> Self {
        let (ready, handle_receiver) = mpsc::channel();
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let runtime = new_runtime();
            let _ = ready.send(runtime.handle().clone());
            runtime.block_on(stopped.cancelled());
        });
        let handle = handle_receiver.recv().expect("a runtime");
        Self { handle, stop, thread: Some(thread) }
    }

    /// Returns the runtime's handle.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Runs `future` in the background runtime and blocks for its result. Must be called outside of
    /// any runtime.
    ///
    /// # Panics
    /// If `future` panics.
    pub fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        let (sender, receiver) = mpsc::channel();
        self.handle.spawn(async move { sender.send(future.await) });
        receiver.recv().expect("it does not panic")
    }
}

impl Drop for BackgroundRuntime {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Creates a runtime in real time.
///
/// # Panics
/// If the runtime cannot be created.
pub fn new_runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}
