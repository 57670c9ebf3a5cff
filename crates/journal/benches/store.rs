//! The store: cost of writing a position or an entry and of reading, at different conversation
//! lengths.
//!
//! Uses `/dev/shm` where it exists, so that disk flushes are not measured; the benches whose names
//! end in `_with_the_disk` use the disk.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made stops the bench at once")]

use std::path::Path;

use divan::{Bencher, black_box};
use domain::conversation::{Block, Branch, Completeness, Conversation, EntryContent, EntryId};
use domain::record::Record;
use domain::rng::Rng;
use jiff::Timestamp;
use journal::Paths;
use journal::db::{Database, PathCache};
use tempfile::TempDir;
use testkit::long_history;

fn main() {
    divan::main();
}

const NOW: Timestamp = Timestamp::constant(1_794_700_000, 0);

/// An open database with a long conversation.
struct Store {
    dir: TempDir,
    database: Database,
    conversation: Conversation,
}

impl Store {
    fn new(dir: TempDir, entries: u64) -> Self {
        long_history::create(dir.path(), entries).unwrap();
        let database = Database::open(&Paths::new(dir.path()).database()).unwrap();
        let conversation = database.load_state().unwrap().conversation;
        Self { dir, database, conversation }
    }

    fn head(&self) -> EntryId {
        self.conversation.head(&Branch::Main).unwrap().entry.unwrap()
    }
}

fn in_memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

fn on_disk() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[divan::bench(args = [100, 10_000, 100_000])]
fn fork(bencher: Bencher, entries: u64) {
    forks(bencher, Store::new(in_memory(), entries));
}

#[divan::bench(args = [10_000])]
fn fork_with_the_disk(bencher: Bencher, entries: u64) {
    forks(bencher, Store::new(on_disk(), entries));
}

fn forks(bencher: Bencher, store: Store) {
    let Store { dir: _dir, mut database, mut conversation } = store;
    let mut dice = Rng::new(7);
    let mut count = 0;
    let next = || {
        count += 1;
        let fork = Branch::fork(&format!("run-{count}")).unwrap();
        [Record::BranchMoved(conversation.fork(&Branch::Main, fork, dice.session_id(), NOW).unwrap())]
    };
    bencher.with_inputs(next).bench_local_refs(|records| database.write(records).unwrap());
}

#[divan::bench(args = [10_000])]
fn append(bencher: Bencher, entries: u64) {
    appends(bencher, Store::new(in_memory(), entries));
}

#[divan::bench(args = [10_000])]
fn append_with_the_disk(bencher: Bencher, entries: u64) {
    appends(bencher, Store::new(on_disk(), entries));
}

fn appends(bencher: Bencher, store: Store) {
    let Store { dir: _dir, mut database, mut conversation } = store;
    let next = || {
        let words = vec![Block::Text("the train leaves at nine, and the locker is 214".to_owned())];
        let said = EntryContent::Assistant(words, Completeness::Complete);
        [Record::EntryAppended(Branch::Main, conversation.append(&Branch::Main, said, NOW).unwrap())]
    };
    bencher.with_inputs(next).bench_local_refs(|records| database.write(records).unwrap());
}

#[divan::bench(args = [10_000])]
fn path_warm(bencher: Bencher, entries: u64) {
    let store = Store::new(in_memory(), entries);
    let mut cache = PathCache::default();
    store.database.path(store.head(), &mut cache).unwrap();
    bencher.bench_local(|| store.database.path(black_box(store.head()), &mut cache).unwrap());
}

#[divan::bench(args = [10_000])]
fn path_cold(bencher: Bencher, entries: u64) {
    let store = Store::new(in_memory(), entries);
    let cold = PathCache::default;
    bencher
        .with_inputs(cold)
        .bench_local_refs(|cache| store.database.path(black_box(store.head()), cache).unwrap());
}

#[divan::bench(args = [100_000])]
fn newest_50(bencher: Bencher, entries: u64) {
    let store = Store::new(in_memory(), entries);
    bencher.bench_local(|| store.database.recent_entries(&Branch::Main, None, black_box(50)).unwrap());
}

#[divan::bench(args = [1_000_000], sample_count = 20)]
fn open(bencher: Bencher, entries: u64) {
    let Store { dir, .. } = Store::new(in_memory(), entries);
    bencher.bench_local(|| long_history::open(dir.path()).unwrap().state);
}
