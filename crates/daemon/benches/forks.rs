//! Forks: latency until the first request is sent to the model, and memory use of a thousand
//! concurrent forks.
//!
//! Forks are written to the journal and driven like in the application. For the memory measurement,
//! the fake model server runs in a separate process, so that its memory is not counted, and blocks
//! all requests until the end.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made stops the bench at once")]

#[path = "forks/crowd.rs"]
mod crowd;
#[path = "forks/family.rs"]
mod family;
#[path = "turn/wire.rs"]
mod wire;

use std::io::Write;
use std::time::{Duration, Instant};

use crowd::MemoryBench;
use family::ForkSession;
use tokio::sync::mpsc::UnboundedReceiver;
use wire::{FakeModel, WireEvent};

/// Warm-up forks are not measured.
const WARM_UP: usize = 20;
const MEASURED: usize = 300;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if std::env::args().any(|argument| argument == crowd::SERVER_ARGUMENT) {
        runtime.block_on(crowd::run_server())
    } else {
        let wire = FakeModel::listen();
        let family = ForkSession::new(10_000, &wire.url, 1);
        runtime.block_on(measure_first_requests(family, wire.events));
        let crowd = MemoryBench::start();
        runtime.block_on(crowd.measure());
    }
}

async fn measure_first_requests(mut family: ForkSession, mut moments: UnboundedReceiver<WireEvent>) {
    let mut durations = Vec::new();
    for _ in 0..WARM_UP + MEASURED {
        let began = Instant::now();
        family.fork().await.await;
        let Some(WireEvent::RequestReceived(received)) = moments.recv().await else {
            panic!("a request comes first")
        };
        let Some(WireEvent::WordSent(answered)) = moments.recv().await else { panic!("then its answer") };
        assert!(received < answered, "an answer before its question");
        durations.push(received.duration_since(began));
    }
    report("fork of 10000 to the wire", durations.split_off(WARM_UP));
}

fn report(name: &str, mut durations: Vec<Duration>) {
    durations.sort_unstable();
    let percentile = |of_100: usize| durations[(durations.len() - 1) * of_100 / 100].as_nanos();
    print_line(&format!("{name}, median: {} ns", percentile(50)));
    print_line(&format!("{name}, p99: {} ns", percentile(99)));
}

fn print_line(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").unwrap();
}
