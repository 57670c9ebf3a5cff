//! Places: how many calls of a model go on at a time, and how one that nobody waits for goes alone.

use domain::cost::Pace;
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

    /// One for a call that nobody waited for at first, beside others of its kind, while none of them goes on, or whatever
    /// they do. Who waits for them holds no place.
    pub(crate) async fn unattended(&self, pace: Pace) -> (Part<'_>, Part<'_>) {
        let wanted = match pace {
            Pace::Beside => 1,
            Pace::Alone => self.all,
            Pace::Hurried => 0,
        };
        let unattended = self.unattended.acquire_many(wanted).await.ok();
        (unattended, self.waited().await)
    }
}
