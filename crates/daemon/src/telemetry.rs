//! Metrics, served to Prometheus and exported to OpenTelemetry.
//!
//! Both are off by default, and neither contains text of conversations, only numbers.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::{Clock, ReadError};
use journal::disk::{Disk, replace};
use journal::{Journal, Metric};
use serde_json::{Value, json};
use surfaces::web::metrics::{MetricKind, Sample};
use surfaces::web::secret::{Digest, Secret};

use crate::exit::CommandError;
use crate::settings::{Environment, Settings};

const EXPORT_INTERVAL: Duration = Duration::from_secs(60);
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// The telemetry settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// Serves metrics to requests with the token.
    pub serve_metrics: bool,
    /// The address of the OpenTelemetry collector.
    pub export_to: Option<String>,
}

impl TelemetrySettings {
    /// Reads `OLLIM_METRICS` and `OLLIM_OTLP_URL`.
    pub fn read(environment: &Environment) -> Result<Self, CommandError> {
        let served = match environment.get("OLLIM_METRICS").unwrap_or("off") {
            "on" => true,
            "off" => false,
            other => {
                let text = format!("OLLIM_METRICS: it cannot be `{other}`. use on or off.");
                return Err(CommandError::Configuration(text));
            }
        };
        let sent_to = environment.get("OLLIM_OTLP_URL").map(collector_url).transpose()?;
        Ok(Self { serve_metrics: served, export_to: sent_to })
    }
}

/// Returns the metrics endpoint of the collector at `base`.
fn collector_url(base: &str) -> Result<String, CommandError> {
    let bad = |what: &str| {
        let shown = wire::redact_address(base);
        CommandError::Configuration(format!(
            "OLLIM_OTLP_URL: `{shown}` {what}. use an address such as http://127.0.0.1:4318 or https://otel.example.org."
        ))
    };
    let url: reqwest::Url = base.parse().map_err(|_| bad("is no address"))?;
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    match url.scheme() {
        "https" | "http" if !plain => Err(bad("holds more than an address")),
        "https" => Ok(()),
        "http" if wire::is_loopback(&url) => Ok(()),
        "http" => Err(bad("is not secure, and not on this machine")),
        _ => Err(bad("is no address of the web")),
    }?;
    Ok(format!("{}/v1/metrics", url.as_str().trim_end_matches('/')))
}

/// Returns the digest of the metrics token, if metrics are served. If the token file cannot be
/// used, they are not, and a notice says so.
pub fn metrics_token(settings: &Settings, disk: &Arc<dyn Disk>, notices: &mut Vec<String>) -> Option<Digest> {
    if !settings.integrations.telemetry.serve_metrics {
        return None;
    }
    let token = read_or_create_token(settings, disk);
    token.map_err(|failed| notices.push(format!(
        "state/metrics.token can't be used ({failed}), so no numbers are served. Everything else works. Make it a file \
         that this account can read and write, and restart."
    ))).ok()
}

/// Reads the token, or creates one if there is none.
fn read_or_create_token(settings: &Settings, disk: &Arc<dyn Disk>) -> Result<Digest, CommandError> {
    let place = settings.paths.state().join("metrics.token");
    let kept = disk.read(&place).unwrap_or_default();
    let kept = String::from_utf8_lossy(&kept).trim().to_owned();
    if !kept.is_empty() {
        return Ok(Digest::of(&kept));
    }
    let fresh = Secret::generate().map_err(|error| CommandError::Failed(error.to_string()))?;
    replace(&**disk, &place, fresh.reveal().as_bytes())?;
    Ok(Digest::of(fresh.reveal()))
}

const fn counter(name: &'static str, help: &'static str) -> MetricKind {
    MetricKind { name, help, is_counter: true }
}

const fn gauge(name: &'static str, help: &'static str) -> MetricKind {
    MetricKind { name, help, is_counter: false }
}

