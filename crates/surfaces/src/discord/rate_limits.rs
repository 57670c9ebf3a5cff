//! Computes when a request may be sent under Discord's rate limits, without I/O or clock.
//!
//! Only durations are read (`Reset-After`, `Retry-After`), so a wrong system clock has no effect.
//! Limits are stored both for the route and for the bucket named by Discord, so a block holds even
//! while buckets are renamed.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::Value;

use crate::discord::transport::{Headers, Method};

mod bucket;
mod circuit;

use bucket::Bucket;
use circuit::Circuit;

/// Maximum number of buckets: far more than one user's conversation needs.
const MAX_BUCKETS: usize = 256;
/// Requests per second, below the fifty that Discord allows.
const MAX_PER_SECOND: usize = 45;
/// Wait after a refusal without a given time.
const DEFAULT_WAIT: Duration = Duration::from_secs(5);
/// Longest wait that a response can demand, in seconds.
const MAX_WAIT_SECONDS: f64 = 24.0 * 3600.0;
/// Error code for an old message that was edited too often.
const TOO_MANY_EDITS: u64 = 30046;
/// Added to times from Discord, which are rounded.
const ROUNDING_MARGIN: Duration = Duration::from_millis(20);

/// The limits that apply to a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    pub method: Method,
    /// Path with `{}` for every id, such as `/channels/{}/messages`.
    pub template: &'static str,
    /// The channel or token that has limits of its own.
    pub major: String,
    pub weight: Weight,
}

/// Priority and accounting of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Must arrive.
    Normal,
    /// Optional, and the first to be delayed.
    LowPriority,
    /// An answer to an interaction, which does not count towards the global limit.
    Interaction,
}

/// Whether a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Now; it is counted as sent.
    Go,
    Until(Duration),
}

/// State of all known limits.
#[derive(Debug, Default)]
pub struct RateLimits {
    names: BTreeMap<(Method, &'static str), String>,
    buckets: BTreeMap<Key, Bucket>,
    global: Bucket,
    second: SecondWindow,
    circuit: Circuit,
}

/// Name of a bucket or route, and its major parameter.
type Key = (String, String);

impl RateLimits {
    /// Checks whether a request for `route` may be sent at `now`.
    pub fn check(&mut self, route: &Route, now: Duration) -> Wait {
        let keys = self.keys(route);
        let buckets = keys.iter().filter_map(|key| self.buckets.get(key)).map(|bucket| bucket.free_at(now));
        let mut free = buckets.max().unwrap_or(now).max(self.circuit.free_at(route.weight, now));
        if route.weight != Weight::Interaction {
            free = free.max(self.global.free_at(now)).max(self.second.free_at(now));
        }
        if free > now {
            return Wait::Until(free);
        }
        for key in &keys {
            if let Some(bucket) = self.buckets.get_mut(key) {
                bucket.take(now);
            }
        }
        if route.weight != Weight::Interaction {
            self.second.take(now);
        }
        self.circuit.sent(now);
        Wait::Go
    }

    /// Updates the limits from the response to a request for `route` received at `now`.
    pub fn update(&mut self, route: &Route, answer: &ResponseInfo<'_>, now: Duration) {
        if let Some(name) = answer.headers.get("x-ratelimit-bucket") {
            self.names.insert((route.method, route.template), name.to_owned());
        }
        if matches!(answer.status, 401 | 403 | 429) {
            self.circuit.refused(now);
        }
        let refusal = (answer.status == 429 && !answer.is_edit_limit()).then(|| answer.refusal());
        let window = answer.window(now);
        for key in self.keys(route) {
            if window.is_none() && refusal.is_none() && !self.buckets.contains_key(&key) {
                continue;
            }
            let bucket = self.buckets.entry(key).or_default();
            if let Some((limit, remaining, resets)) = window {
                bucket.set_window(limit, remaining, resets);
            }
            match &refusal {
                Some(refusal) => bucket.refuse(refusal.wait, now),
                None => bucket.accept(),
            }
        }
        match refusal {
            Some(Refusal { wait, scope: Scope::Global }) => self.global.refuse(wait, now),
            Some(Refusal { scope: Scope::Bucket, .. }) => {}
            None => self.global.accept(),
        }
        self.prune(now);
    }

