//! Parses the rate limits in response headers: `anthropic-ratelimit-*` and OpenAI's
//! `x-ratelimit-*`.
//!
//! Anthropic reports the reset of a limit as a time, OpenAI as a duration (`6m0s`, `20ms`); servers
//! that imitate OpenAI also send plain seconds. A time is compared with the `date` header of the
//! response, because the local clock may be wrong.

use std::time::Duration;

use engine::ports::{RateLimit, RateLimitUnit, ResponseHead};
use jiff::{SignedDuration, Timestamp};
use reqwest::Response;
use reqwest::header::{DATE, HeaderMap};

/// The prefix and suffix of the header names of each limit. Between them is `limit`, `remaining` or
/// `reset`.
const HEADER_NAMES: [(&str, &str, RateLimitUnit); 6] = [
    ("anthropic-ratelimit-requests-", "", RateLimitUnit::Requests),
    ("anthropic-ratelimit-tokens-", "", RateLimitUnit::Tokens),
    ("anthropic-ratelimit-input-tokens-", "", RateLimitUnit::Tokens),
    ("anthropic-ratelimit-output-tokens-", "", RateLimitUnit::OutputTokens),
    ("x-ratelimit-", "-requests", RateLimitUnit::Requests),
    ("x-ratelimit-", "-tokens", RateLimitUnit::Tokens),
];

/// The time until a reset if the header is missing: vendors count per minute.
const DEFAULT_RESET: Duration = Duration::from_secs(60);

/// The longest accepted time until a reset.
const MAX_RESET: Duration = Duration::from_secs(24 * 3_600);

/// Parses the head of `response`.
pub fn response_head(response: &Response) -> ResponseHead {
    ResponseHead { accepted: response.status().is_success(), limits: limits(response.headers()) }
}

fn limits(headers: &HeaderMap) -> Vec<RateLimit> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let now = text(DATE.as_str()).and_then(|date| jiff::fmt::rfc2822::parse(date).ok());
    let now = now.map(|date| date.timestamp());
    let stated = |(begin, end, unit): (&str, &str, RateLimitUnit)| {
        let part = |name: &str| text(&format!("{begin}{name}{end}"));
        let limit = part("limit")?.parse::<u64>().ok()?;
        let remaining = part("remaining")?.parse::<u64>().ok()?.min(limit);
        let resets_in =
            part("reset").and_then(|reset| until(reset, now)).unwrap_or(DEFAULT_RESET).min(MAX_RESET);
        Some(RateLimit { unit, limit, remaining, resets_in })
    };
    HEADER_NAMES.into_iter().filter_map(stated).collect()
}

/// Returns the time until `reset`.
fn until(reset: &str, now: Option<Timestamp>) -> Option<Duration> {
    if let Ok(seconds) = reset.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let duration = match reset.parse::<Timestamp>() {
        Ok(time) => time.duration_since(now?),
        Err(_) => reset.parse::<SignedDuration>().ok()?,
    };
    Some(Duration::try_from(duration).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn read(headers: &[(&'static str, &'static str)]) -> String {
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let read = limits(&headers.iter().map(header).collect());
        let line = |limit: &RateLimit| {
            let RateLimit { unit, limit, remaining, resets_in } = limit;
            format!("{unit:?}: {remaining} of {limit}, full in {resets_in:?}\n")
        };
        read.iter().map(line).collect()
    }

    /// The headers of Anthropic's documentation. The result does not depend on the local clock.
    #[test]
    fn anthropic_headers_are_compared_with_the_response_date() {
        expect![[r#"
            Requests: 988 of 1000, full in 1s
            Tokens: 535000 of 540000, full in 0ns
            Tokens: 450000 of 450000, full in 60s
            OutputTokens: 88000 of 90000, full in 2s
        "#]]
        .assert_eq(&read(&[
            ("date", "Thu, 19 Nov 2026 03:20:10 GMT"),
            ("anthropic-ratelimit-requests-limit", "1000"),
            ("anthropic-ratelimit-requests-remaining", "988"),
            ("anthropic-ratelimit-requests-reset", "2026-11-19T03:20:11Z"),
            ("anthropic-ratelimit-tokens-limit", "540000"),
            ("anthropic-ratelimit-tokens-remaining", "535000"),
            ("anthropic-ratelimit-tokens-reset", "2026-11-19T03:20:09Z"),
            ("anthropic-ratelimit-input-tokens-limit", "450000"),
            ("anthropic-ratelimit-input-tokens-remaining", "451000"),
            ("anthropic-ratelimit-output-tokens-limit", "90000"),
            ("anthropic-ratelimit-output-tokens-remaining", "88000"),
            ("anthropic-ratelimit-output-tokens-reset", "2026-11-19T03:20:12Z"),
        ]));
    }

    #[test]
    fn openai_headers_are_parsed() {
        expect![[r#"
            Requests: 59 of 60, full in 1s
            Tokens: 149984 of 150000, full in 360s
        "#]]
        .assert_eq(&read(&[
            ("x-ratelimit-limit-requests", "60"),
            ("x-ratelimit-remaining-requests", "59"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-limit-tokens", "150000"),
            ("x-ratelimit-remaining-tokens", "149984"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ]));
        let reset = |text: &'static str| {
            let name = |part| ("x-ratelimit-limit-requests", part);
            read(&[name("9"), ("x-ratelimit-remaining-requests", "1"), ("x-ratelimit-reset-requests", text)])
        };
        let check = |text: &'static str, expected: &str| {
            assert_eq!(reset(text), format!("Requests: 1 of 9, full in {expected}\n"), "{text}");
        };
        check("20ms", "20ms");
        check("8.64s", "8.64s");
        check("2m59.56s", "179.56s");
        check("12", "12s");
        check("0.5", "500ms");
    }

    /// An invalid limit is ignored, and an invalid reset time becomes the default.
    #[test]
    fn invalid_headers_limit_nothing() {
        let with = |limit: &'static str, remaining: &'static str, reset: &'static str| {
            read(&[
                ("x-ratelimit-limit-tokens", limit),
                ("x-ratelimit-remaining-tokens", remaining),
                ("x-ratelimit-reset-tokens", reset),
            ])
        };
        for (limit, remaining) in [("many", "1"), ("5", "-1"), ("", ""), ("99999999999999999999999", "1")] {
            assert_eq!(with(limit, remaining, "1s"), "", "{limit} {remaining}");
        }
        for (reset, expected) in [
            ("soon", "60s"),
            ("-5", "60s"),
            ("NaN", "60s"),
            ("inf", "60s"),
            ("-1s", "0ns"),
            ("1e300", "60s"),
            ("9999999999", "86400s"),
            // A time without a `date` header.
            ("2026-11-19T03:20:09Z", "60s"),
        ] {
            assert_eq!(with("5", "1", reset), format!("Tokens: 1 of 5, full in {expected}\n"), "{reset}");
        }
    }
}
