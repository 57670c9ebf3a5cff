//! One turn through the whole application: the latency we add to a message on its way to the model,
//! and to the reply on its way back.
//!
//! The application is real, including the control socket. The model is a thread that records when
//! the first byte of a request arrives and when it sends a word. The data directory is in memory if
//! possible.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made stops the bench at once")]

#[path = "turn/house.rs"]
mod house;
#[path = "turn/wire.rs"]
mod wire;

use std::io::Write;
use std::time::{Duration, Instant};

use daemon::app::Mode;
use surfaces::client::{Client, EventStream};
use tempfile::TempDir;
use testkit::long_history;
use tokio::sync::mpsc::UnboundedReceiver;

use house::{disk_dir, memory_dir, open_app};
use wire::{FakeModel, WireEvent};

/// Warm-up turns are not measured.
const WARM_UP: usize = 20;
const MEASURED: usize = 300;
/// Measured starts.
const STARTS: usize = 15;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for entries in [1_000, 10_000] {
        let dir = memory_dir();
        long_history::create(dir.path(), entries).unwrap();
        runtime.block_on(measure_with_model(&dir, entries));
    }
    let dir = memory_dir();
    long_history::create(dir.path(), 10_000).unwrap();
    runtime.block_on(measure_first_message(&dir));
    for (dir, place) in [(memory_dir(), "in memory"), (disk_dir(), "with the disk")] {
        runtime.block_on(measure_offline(&dir, place));
    }
}

/// Measures turns in a conversation with `entries` entries and a model that answers one word.
async fn measure_with_model(dir: &TempDir, entries: u64) {
    let wire = FakeModel::listen();
    let app =
        open_app(dir, &[("ANTHROPIC_API_KEY", "none"), ("ANTHROPIC_BASE_URL", &wire.url)], Mode::Local).await;
    let mut turns = TurnRunner { client: app.client.clone(), events: open_events(&app.client).await };
    let mut moments = wire.events;
    let mut request_delays = Vec::new();
    let mut reply_delays = Vec::new();
    for _ in 0..WARM_UP + MEASURED {
        let turn = turns.run("and now?").await;
        let (received, answered) = next_exchange(&mut moments).await;
        request_delays.push(received.duration_since(turn.began));
        reply_delays.push(turn.last_delta.unwrap().duration_since(answered));
    }
    report(&format!("message in to model request out at {entries}"), request_delays.split_off(WARM_UP));
    report(&format!("model delta to page at {entries}"), reply_delays.split_off(WARM_UP));
    drop(turns);
    app.close().await;
}

/// Measures the first message after a start, before the conversation was read.
async fn measure_first_message(dir: &TempDir) {
    let wire = FakeModel::listen();
    let mut moments = wire.events;
    let mut durations = Vec::new();
    for _ in 0..STARTS {
        let app =
            open_app(dir, &[("ANTHROPIC_API_KEY", "none"), ("ANTHROPIC_BASE_URL", &wire.url)], Mode::Local)
                .await;
        let mut turns = TurnRunner { client: app.client.clone(), events: open_events(&app.client).await };
        let turn = turns.run("and now?").await;
        durations.push(next_exchange(&mut moments).await.0.duration_since(turn.began));
        drop(turns);
        app.close().await;
    }
    report("first message in to model request out at 10000", durations);
}

async fn next_exchange(moments: &mut UnboundedReceiver<WireEvent>) -> (Instant, Instant) {
    let (Some(WireEvent::RequestReceived(received)), Some(WireEvent::WordSent(answered))) =
        (moments.recv().await, moments.recv().await)
    else {
        panic!("the wire tells of a request and then of a word");
    };
    (received, answered)
}

/// Measures turns without a model: all of the time is ours.
async fn measure_offline(dir: &TempDir, place: &str) {
    let app = open_app(dir, &[], Mode::Local).await;
    let mut turns = TurnRunner { client: app.client.clone(), events: open_events(&app.client).await };
    let mut durations = Vec::new();
    for _ in 0..WARM_UP + MEASURED {
        let turn = turns.run("help").await;
        durations.push(turn.ended.duration_since(turn.began));
    }
    report(&format!("offline reply {place}"), durations.split_off(WARM_UP));
    drop(turns);
    app.close().await;
}

struct TurnRunner {
    client: Client,
    events: EventStream,
}

struct TurnTimes {
    began: Instant,
    last_delta: Option<Instant>,
    ended: Instant,
}

impl TurnRunner {
    async fn run(&mut self, text: &str) -> TurnTimes {
        let began = Instant::now();
        let mut first_word = None;
        self.client.say(&text.into()).await.unwrap();
        loop {
            let event = self.events.next().await.unwrap().unwrap();
            match event.name.as_str() {
                "delta" => first_word = Some(Instant::now()),
                "ended" => return TurnTimes { began, last_delta: first_word, ended: Instant::now() },
                _ => {}
            }
        }
    }
}

async fn open_events(client: &Client) -> EventStream {
    client.events().await.unwrap()
}

fn report(name: &str, mut durations: Vec<Duration>) {
    durations.sort_unstable();
    let percentile = |of_100: usize| durations[(durations.len() - 1) * of_100 / 100].as_nanos();
    let mut out = std::io::stdout();
    writeln!(out, "{name}, median: {} ns", percentile(50)).unwrap();
    writeln!(out, "{name}, p99: {} ns", percentile(99)).unwrap();
}
