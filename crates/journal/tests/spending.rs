//! The ledger: it is added to an older database, and it survives a restart.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]
#![expect(clippy::disallowed_methods, reason = "the test creates an old database without the trait Disk")]

use std::sync::Arc;

use domain::conversation::{Branch, Conversation, SessionId, Text, Usage};
use domain::cost::{Account, Attended, Call, Micros, Source, Spent};
use domain::record::Record;
use domain::turn::TurnId;
use engine::ports::Journal as _;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use journal::disk::RealDisk;
use journal::{Opened, Paths, Place, open, peek};
use rusqlite::Connection;
use tempfile::TempDir;

/// The tables of the first released format.
const FORMAT_1: &str = include_str!("../src/db/format_1.sql");

fn now() -> Timestamp {
    "2026-11-15T09:00:00Z".parse().unwrap()
}

fn open_at(dir: &TempDir, now: Timestamp) -> Opened {
    let zone = TimeZone::get("Europe/Madrid").unwrap();
    open(Place { paths: Paths::new(dir.path()), disk: Arc::new(RealDisk), zone, now, pid: 1 }).unwrap()
}

fn write(opened: &Opened, records: Vec<Record>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(opened.journal.write(records)).unwrap();
}

fn spent(at: Timestamp, account: Account, input: u64, cost: Option<u64>) -> Spent {
    let usage = Usage { input, cache_read: 100, cache_write: 20, cache_write_1h: 8, output: 5 };
    let call = Call { model: "anthropic:claude-sonnet-5-5".to_owned(), usage };
    Spent { at, branch: Branch::Main, turn: TurnId(1), account, call, cost: cost.map(Micros) }
}

fn main() -> Account {
    Account::answer_on(&Branch::Main)
}

fn routine() -> Account {
    Account { source: Source::Routine("mail".to_owned()), attended: Attended::Unattended }
}

fn all(dir: &TempDir) -> Vec<Spent> {
    let mut all = Vec::new();
    let database = peek(&Paths::new(dir.path())).unwrap().unwrap();
    database.spent_since(Timestamp::MIN, |spent| all.push(spent)).unwrap();
    all
}

fn old_log(dir: &TempDir) {
    let paths = Paths::new(dir.path());
    std::fs::create_dir_all(paths.state()).unwrap();
    let old = Connection::open(paths.database()).unwrap();
    old.execute_batch(&format!(
        "{FORMAT_1}
         INSERT INTO entries VALUES (1, NULL, 1, 1, 'human', '{{\"preface\":\"\",\"text\":\"hello\"}}');
         INSERT INTO heads VALUES ('main', 1, 'old-session');
         INSERT INTO moves VALUES (1, 1, 'main', 'created', NULL, NULL, NULL, 'old-session');
         INSERT INTO inbox VALUES (1, 1, 'milk');
         PRAGMA user_version = 1;"
    ))
    .unwrap();
}

#[test]
fn a_log_without_a_ledger_gets_one_and_keeps_all_it_had() {
    let dir = tempfile::tempdir().unwrap();
    old_log(&dir);
    assert_eq!(all(&dir), [], "who only reads an old log finds an empty ledger");

    let opened = open_at(&dir, now());
    assert_eq!(opened.memory.inbox.kept[0].text, "milk");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let entries = runtime.block_on(opened.journal.recent(Branch::Main, None, 10)).unwrap();
    assert_eq!(entries.iter().map(|entry| entry.said.text()).collect::<Vec<_>>(), ["hello"]);
    let row = spent(now(), main(), 7, Some(42));
    write(&opened, vec![Record::Spent(row.clone())]);
    drop(opened);

    drop(open_at(&dir, now()));
    assert_eq!(all(&dir), [row]);
    let new = tempfile::tempdir().unwrap();
    drop(open_at(&new, now()));
    assert_eq!(format(&dir), format(&new), "the old log has the format of a new one");
}

