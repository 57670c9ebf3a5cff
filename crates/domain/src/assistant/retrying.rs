//! Retry times after a rejected or failed model call.

use jiff::{SignedDuration, Timestamp};

/// Exponential backoff: each wait is twice the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    pub first: SignedDuration,
    pub longest: SignedDuration,
}

/// The next retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Retry {
    tries: u32,
    pub again: Timestamp,
}

impl Retry {
    /// Returns the retry after a failure at `now`, not before the wait that the server `asked` for.
    /// A failure before the planned retry, such as that of a second turn, does not extend the wait.
    pub fn plan(last: Option<Self>, pace: Pace, asked: SignedDuration, now: Timestamp) -> Self {
        let after = |wait| now.checked_add(wait).unwrap_or(Timestamp::MAX);
        if let Some(last) = last.filter(|last| last.again > now) {
            return Self { again: last.again.max(after(asked)), ..last };
        }
        let tries = last.map_or(0, |last| last.tries);
        let wait = pace.first.checked_mul(1 << tries.min(16)).unwrap_or(pace.longest).min(pace.longest);
        Self { tries: tries.saturating_add(1), again: after(wait.max(asked)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { first: SignedDuration::from_secs(5), longest: SignedDuration::from_mins(10) };

    fn at(second: i64) -> Timestamp {
        Timestamp::constant(1_800_000_000 + second, 0)
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let mut last = None;
        let mut now = at(0);
        let mut waits = Vec::new();
        for _ in 0..9 {
            let next = Retry::plan(last, PACE, SignedDuration::ZERO, now);
            waits.push(next.again.duration_since(now).as_secs());
            (last, now) = (Some(next), next.again);
        }
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 600, 600]);
    }

    #[test]
    fn the_server_is_not_asked_before_the_time_it_named_and_a_second_failure_changes_nothing() {
        let asked = SignedDuration::from_secs(30);
        let first = Retry::plan(None, PACE, asked, at(0));
        assert_eq!(first.again, at(30));
        assert_eq!(Retry::plan(Some(first), PACE, SignedDuration::ZERO, at(3)), first);
        assert_eq!(Retry::plan(Some(first), PACE, asked, at(3)).again, at(33));
        let far = Retry::plan(None, PACE, SignedDuration::MAX, at(0));
        assert_eq!(far.again, Timestamp::MAX);
    }
}
