//! One rate limit bucket: requests left in its window, and how long it is closed.

use std::time::Duration;

/// Longest wait that is imposed by our own backoff.
const MAX_BACKOFF: Duration = Duration::from_secs(64);

/// State of one bucket. A new one is open.
#[derive(Debug, Default)]
pub struct Bucket {
    limit: u32,
    remaining: u32,
    resets_at: Duration,
    closed_until: Duration,
    refusals: u32,
}

impl Bucket {
    /// Returns when the next request may be sent.
    pub fn free_at(&self, now: Duration) -> Duration {
        let window = if self.remaining == 0 { self.resets_at } else { now };
        window.max(self.closed_until).max(now)
    }

    /// Returns true if it restricts requests more than a new bucket.
    pub fn is_active(&self, now: Duration) -> bool {
        self.resets_at > now || self.closed_until > now
    }

    /// Counts a request.
    pub fn take(&mut self, now: Duration) {
        if now >= self.resets_at {
            self.remaining = self.limit;
        }
        self.remaining = self.remaining.saturating_sub(1);
    }

    /// Sets the remaining requests until `resets`. Of two responses about the same window the lower
    /// number counts, because requests may have been sent since the other one was written.
    pub fn set_window(&mut self, limit: u32, remaining: u32, resets: Duration) {
        let same = self.resets_at.abs_diff(resets) < Duration::from_millis(250);
        self.remaining = if same { remaining.min(self.remaining) } else { remaining };
        self.limit = limit;
        self.resets_at = resets;
    }

    /// Closes the bucket. Repeated refusals wait longer than demanded.
    pub fn refuse(&mut self, wait: Duration, now: Duration) {
        let own = Duration::from_millis(500).saturating_mul(1 << self.refusals.min(7)).min(MAX_BACKOFF);
        self.refusals = self.refusals.saturating_add(1);
        self.closed_until = self.closed_until.max(now + wait.max(own));
    }

    /// Resets the backoff after a success.
    pub fn accept(&mut self) {
        self.refusals = 0;
    }
}
