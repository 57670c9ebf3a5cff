//! Places: how many calls of a model go on at a time, and how one that nobody waits for goes alone.

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore, SemaphorePermit};

/// The places of calls.
pub struct Places {
    calls: Semaphore,
    /// Calls that nobody waits for: many, or a single one.
    unattended: RwLock<()>,
}

/// The place of one call. The semaphore is never closed; without a place the call would still be right, only early.
type Place<'a> = Option<SemaphorePermit<'a>>;

impl Places {
    /// So many.
    pub fn new(calls: usize) -> Self {
        Self { calls: Semaphore::new(calls), unattended: RwLock::new(()) }
    }

    /// One for a call that somebody waits for.
    pub(crate) async fn waited(&self) -> Place<'_> {
        self.calls.acquire().await.ok()
    }

    /// One for a call that nobody waits for, while others of its kind may go on. Who waits for them holds no place.
    pub(crate) async fn beside(&self) -> (RwLockReadGuard<'_, ()>, Place<'_>) {
        let many = self.unattended.read().await;
        (many, self.waited().await)
    }

    /// The same, while none of its kind goes on.
    pub(crate) async fn alone(&self) -> (RwLockWriteGuard<'_, ()>, Place<'_>) {
        let single = self.unattended.write().await;
        (single, self.waited().await)
    }
}
