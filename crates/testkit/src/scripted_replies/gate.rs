//! A gate that blocks a stream until a test releases it, so that no test has to sleep.

use std::sync::Arc;

use tokio::sync::watch;

/// A closed gate; clones share its state.
#[derive(Clone, Debug)]
pub struct Gate {
    reached: Arc<watch::Sender<bool>>,
    released: Arc<watch::Sender<bool>>,
    left: Arc<watch::Sender<bool>>,
}

impl Default for Gate {
    fn default() -> Self {
        let flag = || Arc::new(watch::Sender::new(false));
        Self { reached: flag(), released: flag(), left: flag() }
    }
}

impl Gate {
    /// Creates a closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until a stream has reached the gate.
    pub async fn reached(&self) {
        wait_for_flag(&self.reached).await;
    }

    /// Releases all streams, now and in the future.
    pub fn release(&self) {
        self.released.send_replace(true);
    }

    /// Waits until a stream that reached the gate has left it: released, or cancelled.
    pub async fn left(&self) {
        wait_for_flag(&self.left).await;
    }

    pub(crate) async fn pass(&self) {
        let _leaving = LeaveOnDrop(&self.left);
        self.reached.send_replace(true);
        wait_for_flag(&self.released).await;
    }
}

struct LeaveOnDrop<'a>(&'a watch::Sender<bool>);

impl Drop for LeaveOnDrop<'_> {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

async fn wait_for_flag(flag: &watch::Sender<bool>) {
    // The sender lives as long as the borrowed gate, so waiting cannot fail.
    let _ = flag.subscribe().wait_for(|open| *open).await;
}
