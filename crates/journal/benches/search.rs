//! Search: how long it takes until words are found in a short life. `million` measures a long one.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made stops the bench at once")]

#[path = "search/life.rs"]
mod life;

use std::sync::LazyLock;

use divan::{Bencher, black_box};
use engine::ports::{LookedFor, Order, Within};
use journal::Paths;
use journal::db::Database;
use life::LOOKED_FOR;
use tempfile::TempDir;

fn main() {
    divan::main();
}

static LIFE: LazyLock<TempDir> = LazyLock::new(|| life::lay_out(20_000));

fn find(bencher: Bencher, words: &str, order: Order, tags: &[&str]) {
    let database = Database::open_for_reading(&Paths::new(LIFE.path()).database()).unwrap();
    let within = Within { tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), ..Within::default() };
    let looked_for = LookedFor { words: words.to_owned(), order, within, limit: 31, before: None };
    bencher.bench_local(|| database.search(black_box(&looked_for)).unwrap());
}

#[divan::bench(args = LOOKED_FOR, sample_count = 200, sample_size = 1)]
fn best(bencher: Bencher, words: &str) {
    find(bencher, words, Order::Best, &[]);
}

#[divan::bench(args = LOOKED_FOR, sample_count = 200, sample_size = 1)]
fn newest(bencher: Bencher, words: &str) {
    find(bencher, words, Order::Newest, &[]);
}

#[divan::bench(args = ["the", "lisothe"], sample_count = 100, sample_size = 1)]
fn best_on_the_page(bencher: Bencher, words: &str) {
    find(bencher, words, Order::Best, &["page"]);
}

/// Nothing fits, so everything that is ever looked at is looked at.
#[divan::bench(args = ["the", "lisothe"], sample_count = 20, sample_size = 1)]
fn best_where_nothing_was_said(bencher: Bencher, words: &str) {
    find(bencher, words, Order::Best, &["nowhere"]);
}
