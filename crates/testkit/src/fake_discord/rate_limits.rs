//! Rate limits: buckets per resource, the global limit, and 429 responses.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::activity_log::LimitScope;
use super::setup::{Moment, Rate, Rates};

/// Identifies the requests that share a limit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BucketKey {
    /// The kind of the requests.
    pub kind: String,
    /// The resource: a channel, or a webhook with its token.
    pub resource: String,
}

/// The rate limit status that is sent in headers.
#[derive(Clone, Debug)]
pub(super) struct LimitStatus {
    limit: u32,
    pub remaining: u32,
    reset_after: Duration,
    bucket: String,
}

/// The data of a 429 response.
#[derive(Clone, Debug)]
pub(super) struct RateLimited {
    pub scope: LimitScope,
    pub retry_after: Duration,
    pub status: Option<LimitStatus>,
    /// Set if the caller ignored the retry time of an earlier 429.
    pub breach: Breach,
}

/// Marks a request that was sent before a retry time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breach {
    Yes,
    No,
}

#[derive(Clone, Debug, Default)]
struct Bucket {
    window_start: Duration,
    used: u32,
    blocked_until: Duration,
    scope: Option<LimitScope>,
}

/// All buckets.
#[derive(Debug, Default)]
pub(super) struct RateLimiter {
    buckets: BTreeMap<BucketKey, Bucket>,
    global: Bucket,
}

impl BucketKey {
    /// Returns the bucket of a request, if it has one: interaction callbacks have none.
    pub fn for_request(method: &str, parts: &[&str]) -> Option<Self> {
        let (kind, place) = match (method, parts) {
            (_, ["interactions", ..] | ["attachments", ..]) => return None,
            (_, ["webhooks", app, token, ..]) => ("followups", format!("{app}/{token}")),
            ("POST", ["channels", channel, "messages"]) => ("sends", (*channel).to_owned()),
            ("PATCH", ["channels", channel, "messages", _]) => ("edits", (*channel).to_owned()),
            ("DELETE", ["channels", channel, "messages", _]) => ("deletes", (*channel).to_owned()),
            (_, ["channels", channel, "messages", _, "reactions", ..]) => {
                ("reactions", (*channel).to_owned())
            }
            ("POST", ["channels", channel, "typing"]) => ("typing", (*channel).to_owned()),
            (method, [first, second, rest @ ..]) => {
                let kind = format!("{method} {first} {}", rest.first().unwrap_or(&""));
                return Some(Self { kind, resource: (*second).to_owned() });
            }
            (method, rest) => {
                return Some(Self { kind: format!("{method} {rest:?}"), resource: String::new() });
            }
        };
        Some(Self { kind: kind.into(), resource: place })
    }

    fn rate(&self, rates: &Rates) -> Rate {
        match self.kind.as_str() {
            "sends" => rates.sends,
            "edits" => rates.edits,
            "deletes" => rates.deletes,
            "reactions" => rates.reactions,
            "typing" => rates.typing,
            "followups" => rates.followups,
            _ => rates.others,
        }
    }

