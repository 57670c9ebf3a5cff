//! The ledger: it is added to an older database, and it survives a restart.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]
#![expect(clippy::disallowed_methods, reason = "the test creates an old database without the trait Disk")]

use std::sync::Arc;

use domain::conversation::{Branch, Conversation, SessionId, Text, Usage};
use domain::cost::{Account, Attendance, CostSource, LedgerEntry, Micros, ModelCall};
use domain::record::Record;
use domain::turn::TurnId;
use engine::ports::Journal as _;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use journal::disk::RealDisk;
use journal::{OpenParams, OpenedJournal, Paths, open, open_read_only};
use rusqlite::Connection;
use tempfile::TempDir;

/// The tables of the first released format.
const FORMAT_1: &str = include_str!("../src/db/format_1.sql");

fn now() -> Timestamp {
    "2026-11-15T09:00:00Z".parse().unwrap()
}

fn open_at(dir: &TempDir, now: Timestamp) -> OpenedJournal {
    let zone = TimeZone::get("Europe/Madrid").unwrap();
    open(OpenParams { paths: Paths::new(dir.path()), disk: Arc::new(RealDisk), zone, now, pid: 1 }).unwrap()
}

fn write(opened: &OpenedJournal, records: Vec<Record>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(opened.journal.write(records)).unwrap();
}

fn spent(at: Timestamp, account: Account, input: u64, cost: Option<u64>) -> LedgerEntry {
    let usage = Usage { input, cache_read: 100, cache_write: 20, cache_write_1h: 8, output: 5 };
    let call = ModelCall { model: "anthropic:claude-sonnet-5-5".to_owned(), usage };
    LedgerEntry { at, branch: Branch::Main, turn: TurnId(1), account, call, cost: cost.map(Micros) }
}

fn main() -> Account {
    Account::answer_on(&Branch::Main)
}

fn routine() -> Account {
    Account { source: CostSource::Routine("mail".to_owned()), attended: Attendance::Unattended }
}

fn all_calls(dir: &TempDir) -> Vec<LedgerEntry> {
    let mut all = Vec::new();
    let database = open_read_only(&Paths::new(dir.path())).unwrap().unwrap();
    database.for_each_call_since(Timestamp::MIN, |spent| all.push(spent)).unwrap();
    all
}

fn create_old_database(dir: &TempDir) {
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
fn a_database_without_a_ledger_gets_one_and_keeps_its_content() {
    let dir = tempfile::tempdir().unwrap();
    create_old_database(&dir);
    assert_eq!(all_calls(&dir), [], "who only reads an old log finds an empty ledger");

    let opened = open_at(&dir, now());
    assert_eq!(opened.state.inbox.items[0].text, "milk");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let entries = runtime.block_on(opened.journal.recent_entries(Branch::Main, None, 10)).unwrap();
    assert_eq!(entries.iter().map(|entry| entry.content.text()).collect::<Vec<_>>(), ["hello"]);
    let row = spent(now(), main(), 7, Some(42));
    write(&opened, vec![Record::CallSpent(row.clone())]);
    drop(opened);

    drop(open_at(&dir, now()));
    assert_eq!(all_calls(&dir), [row]);
    let new = tempfile::tempdir().unwrap();
    drop(open_at(&new, now()));
    assert_eq!(format(&dir), format(&new), "the old log has the format of a new one");
}

fn format(dir: &TempDir) -> i64 {
    let database = Connection::open(Paths::new(dir.path()).database()).unwrap();
    database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[test]
fn usage_of_today_and_context_tokens_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let opened = open_at(&dir, now());
    let mut conversation = Conversation::new(Default::default(), domain::conversation::EntryId(1));
    let session = SessionId::parse("a-session").unwrap();
    let created = conversation.create(Branch::Main, session, now());
    // Midnight in Madrid is one hour before midnight UTC.
    let yesterday = "2026-11-14T22:59:59Z";
    let today = "2026-11-14T23:00:00Z";
    write(
        &opened,
        vec![
            Record::BranchMoved(domain::conversation::Move { at: yesterday.parse().unwrap(), ..created }),
            Record::CallSpent(spent(yesterday.parse().unwrap(), routine(), 1, Some(1_000))),
            Record::CallSpent(spent(today.parse().unwrap(), routine(), 2, Some(30))),
            Record::CallSpent(spent(now(), routine(), 3, None)),
            Record::CallSpent(spent(now(), main(), 4, Some(500))),
            Record::CallSpent(spent(
                now(),
                Account { source: CostSource::Compaction, attended: Attendance::Attended },
                9,
                None,
            )),
        ],
    );
    drop(opened);

    let opened = open_at(&dir, now());
    assert_eq!(opened.state.turns.context_tokens, [(Branch::Main, 4 + 125)].into());
    assert_eq!(used_on(&opened, now(), now()), (Micros(30), 2 + 3 + 2 * 25));
    assert_eq!(used_on(&opened, now() + 24.hours(), now() + 24.hours()), (Micros(0), 0));
}

/// The usage on the day of `at`, as known to a process that is started at `start`.
fn used_on(opened: &OpenedJournal, start: Timestamp, at: Timestamp) -> (Micros, u64) {
    let zone = TimeZone::get("Europe/Madrid").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let days = runtime.block_on(opened.journal.unattended_days(start.to_zoned(zone.clone()))).unwrap();
    let day = days.get(zone.to_datetime(at).date());
    (day.cost, day.tokens)
}

/// C4, E4: whatever the clock says at a start, the usage of each day is known, and rows written
/// while the clock was ahead count for the day it showed.
#[test]
fn a_start_with_a_wrong_clock_knows_the_usage_of_all_days() {
    let dir = tempfile::tempdir().unwrap();
    let opened = open_at(&dir, now());
    let ahead = now() + (24 * 30).hours();
    let behind = Timestamp::UNIX_EPOCH;
    let spends = |at: Timestamp, cost: u64| Record::CallSpent(spent(at, routine(), 0, Some(cost)));
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
fn a_moved_branch_has_no_known_context_tokens() {
    let dir = tempfile::tempdir().unwrap();
    let opened = open_at(&dir, now());
    let mut conversation = Conversation::new(Default::default(), domain::conversation::EntryId(1));
    let session = SessionId::parse("a-session").unwrap();
    let created = conversation.create(Branch::Main, session.clone(), now());
    let later = now() + 1.minute();
    let (entry, compacted) =
        conversation.compact(&Branch::Main, "all of it".to_owned(), session, later).unwrap();
    write(
        &opened,
        vec![
            Record::BranchMoved(created),
            Record::CallSpent(spent(now(), main(), 4, None)),
            Record::EntryAppended(Branch::Main, entry),
            Record::BranchMoved(compacted),
        ],
    );
    drop(opened);
    assert_eq!(open_at(&dir, later).state.turns.context_tokens, Default::default());
}
