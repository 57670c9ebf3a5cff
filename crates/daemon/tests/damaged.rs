//! Recovery from a damaged database: the original is preserved and named, and the program
//! continues.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use testkit::process::{BackgroundModelServer, Program, read_tree, stderr};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// B5: a database of a later version is not touched.
#[test]
fn database_of_a_later_version_is_not_touched() {
    let program = Program::offline(BINARY);
    assert_eq!(program.run(&["chat", "--once", "hello"]).status.code(), Some(0));
    let database = program.data().join("state/journal.db");
    let connection = Connection::open(&database).expect("a database");
    let known: i64 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).expect("a version");
    connection.pragma_update(None, "user_version", 99).expect("a version");
    drop(connection);
    let before = read_tree(program.data());
    for arguments in [["run", "--no-chat"], ["chat", "--once"]] {
        let output = program.run_with_input(&arguments, "hello");
        assert_eq!(output.status.code(), Some(78), "{}", stderr(&output));
        let expected = format!(
            "error: the journal has format 99 and this version of ollim-bot knows up to {known}. \
             update ollim-bot; nothing was changed."
        );
        assert_eq!(stderr(&output).trim(), expected);
    }
    assert_eq!(read_tree(program.data()), before);
}

/// B5: a damaged database is preserved and named for any kind of damage, and the conversation
/// continues.
#[test]
fn damaged_database_is_preserved_and_named() {
    type Damage = fn(&[u8]) -> Vec<u8>;
    let damages: [(&str, Damage); 7] = [
        ("nothing", |_| Vec::new()),
        ("half", |whole| whole[..whole.len() / 2].to_vec()),
        ("one page", |whole| whole[..4096].to_vec()),
        ("all but the end", |whole| whole[..whole.len() - 4096].to_vec()),
        ("garbage", |whole| whole.iter().map(|byte| byte ^ 0x5a).collect()),
        ("words", |_| b"this is not a database at all, it is a letter to my aunt".repeat(100)),
        ("zeros", |whole| vec![0; whole.len()]),
    ];
    for (name, damage) in damages {
        let program = Program::offline(BINARY);
        assert_eq!(program.run(&["chat", "--once", "remember: locker 214"]).status.code(), Some(0));
        let database = program.data().join("state/journal.db");
        let damaged = damage(&std::fs::read(&database).expect("a database"));
        std::fs::write(&database, &damaged).expect("damage");

        let output = program.run(&["chat", "--once", "hello"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        let text = stderr(&output);
        assert!(
            text.contains(
                "the journal was damaged or gone, and there was no backup. what there was of it is kept as "
            ),
            "{name}: {text}"
        );
        let copy = corrupt_copy(program.data());
        assert_eq!(std::fs::read(&copy).expect("the original"), damaged, "{name}");
        assert!(text.contains(&*copy.to_string_lossy()), "{name}: {text}");
        let again = program.run(&["chat", "--once", "hello again"]);
        assert_eq!((again.status.code(), stderr(&again)), (Some(0), String::new()), "{name}: told once");
    }
}

/// B5: with backups, the conversation continues from the newest valid one.
#[test]
fn conversation_continues_from_the_newest_backup() {
    let model_server = BackgroundModelServer::start();
    let program = Program::with_model(BINARY, &model_server);
    let state = program.data().join("state");
    let backups = state.join("backups");
    for (text, backup) in [("my locker is 214", "journal-20260101T000000Z.db"), ("on floor 3", NEWEST_BACKUP)]
    {
        assert_eq!(program.run(&["chat", "--once", text]).status.code(), Some(0));
        std::fs::create_dir_all(&backups).expect("a folder");
        std::fs::copy(state.join("journal.db"), backups.join(backup)).expect("a backup");
    }
    std::fs::write(backups.join("journal-20260103T000000Z.db"), "this one is no database").expect("a file");
    std::fs::write(state.join("journal.db"), "damage").expect("damage");

    let output = program.run(&["chat", "--once", "which locker?"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("went on from the backup journal-20260102T000000Z.db"),
        "{}",
        stderr(&output)
    );
    assert_eq!(std::fs::read(corrupt_copy(program.data())).expect("the original"), b"damage");
    let last = model_server.requests().pop().expect("a request");
    assert!(last.body.contains("my locker is 214") && last.body.contains("on floor 3"), "{}", last.body);
}

/// B5: if a start recovers the journal but fails afterwards, the next start announces the recovery,
/// once.
#[test]
fn recovery_is_announced_by_the_first_successful_start() {
    let mut program = Program::offline(BINARY);
    assert_eq!(program.run(&["chat", "--once", "remember: locker 214"]).status.code(), Some(0));
    std::fs::write(program.data().join("state/journal.db"), "damage").expect("damage");
    // The public address is refused after the journal was opened.
    program.set_env("OLLIM_HTTP", "192.0.2.1:7645");
    assert_eq!(program.run(&["run", "--no-chat"]).status.code(), Some(78));
    let copy = corrupt_copy(program.data());
    assert_eq!(std::fs::read(&copy).expect("the original"), b"damage");

    let output = program.run(&["chat", "--once", "hello"]);
    assert!(stderr(&output).contains(&*copy.to_string_lossy()), "{}", stderr(&output));
    let again = program.run(&["chat", "--once", "hello again"]);
    assert_eq!((again.status.code(), stderr(&again)), (Some(0), String::new()), "told once");
}

/// The newest valid backup.
const NEWEST_BACKUP: &str = "journal-20260102T000000Z.db";

fn corrupt_copy(data: &Path) -> PathBuf {
    let mut found: Vec<PathBuf> = read_tree(&data.join("state")).into_keys().collect();
    found.retain(|path| path.to_string_lossy().contains("journal.db.corrupt-") && path.extension().is_some());
    found.retain(|path| {
        !path.to_string_lossy().ends_with("-wal") && !path.to_string_lossy().ends_with("-shm")
    });
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}