    fn hash(&self) -> String {
        Sha256::digest(self.kind.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl RateLimiter {
    /// Counts a request, or returns the limit that it exceeds.
    pub fn admit(&mut self, key: &BucketKey, rates: &Rates, now: Moment) -> Result<LimitStatus, RateLimited> {
        if !matches!(key.kind.as_str(), "followups") {
            self.global.admit(rates.global, now.boot).map_err(|mut limited| {
                limited.scope = LimitScope::Global;
                limited
            })?;
        }
        let rate = key.rate(rates);
        let bucket = self.buckets.entry(key.clone()).or_default();
        let admitted = bucket.admit(rate, now.boot);
        let status = bucket.status(rate, key.hash(), now.boot);
        match admitted {
            Ok(()) => Ok(status),
            Err(limited) => Err(RateLimited { status: Some(status), ..limited }),
        }
    }

    /// Returns an injected 429. Its retry time is enforced like any other.
    pub fn inject_limit(
        &mut self,
        key: &BucketKey,
        scope: LimitScope,
        retry_after: Duration,
        now: Moment,
    ) -> RateLimited {
        let retry_after = round_up_to_milliseconds(retry_after);
        let bucket = match scope {
            LimitScope::Global => &mut self.global,
            LimitScope::User | LimitScope::Shared => self.buckets.entry(key.clone()).or_default(),
        };
        bucket.blocked_until = bucket.blocked_until.max(now.boot + retry_after);
        bucket.scope = Some(scope);
        RateLimited { scope, retry_after, status: None, breach: Breach::No }
    }
}

impl Bucket {
    fn admit(&mut self, rate: Rate, now: Duration) -> Result<(), RateLimited> {
        let scope = self.scope.unwrap_or(LimitScope::User);
        if now < self.blocked_until {
            let retry_after = self.blocked_until - now;
            return Err(RateLimited { scope, retry_after, status: None, breach: Breach::Yes });
        }
        self.scope = None;
        if self.used == 0 || now >= self.window_start + rate.per {
            self.window_start = now;
            self.used = 0;
        }
        if self.used < rate.limit {
            self.used += 1;
            return Ok(());
        }
        let retry_after = round_up_to_milliseconds(self.window_start + rate.per - now);
        self.blocked_until = now + retry_after;
        Err(RateLimited { scope: LimitScope::User, retry_after, status: None, breach: Breach::No })
    }

    fn status(&self, rate: Rate, bucket: String, now: Duration) -> LimitStatus {
        let reset = (self.window_start + rate.per).max(self.blocked_until);
        LimitStatus {
            limit: rate.limit,
            remaining: if now < self.blocked_until { 0 } else { rate.limit.saturating_sub(self.used) },
            reset_after: round_up_to_milliseconds(reset.saturating_sub(now)),
            bucket,
        }
    }
}

/// Rounds up, so that a caller who waits exactly as long as requested is never too early.
fn round_up_to_milliseconds(time: Duration) -> Duration {
    let part = u64::from(!time.subsec_nanos().is_multiple_of(1_000_000));
    Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX - 1) + part)
}

impl LimitStatus {
    /// Returns the headers of a response at `wall`.
    pub fn headers(&self, wall: Timestamp) -> Vec<(String, String)> {
        let at = Duration::from_millis(u64::try_from(wall.as_millisecond()).unwrap_or(0)) + self.reset_after;
        vec![
            ("X-RateLimit-Limit".into(), self.limit.to_string()),
            ("X-RateLimit-Remaining".into(), self.remaining.to_string()),
            ("X-RateLimit-Reset".into(), format!("{:.3}", at.as_secs_f64())),
            ("X-RateLimit-Reset-After".into(), format!("{:.3}", self.reset_after.as_secs_f64())),
            ("X-RateLimit-Bucket".into(), self.bucket.clone()),
        ]
    }
}

impl RateLimited {
    /// Returns the headers of a 429 at `wall`.
    pub fn headers(&self, wall: Timestamp) -> Vec<(String, String)> {
        let status = self.status.as_ref().filter(|_| self.scope != LimitScope::Global);
        let mut headers = status.map(|status| status.headers(wall)).unwrap_or_default();
        let seconds = self.retry_after.as_secs() + u64::from(self.retry_after.subsec_nanos() > 0);
        headers.push(("Retry-After".into(), seconds.to_string()));
        headers.push(("X-RateLimit-Scope".into(), self.scope.name().into()));
        if self.scope == LimitScope::Global {
            headers.push(("X-RateLimit-Global".into(), "true".into()));
        }
        // The major client libraries attribute a 429 without this header to an intermediate cache.
        headers.push(("Via".into(), "1.1 google".into()));
        headers
    }

    /// Returns the body of a 429.
    pub fn body(&self) -> serde_json::Value {
        let seconds = self.retry_after.as_secs_f64();
        json!({
            "message": "You are being rate limited.", "retry_after": seconds,
            "global": self.scope == LimitScope::Global,
        })
    }
}
