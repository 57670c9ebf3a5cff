//! The heartbeat of one connection, and how a dead one is noticed.

use std::time::Duration;

/// The shortest time between two beats that we go along with.
const SHORTEST: Duration = Duration::from_secs(1);
/// The longest.
const LONGEST: Duration = Duration::from_secs(120);

/// The beats of one connection. A new connection has new ones, so no old silence is held against it.
#[derive(Debug)]
pub struct Beats {
    every: Duration,
    /// When the next one is due.
    pub next: Duration,
    last: Last,
}

#[derive(Debug, PartialEq, Eq)]
enum Last {
    Heard,
    Unheard,
}

/// What a beat that is due means.
#[derive(Debug, PartialEq, Eq)]
pub enum Due {
    /// It is to be sent.
    Send,
    /// The last one was never heard: the connection is dead.
    Dead,
}

impl Beats {
    /// Beats every `millis`, the first after a part of that, `share` out of 1.
    pub fn new(millis: u64, share: f64, now: Duration) -> Self {
        let every = Duration::from_millis(millis).clamp(SHORTEST, LONGEST);
        Self { every, next: now + every.mul_f64(share), last: Last::Heard }
    }

    /// What is to be done about the beat that is due at `now`, if one is.
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

    /// The last one was heard.
    pub fn heard(&mut self) {
        self.last = Last::Heard;
    }
}
