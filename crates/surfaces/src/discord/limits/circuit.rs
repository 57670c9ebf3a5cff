//! The circuit for requests that are refused: too many of them, and Discord shuts the machine out.
//!
//! Discord allows 10,000 in ten minutes. We stay below 100: first slower, then not at all.

use std::collections::VecDeque;
use std::time::Duration;

use super::Weight;

/// How far back refusals count.
const WINDOW: Duration = Duration::from_secs(10 * 60);
/// From how many refusals on we are slow.
const SLOW: usize = 40;
/// How long lies between two requests when we are slow.
const GAP: Duration = Duration::from_secs(10);
/// At how many refusals nothing leaves any more.
const STOP: usize = 80;

/// What was refused lately.
#[derive(Debug, Default)]
pub struct Circuit {
    refused: VecDeque<Duration>,
    last: Duration,
}

impl Circuit {
    /// When the next request of `weight` may leave.
    pub fn free_at(&self, weight: Weight, now: Duration) -> Duration {
        let stop = match weight {
            Weight::Light => SLOW,
            Weight::Plain | Weight::Apart => STOP,
        };
        let recent: Vec<_> = self.refused.iter().filter(|at| **at + WINDOW > now).collect();
        if let Some(at) = recent.len().checked_sub(stop).and_then(|index| recent.get(index)) {
            return **at + WINDOW;
        }
        if recent.len() < SLOW { now } else { (self.last + GAP).max(now) }
    }

    /// A request leaves.
    pub fn sent(&mut self, now: Duration) {
        self.last = now;
    }

    /// A request was refused.
    pub fn refused(&mut self, now: Duration) {
        while self.refused.front().is_some_and(|at| *at + WINDOW <= now) {
            self.refused.pop_front();
        }
        self.refused.push_back(now);
    }
}