fn format(dir: &TempDir) -> i64 {
    let database = Connection::open(Paths::new(dir.path()).database()).unwrap();
    database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[test]
fn a_restart_knows_what_was_spent_today_and_how_full_the_branch_is() {
    let dir = tempfile::tempdir().unwrap();
    let opened = open_at(&dir, now());
    let mut conversation = Conversation::new(Default::default(), domain::conversation::EntryId(1));
    let session = SessionId::read("a-session").unwrap();
    let created = conversation.create(Branch::Main, session, now());
    // Midnight in Madrid is one hour before midnight UTC.
    let yesterday = "2026-11-14T22:59:59Z";
    let today = "2026-11-14T23:00:00Z";
    write(
        &opened,
        vec![
            Record::Moved(domain::conversation::Move { at: yesterday.parse().unwrap(), ..created }),
            Record::Spent(spent(yesterday.parse().unwrap(), routine(), 1, Some(1_000))),
            Record::Spent(spent(today.parse().unwrap(), routine(), 2, Some(30))),
            Record::Spent(spent(now(), routine(), 3, None)),
            Record::Spent(spent(now(), main(), 4, Some(500))),
            Record::Spent(spent(
                now(),
                Account { source: Source::Compaction, attended: Attended::Waited },
                9,
                None,
            )),
        ],
    );
    drop(opened);

    let opened = open_at(&dir, now());
    assert_eq!(opened.memory.turns.filled, [(Branch::Main, 4 + 125)].into());
    assert_eq!(used_on(&opened, now(), now()), (Micros(30), 2 + 3 + 2 * 25));
    assert_eq!(used_on(&opened, now() + 24.hours(), now() + 24.hours()), (Micros(0), 0));
}

/// The usage on the day of `at`, as known to a process that is started at `start`.
fn used_on(opened: &Opened, start: Timestamp, at: Timestamp) -> (Micros, u64) {
    let zone = TimeZone::get("Europe/Madrid").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let days = runtime.block_on(opened.journal.days(start.to_zoned(zone.clone()))).unwrap();
    let day = days.on(zone.to_datetime(at).date());
    (day.cost, day.tokens)
}

/// C4, E4: whatever the clock says at a start, the usage of each day is known, and rows written
/// while the clock was ahead count for the day it showed.
#[test]
fn a_start_with_a_wrong_clock_knows_the_days_around_the_right_one() {
    let dir = tempfile::tempdir().unwrap();
    let opened = open_at(&dir, now());
    let ahead = now() + (24 * 30).hours();
    let behind = Timestamp::UNIX_EPOCH;
    let spends = |at: Timestamp, cost: u64| Record::Spent(spent(at, routine(), 0, Some(cost)));
    write(&opened, vec![spends(now() - 24.hours(), 1), spends(now(), 2)]);
    for start in [now(), behind, ahead] {
        assert_eq!(used_on(&opened, start, now()), (Micros(2), 25), "started at {start}");
        assert_eq!(used_on(&opened, start, now() - 24.hours()), (Micros(1), 25), "started at {start}");
    }
    write(&opened, vec![spends(ahead, 4)]);
    for start in [now(), behind] {
        assert_eq!(used_on(&opened, start, now()), (Micros(2), 25), "started at {start}");
        assert_eq!(used_on(&opened, start, ahead), (Micros(4), 25), "started at {start}");
    }
}

#[test]
fn a_branch_whose_name_moved_is_not_as_full_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let opened = open_at(&dir, now());
    let mut conversation = Conversation::new(Default::default(), domain::conversation::EntryId(1));
    let session = SessionId::read("a-session").unwrap();
    let created = conversation.create(Branch::Main, session.clone(), now());
    let later = now() + 1.minute();
    let (entry, compacted) =
        conversation.compact(&Branch::Main, "all of it".to_owned(), session, later).unwrap();
    write(
        &opened,
        vec![
            Record::Moved(created),
            Record::Spent(spent(now(), main(), 4, None)),
            Record::Said(Branch::Main, entry),
            Record::Moved(compacted),
        ],
    );
    drop(opened);
    assert_eq!(open_at(&dir, later).memory.turns.filled, Default::default());
}
