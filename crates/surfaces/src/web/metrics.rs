//! Metrics in Prometheus text format. They contain counts only, no content. Over TCP they require a
//! token made for this purpose, which gives access to nothing else.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::App;
use super::gate::{Door, Through};
use super::refusal::Refusal;
use super::secret::Digest;

pub(super) const PATH: &str = "/metrics";

#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub of: Kind,
    pub labels: Vec<(&'static str, String)>,
    pub value: f64,
}

/// Description of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub name: &'static str,
    pub help: &'static str,
    /// True for a counter, false for a gauge.
    pub grows: bool,
}

/// Formats samples as Prometheus text.
pub fn text(samples: &[Sample]) -> String {
    let mut text = String::new();
    let mut told = BTreeSet::new();
    for Sample { of, labels, value } in samples {
        if told.insert(of.name) {
            let kind = if of.grows { "counter" } else { "gauge" };
            let _ = writeln!(text, "# HELP {} {}\n# TYPE {} {kind}", of.name, of.help, of.name);
        }
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(text, "{}{labels} {value}", of.name);
    }
    text
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Returns the metrics to an authorized client.
pub(super) async fn show(
    State(app): State<App>,
    Extension(through): Extension<Through>,
    headers: HeaderMap,
) -> Response {
    if let Err(refusal) = admit(&app, &through.door, &headers) {
        return refusal.into_response();
    }
    match app.ports().vitals.samples().await {
        Ok(samples) => {
            let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
            (kind, text(&samples)).into_response()
        }
        Err(unreadable) => Refusal::broken(unreadable.to_string()).into_response(),
    }
}

fn admit(app: &App, door: &Door, headers: &HeaderMap) -> Result<(), Refusal> {
    let socket = match door {
        Door::Unix => return Ok(()),
        Door::Tcp(socket) => socket,
    };
    let Some(token) = app.ports().vitals.metrics_token() else {
        return Err(Refusal::new(
            StatusCode::NOT_FOUND,
            "off",
            "numbers are not given out here. OLLIM_METRICS=on changes that.",
        ));
    };
    let brought = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let brought = brought.and_then(|value| value.strip_prefix("Bearer "));
    if brought.is_some_and(|brought| Digest::of(brought).matches(&token)) {
        return socket.prove();
    }
    if app.attempts().is_over(socket.address) {
        return Err(Refusal::too_many());
    }
    app.attempts().failed(socket.address);
    let text =
        "numbers are given to whoever brings `Authorization: Bearer` and what is in state/metrics.token.";
    Err(Refusal::new(StatusCode::UNAUTHORIZED, "token", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_prometheus_reads_them() {
        let of = Kind { name: "ollim_turns_total", help: "Turns.", grows: true };
        let sample = |which: &str, value| Sample { of, labels: vec![("ending", which.to_owned())], value };
        let queue = Kind { name: "ollim_queue", help: "Waiting.", grows: false };
        let samples =
            [sample("finished", 3.0), sample("a\"b", 1.0), Sample { of: queue, labels: vec![], value: 0.5 }];
        assert_eq!(
            text(&samples),
            "# HELP ollim_turns_total Turns.\n# TYPE ollim_turns_total counter\n\
             ollim_turns_total{ending=\"finished\"} 3\nollim_turns_total{ending=\"a\\\"b\"} 1\n\
             # HELP ollim_queue Waiting.\n# TYPE ollim_queue gauge\nollim_queue 0.5\n"
        );
    }
}