/// The journal's counters, with their metric and label names.
const JOURNAL_METRICS: [(&str, MetricKind, &[&str]); 10] = [
    ("turns", counter("ollim_turns_total", "Turns that ended, by how."), &["ending"]),
    ("open turns", gauge("ollim_turns_open", "Turns that have not ended yet."), &[]),
    (
        "occurrences",
        gauge("ollim_occurrences", "Times at which jobs were due, by what became of them."),
        &["stage"],
    ),
    ("runs", gauge("ollim_runs", "Background runs that are known, by kind."), &["kind"]),
    ("pings", counter("ollim_pings_total", "Pings that were charged to the budget."), &["state"]),
    ("held", gauge("ollim_held", "What waits for the next digest."), &["state"]),
    ("posts", gauge("ollim_posts", "What waits to be sent to the human elsewhere."), &["state"]),
    ("calls", counter("ollim_model_calls_total", "Calls of a model."), &["model", "attended"]),
    (
        "tokens",
        counter("ollim_model_tokens_total", "Tokens of calls of a model, by kind."),
        &["model", "kind"],
    ),
    (
        "micros",
        counter("ollim_model_cost_dollars_total", "What calls of a model cost, where the price is known."),
        &["model"],
    ),
];

const MEMORY: MetricKind = gauge("ollim_resident_bytes", "Memory that the process takes up.");
const UP: MetricKind = gauge("ollim_up_seconds", "How long the process runs.");

/// Returns all metrics of `journal` and of this process, which has been running for `up`.
pub async fn samples(journal: &Journal, up: Duration) -> Result<Vec<Sample>, ReadError> {
    let counted = journal.metrics().await?;
    let mut samples: Vec<Sample> = counted.into_iter().filter_map(sample).collect();
    samples.extend(resident_bytes().map(|bytes| Sample { metric: MEMORY, labels: Vec::new(), value: bytes }));
    samples.push(Sample { metric: UP, labels: Vec::new(), value: up.as_secs_f64() });
    Ok(samples)
}

fn sample(number: Metric) -> Option<Sample> {
    let (_, of, labels) = JOURNAL_METRICS.iter().find(|(name, _, _)| *name == number.name)?;
    let amount = number.value as f64;
    let value = if number.name == "micros" { amount / 1e6 } else { amount };
    let labels = labels.iter().copied().zip(number.labels).collect();
    Some(Sample { metric: *of, labels, value })
}

fn resident_bytes() -> Option<f64> {
    let pages: f64 = std::fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as f64)
}

/// Exports all metrics to `address` periodically. Lost requests do not matter, because values are
/// cumulative.
pub async fn export(address: String, journal: Arc<Journal>, clock: Arc<dyn Clock>) {
    let Some(client) = address
        .parse()
        .ok()
        .and_then(|url| wire::build_client(&url, |builder| builder.timeout(EXPORT_TIMEOUT)).ok())
    else {
        tracing::error!("Numbers cannot be sent: this machine cannot make a connection.");
        // A task that ends is treated as a crash, and missing metrics must not end the daemon.
        return std::future::pending().await;
    };
    let began = StartTime { up: clock.since_boot(), at: clock.now().timestamp() };
    let mut fails = false;
    loop {
        let sent = match request_body(&journal, &*clock, began).await {
            Ok(body) => {
                let request = client.post(&address).header("content-type", "application/json").body(body);
                let sent = request.send().await.and_then(reqwest::Response::error_for_status);
                sent.map(drop).map_err(|error| wire::root_cause(&error))
            }
            // Send nothing rather than an empty document, which would mean that there are no
            // metrics.
            Err(ReadError(why)) => Err(why),
        };
        if let (Err(why), false) = (&sent, fails) {
            tracing::warn!(why, "Numbers could not be sent; they are tried again every minute.");
        }
        fails = sent.is_err();
        tokio::time::sleep(EXPORT_INTERVAL).await;
    }
}

/// The start of this process, on the boot clock and the wall clock.
#[derive(Clone, Copy, Debug)]
struct StartTime {
    up: Duration,
    at: jiff::Timestamp,
}

/// Returns the body of an export request.
async fn request_body(journal: &Journal, clock: &dyn Clock, began: StartTime) -> Result<String, ReadError> {
    let samples = samples(journal, clock.since_boot().saturating_sub(began.up)).await?;
    let now = clock.now().timestamp();
    // Counters have been growing since the journal began, not since this process started.
    let since = journal.first_move_at().await?.unwrap_or(began.at).min(now);
    Ok(document(&samples, since, now).to_string())
}

