//! The calls of one model, and the limits that its vendor's responses stated.
//!
//! Vendors give each model limits of its own, so a pool belongs to one model of one vendor. It
//! limits background calls in three ways:
//!
//! - **By rate limits.** The vendor's headers state the remainder of a limit and when it is full
//!   again. In between it is assumed to refill evenly, as vendors document it. A tenth of each
//!   limit is reserved for the user.
//! - **By refusals.** After a 429 or 529 no background call is made until the time that the vendor
//!   named.
//! - **By a window.** A refusal halves the number of concurrent calls, and each accepted call adds
//!   one. A server that delays calls for long, such as a local one with few slots, halves it too;
//!   then it grows slowly.
//!
//! This is plain data: the time is a parameter.

use std::collections::VecDeque;
use std::time::Duration;

use domain::conversation::Usage;
use tokio::time::Instant;

use crate::ports::{RateLimit, RateLimitUnit, ResponseHead};

/// The first wait after a refusal that names no time, and the longest.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// A longer wait than this is ignored: the next call is made at once, its turn gives up and reports
/// the wait, and other runs do not wait in silence.
const MAX_CLOSED: Duration = Duration::from_secs(600);

/// The age from which a stated rate limit delays only further calls, and not a first one.
const STALE: Duration = Duration::from_secs(60);

/// One in this many of each rate limit is reserved for the user.
const USER_SHARE: u64 = 10;

/// The weight of the newest call in the average number of tokens.
const NEWEST_WEIGHT: f64 = 0.25;

/// When a background call may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Now,
    /// Not before this time.
    At(Instant),
    /// Not before another call has been answered or has ended.
    AfterOthers,
}

#[derive(Debug)]
pub(super) struct Pool {
    /// The background calls that wait to begin, oldest first.
    pub waiting: VecDeque<u64>,
    in_flight: usize,
    /// The calls in flight whose response has not begun: the stated limits do not include them yet.
    unanswered: usize,
    window: f64,
    /// The upper limit of the window.
    cap: f64,
    /// Whether the window shrank because calls were slow, and not because they were refused.
    is_slow: bool,
    closed_until: Option<Instant>,
    refusals: u32,
    shrunk_at: Option<Instant>,
    accepted_at: Option<Instant>,
    limits: Vec<StatedLimit>,
    /// The average tokens per call, excluding those read from the cache, if a call has ended.
    tokens: Option<f64>,
    /// The average output tokens per call.
    output_tokens: Option<f64>,
}

/// A rate limit with the time when it was stated.
#[derive(Clone, Copy, Debug)]
struct StatedLimit {
    limit: RateLimit,
    at: Instant,
}

