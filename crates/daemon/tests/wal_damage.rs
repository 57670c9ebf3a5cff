//! The program is killed and its write-ahead log damaged: acknowledged messages are there after the
//! restart, or reported as missing.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use domain::dice::Dice;
use rusqlite::{Connection, OpenFlags};
use testkit::PATIENCE;
use testkit::kill::{Backstage, Program, Running, stdout};
use testkit::model_server::Act;

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// The size of a WAL frame: header and page.
const FRAME: usize = 24 + 4096;

/// Damage to the log of a killed program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Damage {
    None,
    Removed,
    Cut,
    BitFlipped,
    SectorOverwritten,
    IndexRemoved,
}

const DAMAGES: [Damage; 8] = [
    Damage::None,
    Damage::Removed,
    Damage::Cut,
    Damage::Cut,
    Damage::BitFlipped,
    Damage::BitFlipped,
    Damage::SectorOverwritten,
    Damage::IndexRemoved,
];

/// Results of a number of kills.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    /// Number of times per kind of damage.
    damaged: BTreeMap<Damage, usize>,
    /// The numbers of frames after which a log was truncated, without gaps.
    cut_after: BTreeSet<usize>,
    acknowledged: usize,
    whole: usize,
    named: usize,
    lost: usize,
}

impl Tally {
    /// Returns the number of damaged logs.
    fn damages(&self) -> usize {
        self.damaged.values().sum()
    }
}

#[test]
fn damage_to_the_write_ahead_log_loses_nothing_without_a_notice() {
    let mut tally = Tally::default();
    survive(1, 16, &mut tally);
    assert!(tally.damages() >= 8, "{tally:?}");
}

/// Like the previous test, with 500 kills.
#[test]
#[ignore = "long: 500 kills take minutes"]
fn five_hundred_kills_with_damage_lose_nothing_without_a_notice() {
    let began = Instant::now();
    let mut tally = Tally::default();
    for seed in 100..110 {
        survive(seed, 50, &mut tally);
        println!("after seed {seed}: {tally:?}, {} s", began.elapsed().as_secs());
    }
    assert_eq!(tally.kills, 500);
    assert!(tally.damages() >= 250 && tally.named >= 50, "{tally:?}");
    assert!(tally.damaged.len() == 5 && tally.damaged.values().all(|times| *times >= 20), "{tally:?}");
    assert!(
        tally.cut_after.len() >= 20 && tally.cut_after.iter().copied().eq(0..tally.cut_after.len()),
        "{tally:?}"
    );
}

/// `doctor` compares the journal with its mark while the program is stopped.
#[test]
fn the_doctor_says_what_is_missing() {
    let program = Program::offline(BINARY);
    let running = program.start();
    assert!(running.say("remember: locker 214").is_ok());
    running.kill();
    let sound = stdout(&program.run(&["doctor"]));
    assert!(sound.contains("✓ journal  sound, "), "{sound}");
    std::fs::remove_file(log(program.data())).expect("a log");
    let cut_short = stdout(&program.run(&["doctor"]));
    assert!(cut_short.contains("✗ journal  its end is missing: "), "{cut_short}");
    program.start().terminate();
    let mended = stdout(&program.run(&["doctor"]));
    assert!(mended.contains("✓ journal  sound, "), "{mended}");
    assert!(mended.contains("! aside    damaged, and kept aside: state/journal.db.corrupt-"), "{mended}");
    std::fs::remove_file(program.data().join("state/journal.mark")).expect("a mark");
    let unmarked = stdout(&program.run(&["doctor"]));
    assert!(unmarked.contains("! journal  state/journal.mark is missing, so "), "{unmarked}");
}

