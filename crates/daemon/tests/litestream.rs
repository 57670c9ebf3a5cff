//! The journal is replicated by a real Litestream with the configuration of the guide, and restored
//! after losing the disk.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;
use testkit::TEST_TIMEOUT;
use testkit::model_server::ScriptedReply;
use testkit::process::{BackgroundModelServer, Program, RunningProgram, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

const GUIDE: &str = include_str!("../../../docs/help/backup.md");

/// The paths in the configuration of the guide.
const JOURNAL: &str = "/srv/ollim-bot/state/journal.db";
const REPLICA: &str = "/mnt/other-disk/ollim-journal";

#[expect(clippy::disallowed_methods, reason = "only the environment can give the path")]
fn litestream_path() -> PathBuf {
    match std::env::var_os("OLLIM_TEST_LITESTREAM") {
        Some(path) => path.into(),
        None => panic!("set OLLIM_TEST_LITESTREAM to a litestream program, or run `cargo xtask test`"),
    }
}

/// Litestream with the configuration of the guide. Killed on drop.
struct Replication {
    process: Child,
    folder: TempDir,
    journal: PathBuf,
}

impl Replication {
    fn start(journal: PathBuf) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (_, config) = GUIDE.split_once("```yaml\n").expect("a configuration in the guide");
        let (config, _) = config.split_once("```").expect("its end");
        assert!(config.contains(JOURNAL) && config.contains(REPLICA), "{config}");
        let replica = folder.path().join("replica").display().to_string();
        let config = config.replace(JOURNAL, &journal.display().to_string()).replace(REPLICA, &replica);
        std::fs::write(folder.path().join("litestream.yml"), config).expect("a file");
        let mut command = Command::new(litestream_path());
        command.args(["replicate", "-config"]).arg(folder.path().join("litestream.yml"));
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("litestream starts");
        Self { process, folder, journal }
    }

    /// Restores the journal into the file `to`. Returns false if there is nothing to restore yet.
    fn restore(&self, to: &Path) -> bool {
        let mut command = Command::new(litestream_path());
        command.args(["restore", "-config"]).arg(self.folder.path().join("litestream.yml"));
        let output = command.arg("-o").arg(to).arg(&self.journal).output().expect("litestream runs");
        output.status.success() && to.exists()
    }

    /// Waits until all of `texts` are in the replica, and returns the duration.
    fn wait_for_messages(&self, texts: &BTreeSet<String>) -> Duration {
        self.wait_for_copy(|copy| messages(copy).is_superset(texts))
    }

    /// Waits until a restored copy satisfies `is_current`, and returns the duration.
    fn wait_for_copy(&self, is_current: impl Fn(&Connection) -> bool) -> Duration {
        let started = Instant::now();
        loop {
            let copy = tempfile::tempdir().expect("a folder");
            let copy = copy.path().join("journal.db");
            if self.restore(&copy) && is_current(&open_reader(&copy)) {
                return started.elapsed();
            }
            assert!(started.elapsed() < TEST_TIMEOUT, "the replica stays behind");
        }
    }
}

impl Drop for Replication {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn open_reader(journal: &Path) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let journal = Connection::open_with_flags(journal, flags).expect("a journal");
    let integrity: String =
        journal.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a check");
    assert_eq!(integrity, "ok");
    journal
}

fn messages(journal: &Connection) -> BTreeSet<String> {
    let mut messages = journal.prepare("SELECT text FROM messages").expect("messages");
    let texts = messages.query_map([], |row| row.get(0)).expect("rows");
    texts.collect::<Result<_, _>>().expect("texts")
}

fn send_messages(running: &RunningProgram, texts: &mut BTreeSet<String>, count: usize) {
    for _ in 0..count {
        let text = format!("message {}", texts.len());
        running.send_and_wait(&text).expect("an end");
        texts.insert(text);
    }
}

/// After losing the disk, the conversation continues with and without an earlier archive, and a
/// pending update is still delivered.
#[test]
#[ignore = "needs Litestream; cargo xtask test --long runs it"]
fn losing_the_disk_loses_seconds() {
    for has_archive in [true, false] {
        let model_server = BackgroundModelServer::start();
        model_server.model().answering(|_| ScriptedReply::text("it is kept"));
        let program = Program::with_model(BINARY, &model_server);
        let running = program.start();
        let journal = program.data().join("state/journal.db");
        let replication = Replication::start(journal.clone());
        let mut texts = BTreeSet::new();
        send_messages(&running, &mut texts, 5);
        replication.wait_for_messages(&texts);
        let archive = program.home().join("backup.tar.gz").display().to_string();
        let exported = program.run(&["export", &archive]);
        assert!(exported.status.success(), "{}", stderr(&exported));
        send_messages(&running, &mut texts, 30);
        let delay = replication.wait_for_messages(&texts);
        let update = r#"[{"ts": "2026-11-16T09:00:00+01:00", "message": "the price fell"}]"#;
        std::fs::write(program.data().join("state/pending_updates.json"), update).expect("an update");
        let waiting = "SELECT EXISTS (SELECT 1 FROM reports WHERE text = 'the price fell')";
        replication.wait_for_copy(|copy| copy.query_row(waiting, [], |row| row.get(0)).expect("a row"));
        println!("the replica is {delay:?} behind, with the time of restoring it");

        let session = std::fs::read_to_string(program.data().join("state/sessions.json")).expect("a session");
        running.kill();
        std::fs::remove_dir_all(program.data()).expect("to lose it");
        if has_archive {
            let imported = program.run(&["import", &archive]);
            assert!(imported.status.success(), "{}", stderr(&imported));
            std::fs::remove_file(&journal).expect("a journal of the archive");
        } else {
            std::fs::create_dir_all(program.data().join("state")).expect("a folder");
        }
        assert!(replication.restore(&journal));
        drop(replication);
        let running = program.start();
        assert_eq!(messages(&open_reader(&journal)), texts);
        let notices = running.get("/api/health").expect("its health")["notices"].to_string();
        assert!(notices.contains("The journal was put here without "), "{notices}");
        let restored =
            std::fs::read_to_string(program.data().join("state/sessions.json")).expect("a session");
        assert_eq!(restored.trim(), session.trim(), "archive: {has_archive}; {notices}");
        let before = model_server.requests().len();
        running.send_and_wait("and now?").expect("an end");
        let requests = model_server.requests();
        let request_text =
            requests[before..].iter().map(|request| format!("{request:?}")).collect::<String>();
        assert!(request_text.contains("message 34"), "the conversation goes on: {request_text}");
        assert!(request_text.contains("the price fell"), "what waited still comes: {request_text}");
        let doctor = stdout(&program.run(&["doctor"]));
        assert!(doctor.contains("✓ journal  sound, "), "{doctor}");
        running.terminate();
    }
}
