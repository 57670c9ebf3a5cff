//! A gate that holds a stream until a test lets it go, so that no test has to sleep.

use std::sync::Arc;

use tokio::sync::watch;

/// A closed gate; its clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate {
    reached: Arc<watch::Sender<bool>>,
    released: Arc<watch::Sender<bool>>,
    left: Arc<watch::Sender<bool>>,
}

impl Default for Gate {
    fn default() -> Self {
        let sign = || Arc::new(watch::Sender::new(false));
        Self { reached: sign(), released: sign(), left: sign() }
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

    /// Waits until a stream that stood before it does so no more: it was let go, or nobody reads it now.
    pub async fn left(&self) {
        opened(&self.left).await;
    }

    pub(crate) async fn pass(&self) {
        let _leaving = Leaving(&self.left);
        self.reached.send_replace(true);
        opened(&self.released).await;
    }
}

struct Leaving<'a>(&'a watch::Sender<bool>);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

async fn opened(sign: &watch::Sender<bool>) {
    // The sender lives as long as the gate that is borrowed here, so waiting cannot fail.
    let _ = sign.subscribe().wait_for(|open| *open).await;
}