/// Formats metrics as an OTLP document.
fn document(samples: &[Sample], since: jiff::Timestamp, now: jiff::Timestamp) -> Value {
    let since = since.as_nanosecond().to_string();
    let now = now.as_nanosecond().to_string();
    let point = |sample: &Sample| {
        let attribute =
            |(key, value): &(&'static str, String)| json!({ "key": key, "value": { "stringValue": value } });
        let attributes: Vec<_> = sample.labels.iter().map(attribute).collect();
        json!({ "attributes": attributes, "startTimeUnixNano": since, "timeUnixNano": now, "asDouble": sample.value })
    };
    let metric = |of: MetricKind| {
        let points: Vec<_> = samples.iter().filter(|sample| sample.metric == of).map(point).collect();
        if of.is_counter {
            json!({ "name": of.name, "description": of.help, "sum":
                { "aggregationTemporality": 2, "isMonotonic": true, "dataPoints": points } })
        } else {
            json!({ "name": of.name, "description": of.help, "gauge": { "dataPoints": points } })
        }
    };
    let kinds = JOURNAL_METRICS.iter().map(|(_, kind, _)| *kind).chain([MEMORY, UP]);
    let metrics: Vec<_> =
        kinds.filter(|kind| samples.iter().any(|sample| sample.metric == *kind)).map(metric).collect();
    let name = json!({ "key": "service.name", "value": { "stringValue": "ollim-bot" } });
    let scope = json!({ "name": "ollim-bot", "version": env!("CARGO_PKG_VERSION") });
    json!({ "resourceMetrics": [{
        "resource": { "attributes": [name] },
        "scopeMetrics": [{ "scope": scope, "metrics": metrics }],
    }] })
}

#[cfg(test)]
mod tests {
    use domain::conversation::{Branch, SessionId};
    use domain::record::{
        Address, Message, MessageChange, MessageId, Record, SurfaceName, TurnChange, TurnClosed, TurnOpened,
    };
    use domain::turn::{TurnEnding, TurnId};
    use engine::ports::Journal as _;

    use super::*;

    #[test]
    fn metrics_are_sent_over_secure_connections_only() {
        let read = |url: &str| collector_url(url).map_err(|failed| failed.to_string());
        assert_eq!(read("http://127.0.0.1:4318/").unwrap(), "http://127.0.0.1:4318/v1/metrics");
        assert_eq!(read("https://otel.example.org").unwrap(), "https://otel.example.org/v1/metrics");
        assert!(read("http://otel.example.org").unwrap_err().contains("is not secure"));
        assert!(read("collector").unwrap_err().contains("is no address"));
    }

    /// J1: An address with a password is rejected, and the password is not shown.
    #[test]
    fn password_in_an_address_is_not_shown() {
        for url in [
            "https://me:canary@otel.example.org",
            "https://otel.example.org/?token=canary",
            "ftp://me:canary@otel.example.org",
            "https://me:canary@:99999",
        ] {
            let told = collector_url(url).unwrap_err().to_string();
            assert!(told.contains("use an address such as") && !told.contains("canary"), "{told}");
        }
    }

    #[test]
    fn document_contains_every_metric_with_its_labels() {
        let number = Metric { name: "micros", labels: vec!["m".to_owned()], value: 2_500_000 };
        let samples = [sample(number).unwrap(), Sample { metric: UP, labels: vec![], value: 3.0 }];
        let time = jiff::Timestamp::from_second(1).unwrap();
        let told = document(&samples, time, time);
        let metrics = &told["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        assert_eq!(metrics[0]["sum"]["dataPoints"][0]["asDouble"], 2.5);
        assert_eq!(metrics[0]["sum"]["dataPoints"][0]["attributes"][0]["value"]["stringValue"], "m");
        assert_eq!(metrics[1]["gauge"]["dataPoints"][0]["timeUnixNano"], "1000000000");
    }

    fn open_journal(dir: &std::path::Path, now: jiff::Timestamp) -> journal::OpenedJournal {
        let paths = journal::Paths::new(dir);
        let zone = jiff::tz::TimeZone::UTC;
        let disk = Arc::new(journal::disk::RealDisk);
        journal::open(journal::OpenParams { paths, disk, zone, now, pid: 1 }).unwrap()
    }

    /// Opens a journal at `dir` with a message at the second `at` that is not answered yet.
    async fn journal_with_open_turn(dir: &std::path::Path, at: i64) -> Journal {
        let now = jiff::Timestamp::from_second(at).unwrap();
        let journal::OpenedJournal { journal, state: mut memory, .. } = open_journal(dir, now);
        let session = SessionId::parse("first-session").unwrap();
        let moved = memory.conversation.create(Branch::Main, session, now);
        let opened = TurnOpened { turn: TurnId(1), branch: Branch::Main, message: MessageId(1), at: now };
        let message = Message {
            id: MessageId(1),
            at: now,
            surface: SurfaceName::Terminal,
            address: Address::Branch(Branch::Main),
            text: "hello".to_owned(),
            images: Vec::new(),
            external_id: None,
            label: domain::label::Label::PLAIN,
        };
        let records = vec![
            Record::BranchMoved(moved),
            Record::Message(MessageChange::Received(message)),
            Record::Turn(TurnChange::Opened(opened)),
        ];
        journal.write(records).await.unwrap();
        journal
    }

    /// Counters never decrease: a turn is counted when it has ended, and until then it is a gauge.
    #[tokio::test]
    async fn turn_is_counted_when_it_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let journal = journal_with_open_turn(dir.path(), 1_800_000_000).await;
        let turns = async || {
            let samples = samples(&journal, Duration::ZERO).await.unwrap();
            let turns = samples.into_iter().filter(|sample| sample.metric.name.starts_with("ollim_turns"));
            let told =
                |sample: Sample| (sample.metric.name, sample.labels, sample.value, sample.metric.is_counter);
            turns.map(told).collect::<Vec<_>>()
        };
        assert_eq!(turns().await, [("ollim_turns_open", vec![], 1.0, false)]);
        let at = jiff::Timestamp::from_second(1_800_000_001).unwrap();
        let closed =
            TurnClosed { turn: TurnId(1), ending: TurnEnding::Finished, usage: Default::default(), at };
        journal.write(vec![Record::Turn(TurnChange::Closed(closed))]).await.unwrap();
        let finished = ("ollim_turns_total", vec![("ending", "finished".to_owned())], 1.0, true);
        assert_eq!(turns().await, [finished, ("ollim_turns_open", vec![], 0.0, false)]);
    }

    /// Counters start at the beginning of the journal, and unreadable ones are not sent as zero.
    #[tokio::test]
    async fn counters_start_with_the_journal_and_unreadable_ones_are_not_sent() {
        let dir = tempfile::tempdir().unwrap();
        let journal = journal_with_open_turn(dir.path(), 1_700_000_000).await;
        let clock = crate::clock::SystemClock::new(jiff::tz::TimeZone::UTC);
        let began = StartTime { up: clock.since_boot(), at: clock.now().timestamp() };
        let told: Value =
            serde_json::from_str(&request_body(&journal, &clock, began).await.unwrap()).unwrap();
        let point = &told["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]["gauge"]["dataPoints"][0];
        assert_eq!(point["startTimeUnixNano"], "1700000000000000000", "{told}");
        let other = rusqlite::Connection::open(journal::Paths::new(dir.path()).database()).unwrap();
        other.execute_batch("DROP TABLE charges").unwrap();
        assert!(request_body(&journal, &clock, began).await.is_err());
    }

    /// The export task never ends, because the end of a task would stop the daemon.
    #[tokio::test(start_paused = true)]
    async fn export_task_never_ends() {
        let dir = tempfile::tempdir().unwrap();
        let clock = crate::clock::SystemClock::new(jiff::tz::TimeZone::UTC);
        let journal = Arc::new(open_journal(dir.path(), clock.now().timestamp()).journal);
        let sending = export("no address".to_owned(), journal, Arc::new(clock));
        assert!(tokio::time::timeout(Duration::from_secs(3_600), sending).await.is_err());
    }
}
