//! Journals of every released format are opened by the current version with their whole content.
//!
//! They are stored as the bytes that a program of that time wrote, so that a change of an old
//! migration is noticed. For a new format, add `golden/rows_N.sql` and record it: `cargo test -p
//! journal --test golden -- --ignored a_new_format_is_recorded`.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]
#![expect(clippy::disallowed_methods, reason = "the test puts journals where the program finds them")]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::conversation::{Branch, Text};
use engine::ports::Journal as _;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::db::known_format;
use journal::disk::RealDisk;
use journal::{OpenError, OpenParams, OpenedJournal, Paths, migration, open};
use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;
use testkit::disk::{DiskFault, FailingDisk, FaultDuration};

/// The content of a journal: each table with its columns and rows.
type Contents = Vec<(String, Vec<String>, Vec<Vec<Value>>)>;

/// The first format with a commit counter and a mark.
const FIRST_FORMAT_WITH_COUNTER: i64 = 13;

fn golden_path(format: i64) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/format_{format}.db.gz"))
}

/// A data directory with a journal of `format`.
fn data_dir_of_format(format: i64) -> (TempDir, Paths) {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::new(dir.path());
    let packed = std::fs::read(golden_path(format)).unwrap_or_else(|_| {
        panic!("there is no journal of format {format} in tests/golden; the head of this file says how to record it")
    });
    let mut bytes = Vec::new();
    GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
    std::fs::create_dir_all(paths.state()).unwrap();
    std::fs::write(paths.database(), bytes).unwrap();
    (dir, paths)
}

fn place(paths: &Paths) -> OpenParams {
    let now = Timestamp::from_second(1_760_003_600).unwrap();
    OpenParams { paths: paths.clone(), disk: Arc::new(RealDisk), zone: TimeZone::UTC, now, pid: 1 }
}

/// All tables except those of the search index, which is rebuilt by a migration.
fn contents(path: &Path) -> Contents {
    let log = Connection::open(path).unwrap();
    let mut tables = log
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'words%' ORDER BY name",
        )
        .unwrap();
    let tables: Vec<String> =
        tables.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    tables.into_iter().map(|table| read_table(&log, table)).collect()
}

fn read_table(log: &Connection, table: String) -> (String, Vec<String>, Vec<Vec<Value>>) {
    let mut all = log.prepare(&format!("SELECT * FROM {table} ORDER BY 1")).unwrap();
    let columns: Vec<String> = all.column_names().map(str::to_owned).collect();
    let width = columns.len();
    let row = |row: &rusqlite::Row<'_>| (0..width).map(|at| row.get(at)).collect();
    let rows = all.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap();
    (table, columns, rows)
}

/// The content of `before` that `after` lacks.
fn missing(before: &Contents, after: &Contents) -> Vec<String> {
    let mut missing = Vec::new();
    for (table, columns, rows) in before {
        let Some((_, names, found)) = after.iter().find(|(name, _, _)| name == table) else {
            missing.push(table.clone());
            continue;
        };
        let at: Vec<usize> =
            columns.iter().map(|column| names.iter().position(|name| name == column).unwrap()).collect();
        let kept: Vec<Vec<Value>> =
            found.iter().map(|row| at.iter().map(|at| row[*at].clone()).collect()).collect();
        let lost = rows.iter().filter(|row| !kept.contains(row));
        missing.extend(lost.map(|row| format!("{table}: {row:?}")));
    }
    missing
}

/// B11: a journal of every released format is opened with its whole content.
#[test]
fn every_released_format_is_opened_with_its_whole_content() {
    for format in 1..=known_format() {
        let (_dir, paths) = data_dir_of_format(format);
        let before = contents(&paths.database());
        assert!(
            before.iter().any(|(table, _, rows)| table == "entries" && rows.len() == 7),
            "format {format}"
        );

        let OpenedJournal { journal, state: memory, notices } = open(place(&paths)).unwrap();

        let told = notices.iter().filter(|notice| notice.contains("was brought from format")).count();
        assert_eq!(told, usize::from(format < known_format()), "format {format}: {notices:?}");
        // Before format 13 a journal had no mark that could be missing.
        let alarms = notices.iter().filter(|notice| notice.contains("journal.mark")).count();
        assert!(format >= FIRST_FORMAT_WITH_COUNTER || alarms == 0, "format {format}: {notices:?}");
        assert_eq!(memory.inbox.items.len(), 1, "format {format}");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let said = runtime.block_on(journal.recent_entries(Branch::Main, None, 100)).unwrap();
        let said: Vec<String> = said.iter().map(|entry| entry.content.text()).collect();
        assert!(said.contains(&"where is my gravel bike?".to_owned()), "format {format}: {said:?}");
        assert_eq!(said.last().map(String::as_str), Some("a lighthouse"), "format {format}");
        drop(journal);
        assert_eq!(missing(&before, &contents(&paths.database())), [""; 0], "format {format}");
        let log = Connection::open(paths.database()).unwrap();
        let found = "SELECT group_concat(rowid) FROM words WHERE words MATCH 'cellar' ORDER BY rowid";
        let found: String = log.query_row(found, [], |row| row.get(0)).unwrap();
        assert_eq!(found, "3,4", "format {format}: words are found");
    }
}

