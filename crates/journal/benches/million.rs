//! Search in a life of a million entries: how long it takes at worst.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made stops the bench at once")]

#[path = "search/life.rs"]
mod life;

use std::io::Write;
use std::time::{Duration, Instant};

use engine::ports::{LookedFor, Order, Within};
use journal::Paths;
use journal::db::Database;
use life::LOOKED_FOR;

/// How often everything is looked for: once nobody counts, because nothing was read from the disk yet.
const ROUNDS: usize = 20;

fn main() {
    let life = life::lay_out(1_000_000);
    let database = Database::open_for_reading(&Paths::new(life.path()).database()).unwrap();
    let mut took: Vec<Duration> = Vec::new();
    for round in 0..=ROUNDS {
        for (words, order) in
            LOOKED_FOR.into_iter().flat_map(|words| [(words, Order::Best), (words, Order::Newest)])
        {
            let looked_for = LookedFor {
                words: words.to_owned(),
                order,
                within: Within::default(),
                limit: 31,
                before: None,
            };
            let began = Instant::now();
            database.search(&looked_for).unwrap();
            if round > 0 {
                took.push(began.elapsed());
            }
        }
    }
    took.sort_unstable();
    let part = |of_100: usize| took[(took.len() - 1) * of_100 / 100].as_nanos();
    let mut out = std::io::stdout();
    writeln!(out, "search in 1 M entries, median: {} ns", part(50)).unwrap();
    writeln!(out, "search in 1 M entries, p99: {} ns", part(99)).unwrap();
}
