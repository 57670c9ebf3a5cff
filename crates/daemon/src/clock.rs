//! The system clock, in the user's time zone.

use std::time::Duration;

use engine::ports::Clock;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use rustix::time::{ClockId, clock_gettime};

/// Implements [`Clock`] with the clocks of this machine.
#[derive(Clone, Debug)]
pub struct SystemClock {
    zone: TimeZone,
}

impl SystemClock {
    /// Creates a clock that returns times in `zone`.
    pub fn new(zone: TimeZone) -> Self {
        Self { zone }
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "implements the Clock port")]
    fn now(&self) -> Zoned {
        Timestamp::now().to_zoned(self.zone.clone())
    }

    fn since_boot(&self) -> Duration {
        let time = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
        Duration::new(seconds, nanoseconds)
    }
}
