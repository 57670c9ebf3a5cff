//! Tests of the limits: responses, and when the next request may be sent.

use super::*;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn to(channel: &str) -> Route {
    let template = "/channels/{}/messages";
    Route { method: Method::Post, template, major: channel.to_owned(), weight: Weight::Plain }
}

fn light(channel: &str) -> Route {
    Route { template: "/channels/{}/typing", weight: Weight::Light, ..to(channel) }
}

/// Limits under test, with chosen times.
#[derive(Default)]
struct Table(Limits);

impl Table {
    /// Records a response to `route` at `now`.
    fn told(&mut self, route: &Route, now: f64, status: u16, headers: &[(&str, &str)]) {
        let headers = Headers::of(headers.iter().copied());
        let body = if status == 429 { &b"{}"[..] } else { &b""[..] };
        self.0.learn(route, &Told { status, headers: &headers, body }, seconds(now));
    }

    /// Asserts that a request for `route` made at `now` may be sent at `leaves`.
    #[track_caller]
    fn asks(&mut self, route: &Route, now: f64, leaves: f64) {
        let at = match self.0.before(route, seconds(now)) {
            Wait::Go => seconds(now),
            Wait::Until(time) => time,
        };
        let late = at.abs_diff(seconds(leaves));
        assert!(late <= MARGIN, "it leaves at {at:?}");
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
fn a_bucket_that_is_empty_is_waited_for_and_no_other() {
    let mut table = Table::default();
    table.asks(&to("1"), 0.0, 0.0);
    table.told(&to("1"), 0.1, 200, &window("0", "4.5"));
    table.asks(&to("1"), 0.2, 4.6);
    table.asks(&to("2"), 0.2, 0.2);
    table.asks(&to("1"), 4.7, 4.7);
}

#[test]
fn requests_that_are_still_on_their_way_count() {
    let mut table = Table::default();
    table.asks(&to("1"), 0.0, 0.0);
    table.told(&to("1"), 0.1, 200, &window("2", "5"));
    table.asks(&to("1"), 0.2, 0.2);
    table.asks(&to("1"), 0.2, 0.2);
    table.asks(&to("1"), 0.2, 5.1);
    table.told(&to("1"), 0.3, 200, &window("1", "4.8"));
    table.asks(&to("1"), 0.4, 5.1);
}

#[test]
fn two_routes_of_one_bucket_share_it() {
    let mut table = Table::default();
    let other = Route { method: Method::Delete, ..to("1") };
    table.told(&other, 0.0, 204, &window("4", "5"));
    table.told(&to("1"), 0.1, 200, &window("0", "5"));
    table.asks(&other, 0.2, 5.1);
}

/// D3: a refusal outweighs the remaining requests.
#[test]
fn a_refusal_is_believed_more_than_what_remains() {
    let mut table = Table::default();
    table.told(&to("1"), 0.0, 200, &window("1", "5"));
    table.asks(&to("1"), 0.1, 0.1);
    table.told(&to("1"), 0.2, 429, &[("Retry-After", "7"), ("X-RateLimit-Remaining", "1")]);
    table.asks(&to("1"), 0.3, 7.2);
    table.asks(&to("2"), 0.3, 0.3);
}

/// D3: a global refusal applies to all requests except answers to interactions.
#[test]
fn a_refusal_of_everything_holds_for_everything() {
    let global = [("Retry-After", "3"), ("X-RateLimit-Scope", "global"), ("X-RateLimit-Global", "true")];
    let mut table = Table::default();
    table.told(&to("1"), 0.0, 429, &global);
    table.asks(&to("2"), 0.1, 3.0);
    table.asks(&Route { weight: Weight::Apart, ..to("3") }, 0.1, 0.1);
}

#[test]
fn a_refusal_that_is_no_json_comes_from_before_discord_and_holds_for_everything() {
    let mut limits = Limits::default();
    let headers = Headers::of([("retry-after", "30")]);
    let told = Told { status: 429, headers: &headers, body: b"<html>slow down</html>" };
    limits.learn(&to("1"), &told, seconds(0.0));
    Table(limits).asks(&to("2"), 1.0, 30.0);
}

#[test]
fn nonsense_in_headers_is_survived() {
    for text in ["", "NaN", "-5", "1e300", "inf", "soon", "18446744073709551616"] {
        let mut table = Table::default();
        let headers =
            [("Retry-After", text), ("X-RateLimit-Reset-After", text), ("X-RateLimit-Remaining", text)];
        table.told(&to("1"), 0.0, 429, &headers);
        table.told(&to("1"), 0.0, 200, &headers);
        let Wait::Until(time) = table.0.before(&to("1"), seconds(0.0)) else { panic!("{text} let it go") };
        assert!(time <= seconds(LONGEST) + MARGIN, "{text}");
    }
}

#[test]
fn who_is_refused_again_and_again_waits_longer_than_told() {
    let mut table = Table::default();
    let mut now = 0.0;
    let mut waits = Vec::new();
    for _ in 0..12 {
        table.told(&to("1"), now, 429, &[("Retry-After", "0.1")]);
        let Wait::Until(time) = table.0.before(&to("1"), seconds(now)) else { panic!("it left") };
        waits.push(time.as_secs_f64() - now);
        now = time.as_secs_f64();
    }
    assert!(waits[0] < 1.0 && waits.windows(2).all(|pair| pair[1] > pair[0] - 0.001), "{waits:?}");
    assert!((60.0..65.0).contains(waits.last().unwrap()), "{waits:?}");
}

/// D3: fewer than a hundred refusals occur in ten minutes; low-priority requests are delayed first.
#[test]
fn refusals_are_rationed() {
    let mut table = Table::default();
    let mut now = seconds(0.0);
    let mut refused = Vec::new();
    for channel in 0..2000 {
        let route = to(&channel.to_string());
        while let Wait::Until(time) = table.0.before(&route, now) {
            now = time;
        }
        refused.push(now);
        table.told(&route, now.as_secs_f64(), 403, &[]);
    }
    let within =
        |from: &Duration| refused.iter().filter(|at| (*from..*from + seconds(600.0)).contains(at)).count();
    let most = refused.iter().map(within).max().unwrap();
    assert!((50..100).contains(&most), "{most} in ten minutes");
    let Wait::Until(time) = table.0.before(&light("1"), now) else { panic!("it left") };
    assert!(time > now + seconds(60.0));
}

/// D3: requests slow down before they stop.
#[test]
fn after_forty_refusals_requests_leave_ten_seconds_apart() {
    let mut table = Table::default();
    for channel in 0..40 {
        table.asks(&to(&channel.to_string()), 0.1, 0.1);
        table.told(&to(&channel.to_string()), 0.1, 401, &[]);
    }
    table.asks(&to("one more"), 1.0, 10.1);
    table.asks(&to("one more"), 10.1, 10.1);
    table.asks(&to("another"), 11.0, 20.1);
    table.asks(&to("long after"), 601.0, 601.0);
}

#[test]
fn forty_five_requests_leave_in_a_second() {
    let mut table = Table::default();
    for channel in 0..45 {
        table.asks(&to(&channel.to_string()), 0.5, 0.5);
    }
    table.asks(&to("one more"), 0.9, 1.5);
}

#[test]
fn what_no_longer_matters_is_forgotten() {
    let mut table = Table::default();
    for number in 0..2_000 {
        let now = f64::from(number);
        table.told(&to(&number.to_string()), now, 200, &window("0", "3600"));
    }
    assert!(table.0.remembered() <= BUCKETS);
    table.asks(&to("1999"), 2_000.0, 1999.0 + 3600.0);
}
