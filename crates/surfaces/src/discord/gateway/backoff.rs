//! Delays before reconnecting.

use std::time::Duration;

/// Longest delay after connections that never became ready.
const MAX_DELAY: Duration = Duration::from_secs(60);
/// Longest delay after connections that became ready but did not last.
const MAX_DELAY_AFTER_SHORT_CONNECTION: Duration = Duration::from_secs(8);
/// How long a connection must last for the next one to be made at once.
const STABLE_AFTER: Duration = Duration::from_secs(30);

/// Counts failures and short connections since the last success.
#[derive(Debug)]
pub struct Backoff {
    failures: u32,
    short_connections: u32,
    rng_state: u64,
}

impl Backoff {
    pub fn new(seed: u64) -> Self {
        Self { failures: 0, short_connections: 0, rng_state: seed }
    }

    /// Returns the number of failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Resets the failures after a connection became ready.
    pub fn reset_failures(&mut self) {
        self.failures = 0;
    }

    /// Returns the delay after a connection that never became ready; it grows each time.
    pub fn after_failure(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.exponential(self.failures, MAX_DELAY)
    }

    /// Returns the delay after a connection that was ready for `duration`. It grows while
    /// connections are short.
    pub fn after_connection(&mut self, duration: Duration) -> Duration {
        if duration >= STABLE_AFTER {
            self.short_connections = 0;
            return Duration::ZERO;
        }
        self.short_connections = self.short_connections.saturating_add(1);
        self.exponential(self.short_connections, MAX_DELAY_AFTER_SHORT_CONNECTION)
    }

    /// Returns a random delay between half and all of one second, doubled each time up to
    /// `longest`.
    fn exponential(&mut self, time: u32, longest: Duration) -> Duration {
        let whole = Duration::from_secs(1 << time.saturating_sub(1).min(6)).min(longest);
        whole.mul_f64(0.5 + self.random() / 2.0)
    }

    /// Returns the delay before a new session after the old one was invalidated: one to five
    /// seconds.
    pub fn after_invalid(&mut self) -> Duration {
        Duration::from_secs(1) + Duration::from_secs(4).mul_f64(self.random())
    }

    /// Returns a random number from 0 to below 1 (splitmix64).
    pub fn random(&mut self) -> f64 {
        self.rng_state = self.rng_state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.rng_state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let high_bits = u32::try_from(mixed >> 32).unwrap_or_default();
        f64::from(high_bits) / (f64::from(u32::MAX) + 1.0)
    }
}