/// B11: the journal is copied unchanged before the migration, for a return to the older program.
#[test]
fn the_journal_is_copied_before_a_migration() {
    for format in 1..known_format() {
        let (_dir, paths) = data_dir_of_format(format);
        let before = contents(&paths.database());
        let place = place(&paths);
        let done = migration::migrate(&paths, &RealDisk, place.now, 1).unwrap().unwrap();
        assert_eq!(done.before, migration::FormatStatus { found: format, known: known_format() });
        let kept = done.copy.unwrap();
        assert_eq!(contents(&kept), before, "format {format}");
        let number: i64 = Connection::open(&kept)
            .unwrap()
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap();
        assert_eq!(number, format);
        let again = migration::migrate(&paths, &RealDisk, place.now, 1).unwrap().unwrap();
        assert_eq!((again.before.found, again.copy), (known_format(), None));
    }
}

/// B3, B4, B11: temporary disk errors are distinguished from permanent ones, and the old or the new
/// journal is left whole.
#[test]
fn a_disk_error_during_a_migration_leaves_the_old_or_the_new_journal() {
    let now = Timestamp::from_second(1_760_003_600).unwrap();
    for fault in DiskFault::ALL {
        for call in 0.. {
            let (_dir, paths) = data_dir_of_format(known_format() - 1);
            let before = contents(&paths.database());
            let failing = FailingDisk::new(Arc::new(RealDisk), call, fault, FaultDuration::Once);
            match migration::migrate(&paths, &failing, now, 1) {
                Ok(Some(_)) => assert_eq!(missing(&before, &contents(&paths.database())), [""; 0]),
                Err(OpenError::Temporary(_)) if fault != DiskFault::ReadOnly => {
                    assert_eq!(contents(&paths.database()), before, "{fault:?} {call}");
                }
                Err(OpenError::Unusable(_)) if fault == DiskFault::ReadOnly => {
                    assert_eq!(contents(&paths.database()), before, "{fault:?} {call}");
                }
                other => panic!("{fault:?} {call}: {other:?}"),
            }
            if failing.calls() <= call {
                assert!(call > 8, "a migration has hardly touched the disk: {call} calls");
                break;
            }
        }
    }
}

/// B11: an interrupted migration leaves the old journal with its whole content.
#[test]
fn an_interrupted_migration_leaves_the_old_journal() {
    let (_dir, paths) = data_dir_of_format(1);
    let before = contents(&paths.database());
    for step in 2..=known_format() {
        let log = Connection::open(paths.database()).unwrap();
        log.pragma_update(None, "journal_mode", "WAL").unwrap();
        log.execute_batch("BEGIN IMMEDIATE").unwrap();
        for step in 2..=step {
            log.execute_batch(&migration_sql(step)).unwrap();
        }
        // The process dies before COMMIT, so its files stay as they are. A copy is what the next
        // process finds.
        let dir = tempfile::tempdir().unwrap();
        let found = Paths::new(dir.path());
        std::fs::create_dir_all(found.state()).unwrap();
        for end in ["", "-wal", "-shm"] {
            let name = |paths: &Paths| paths.state().join(format!("journal.db{end}"));
            if name(&paths).exists() {
                std::fs::copy(name(&paths), name(&found)).unwrap();
            }
        }
        log.execute_batch("ROLLBACK").unwrap();
        assert_eq!(contents(&found.database()), before, "step {step}");
        drop(open(place(&found)).unwrap());
        assert_eq!(missing(&before, &contents(&found.database())), [""; 0], "step {step}");
    }
}

fn migration_sql(format: i64) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/db/format_{format}.sql"));
    std::fs::read_to_string(path).unwrap()
}

/// Records journals of formats that have none yet.
#[test]
#[ignore = "it writes into the tests, for whoever adds a format"]
fn a_new_format_is_recorded() {
    for format in (1..=known_format()).filter(|format| !golden_path(*format).exists()) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.db");
        let log = Connection::open(&path).unwrap();
        log.pragma_update(None, "page_size", 1024).unwrap();
        for format in 1..=format {
            log.execute_batch(&migration_sql(format)).unwrap();
            let rows = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/rows_{format}.sql"));
            log.execute_batch(&std::fs::read_to_string(rows).unwrap()).unwrap();
        }
        log.pragma_update(None, "user_version", format).unwrap();
        log.close().unwrap();
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&std::fs::read(path).unwrap()).unwrap();
        std::fs::write(golden_path(format), packed.finish().unwrap()).unwrap();
    }
}
