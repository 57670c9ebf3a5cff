//! One bucket: how many requests are left in its window, and whether it is closed.

use std::time::Duration;

/// The longest that we stay away of our own accord.
const LONGEST: Duration = Duration::from_secs(64);

/// What is known of one bucket. A new one is open.
#[derive(Debug, Default)]
pub struct Bucket {
    limit: u32,
    remaining: u32,
    resets: Duration,
    embargo: Duration,
    refusals: u32,
}

impl Bucket {
    /// When the next request may leave.
    pub fn free_at(&self, now: Duration) -> Duration {
        let window = if self.remaining == 0 { self.resets } else { now };
        window.max(self.embargo).max(now)
    }

    /// Whether it still says more than a new one would.
    pub fn matters(&self, now: Duration) -> bool {
        self.resets > now || self.embargo > now
    }

    /// A request leaves.
    pub fn take(&mut self, now: Duration) {
        if now >= self.resets {
            self.remaining = self.limit;
        }
        self.remaining = self.remaining.saturating_sub(1);
    }

    /// Discord says how many are left until `resets`. Of two answers about one window the lower counts: others may
    /// have left since the higher was written.
    pub fn window(&mut self, limit: u32, remaining: u32, resets: Duration) {
        let same = self.resets.abs_diff(resets) < Duration::from_millis(250);
        self.remaining = if same { remaining.min(self.remaining) } else { remaining };
        self.limit = limit;
        self.resets = resets;
    }

    /// Discord closes it. Who is refused again and again stays away longer than they were told.
    pub fn refuse(&mut self, wait: Duration, now: Duration) {
        let own = Duration::from_millis(500).saturating_mul(1 << self.refusals.min(7)).min(LONGEST);
        self.refusals = self.refusals.saturating_add(1);
        self.embargo = self.embargo.max(now + wait.max(own));
    }

    /// A request went through.
    pub fn accept(&mut self) {
        self.refusals = 0;
    }
}
