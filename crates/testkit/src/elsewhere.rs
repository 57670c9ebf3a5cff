//! Elsewhere: a thread with a runtime of its own, whose time is real, for what talks to the real world.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]
use std::sync::mpsc;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio_util::sync::CancellationToken;

/// A running runtime. Dropping it ends whatever runs there.
pub struct Elsewhere {
    handle: Handle,
    stop: CancellationToken,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Elsewhere {
    /// Opens one.
    ///
    /// # Panics
    /// If the machine has no thread for it.
    pub fn open() -> Self {
        let (ready, opened) = mpsc::channel();
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let runtime = runtime();
            let _ = ready.send(runtime.handle().clone());
            runtime.block_on(stopped.cancelled());
        });
        let handle = opened.recv().expect("a runtime");
        Self { handle, stop, thread: Some(thread) }
    }

    /// How to get there.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// What `future` gives there. To be asked from outside of any runtime.
    ///
    /// # Panics
    /// If `future` does.
    pub fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        let (done, given) = mpsc::channel();
        self.handle.spawn(async move { done.send(future.await) });
        given.recv().expect("it does not panic")
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A runtime whose time is real.
///
/// # Panics
/// If the machine has none.
pub fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}
