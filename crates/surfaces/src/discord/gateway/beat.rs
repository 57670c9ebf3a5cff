//! Heartbeat of one connection, and detection of a dead one.

use std::time::Duration;

/// Lower bound of the interval.
const SHORTEST: Duration = Duration::from_secs(1);
/// Upper bound of the interval.
const LONGEST: Duration = Duration::from_secs(120);

/// Heartbeat of one connection. A new connection starts with a new one.
#[derive(Debug)]
pub struct Beats {
    every: Duration,
    /// When the next heartbeat is due.
    pub next: Duration,
    last: Last,
}

#[derive(Debug, PartialEq, Eq)]
enum Last {
    Heard,
    Unheard,
}

/// Action for a due heartbeat.
#[derive(Debug, PartialEq, Eq)]
pub enum Due {
    Send,
    /// The last one was not acknowledged, so the connection is dead.
    Dead,
}

impl Beats {
    /// Creates a heartbeat every `millis`; the first comes after the `fraction` of that.
    pub fn new(millis: u64, share: f64, now: Duration) -> Self {
        let every = Duration::from_millis(millis).clamp(SHORTEST, LONGEST);
        Self { every, next: now + every.mul_f64(share), last: Last::Heard }
    }

    /// Returns the action if a heartbeat is due at `now`.
    pub fn due(&mut self, now: Duration) -> Option<Due> {
        if now < self.next {
            return None;
        }
        if self.last == Last::Unheard {
            return Some(Due::Dead);
        }
        self.last = Last::Unheard;
        self.next = now + self.every;
        Some(Due::Send)
    }

    pub fn heard(&mut self) {
        self.last = Last::Heard;
    }
}
