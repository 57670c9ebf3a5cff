//! A fake clock whose wall time and boot time advance only when a test says so.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use engine::ports::Clock;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned};
use tokio::runtime::Handle;
use tokio::time::Instant;

/// A clock that follows the paused time of a tokio runtime, and whose wall time can be shifted
/// independently.
#[derive(Debug)]
pub struct VirtualClock {
    start: Zoned,
    created_at: Instant,
    /// The runtime whose time is used, also for callers outside it.
    runtime: Handle,
    offset: Mutex<SignedDuration>,
    /// The user's current time zone, if it was changed.
    zone: Mutex<Option<TimeZone>>,
}

impl VirtualClock {
    /// Creates a clock that shows `start` now. Must be called inside the runtime whose time it
    /// follows.
    pub fn new(start: Zoned) -> Self {
        Self {
            start,
            created_at: Instant::now(),
            runtime: Handle::current(),
            offset: Mutex::default(),
            zone: Mutex::default(),
        }
    }

    /// Shifts the wall clock; no time passes.
    pub fn shift_wall_clock(&self, by: SignedDuration) {
        let mut offset = self.offset.lock().unwrap_or_else(PoisonError::into_inner);
        *offset += by;
    }

    /// Sets the user's time zone.
    pub fn set_zone(&self, zone: TimeZone) {
        *self.zone.lock().unwrap_or_else(PoisonError::into_inner) = Some(zone);
    }

    fn elapsed(&self) -> Duration {
        let _inside = self.runtime.enter();
        Instant::now().duration_since(self.created_at)
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Zoned {
        let offset = *self.offset.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = SignedDuration::try_from(self.elapsed()).unwrap_or(SignedDuration::MAX);
        let now = self.start.saturating_add(elapsed).saturating_add(offset);
        match self.zone.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            Some(zone) => now.with_time_zone(zone),
            None => now,
        }
    }

    fn since_boot(&self) -> Duration {
        self.elapsed()
    }
}
