//! Decides whether a failed call is retried, and how long to wait before.
//!
//! Waits grow and are drawn at random between zero and the maximum (full jitter), so that clients
//! that failed together do not return together. A wait that the server requests is respected.

use std::time::Duration;

use crate::dice::Dice;
use crate::failure::Failure;

/// The limits of retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most calls, including the first.
    pub tries: u32,
    /// The most time of all waits together.
    pub waiting: Duration,
}

impl Limits {
    /// The default: six calls, ten minutes.
    pub const HOUSE: Self = Self { tries: 6, waiting: Duration::from_secs(600) };
    /// A single call without retries.
    pub const NONE: Self = Self { tries: 1, waiting: Duration::ZERO };
}

/// The longest first wait, and the longest of all waits.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// The most calls if the responses are invalid.
const GARBLED_TRIES: u32 = 2;

/// The state of the retries of one call.
#[derive(Clone, Debug)]
pub struct Patience {
    limits: Limits,
    dice: Dice,
    tried: u32,
    waited: Duration,
}

impl Patience {
    /// Creates the state with `seed` for the jitter.
    pub fn new(limits: Limits, seed: u64) -> Self {
        Self { limits, dice: Dice::new(seed), tried: 0, waited: Duration::ZERO }
    }

    /// Returns the wait before the next call after `failure`; `None` if there is no retry.
    pub fn after(&mut self, failure: &Failure) -> Option<Duration> {
        self.tried += 1;
        let tries = match failure {
            Failure::Busy(_) | Failure::Broken(_) | Failure::CutOff(_) | Failure::Unreachable(_) => {
                self.limits.tries
            }
            Failure::Garbled(_) => self.limits.tries.min(GARBLED_TRIES),
            Failure::Away(_)
            | Failure::SpendLimit(_)
            | Failure::BadKey(_)
            | Failure::NoSuchModel { .. }
            | Failure::Rejected(_)
            | Failure::Unsaid(_)
            | Failure::Full(_)
            | Failure::Stopped(_) => return None,
        };
        let wait = self.wait(failure);
        if self.tried >= tries || self.waited.saturating_add(wait) > self.limits.waiting {
            return None;
        }
        self.waited += wait;
        Some(wait)
    }

    fn wait(&mut self, failure: &Failure) -> Duration {
        let most = FIRST.saturating_mul(1 << (self.tried - 1).min(10)).min(LONGEST);
        let share = self.dice.roll() as f64 / u64::MAX as f64;
        let jitter = most.mul_f64(share);
        match failure {
            // A wait that the server requests gets no growing wait in addition.
            Failure::Busy(Some(seconds)) => Duration::from_secs(*seconds).saturating_add(jitter.min(FIRST)),
            Failure::Busy(None)
            | Failure::Away(_)
            | Failure::Broken(_)
            | Failure::CutOff(_)
            | Failure::Unreachable(_)
            | Failure::SpendLimit(_)
            | Failure::BadKey(_)
            | Failure::NoSuchModel { .. }
            | Failure::Rejected(_)
            | Failure::Garbled(_)
            | Failure::Unsaid(_)
            | Failure::Full(_)
            | Failure::Stopped(_) => jitter,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{SpendLimit, Unsaid};

    fn waits(limits: Limits, seed: u64, failure: &Failure) -> Vec<Duration> {
        let mut patience = Patience::new(limits, seed);
        std::iter::from_fn(|| patience.after(failure)).collect()
    }

    /// E1: The first wait is one second, each at most a minute, with at most six calls and ten
    /// minutes, for 1,000 seeds.
    #[test]
    fn waits_grow_within_their_bounds_and_end() {
        for seed in 0..1_000 {
            let waits = waits(Limits::HOUSE, seed, &Failure::Busy(None));
            assert_eq!(waits.len(), 5);
            for (n, wait) in waits.iter().enumerate() {
                assert!(*wait <= FIRST * (1 << n), "try {n} of seed {seed} waits {wait:?}");
            }
            assert!(waits.iter().sum::<Duration>() <= Limits::HOUSE.waiting);
        }
        let spread =
            |n: usize| (0..1_000).map(move |seed| waits(Limits::HOUSE, seed, &Failure::Busy(None))[n]);
        assert!(spread(0).min() < Some(Duration::from_millis(50)), "jitter begins at nothing");
        assert!(spread(0).max() > Some(Duration::from_millis(950)), "and goes to the most");
    }

    /// E1: A requested wait is respected unless it exceeds the limit.
    #[test]
    fn who_asks_to_wait_is_waited_for() {
        let asked = waits(Limits::HOUSE, 7, &Failure::Busy(Some(30)));
        let bounds = Duration::from_secs(30)..=Duration::from_secs(31);
        assert!(asked.iter().all(|wait| bounds.contains(wait)), "{asked:?}");
        assert_eq!(waits(Limits::HOUSE, 7, &Failure::Busy(Some(3_600))), []);
    }

    /// E1: Spend limits, bad keys and invalid requests are not retried.
    #[test]
    fn what_cannot_get_better_is_not_tried_again() {
        let text = String::new;
        for failure in [
            Failure::SpendLimit(SpendLimit::Account(text())),
            Failure::BadKey(text()),
            Failure::Rejected(text()),
            Failure::Unsaid(Unsaid::Refused(crate::failure::Declined::Unstated)),
            Failure::Unsaid(Unsaid::TooLong),
            Failure::Unsaid(Unsaid::Empty),
            Failure::Full(text()),
            Failure::Stopped(text()),
        ] {
            assert_eq!(waits(Limits::HOUSE, 1, &failure), [], "{failure}");
        }
        assert_eq!(waits(Limits::HOUSE, 1, &Failure::Garbled(text())).len(), 1);
        assert_eq!(waits(Limits::NONE, 1, &Failure::Busy(None)), []);
    }
}
