//! Loads the skills of jobs in the background, because their commands take time.

use std::sync::Arc;

use domain::context::skills::{Loaded, NamedSkills};
use domain::occurrence::Key;
use tokio::task::JoinSet;

use crate::ports::Hands;

/// The skill loads that are running.
pub struct Loading {
    hands: Arc<dyn Hands>,
    tasks: JoinSet<(Key, Loaded)>,
}

impl Loading {
    pub fn new(hands: Arc<dyn Hands>) -> Self {
        Self { hands, tasks: JoinSet::new() }
    }

    /// Starts loading the skills of one job.
    pub fn start(&mut self, key: Key, wanted: NamedSkills) {
        let hands = Arc::clone(&self.hands);
        self.tasks.spawn(async move { (key, hands.skills(&wanted).await) });
    }

    /// Returns whether any load is running.
    pub fn any(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Returns the number of running loads.
    pub fn count(&self) -> usize {
        self.tasks.len()
    }

    /// Waits for the next finished load. Returns `None` for one that panicked; the job that waits
    /// for it retries.
    pub async fn next(&mut self) -> Option<(Key, Loaded)> {
        self.tasks.join_next().await?.ok()
    }

    /// Aborts all loads.
    pub async fn end(&mut self) {
        self.tasks.shutdown().await;
    }
}
