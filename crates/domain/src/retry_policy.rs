//! Decides whether a failed call is retried, and how long to wait before.
//!
//! Waits grow and are drawn at random between zero and the maximum (full jitter), so that clients
//! that failed together do not return together. A wait that the server requests is respected.

use std::time::Duration;

use crate::failure::Failure;
use crate::rng::Rng;

/// The limits of retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryLimits {
    /// The most calls, including the first.
    pub max_attempts: u32,
    /// The most time of all waits together.
    pub max_total_wait: Duration,
}

impl RetryLimits {
    /// The default: six calls, ten minutes.
    pub const DEFAULT: Self = Self { max_attempts: 6, max_total_wait: Duration::from_secs(600) };
    /// A single call without retries.
    pub const NONE: Self = Self { max_attempts: 1, max_total_wait: Duration::ZERO };
}

/// The longest first wait, and the longest of all waits.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const MAX_WAIT: Duration = Duration::from_secs(60);
/// The most calls if the responses are invalid.
const INVALID_RESPONSE_ATTEMPTS: u32 = 2;

/// The state of the retries of one call.
#[derive(Clone, Debug)]
pub struct RetryPolicy {
    limits: RetryLimits,
    rng: Rng,
    attempts: u32,
    waited: Duration,
}

impl RetryPolicy {
    /// Creates the state with `seed` for the jitter.
    pub fn new(limits: RetryLimits, seed: u64) -> Self {
        Self { limits, rng: Rng::new(seed), attempts: 0, waited: Duration::ZERO }
    }

    /// Returns the wait before the next call after `failure`; `None` if there is no retry.
    pub fn next_wait(&mut self, failure: &Failure) -> Option<Duration> {
        self.attempts += 1;
        let tries = match failure {
            Failure::Overloaded(_)
            | Failure::VendorError(_)
            | Failure::CutOff(_)
            | Failure::Unreachable(_) => self.limits.max_attempts,
            Failure::InvalidResponse(_) => self.limits.max_attempts.min(INVALID_RESPONSE_ATTEMPTS),
            Failure::Unavailable(_)
            | Failure::SpendLimit(_)
            | Failure::BadKey(_)
            | Failure::NoSuchModel { .. }
            | Failure::Rejected(_)
            | Failure::InvalidReply(_)
            | Failure::ContextFull(_)
            | Failure::Stopped(_) => return None,
        };
        let wait = self.draw_wait(failure);
        if self.attempts >= tries || self.waited.saturating_add(wait) > self.limits.max_total_wait {
            return None;
        }
        self.waited += wait;
        Some(wait)
    }

    fn draw_wait(&mut self, failure: &Failure) -> Duration {
        let max_wait = FIRST_WAIT.saturating_mul(1 << (self.attempts - 1).min(10)).min(MAX_WAIT);
        let share = self.rng.next_u64() as f64 / u64::MAX as f64;
        let jitter = max_wait.mul_f64(share);
        match failure {
            // A wait that the server requests gets no growing wait in addition.
            Failure::Overloaded(Some(seconds)) => {
                Duration::from_secs(*seconds).saturating_add(jitter.min(FIRST_WAIT))
            }
            Failure::Overloaded(None)
            | Failure::Unavailable(_)
            | Failure::VendorError(_)
            | Failure::CutOff(_)
            | Failure::Unreachable(_)
            | Failure::SpendLimit(_)
            | Failure::BadKey(_)
            | Failure::NoSuchModel { .. }
            | Failure::Rejected(_)
            | Failure::InvalidResponse(_)
            | Failure::InvalidReply(_)
            | Failure::ContextFull(_)
            | Failure::Stopped(_) => jitter,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{InvalidReply, SpendLimit};

    fn waits(limits: RetryLimits, seed: u64, failure: &Failure) -> Vec<Duration> {
        let mut patience = RetryPolicy::new(limits, seed);
        std::iter::from_fn(|| patience.next_wait(failure)).collect()
    }

    /// E1: The first wait is one second, each at most a minute, with at most six calls and ten
    /// minutes, for 1,000 seeds.
    #[test]
    fn waits_grow_within_limits_and_end() {
        for seed in 0..1_000 {
            let waits = waits(RetryLimits::DEFAULT, seed, &Failure::Overloaded(None));
            assert_eq!(waits.len(), 5);
            for (n, wait) in waits.iter().enumerate() {
                assert!(*wait <= FIRST_WAIT * (1 << n), "try {n} of seed {seed} waits {wait:?}");
            }
            assert!(waits.iter().sum::<Duration>() <= RetryLimits::DEFAULT.max_total_wait);
        }
        let spread = |n: usize| {
            (0..1_000).map(move |seed| waits(RetryLimits::DEFAULT, seed, &Failure::Overloaded(None))[n])
        };
        assert!(spread(0).min() < Some(Duration::from_millis(50)), "jitter begins at nothing");
        assert!(spread(0).max() > Some(Duration::from_millis(950)), "and goes to the most");
    }

    /// E1: A requested wait is respected unless it exceeds the limit.
    #[test]
    fn requested_wait_is_respected() {
        let asked = waits(RetryLimits::DEFAULT, 7, &Failure::Overloaded(Some(30)));
        let bounds = Duration::from_secs(30)..=Duration::from_secs(31);
        assert!(asked.iter().all(|wait| bounds.contains(wait)), "{asked:?}");
        assert_eq!(waits(RetryLimits::DEFAULT, 7, &Failure::Overloaded(Some(3_600))), []);
    }

    /// E1: Spend limits, bad keys and invalid requests are not retried.
    #[test]
    fn permanent_failures_are_not_retried() {
        let text = String::new;
        for failure in [
            Failure::SpendLimit(SpendLimit::Account(text())),
            Failure::BadKey(text()),
            Failure::Rejected(text()),
            Failure::InvalidReply(InvalidReply::Refused(crate::failure::DeclineReason::Unstated)),
            Failure::InvalidReply(InvalidReply::TooLong),
            Failure::InvalidReply(InvalidReply::Empty),
            Failure::ContextFull(text()),
            Failure::Stopped(text()),
        ] {
            assert_eq!(waits(RetryLimits::DEFAULT, 1, &failure), [], "{failure}");
        }
        assert_eq!(waits(RetryLimits::DEFAULT, 1, &Failure::InvalidResponse(text())).len(), 1);
        assert_eq!(waits(RetryLimits::NONE, 1, &Failure::Overloaded(None)), []);
    }
}