    /// Returns the number of buckets.
    pub fn bucket_count(&self) -> usize {
        self.buckets.len()
    }

    fn keys(&self, route: &Route) -> Vec<Key> {
        let own = (format!("{:?} {}", route.method, route.template), route.major.clone());
        let named = self.names.get(&(route.method, route.template));
        let named = named.map(|name| (name.clone(), route.major.clone()));
        [Some(own), named].into_iter().flatten().collect()
    }

    /// Drops buckets without effect, and if there are still too many, those that are free soonest.
    fn prune(&mut self, now: Duration) {
        if self.buckets.len() <= MAX_BUCKETS {
            return;
        }
        self.buckets.retain(|_, bucket| bucket.is_active(now));
        while self.buckets.len() > MAX_BUCKETS {
            let soonest = self.buckets.iter().min_by_key(|(_, bucket)| bucket.free_at(now));
            let Some(key) = soonest.map(|(key, _)| key.clone()) else { return };
            self.buckets.remove(&key);
        }
    }
}

/// The parts of a response that affect limits.
#[derive(Clone, Copy, Debug)]
pub struct ResponseInfo<'a> {
    pub status: u16,
    pub headers: &'a Headers,
    pub body: &'a [u8],
}

struct Refusal {
    wait: Duration,
    scope: Scope,
}

enum Scope {
    Bucket,
    Global,
}

impl ResponseInfo<'_> {
    /// Returns true if only one old message was edited too often; other requests are not affected.
    pub fn is_edit_limit(&self) -> bool {
        let body: Option<Value> = serde_json::from_slice(self.body).ok();
        self.status == 429 && body.is_some_and(|body| body["code"] == TOO_MANY_EDITS)
    }

    fn refusal(&self) -> Refusal {
        let body: Option<Value> = serde_json::from_slice(self.body).ok();
        let in_body = body.as_ref().and_then(|body| body["retry_after"].as_f64()).and_then(to_duration);
        let in_header = self.seconds("retry-after");
        let told = in_body.max(in_header).or_else(|| self.seconds("x-ratelimit-reset-after"));
        let global = self.headers.get("x-ratelimit-global").is_some_and(|text| text != "false")
            || self.headers.get("x-ratelimit-scope") == Some("global")
            || body.as_ref().is_some_and(|body| body["global"] == true);
        // A proxy in front of Discord that blocks everything sends no JSON and no bucket.
        let outside = body.is_none() && self.headers.get("x-ratelimit-bucket").is_none();
        let scope = if global || outside { Scope::Global } else { Scope::Bucket };
        Refusal { wait: told.unwrap_or(DEFAULT_WAIT) + ROUNDING_MARGIN, scope }
    }

    /// Returns the limit, the remaining requests, and the time of the reset.
    fn window(&self, now: Duration) -> Option<(u32, u32, Duration)> {
        let number = |name| self.headers.get(name).and_then(|text| text.trim().parse::<u32>().ok());
        let remaining = number("x-ratelimit-remaining")?;
        let resets = now + self.seconds("x-ratelimit-reset-after")? + ROUNDING_MARGIN;
        Some((number("x-ratelimit-limit").unwrap_or(1).max(1), remaining, resets))
    }

    fn seconds(&self, name: &str) -> Option<Duration> {
        self.headers.get(name).and_then(|text| text.trim().parse().ok()).and_then(to_duration)
    }
}

fn to_duration(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(MAX_WAIT_SECONDS)))
}

/// Times of the latest requests, as many as are allowed in a second.
#[derive(Debug, Default)]
struct SecondWindow(VecDeque<Duration>);

impl SecondWindow {
    fn free_at(&self, now: Duration) -> Duration {
        let full = self.0.len() >= MAX_PER_SECOND;
        let first = self.0.front().filter(|_| full).map(|at| *at + Duration::from_secs(1) + ROUNDING_MARGIN);
        first.unwrap_or(now).max(now)
    }

    fn take(&mut self, now: Duration) {
        if self.0.len() >= MAX_PER_SECOND {
            self.0.pop_front();
        }
        self.0.push_back(now);
    }
}

#[cfg(test)]
mod tests;
