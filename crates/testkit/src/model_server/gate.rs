//! A gate that holds a stream until a test lets it go, so that no test has to sleep.

use std::sync::Arc;

use tokio::sync::watch;

/// A closed gate; its clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate {
    reached: Arc<watch::Sender<bool>>,
    released: Arc<watch::Sender<bool>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { reached: Arc::new(watch::Sender::new(false)), released: Arc::new(watch::Sender::new(false)) }
    }
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until a stream stands before it.
    pub async fn reached(&self) {
        opened(&self.reached).await;
    }

    /// Lets go whoever stands before it, now and later.
    pub fn release(&self) {
        self.released.send_replace(true);
    }

    pub(super) async fn pass(&self) {
        self.reached.send_replace(true);
        opened(&self.released).await;
    }
}

async fn opened(sign: &watch::Sender<bool>) {
    // The sender lives as long as the gate that is borrowed here, so waiting cannot fail.
    let _ = sign.subscribe().wait_for(|open| *open).await;
}
