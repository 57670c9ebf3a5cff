//! Limits, told in tables: what came back, and when the next request may leave.

use super::*;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn to(channel: &str) -> Route {
    let template = "/channels/{}/messages";
    Route { method: Method::Post, template, major: channel.to_owned(), weight: Weight::Plain }
}

fn answer(limits: &mut Limits, route: &Route, status: u16, headers: &[(&str, &str)], now: f64) {
    let headers = Headers::of(headers.iter().copied());
    let body = if status == 429 { &b"{}"[..] } else { &b""[..] };
    limits.learn(route, &Told { status, headers: &headers, body }, seconds(now));
}

#[track_caller]
fn waits(limits: &mut Limits, route: &Route, now: f64, until: f64) {
    match limits.before(route, seconds(now)) {
        Wait::Go => assert_eq!(until, now, "it left at once"),
        Wait::Until(time) => assert_eq!(time, seconds(until) + MARGIN, "it waits"),
    }
}
