//! Rate limits: buckets per resource, the global limit, and 429 responses.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::ledger::Scope;
use super::setup::{Moment, Rate, Rates};

/// Identifies the requests that share a limit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// The kind of the requests.
    pub kind: String,
    /// The resource: a channel, or a webhook with its token.
    pub place: String,
}

/// The rate limit status that is sent in headers.
#[derive(Clone, Debug)]
pub(super) struct Told {
    limit: u32,
    pub remaining: u32,
    reset_after: Duration,
    bucket: String,
}

/// The data of a 429 response.
#[derive(Clone, Debug)]
pub(super) struct Limited {
    pub scope: Scope,
    pub retry_after: Duration,
    pub told: Option<Told>,
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
    opened: Duration,
    used: u32,
    embargo: Duration,
    scope: Option<Scope>,
}

/// All buckets.
#[derive(Debug, Default)]
pub(super) struct Limits {
    buckets: BTreeMap<Key, Bucket>,
    global: Bucket,
}

impl Key {
    /// Returns the bucket of a request, if it has one: interaction callbacks have none.
    pub fn of(method: &str, parts: &[&str]) -> Option<Self> {
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
                return Some(Self { kind, place: (*second).to_owned() });
            }
            (method, rest) => return Some(Self { kind: format!("{method} {rest:?}"), place: String::new() }),
        };
        Some(Self { kind: kind.into(), place })
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

impl Limits {
    /// Counts a request, or returns the limit that it exceeds.
    pub fn admit(&mut self, key: &Key, rates: &Rates, now: Moment) -> Result<Told, Limited> {
        if !matches!(key.kind.as_str(), "followups") {
            self.global.admit(rates.global, now.boot).map_err(|mut limited| {
                limited.scope = Scope::Global;
                limited
            })?;
        }
        let rate = key.rate(rates);
        let bucket = self.buckets.entry(key.clone()).or_default();
        let admitted = bucket.admit(rate, now.boot);
        let told = bucket.told(rate, key.hash(), now.boot);
        match admitted {
            Ok(()) => Ok(told),
            Err(limited) => Err(Limited { told: Some(told), ..limited }),
        }
    }

    /// Returns an injected 429. Its retry time is enforced like any other.
    pub fn refuse(&mut self, key: &Key, scope: Scope, retry_after: Duration, now: Moment) -> Limited {
        let retry_after = whole_milliseconds(retry_after);
        let bucket = match scope {
            Scope::Global => &mut self.global,
            Scope::User | Scope::Shared => self.buckets.entry(key.clone()).or_default(),
        };
        bucket.embargo = bucket.embargo.max(now.boot + retry_after);
        bucket.scope = Some(scope);
        Limited { scope, retry_after, told: None, breach: Breach::No }
    }
}

impl Bucket {
    fn admit(&mut self, rate: Rate, now: Duration) -> Result<(), Limited> {
        let scope = self.scope.unwrap_or(Scope::User);
        if now < self.embargo {
            let retry_after = self.embargo - now;
            return Err(Limited { scope, retry_after, told: None, breach: Breach::Yes });
        }
        self.scope = None;
        if self.used == 0 || now >= self.opened + rate.per {
            self.opened = now;
            self.used = 0;
        }
        if self.used < rate.limit {
            self.used += 1;
            return Ok(());
        }
        let retry_after = whole_milliseconds(self.opened + rate.per - now);
        self.embargo = now + retry_after;
        Err(Limited { scope: Scope::User, retry_after, told: None, breach: Breach::No })
    }

    fn told(&self, rate: Rate, bucket: String, now: Duration) -> Told {
        let reset = (self.opened + rate.per).max(self.embargo);
        Told {
            limit: rate.limit,
            remaining: if now < self.embargo { 0 } else { rate.limit.saturating_sub(self.used) },
            reset_after: whole_milliseconds(reset.saturating_sub(now)),
            bucket,
        }
    }
}

/// Rounds up, so that a caller who waits exactly as long as requested is never too early.
fn whole_milliseconds(time: Duration) -> Duration {
    let part = u64::from(!time.subsec_nanos().is_multiple_of(1_000_000));
    Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX - 1) + part)
}

impl Told {
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

impl Limited {
    /// Returns the headers of a 429 at `wall`.
    pub fn headers(&self, wall: Timestamp) -> Vec<(String, String)> {
        let told = self.told.as_ref().filter(|_| self.scope != Scope::Global);
        let mut headers = told.map(|told| told.headers(wall)).unwrap_or_default();
        let seconds = self.retry_after.as_secs() + u64::from(self.retry_after.subsec_nanos() > 0);
        headers.push(("Retry-After".into(), seconds.to_string()));
        headers.push(("X-RateLimit-Scope".into(), self.scope.name().into()));
        if self.scope == Scope::Global {
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
            "global": self.scope == Scope::Global,
        })
    }
}
