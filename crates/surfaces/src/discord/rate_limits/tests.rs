//! Tests of the limits: responses, and when the next request may be sent.

use super::*;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn route(channel: &str) -> Route {
    let template = "/channels/{}/messages";
    Route { method: Method::Post, template, major: channel.to_owned(), weight: Weight::Normal }
}

fn light(channel: &str) -> Route {
    Route { template: "/channels/{}/typing", weight: Weight::LowPriority, ..route(channel) }
}

/// Limits under test, with chosen times.
#[derive(Default)]
struct LimitsUnderTest(RateLimits);

impl LimitsUnderTest {
    /// Records a response to `route` at `now`.
    fn respond(&mut self, route: &Route, now: f64, status: u16, headers: &[(&str, &str)]) {
        let headers = Headers::select(headers.iter().copied());
        let body = if status == 429 { &b"{}"[..] } else { &b""[..] };
        self.0.update(route, &ResponseInfo { status, headers: &headers, body }, seconds(now));
    }

    /// Asserts that a request for `route` made at `now` may be sent at `leaves`.
    #[track_caller]
    fn assert_sent_at(&mut self, route: &Route, now: f64, leaves: f64) {
        let at = match self.0.check(route, seconds(now)) {
            Wait::Go => seconds(now),
            Wait::Until(time) => time,
        };
        let late = at.abs_diff(seconds(leaves));
        assert!(late <= ROUNDING_MARGIN, "it leaves at {at:?}");
    }
}

fn window(remaining: &'static str, after: &'static str) -> [(&'static str, &'static str); 4] {
    [
        ("X-RateLimit-Limit", "5"),
        ("X-RateLimit-Remaining", remaining),
        ("X-RateLimit-Reset-After", after),
        ("X-RateLimit-Bucket", "abc"),
    ]
}

#[test]
fn an_empty_bucket_delays_only_its_own_requests() {
    let mut table = LimitsUnderTest::default();
    table.assert_sent_at(&route("1"), 0.0, 0.0);
    table.respond(&route("1"), 0.1, 200, &window("0", "4.5"));
    table.assert_sent_at(&route("1"), 0.2, 4.6);
    table.assert_sent_at(&route("2"), 0.2, 0.2);
    table.assert_sent_at(&route("1"), 4.7, 4.7);
}

#[test]
fn requests_in_flight_are_counted() {
    let mut table = LimitsUnderTest::default();
    table.assert_sent_at(&route("1"), 0.0, 0.0);
    table.respond(&route("1"), 0.1, 200, &window("2", "5"));
    table.assert_sent_at(&route("1"), 0.2, 0.2);
    table.assert_sent_at(&route("1"), 0.2, 0.2);
    table.assert_sent_at(&route("1"), 0.2, 5.1);
    table.respond(&route("1"), 0.3, 200, &window("1", "4.8"));
    table.assert_sent_at(&route("1"), 0.4, 5.1);
}

#[test]
fn two_routes_of_one_bucket_share_it() {
    let mut table = LimitsUnderTest::default();
    let other = Route { method: Method::Delete, ..route("1") };
    table.respond(&other, 0.0, 204, &window("4", "5"));
    table.respond(&route("1"), 0.1, 200, &window("0", "5"));
    table.assert_sent_at(&other, 0.2, 5.1);
}

/// D3: a refusal outweighs the remaining requests.
#[test]
fn a_refusal_outweighs_the_remaining_requests() {
    let mut table = LimitsUnderTest::default();
    table.respond(&route("1"), 0.0, 200, &window("1", "5"));
    table.assert_sent_at(&route("1"), 0.1, 0.1);
    table.respond(&route("1"), 0.2, 429, &[("Retry-After", "7"), ("X-RateLimit-Remaining", "1")]);
    table.assert_sent_at(&route("1"), 0.3, 7.2);
    table.assert_sent_at(&route("2"), 0.3, 0.3);
}

/// D3: a global refusal applies to all requests except answers to interactions.
#[test]
fn a_global_refusal_applies_to_all_routes() {
    let global = [("Retry-After", "3"), ("X-RateLimit-Scope", "global"), ("X-RateLimit-Global", "true")];
    let mut table = LimitsUnderTest::default();
    table.respond(&route("1"), 0.0, 429, &global);
    table.assert_sent_at(&route("2"), 0.1, 3.0);
    table.assert_sent_at(&Route { weight: Weight::Interaction, ..route("3") }, 0.1, 0.1);
}

