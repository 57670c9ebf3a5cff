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

use crowd::Crowd;
use family::Family;
use tokio::sync::mpsc::UnboundedReceiver;
use wire::{Moment, Wire};

/// Warm-up forks are not measured.
const WARM_UP: usize = 20;
const COUNTED: usize = 300;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if std::env::args().any(|argument| argument == crowd::SERVER) {
        runtime.block_on(crowd::serve())
    } else {
        let wire = Wire::listen();
        let family = Family::new(10_000, &wire.url, 1);
        runtime.block_on(first_requests(family, wire.moments));
        let crowd = Crowd::gather();
        runtime.block_on(crowd.measure());
    }
}

async fn first_requests(mut family: Family, mut moments: UnboundedReceiver<Moment>) {
    let mut took = Vec::new();
    for _ in 0..WARM_UP + COUNTED {
        let began = Instant::now();
        family.fork().await.await;
        let Some(Moment::Asked(asked)) = moments.recv().await else { panic!("a request comes first") };
        let Some(Moment::Spoke(spoke)) = moments.recv().await else { panic!("then its answer") };
        assert!(asked < spoke, "an answer before its question");
        took.push(asked.duration_since(began));
    }
    tell("fork of 10000 to the wire", took.split_off(WARM_UP));
}

fn tell(what: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    let part = |of_100: usize| took[(took.len() - 1) * of_100 / 100].as_nanos();
    say(&format!("{what}, median: {} ns", part(50)));
    say(&format!("{what}, p99: {} ns", part(99)));
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").unwrap();
}