impl Pool {
    pub(super) fn new(cap: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            in_flight: 0,
            unanswered: 0,
            window: cap as f64,
            cap: cap as f64,
            is_slow: false,
            closed_until: None,
            refusals: 0,
            shrunk_at: None,
            accepted_at: None,
            limits: Vec::new(),
            tokens: None,
            output_tokens: None,
        }
    }

    /// Returns whether the pool has no calls and can be dropped.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.waiting.is_empty()
    }

    /// Returns when a background call may begin, as of `now`.
    pub(super) fn admission(&self, now: Instant) -> Admission {
        if let Some(until) = self.closed_until.filter(|until| *until > now) {
            return Admission::At(until);
        }
        if self.in_flight as f64 >= self.window.floor() {
            return Admission::AfterOthers;
        }
        let ready: Option<Vec<Instant>> = self.limits.iter().map(|stated| self.ready_at(stated)).collect();
        let Some(ready) = ready else { return Admission::AfterOthers };
        match ready.into_iter().max().filter(|ready| *ready > now) {
            Some(ready) => Admission::At(ready),
            None => Admission::Now,
        }
    }

    /// Returns when one more call fits into a rate limit. `None` if it fits only after the
    /// responses of others have begun.
    fn ready_at(&self, stated: &StatedLimit) -> Option<Instant> {
        let RateLimit { unit, limit, remaining, resets_in } = stated.limit;
        let each = match unit {
            RateLimitUnit::Requests => 1.0,
            RateLimitUnit::Tokens => self.tokens.unwrap_or_default(),
            RateLimitUnit::OutputTokens => self.output_tokens.unwrap_or_default(),
        };
        // A single call may use more than the limit minus the user's share.
        let first = ((limit / USER_SHARE) as f64 + each).min(limit as f64);
        let needed = first + self.unanswered as f64 * each;
        if needed > limit as f64 {
            return None;
        }
        let missing = needed - remaining as f64;
        if missing <= 0.0 {
            return Some(stated.at);
        }
        let used = limit.saturating_sub(remaining).max(1) as f64;
        let wait = resets_in.mul_f64((missing / used).min(1.0));
        // A call that runs alone asks the vendor for newer numbers.
        let wait = if self.unanswered == 0 { wait.min(STALE) } else { wait };
        Some(stated.at + wait)
    }

    /// Counts a new call.
    pub(super) fn begin(&mut self) {
        self.in_flight += 1;
        self.unanswered += 1;
    }

    /// Records that the response of a call has begun.
    pub(super) fn answered(&mut self) {
        self.unanswered = self.unanswered.saturating_sub(1);
    }

    /// Records the head of a response.
    pub(super) fn record_head(&mut self, head: &ResponseHead, now: Instant) {
        if !head.limits.is_empty() {
            self.limits = head.limits.iter().map(|limit| StatedLimit { limit: *limit, at: now }).collect();
        }
        if head.accepted {
            self.accepted_at = Some(now);
            self.refusals = 0;
            let growth = if self.is_slow { 1.0 / self.window } else { 1.0 };
            self.window = (self.window + growth).min(self.cap);
        }
    }

    /// Records that a call that began at `began` was refused by the vendor.
    pub(super) fn refused(&mut self, began: Instant, retry_after: Option<u64>, now: Instant) {
        if self.shrink(began, now) {
            self.is_slow = false;
            self.refusals += 1;
        }
        let own = BACKOFF.0.saturating_mul(1 << (self.refusals.max(1) - 1).min(6)).min(BACKOFF.1);
        let wait = retry_after.map_or(own, Duration::from_secs);
        if wait <= MAX_CLOSED {
            self.closed_until = self.closed_until.max(Some(now + wait));
        }
    }

    /// Records that a call that began at `began` timed out. If others were answered meanwhile, the
    /// server has too many of them; otherwise it is unreachable, which is independent of their
    /// number.
    pub(super) fn given_up(&mut self, began: Instant, now: Instant) {
        if self.accepted_at.is_some_and(|at| at > began) && self.shrink(began, now) {
            self.is_slow = true;
        }
    }

    /// Halves the window, once for all calls that began before. Returns whether it did.
    fn shrink(&mut self, began: Instant, now: Instant) -> bool {
        if self.shrunk_at.is_some_and(|at| began < at) {
            return false;
        }
        self.shrunk_at = Some(now);
        self.window = (self.in_flight as f64 / 2.0).clamp(1.0, self.cap);
        true
    }

    /// Records the usage of a complete reply.
    pub(super) fn used(&mut self, usage: Usage) {
        self.tokens = Some(average(self.tokens, usage.uncached()));
        self.output_tokens = Some(average(self.output_tokens, usage.output));
    }

    /// Counts the end of a call.
    pub(super) fn end(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }
}

