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

use daemon::house::Doors;
use surfaces::client::{Client, Events};
use tempfile::TempDir;
use testkit::long_life;
use tokio::sync::mpsc::UnboundedReceiver;

use house::{in_memory, on_disk, open};
use wire::{Moment, Wire};

/// Warm-up turns are not measured.
const WARM_UP: usize = 20;
const COUNTED: usize = 300;
/// Measured starts.
const STARTS: usize = 15;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for entries in [1_000, 10_000] {
        let dir = in_memory();
        long_life::lay_out(dir.path(), entries).unwrap();
        runtime.block_on(with_a_model(&dir, entries));
    }
    let dir = in_memory();
    long_life::lay_out(dir.path(), 10_000).unwrap();
    runtime.block_on(after_a_start(&dir));
    for (dir, place) in [(in_memory(), "in memory"), (on_disk(), "with the disk")] {
        runtime.block_on(offline(&dir, place));
    }
}

/// Measures turns in a conversation with `entries` entries and a model that answers one word.
async fn with_a_model(dir: &TempDir, entries: u64) {
    let wire = Wire::listen();
    let house =
        open(dir, &[("ANTHROPIC_API_KEY", "none"), ("ANTHROPIC_BASE_URL", &wire.url)], Doors::Local).await;
    let mut turns = Turns { client: house.client.clone(), seen: follow(&house.client).await };
    let mut moments = wire.moments;
    let mut out = Vec::new();
    let mut back = Vec::new();
    for _ in 0..WARM_UP + COUNTED {
        let turn = turns.run("and now?").await;
        let (asked, spoke) = exchange(&mut moments).await;
        out.push(asked.duration_since(turn.began));
        back.push(turn.words.unwrap().duration_since(spoke));
    }
    tell(&format!("message in to model request out at {entries}"), out.split_off(WARM_UP));
    tell(&format!("model delta to page at {entries}"), back.split_off(WARM_UP));
    drop(turns);
    house.close().await;
}

/// Measures the first message after a start, before the conversation was read.
async fn after_a_start(dir: &TempDir) {
    let wire = Wire::listen();
    let mut moments = wire.moments;
    let mut took = Vec::new();
    for _ in 0..STARTS {
        let house =
            open(dir, &[("ANTHROPIC_API_KEY", "none"), ("ANTHROPIC_BASE_URL", &wire.url)], Doors::Local)
                .await;
        let mut turns = Turns { client: house.client.clone(), seen: follow(&house.client).await };
        let turn = turns.run("and now?").await;
        took.push(exchange(&mut moments).await.0.duration_since(turn.began));
        drop(turns);
        house.close().await;
    }
    tell("first message in to model request out at 10000", took);
}

async fn exchange(moments: &mut UnboundedReceiver<Moment>) -> (Instant, Instant) {
    let (Some(Moment::Asked(asked)), Some(Moment::Spoke(spoke))) =
        (moments.recv().await, moments.recv().await)
    else {
        panic!("the wire tells of a request and then of a word");
    };
    (asked, spoke)
}

/// Measures turns without a model: all of the time is ours.
async fn offline(dir: &TempDir, place: &str) {
    let house = open(dir, &[], Doors::Local).await;
    let mut turns = Turns { client: house.client.clone(), seen: follow(&house.client).await };
    let mut took = Vec::new();
    for _ in 0..WARM_UP + COUNTED {
        let turn = turns.run("help").await;
        took.push(turn.ended.duration_since(turn.began));
    }
    tell(&format!("offline reply {place}"), took.split_off(WARM_UP));
    drop(turns);
    house.close().await;
}

struct Turns {
    client: Client,
    seen: Events,
}

struct Ran {
    began: Instant,
    words: Option<Instant>,
    ended: Instant,
}

impl Turns {
    async fn run(&mut self, text: &str) -> Ran {
        let began = Instant::now();
        let mut words = None;
        self.client.say(&text.into()).await.unwrap();
        loop {
            let shown = self.seen.next().await.unwrap().unwrap();
            match shown.name.as_str() {
                "delta" => words = Some(Instant::now()),
                "ended" => return Ran { began, words, ended: Instant::now() },
                _ => {}
            }
        }
    }
}

async fn follow(client: &Client) -> Events {
    client.events().await.unwrap()
}

fn tell(what: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    let part = |of_100: usize| took[(took.len() - 1) * of_100 / 100].as_nanos();
    let mut out = std::io::stdout();
    writeln!(out, "{what}, median: {} ns", part(50)).unwrap();
    writeln!(out, "{what}, p99: {} ns", part(99)).unwrap();
}
