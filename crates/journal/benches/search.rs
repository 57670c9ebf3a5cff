//! Latency of the full-text search in a history of a million entries.
//!
//! A history of that size takes a minute to build, so `OLLIM_SEARCH_ENTRIES` must set it
//! explicitly; then the p99 of all searches is printed too.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made stops the bench at once")]

use std::io::Write;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use divan::{Bencher, black_box};
use domain::rng::Rng;
use engine::ports::{SearchFilter, SearchOrder, SearchQuery};
use journal::Paths;
use journal::db::Database;
use rusqlite::Connection;
use tempfile::TempDir;
use testkit::long_history;

fn main() {
    divan::main();
    if option_env!("OLLIM_SEARCH_ENTRIES").is_some() {
        let told = format!("history search, p99: {}\n", p99().as_nanos());
        std::io::stdout().write_all(told.as_bytes()).unwrap();
    }
}

/// Runs every query equally often, in both orders.
fn p99() -> Duration {
    let database = Database::open_read_only(&Paths::new(DATA_DIR.path()).database()).unwrap();
    let mut took: Vec<Duration> = Vec::new();
    for (words, order) in
        QUERIES.iter().flat_map(|words| [(words, SearchOrder::Relevance), (words, SearchOrder::Newest)])
    {
        let words = (*words).to_owned();
        let looked_for =
            SearchQuery { words, order, filter: SearchFilter::default(), limit: 31, before: None };
        took.extend((0..50).map(|_| {
            let begun = Instant::now();
            black_box(database.search(black_box(&looked_for)).unwrap());
            begun.elapsed()
        }));
    }
    took.sort_unstable();
    took[took.len() * 99 / 100]
}

/// Number of entries unless `OLLIM_SEARCH_ENTRIES` is set.
const ENTRIES: u64 = 20_000;

/// Size of the vocabulary, from frequent to rare words.
const WORDS: u64 = 30_000;

static DATA_DIR: LazyLock<TempDir> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    long_history::create(dir.path(), entries()).unwrap();
    fill_with_words(&Paths::new(dir.path()).database());
    dir
});

fn entries() -> u64 {
    option_env!("OLLIM_SEARCH_ENTRIES").and_then(|count| count.parse().ok()).unwrap_or(ENTRIES)
}

/// Fills the history with Zipf-distributed words: the word of rank `n` occurs `n` times less often
/// than the first.
fn fill_with_words(path: &Path) {
    let mut connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;").unwrap();
    let transaction = connection.transaction().unwrap();
    transaction.execute_batch("INSERT INTO words (words) VALUES ('delete-all');").unwrap();
    let mut dice = Rng::new(7);
    {
        let mut word = transaction.prepare("INSERT INTO words (rowid, text) VALUES (?, ?)").unwrap();
        let mut body = transaction.prepare("UPDATE entries SET body = ? WHERE id = ?").unwrap();
        for id in 1..=entries() {
            let text = (0..24).map(|_| word_for_rank(rank(&mut dice))).collect::<Vec<_>>().join(" ");
            word.execute((id, &text)).unwrap();
            body.execute((entry_body(id, &text), id)).unwrap();
        }
    }
    transaction.commit().unwrap();
}

/// An entry body in its stored format, alternating between the user and the assistant.
fn entry_body(id: u64, text: &str) -> String {
    match (id % 10_000, id % 2) {
        (1, _) => format!("{{\"text\":\"{text}\"}}"),
        (_, 1) => format!("{{\"preface\":\"\",\"text\":\"{text}\"}}"),
        (_, _) => format!("{{\"blocks\":[{{\"text\":\"{text}\"}}]}}"),
    }
}

fn rank(dice: &mut Rng) -> u64 {
    let roll = u64::from_str_radix(&dice.short_id(), 16).unwrap() as f64 / f64::from(u32::MAX);
    (WORDS as f64).powf(roll) as u64
}

/// A word for `rank`. Words share prefixes, as real ones do.
fn word_for_rank(rank: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "the", "con", "ta", "re", "in", "mo", "de", "li", "per", "so", "ver", "na", "tra", "be", "cu", "ing",
    ];
    let mut word = String::new();
    let mut left = rank;
    loop {
        word += SYLLABLES[(left % 16) as usize];
        left /= 16;
        if left == 0 {
            return word;
        }
    }
}

fn bench_search(bencher: Bencher, words: &str, order: SearchOrder, tags: &[&str]) {
    let database = Database::open_read_only(&Paths::new(DATA_DIR.path()).database()).unwrap();
    let within = SearchFilter {
        places: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..SearchFilter::default()
    };
    let looked_for = SearchQuery { words: words.to_owned(), order, filter: within, limit: 31, before: None };
    bencher.bench_local(|| database.search(black_box(&looked_for)).unwrap());
}

/// A prefix of half of all entries, a common word, usual ones, rare ones, several at once, and one
/// that never occurs.
const QUERIES: [&str; 10] = [
    "the",
    "re",
    "t",
    "conta",
    "inmo",
    "lisothe",
    "verconre",
    "contra the re",
    "delisoinpertra be",
    "nobodysaidthis",
];

#[divan::bench(args = QUERIES, sample_count = 200, sample_size = 1)]
fn best(bencher: Bencher, words: &str) {
    bench_search(bencher, words, SearchOrder::Relevance, &[]);
}

#[divan::bench(args = QUERIES, sample_count = 200, sample_size = 1)]
fn newest(bencher: Bencher, words: &str) {
    bench_search(bencher, words, SearchOrder::Newest, &[]);
}

#[divan::bench(args = ["the", "lisothe"], sample_count = 100, sample_size = 1)]
fn best_on_the_page(bencher: Bencher, words: &str) {
    bench_search(bencher, words, SearchOrder::Relevance, &["page"]);
}

/// Nothing matches, so the search examines as many entries as it ever does.
#[divan::bench(args = ["the", "lisothe"], sample_count = 20, sample_size = 1)]
fn best_where_nothing_was_said(bencher: Bencher, words: &str) {
    bench_search(bencher, words, SearchOrder::Relevance, &["nowhere"]);
}
