//! Loading: the skills of jobs that wait for them. Their commands take time, and nobody else waits meanwhile.

use std::sync::Arc;

use domain::context::skills::{Loaded, NamedSkills};
use domain::occurrence::Key;
use tokio::task::JoinSet;

use crate::ports::Hands;

/// The skills that are being loaded.
pub struct Loading {
    hands: Arc<dyn Hands>,
    tasks: JoinSet<(Key, Loaded)>,
}

impl Loading {
    /// None yet.
    pub fn new(hands: Arc<dyn Hands>) -> Self {
        Self { hands, tasks: JoinSet::new() }
    }

    /// Loads what one job wants.
    pub fn start(&mut self, key: Key, wanted: NamedSkills) {
        let hands = Arc::clone(&self.hands);
        self.tasks.spawn(async move { (key, hands.skills(&wanted).await) });
    }

    /// Whether any are being loaded.
    pub fn any(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// How many jobs wait for theirs.
    pub fn count(&self) -> usize {
        self.tasks.len()
    }

    /// The next that are loaded. A load that panicked is tried anew by who waits for it.
    pub async fn next(&mut self) -> Option<(Key, Loaded)> {
        self.tasks.join_next().await?.ok()
    }

    /// Ends all of them where they stand.
    pub async fn end(&mut self) {
        self.tasks.shutdown().await;
    }
}
