//! The domain: what it costs to decide, before anything is done.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made stops the bench at once")]

use std::collections::BTreeMap;
use std::sync::Arc;

use divan::{Bencher, black_box};
use domain::assistant::{Assistant, Memory, Request, Saying};
use domain::brain;
use domain::compaction::Room;
use domain::conversation::{Conversation, EntryId};
use domain::dice::Dice;
use domain::phrase::{self, Habits};
use domain::record::SurfaceName;
use domain::schedule::Cron;
use jiff::Zoned;

fn main() {
    divan::main();
}

#[divan::bench]
fn offline_brain_reads(bencher: Bencher) {
    let (now, habits) = evening();
    bencher
        .bench_local(|| brain::read(black_box("what should i cook for six people tonight?"), &now, &habits));
}

/// A short phrase, a long one, one whose zone is named, one with a year to look up, and none at all.
#[divan::bench(args = [
    "tea in 4 min",
    "remind me to water the plants every 2 weeks on tuesday at 19:00 until the end of next month",
    "call the office at 9:00 buenos aires time on friday",
    "pay the tax on 29 feb at 10:30, leave 25 min before",
    "a long sentence about nothing much, in which there is no time at all, but many words to look at",
])]
fn phrase_is_read(bencher: Bencher, text: &str) {
    let (now, habits) = evening();
    bencher.bench_local(|| phrase::read(black_box(text), &now, &habits));
}

#[divan::bench(args = ["0 9 * * 1-5", "*/30 * * * *", "0 9 1 * *", "0 0 29 2 *"])]
fn cron_is_read_and_reckoned(bencher: Bencher, cron: &str) {
    let now: Zoned = "2026-11-15T08:00[Europe/Berlin]".parse().unwrap();
    let (after, zone) = (now.timestamp(), now.time_zone());
    bencher.bench_local(|| Cron::parse(black_box(cron)).unwrap().next(after, zone));
}

#[divan::bench]
fn message_is_decided_upon(bencher: Bencher) {
    let now: Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
    let words = || (awake(), Request::Say(Saying::words(SurfaceName::Page, "good morning")));
    bencher.with_inputs(words).bench_local_values(|(mut assistant, request)| {
        let decided = assistant.asked(request, &now);
        (assistant, decided)
    });
}

fn evening() -> (Zoned, Habits) {
    ("2026-11-15T14:33[Europe/Berlin]".parse().unwrap(), Habits::default())
}

fn awake() -> Assistant {
    let memory = Memory::of(Conversation::new(BTreeMap::new(), EntryId(1)));
    Assistant::new(memory, Arc::new([]), Room::HOUSE, Dice::new(7))
}
