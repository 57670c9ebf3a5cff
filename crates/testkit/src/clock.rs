//! The clock, played: a wall and a boot time that pass only when a test says so.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use engine::ports::Clock;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned};
use tokio::runtime::Handle;
use tokio::time::Instant;

/// A clock that follows the paused time of a tokio runtime, and whose wall can be moved apart from it.
#[derive(Debug)]
pub struct VirtualClock {
    start: Zoned,
    since: Instant,
    /// Whose time it is, also for those who ask from outside.
    runtime: Handle,
    moved: Mutex<SignedDuration>,
    /// Where the human lives by now, if they have moved.
    zone: Mutex<Option<TimeZone>>,
}

impl VirtualClock {
    /// A clock that shows `start` now. It must be made inside the runtime whose time it follows.
    pub fn new(start: Zoned) -> Self {
        Self {
            start,
            since: Instant::now(),
            runtime: Handle::current(),
            moved: Mutex::default(),
            zone: Mutex::default(),
        }
    }

    /// Somebody sets the clock on the wall; no time passes.
    pub fn set_forward(&self, by: SignedDuration) {
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        *moved += by;
    }

    /// The human lives in `zone` from now on.
    pub fn set_zone(&self, zone: TimeZone) {
        *self.zone.lock().unwrap_or_else(PoisonError::into_inner) = Some(zone);
    }

    fn passed(&self) -> Duration {
        let _inside = self.runtime.enter();
        Instant::now().duration_since(self.since)
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Zoned {
        let moved = *self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = SignedDuration::try_from(self.passed()).unwrap_or(SignedDuration::MAX);
        let now = self.start.saturating_add(passed).saturating_add(moved);
        match self.zone.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            Some(zone) => now.with_time_zone(zone),
            None => now,
        }
    }

    fn boot(&self) -> Duration {
        self.passed()
    }
}
