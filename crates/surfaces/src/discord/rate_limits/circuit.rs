//! Circuit breaker for refused requests. Discord blocks the machine after 10,000 in ten minutes;
//! this stays below 100 by slowing down first and stopping then.

use std::collections::VecDeque;
use std::time::Duration;

use super::Weight;

/// Period for which a refusal counts.
const WINDOW: Duration = Duration::from_secs(10 * 60);
/// Number of refusals from which requests are slowed down.
const SLOW_FROM: usize = 40;
/// Time between two requests when slowed down.
const GAP: Duration = Duration::from_secs(10);
/// Number of refusals at which requests stop.
const STOP_AT: usize = 80;

/// Recent refusals.
#[derive(Debug, Default)]
pub struct Circuit {
    refused: VecDeque<Duration>,
    last: Duration,
}

impl Circuit {
    /// Returns when the next request of `weight` may be sent.
    pub fn free_at(&self, weight: Weight, now: Duration) -> Duration {
        let stop = match weight {
            Weight::LowPriority => SLOW_FROM,
            Weight::Normal | Weight::Interaction => STOP_AT,
        };
        let recent: Vec<_> = self.refused.iter().filter(|at| **at + WINDOW > now).collect();
        if let Some(at) = recent.len().checked_sub(stop).and_then(|index| recent.get(index)) {
            return **at + WINDOW;
        }
        if recent.len() < SLOW_FROM { now } else { (self.last + GAP).max(now) }
    }

    /// Records a request.
    pub fn sent(&mut self, now: Duration) {
        self.last = now;
    }

    /// Records a refusal.
    pub fn refused(&mut self, now: Duration) {
        while self.refused.front().is_some_and(|at| *at + WINDOW <= now) {
            self.refused.pop_front();
        }
        self.refused.push_back(now);
    }
}
