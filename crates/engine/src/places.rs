//! Places: how many calls of a model go on at a time, and how one that nobody waits for goes alone.

use tokio::sync::{Semaphore, SemaphorePermit};

/// The places of calls.
pub struct Places {
    calls: Semaphore,
    /// Calls that nobody waits for take one of these too, or all. There is one less of them, so that a human who waits finds
    /// a place, however much is going on.
    unattended: Semaphore,
    /// How many of those there are.
    all: u32,
}

/// A part of what a call waits for. No semaphore here is ever closed; without its part the call would still be right, only
/// early.
type Part<'a> = Option<SemaphorePermit<'a>>;

impl Places {
    /// So many.
    pub fn new(calls: usize) -> Self {
        let all = u32::try_from(calls).unwrap_or(u32::MAX).saturating_sub(1).max(1);
        Self { calls: Semaphore::new(calls), unattended: Semaphore::new(all as usize), all }
    }

    /// One for a call that somebody waits for.
    pub(crate) async fn waited(&self) -> Part<'_> {
        self.calls.acquire().await.ok()
    }

    /// One for a call that nobody waits for, while others of its kind may go on. Who waits for them holds no place.
    pub(crate) async fn beside(&self) -> (Part<'_>, Part<'_>) {
        let one = self.unattended.acquire().await.ok();
        (one, self.waited().await)
    }

    /// The same, while none of its kind goes on.
    pub(crate) async fn alone(&self) -> (Part<'_>, Part<'_>) {
        let all = self.unattended.acquire_many(self.all).await.ok();
        (all, self.waited().await)
    }
}
