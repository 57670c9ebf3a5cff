//! Heartbeat of one connection, and detection of a dead one.

use std::time::Duration;

/// Lower bound of the interval.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Upper bound of the interval.
const MAX_INTERVAL: Duration = Duration::from_secs(120);

/// Heartbeat of one connection. A new connection starts with a new one.
#[derive(Debug)]
pub struct Heartbeat {
    interval: Duration,
    /// When the next heartbeat is due.
    pub next: Duration,
    last: LastBeat,
}

#[derive(Debug, PartialEq, Eq)]
enum LastBeat {
    Acknowledged,
    Pending,
}

/// Action for a due heartbeat.
#[derive(Debug, PartialEq, Eq)]
pub enum Due {
    Send,
    /// The last one was not acknowledged, so the connection is dead.
    Dead,
}

impl Heartbeat {
    /// Creates a heartbeat every `millis`; the first comes after the `fraction` of that.
    pub fn new(millis: u64, fraction: f64, now: Duration) -> Self {
        let interval = Duration::from_millis(millis).clamp(MIN_INTERVAL, MAX_INTERVAL);
        Self { interval, next: now + interval.mul_f64(fraction), last: LastBeat::Acknowledged }
    }

    /// Returns the action if a heartbeat is due at `now`.
    pub fn due(&mut self, now: Duration) -> Option<Due> {
        if now < self.next {
            return None;
        }
        if self.last == LastBeat::Pending {
            return Some(Due::Dead);
        }
        self.last = LastBeat::Pending;
        self.next = now + self.interval;
        Some(Due::Send)
    }

    pub fn acknowledge(&mut self) {
        self.last = LastBeat::Acknowledged;
    }
}