#[test]
fn a_refusal_without_json_applies_to_all_routes() {
    let mut limits = RateLimits::default();
    let headers = Headers::select([("retry-after", "30")]);
    let told = ResponseInfo { status: 429, headers: &headers, body: b"<html>slow down</html>" };
    limits.update(&route("1"), &told, seconds(0.0));
    LimitsUnderTest(limits).assert_sent_at(&route("2"), 1.0, 30.0);
}

#[test]
fn invalid_headers_are_tolerated() {
    for text in ["", "NaN", "-5", "1e300", "inf", "soon", "18446744073709551616"] {
        let mut table = LimitsUnderTest::default();
        let headers =
            [("Retry-After", text), ("X-RateLimit-Reset-After", text), ("X-RateLimit-Remaining", text)];
        table.respond(&route("1"), 0.0, 429, &headers);
        table.respond(&route("1"), 0.0, 200, &headers);
        let Wait::Until(time) = table.0.check(&route("1"), seconds(0.0)) else { panic!("{text} let it go") };
        assert!(time <= seconds(MAX_WAIT_SECONDS) + ROUNDING_MARGIN, "{text}");
    }
}

#[test]
fn repeated_refusals_wait_longer_than_demanded() {
    let mut table = LimitsUnderTest::default();
    let mut now = 0.0;
    let mut waits = Vec::new();
    for _ in 0..12 {
        table.respond(&route("1"), now, 429, &[("Retry-After", "0.1")]);
        let Wait::Until(time) = table.0.check(&route("1"), seconds(now)) else { panic!("it left") };
        waits.push(time.as_secs_f64() - now);
        now = time.as_secs_f64();
    }
    assert!(waits[0] < 1.0 && waits.windows(2).all(|pair| pair[1] > pair[0] - 0.001), "{waits:?}");
    assert!((60.0..65.0).contains(waits.last().unwrap()), "{waits:?}");
}

/// D3: fewer than a hundred refusals occur in ten minutes; low-priority requests are delayed first.
#[test]
fn refusals_are_rationed() {
    let mut table = LimitsUnderTest::default();
    let mut now = seconds(0.0);
    let mut refused = Vec::new();
    for channel in 0..2000 {
        let route = route(&channel.to_string());
        while let Wait::Until(time) = table.0.check(&route, now) {
            now = time;
        }
        refused.push(now);
        table.respond(&route, now.as_secs_f64(), 403, &[]);
    }
    let within =
        |from: &Duration| refused.iter().filter(|at| (*from..*from + seconds(600.0)).contains(at)).count();
    let most = refused.iter().map(within).max().unwrap();
    assert!((50..100).contains(&most), "{most} in ten minutes");
    let Wait::Until(time) = table.0.check(&light("1"), now) else { panic!("it left") };
    assert!(time > now + seconds(60.0));
}

/// D3: requests slow down before they stop.
#[test]
fn after_forty_refusals_requests_leave_ten_seconds_apart() {
    let mut table = LimitsUnderTest::default();
    for channel in 0..40 {
        table.assert_sent_at(&route(&channel.to_string()), 0.1, 0.1);
        table.respond(&route(&channel.to_string()), 0.1, 401, &[]);
    }
    table.assert_sent_at(&route("one more"), 1.0, 10.1);
    table.assert_sent_at(&route("one more"), 10.1, 10.1);
    table.assert_sent_at(&route("another"), 11.0, 20.1);
    table.assert_sent_at(&route("long after"), 601.0, 601.0);
}

#[test]
fn forty_five_requests_leave_in_a_second() {
    let mut table = LimitsUnderTest::default();
    for channel in 0..45 {
        table.assert_sent_at(&route(&channel.to_string()), 0.5, 0.5);
    }
    table.assert_sent_at(&route("one more"), 0.9, 1.5);
}

#[test]
fn inactive_buckets_are_dropped() {
    let mut table = LimitsUnderTest::default();
    for number in 0..2_000 {
        let now = f64::from(number);
        table.respond(&route(&number.to_string()), now, 200, &window("0", "3600"));
    }
    assert!(table.0.bucket_count() <= MAX_BUCKETS);
    table.assert_sent_at(&route("1999"), 2_000.0, 1999.0 + 3600.0);
}
