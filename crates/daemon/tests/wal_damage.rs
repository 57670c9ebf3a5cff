//! The program is killed and its write-ahead log damaged: acknowledged messages are there after the
//! restart, or reported as missing.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use domain::rng::Rng;
use rusqlite::{Connection, OpenFlags};
use testkit::TEST_TIMEOUT;
use testkit::model_server::ScriptedReply;
use testkit::process::{BackgroundModelServer, Program, RunningProgram, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// The size of a WAL frame: header and page.
const FRAME_SIZE: usize = 24 + 4096;

/// Damage to the log of a killed program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Damage {
    None,
    Removed,
    Truncated,
    BitFlipped,
    SectorOverwritten,
    IndexRemoved,
}

const DAMAGES: [Damage; 8] = [
    Damage::None,
    Damage::Removed,
    Damage::Truncated,
    Damage::Truncated,
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
    truncated_after: BTreeSet<usize>,
    acknowledged: usize,
    intact: usize,
    reported: usize,
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
    run_with_kills(1, 16, &mut tally);
    assert!(tally.damages() >= 8, "{tally:?}");
}

/// Like the previous test, with 500 kills.
#[test]
#[ignore = "long: 500 kills take minutes"]
fn five_hundred_kills_with_damage_lose_nothing_without_a_notice() {
    let started = Instant::now();
    let mut tally = Tally::default();
    for seed in 100..110 {
        run_with_kills(seed, 50, &mut tally);
        println!("after seed {seed}: {tally:?}, {} s", started.elapsed().as_secs());
    }
    assert_eq!(tally.kills, 500);
    assert!(tally.damages() >= 250 && tally.reported >= 50, "{tally:?}");
    assert!(tally.damaged.len() == 5 && tally.damaged.values().all(|times| *times >= 20), "{tally:?}");
    assert!(
        tally.truncated_after.len() >= 20
            && tally.truncated_after.iter().copied().eq(0..tally.truncated_after.len()),
        "{tally:?}"
    );
}

/// `doctor` compares the journal with its mark while the program is stopped.
#[test]
fn doctor_reports_missing_data() {
    let program = Program::offline(BINARY);
    let running = program.start();
    assert!(running.send_message("remember: locker 214").is_ok());
    running.kill();
    let sound = stdout(&program.run(&["doctor"]));
    assert!(sound.contains("✓ journal  sound, "), "{sound}");
    std::fs::remove_file(wal_path(program.data())).expect("a log");
    let cut_short = stdout(&program.run(&["doctor"]));
    assert!(cut_short.contains("✗ journal  its end is missing: "), "{cut_short}");
    program.start().terminate();
    let repaired = stdout(&program.run(&["doctor"]));
    assert!(repaired.contains("✓ journal  sound, "), "{repaired}");
    assert!(repaired.contains("! aside    damaged, and kept aside: state/journal.db.corrupt-"), "{repaired}");
    std::fs::remove_file(program.data().join("state/journal.mark")).expect("a mark");
    let unmarked = stdout(&program.run(&["doctor"]));
    assert!(unmarked.contains("! journal  state/journal.mark is missing, so "), "{unmarked}");
}

/// Runs a session with `kills` kills and random damage, and adds the results to `tally`.
fn run_with_kills(seed: u64, kills: usize, tally: &mut Tally) {
    let model_server = BackgroundModelServer::start();
    model_server.model().answering(|_| ScriptedReply::text("it is kept"));
    let program = Program::with_model(BINARY, &model_server);
    let mut rng = Rng::new(seed);
    let mut acknowledged = BTreeSet::new();
    let mut running = program.start();
    for kill in 0..kills {
        for number in 0..rng.next_u64() % 4 {
            let text = format!("message {seed}.{kill}.{number}");
            if send(&running, &text, &mut rng) {
                acknowledged.insert(text);
                tally.acknowledged += 1;
            }
        }
        running.kill();
        let damage = DAMAGES[rng.next_u64() as usize % DAMAGES.len()];
        tally.kills += 1;
        if apply_damage(damage, program.data(), &mut rng, &mut tally.truncated_after) {
            *tally.damaged.entry(damage).or_default() += 1;
        }

        running = program.start();
        let stored = stored_messages(program.data());
        let lost: Vec<String> = acknowledged.iter().filter(|text| !stored.contains(*text)).cloned().collect();
        let notices = running.get("/api/health").expect("its health")["notices"].to_string();
        match reported_missing(&notices) {
            Some(messages) => {
                tally.reported += 1;
                assert!(
                    messages >= lost.len(),
                    "seed {seed}, kill {kill}, {damage:?}: {lost:?} are lost: {notices}"
                );
            }
            None => {
                tally.intact += 1;
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
fn reported_missing(notices: &str) -> Option<usize> {
    let (_, missing) = notices.split_once("; missing: ")?;
    let (before, _) = missing.split_once(" of yours")?;
    before.split_whitespace().rev().nth(1)?.parse().ok()
}

/// Sends `text`, and waits for a random time. Returns whether it was acknowledged.
fn send(running: &RunningProgram, text: &str, rng: &mut Rng) -> bool {
    let acknowledged = running.send_message(text).is_ok();
    let until = Instant::now() + Duration::from_micros(rng.next_u64() % 30_000);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
    acknowledged
}

/// Damages the log of the data directory. Returns whether there was one. A log is truncated after
/// the first frame that is not in `cut_after`, so that in the end every frame was covered.
fn apply_damage(damage: Damage, data: &Path, rng: &mut Rng, cut_after: &mut BTreeSet<usize>) -> bool {
    let path = wal_path(data);
    let Ok(mut bytes) = std::fs::read(&path) else { return false };
    let frames = bytes.len().saturating_sub(32) / FRAME_SIZE;
    let mut roll = |limit: usize| rng.next_u64() as usize % limit.max(1);
    match damage {
        Damage::None => return false,
        _ if frames == 0 => return false,
        Damage::Removed => std::fs::remove_file(&path).expect("to remove it"),
        Damage::IndexRemoved => drop(std::fs::remove_file(path.with_extension("db-shm"))),
        Damage::Truncated => {
            let next = (0..frames).find(|frame| !cut_after.contains(frame)).unwrap_or_else(|| roll(frames));
            cut_after.insert(next);
            bytes.truncate(32 + next * FRAME_SIZE + [0, 0, 24, 1000][roll(4)]);
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

fn wal_path(data: &Path) -> PathBuf {
    data.join("state/journal.db-wal")
}

/// Returns all user messages in the journal.
fn stored_messages(data: &Path) -> BTreeSet<String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let journal = Connection::open_with_flags(data.join("state/journal.db"), flags).expect("a journal");
    journal.busy_timeout(TEST_TIMEOUT).expect("patience");
    let mut messages = journal.prepare("SELECT text FROM messages").expect("messages");
    let texts = messages.query_map([], |row| row.get(0)).expect("rows");
    texts.collect::<Result<_, _>>().expect("texts")
}