/// Returns the moving average `earlier` updated by a call that used `tokens`.
fn average(earlier: Option<f64>, tokens: u64) -> f64 {
    let tokens = tokens as f64;
    earlier.map_or(tokens, |average| average + NEWEST_WEIGHT * (tokens - average))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn requests(limit: u64, remaining: u64, seconds: u64) -> ResponseHead {
        let resets_in = Duration::from_secs(seconds);
        ResponseHead {
            accepted: true,
            limits: vec![RateLimit { unit: RateLimitUnit::Requests, limit, remaining, resets_in }],
        }
    }

    /// Begins calls at `now` for as long as they are admitted. Returns their number.
    fn begin_all(pool: &mut Pool, now: Instant) -> usize {
        let mut begun = 0;
        while pool.admission(now) == Admission::Now {
            pool.begin();
            begun += 1;
        }
        begun
    }

    #[test]
    fn a_server_without_rate_limits_gets_as_many_calls_as_the_cap_allows() {
        let mut pool = Pool::new(100);
        let now = Instant::now();
        assert_eq!(begin_all(&mut pool, now), 100);
        assert_eq!(pool.admission(now), Admission::AfterOthers);
    }

    #[test]
    fn the_requests_that_are_left_are_used_but_for_a_tenth_of_the_limit() {
        let mut pool = Pool::new(100);
        let now = Instant::now();
        pool.record_head(&requests(50, 20, 36), now);
        assert_eq!(begin_all(&mut pool, now), 15);
        // 30 of 50 come back in 36 seconds, so one in 1.2 seconds.
        let Admission::At(ready) = pool.admission(now) else { panic!("it waits") };
        assert_eq!(ready.duration_since(now), Duration::from_millis(1_200));
        assert_eq!(begin_all(&mut pool, now + 6 * SECOND), 5);
    }

    #[test]
    fn calls_wait_for_tokens_as_many_as_they_used_on_average() {
        let mut pool = Pool::new(100);
        let now = Instant::now();
        let limit = RateLimit {
            unit: RateLimitUnit::Tokens,
            limit: 100_000,
            remaining: 60_000,
            resets_in: 40 * SECOND,
        };
        pool.used(Usage { input: 8_000, output: 2_000, cache_read: 500_000, ..Usage::default() });
        pool.record_head(&ResponseHead { accepted: true, limits: vec![limit] }, now);
        assert_eq!(begin_all(&mut pool, now), 5);
        assert_eq!(begin_all(&mut pool, now + 10 * SECOND), 1);
    }

    /// A call reads far more than it writes, and the limit of output tokens is far smaller.
    #[test]
    fn calls_wait_for_output_tokens_as_many_as_they_wrote_on_average() {
        let mut pool = Pool::new(100);
        let now = Instant::now();
        let limit = RateLimit {
            unit: RateLimitUnit::OutputTokens,
            limit: 8_000,
            remaining: 8_000,
            resets_in: Duration::ZERO,
        };
        pool.used(Usage { input: 50_000, output: 600, ..Usage::default() });
        pool.record_head(&ResponseHead { accepted: true, limits: vec![limit] }, now);
        assert_eq!(begin_all(&mut pool, now), 12);
    }

    #[test]
    fn a_limit_that_is_too_small_for_a_reserve_still_admits_calls() {
        let mut pool = Pool::new(100);
        let now = Instant::now();
        pool.record_head(&requests(1, 1, 60), now);
        assert_eq!(begin_all(&mut pool, now), 1);
        pool.used(Usage { input: 1_000_000, ..Usage::default() });
        let limit = RateLimit { unit: RateLimitUnit::Tokens, limit: 10, remaining: 0, resets_in: SECOND };
        let mut pool = Pool {
            limits: vec![StatedLimit { limit, at: now }],
            ..Pool { tokens: Some(1e6), ..Pool::new(9) }
        };
        assert_eq!(begin_all(&mut pool, now + SECOND), 1);
    }

    /// A daily limit, or a wrong header, would silently delay every call for hours.
    #[test]
    fn after_a_minute_one_call_asks_for_newer_numbers() {
        let mut pool = Pool::new(100);
        let now = Instant::now();
        pool.record_head(&requests(1_000, 0, 86_400), now);
        assert_eq!(begin_all(&mut pool, now + 59 * SECOND), 0);
        assert_eq!(begin_all(&mut pool, now + 60 * SECOND), 1);
    }

    #[test]
    fn after_a_refusal_calls_wait_as_long_as_the_vendor_asks_and_half_of_them_begin() {
        let mut pool = Pool::new(100);
        let now = Instant::now();
        begin_all(&mut pool, now);
        for _ in 0..60 {
            pool.refused(now, Some(20), now + SECOND);
            pool.answered();
            pool.end();
        }
        assert_eq!(begin_all(&mut pool, now + 20 * SECOND), 0);
        assert_eq!(begin_all(&mut pool, now + 21 * SECOND), 10);
        pool.record_head(&ResponseHead { accepted: true, limits: Vec::new() }, now + 22 * SECOND);
        assert_eq!(begin_all(&mut pool, now + 22 * SECOND), 1);
    }

    #[test]
    fn refusals_without_a_time_are_waited_out_longer_each_time() {
        let mut pool = Pool::new(8);
        let mut now = Instant::now();
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            pool.begin();
            pool.refused(now, None, now);
            pool.end();
            assert_eq!(pool.admission(now), Admission::At(now + seconds * SECOND));
            now += seconds * SECOND;
            assert_eq!(pool.admission(now), Admission::Now);
        }
    }

    #[test]
    fn a_vendor_that_asks_for_hours_is_asked_again_so_that_runs_say_so() {
        let mut pool = Pool::new(8);
        let now = Instant::now();
        pool.begin();
        pool.refused(now, Some(7_200), now);
        pool.end();
        assert_eq!(pool.admission(now), Admission::Now);
    }

    /// A local server with few slots delays the other calls until they time out.
    #[test]
    fn a_server_that_answers_some_and_lets_others_wait_gets_fewer() {
        let mut pool = Pool::new(100);
        let now = Instant::now();
        begin_all(&mut pool, now);
        let later = now + 120 * SECOND;
        pool.record_head(&ResponseHead { accepted: true, limits: Vec::new() }, now + SECOND);
        for _ in 0..100 {
            pool.given_up(now, later);
            pool.answered();
            pool.end();
        }
        assert_eq!(begin_all(&mut pool, later), 50);
        pool.record_head(&ResponseHead { accepted: true, limits: Vec::new() }, later + SECOND);
        assert_eq!(begin_all(&mut pool, later + SECOND), 0, "it grows slowly");
    }

    #[test]
    fn a_server_that_is_away_is_not_taken_for_a_slow_one() {
        let mut pool = Pool::new(100);
        let now = Instant::now();
        begin_all(&mut pool, now);
        for _ in 0..100 {
            pool.given_up(now, now + SECOND);
            pool.answered();
            pool.end();
        }
        assert_eq!(begin_all(&mut pool, now + SECOND), 100);
    }
}
