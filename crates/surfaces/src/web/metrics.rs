//! Metrics in Prometheus text format. They contain counts only, no content. Over TCP they require a
//! token made for this purpose, which gives access to nothing else.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::App;
use super::api_error::ApiError;
use super::authentication::{Connection, Transport};
use super::secret::Digest;

pub(super) const PATH: &str = "/metrics";

#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub metric: MetricKind,
    pub labels: Vec<(&'static str, String)>,
    pub value: f64,
}

/// Description of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricKind {
    pub name: &'static str,
    pub help: &'static str,
    /// True for a counter, false for a gauge.
    pub is_counter: bool,
}

/// Formats samples as Prometheus text.
pub fn to_prometheus(samples: &[Sample]) -> String {
    let mut text = String::new();
    let mut told = BTreeSet::new();
    for Sample { metric: of, labels, value } in samples {
        if told.insert(of.name) {
            let kind = if of.is_counter { "counter" } else { "gauge" };
            let _ = writeln!(text, "# HELP {} {}\n# TYPE {} {kind}", of.name, of.help, of.name);
        }
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(text, "{}{labels} {value}", of.name);
    }
    text
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Returns the metrics to an authorized client.
pub(super) async fn show(
    State(app): State<App>,
    Extension(through): Extension<Connection>,
    headers: HeaderMap,
) -> Response {
    if let Err(refusal) = authorize(&app, &through.transport, &headers) {
        return refusal.into_response();
    }
    match app.ports().health_source.metrics().await {
        Ok(samples) => {
            let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
            (kind, to_prometheus(&samples)).into_response()
        }
        Err(unreadable) => ApiError::internal(unreadable.to_string()).into_response(),
    }
}

fn authorize(app: &App, door: &Transport, headers: &HeaderMap) -> Result<(), ApiError> {
    let socket = match door {
        Transport::Unix => return Ok(()),
        Transport::Tcp(socket) => socket,
    };
    let Some(token) = app.ports().health_source.metrics_token() else {
        return Err(ApiError::new(
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
    if app.attempts().is_blocked(socket.address) {
        return Err(ApiError::too_many_attempts());
    }
    app.attempts().record_failure(socket.address);
    let text =
        "numbers are given to whoever brings `Authorization: Bearer` and what is in state/metrics.token.";
    Err(ApiError::new(StatusCode::UNAUTHORIZED, "token", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_formatted_for_prometheus() {
        let of = MetricKind { name: "ollim_turns_total", help: "Turns.", is_counter: true };
        let sample =
            |which: &str, value| Sample { metric: of, labels: vec![("ending", which.to_owned())], value };
        let queue = MetricKind { name: "ollim_queue", help: "Waiting.", is_counter: false };
        let samples = [
            sample("finished", 3.0),
            sample("a\"b", 1.0),
            Sample { metric: queue, labels: vec![], value: 0.5 },
        ];
        assert_eq!(
            to_prometheus(&samples),
            "# HELP ollim_turns_total Turns.\n# TYPE ollim_turns_total counter\n\
             ollim_turns_total{ending=\"finished\"} 3\nollim_turns_total{ending=\"a\\\"b\"} 1\n\
             # HELP ollim_queue Waiting.\n# TYPE ollim_queue gauge\nollim_queue 0.5\n"
        );
    }
}