/// Runs a session with `kills` kills and random damage, and adds the results to `tally`.
fn survive(seed: u64, kills: usize, tally: &mut Tally) {
    let backstage = Backstage::open();
    backstage.model().answering(|_| Act::says("it is kept"));
    let program = Program::answered_by(BINARY, &backstage);
    let mut dice = Dice::new(seed);
    let mut acknowledged = BTreeSet::new();
    let mut running = program.start();
    for kill in 0..kills {
        for number in 0..dice.roll() % 4 {
            let text = format!("message {seed}.{kill}.{number}");
            if say(&running, &text, &mut dice) {
                acknowledged.insert(text);
                tally.acknowledged += 1;
            }
        }
        running.kill();
        let damage = DAMAGES[dice.roll() as usize % DAMAGES.len()];
        tally.kills += 1;
        if inflict(damage, program.data(), &mut dice, &mut tally.cut_after) {
            *tally.damaged.entry(damage).or_default() += 1;
        }

        running = program.start();
        let there = texts(program.data());
        let lost: Vec<String> = acknowledged.iter().filter(|text| !there.contains(*text)).cloned().collect();
        let notices = running.get("/api/health").expect("its health")["notices"].to_string();
        match named(&notices) {
            Some(messages) => {
                tally.named += 1;
                assert!(
                    messages >= lost.len(),
                    "seed {seed}, kill {kill}, {damage:?}: {lost:?} are lost: {notices}"
                );
            }
            None => {
                tally.whole += 1;
                assert!(
                    lost.is_empty(),
                    "seed {seed}, kill {kill}, {damage:?}: {lost:?} are lost, no word: {notices}"
                );
            }
        }
        tally.lost += lost.len();
        acknowledged.retain(|text| !lost.contains(text));
    }
    running.terminate();
}

/// Returns the number of missing user messages that the notices report, or None if they report
/// none.
fn named(notices: &str) -> Option<usize> {
    let (_, missing) = notices.split_once("; missing: ")?;
    let (before, _) = missing.split_once(" of yours")?;
    before.split_whitespace().rev().nth(1)?.parse().ok()
}

/// Sends `text`, and waits for a random time. Returns whether it was acknowledged.
fn say(running: &Running, text: &str, dice: &mut Dice) -> bool {
    let acknowledged = running.say(text).is_ok();
    let until = Instant::now() + Duration::from_micros(dice.roll() % 30_000);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
    acknowledged
}

/// Damages the log of the data directory. Returns whether there was one. A log is truncated after
/// the first frame that is not in `cut_after`, so that in the end every frame was covered.
fn inflict(damage: Damage, data: &Path, dice: &mut Dice, cut_after: &mut BTreeSet<usize>) -> bool {
    let path = log(data);
    let Ok(mut bytes) = std::fs::read(&path) else { return false };
    let frames = bytes.len().saturating_sub(32) / FRAME;
    let mut roll = |most: usize| dice.roll() as usize % most.max(1);
    match damage {
        Damage::None => return false,
        _ if frames == 0 => return false,
        Damage::Removed => std::fs::remove_file(&path).expect("to remove it"),
        Damage::IndexRemoved => drop(std::fs::remove_file(path.with_extension("db-shm"))),
        Damage::Cut => {
            let next = (0..frames).find(|frame| !cut_after.contains(frame)).unwrap_or_else(|| roll(frames));
            cut_after.insert(next);
            bytes.truncate(32 + next * FRAME + [0, 0, 24, 1000][roll(4)]);
            std::fs::write(&path, bytes).expect("to write it");
        }
        Damage::BitFlipped => {
            let bit = roll(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, bytes).expect("to write it");
        }
        Damage::SectorOverwritten => {
            let start = roll(bytes.len() / 512) * 512;
            let end = (start + 512).min(bytes.len());
            bytes[start..end].fill(0);
            std::fs::write(&path, bytes).expect("to write it");
        }
    }
    true
}

fn log(data: &Path) -> PathBuf {
    data.join("state/journal.db-wal")
}

/// Returns all user messages in the journal.
fn texts(data: &Path) -> BTreeSet<String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let journal = Connection::open_with_flags(data.join("state/journal.db"), flags).expect("a journal");
    journal.busy_timeout(PATIENCE).expect("patience");
    let mut messages = journal.prepare("SELECT text FROM messages").expect("messages");
    let texts = messages.query_map([], |row| row.get(0)).expect("rows");
    texts.collect::<Result<_, _>>().expect("texts")
}
