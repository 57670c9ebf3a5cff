//! Retry times after a rejected or failed model call.

use jiff::{SignedDuration, Timestamp};

/// Exponential backoff: each wait is twice the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backoff {
    pub first: SignedDuration,
    pub longest: SignedDuration,
}

/// The next retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Retry {
    tries: u32,
    pub next_try: Timestamp,
}

impl Retry {
    /// Returns the retry after a failure at `now`, not before the wait that the server `asked` for.
    /// A failure before the planned retry, such as that of a second turn, does not extend the wait.
    pub fn after_failure(
        last: Option<Self>,
        backoff: Backoff,
        asked: SignedDuration,
        now: Timestamp,
    ) -> Self {
        let after = |wait| now.checked_add(wait).unwrap_or(Timestamp::MAX);
        if let Some(last) = last.filter(|last| last.next_try > now) {
            return Self { next_try: last.next_try.max(after(asked)), ..last };
        }
        let tries = last.map_or(0, |last| last.tries);
        let wait =
            backoff.first.checked_mul(1 << tries.min(16)).unwrap_or(backoff.longest).min(backoff.longest);
        Self { tries: tries.saturating_add(1), next_try: after(wait.max(asked)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff =
        Backoff { first: SignedDuration::from_secs(5), longest: SignedDuration::from_mins(10) };

    fn at(second: i64) -> Timestamp {
        Timestamp::constant(1_800_000_000 + second, 0)
    }

    #[test]
    fn waits_double_up_to_the_maximum() {
        let mut last = None;
        let mut now = at(0);
        let mut waits = Vec::new();
        for _ in 0..9 {
            let next = Retry::after_failure(last, BACKOFF, SignedDuration::ZERO, now);
            waits.push(next.next_try.duration_since(now).as_secs());
            (last, now) = (Some(next), next.next_try);
        }
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 600, 600]);
    }

    #[test]
    fn retry_respects_the_servers_wait_and_a_second_failure_does_not_extend_it() {
        let asked = SignedDuration::from_secs(30);
        let first = Retry::after_failure(None, BACKOFF, asked, at(0));
        assert_eq!(first.next_try, at(30));
        assert_eq!(Retry::after_failure(Some(first), BACKOFF, SignedDuration::ZERO, at(3)), first);
        assert_eq!(Retry::after_failure(Some(first), BACKOFF, asked, at(3)).next_try, at(33));
        let far = Retry::after_failure(None, BACKOFF, SignedDuration::MAX, at(0));
        assert_eq!(far.next_try, Timestamp::MAX);
    }
}
