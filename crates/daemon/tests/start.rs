//! Starting: on any directory, once at a time, with nothing lost and every surprise told.
#![expect(clippy::expect_used, reason = "helpers of tests stop at once, with their reason")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use testkit::kill::{Backstage, Program, finish};
use testkit::oracle::{Ledger, examine};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

fn offline() -> Program {
    let mut program = Program::new(BINARY);
    program.set("OLLIM_MODEL", "offline");
    program
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// B6: one hundred starts at once: one runs, the others leave at once and name it; after a kill the next
/// start works.
#[test]
fn of_a_hundred_simultaneous_starts_exactly_one_runs() {
    let program = offline();
    for round in 0..2 {
        let starts: Vec<_> = (0..100).map(|_| start_quietly(&program)).collect();
        let mut lost = Vec::new();
        let mut runs = Vec::new();
        for mut start in starts {
            // Who runs says so on stdout; who does not has nothing to say there.
            let mut first = [0];
            let spoke = std::io::Read::read(start.stdout.as_mut().expect("its stdout"), &mut first);
            match spoke.expect("a pipe") {
                0 => lost.push(start.wait_with_output().expect("an end")),
                _ => runs.push(start),
            }
        }
        let [winner] = runs.as_mut_slice() else { panic!("{} run at once in round {round}", runs.len()) };
        for output in &lost {
            assert_eq!(output.status.code(), Some(75), "{}", told(output));
            let named = format!("already running (pid {}). talk to it: ollim-bot chat", winner.id());
            assert_eq!(told(output).trim(), format!("error: {named}"), "round {round}");
        }
        // A killed one leaves its number behind, and the next round must not name it.
        winner.kill().expect("a process to kill");
        winner.wait().expect("an end");
    }
    let running = program.start();
    running.converse("hello").expect("an answer");
    running.terminate();
    assert_eq!(examine(program.data()), [""; 0]);
}

/// B6: who takes the lock is known before its number is written, and the number of a dead one is not told.
#[test]
fn the_number_that_a_dead_one_left_behind_is_not_told() {
    let program = offline();
    let state = program.data().join("state");
    std::fs::create_dir_all(&state).expect("a directory");
    std::fs::write(state.join("bot.pid"), "4194304").expect("a number");
    let lock = std::fs::File::create(state.join("bot.lock")).expect("a lock");
    lock.try_lock().expect("nobody has it");
    let output = program.run(&["run", "--no-chat"]);
    assert_eq!(output.status.code(), Some(75));
    assert!(told(&output).contains(&format!("(pid {})", std::process::id())), "{}", told(&output));
}

fn start_quietly(program: &Program) -> std::process::Child {
    let mut command = program.command(&["run", "--no-chat"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// B4: a directory that cannot be used is named in one sentence, at once.
#[test]
fn a_directory_that_cannot_be_used_is_named_in_one_sentence() {
    let mut program = offline();
    let file = program.home().join("file");
    std::fs::write(&file, "mine").expect("a file");
    for place in [file.clone(), file.join("below"), PathBuf::from("/proc/ollim-bot")] {
        program.keep_in(&place);
        let begun = Instant::now();
        let output = program.run(&["run", "--no-chat"]);
        assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
        assert_refused(&output, &place);
    }
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "mine");
}

/// B4: the same where the directory belongs to somebody else.
#[test]
fn a_directory_that_may_not_be_written_is_named_in_one_sentence() {
    if !rustix::process::geteuid().is_root() || !Path::new("/usr/bin/setpriv").exists() {
        return;
    }
    let program = offline();
    std::fs::set_permissions(program.home(), PermissionsExt::from_mode(0o755)).expect("a home");
    // The program itself may lie where others cannot see it.
    let copy = program.home().join("ollim-bot");
    std::fs::copy(BINARY, &copy).expect("a copy");
    let drop_rights =
        "shift; exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$HOME/ollim-bot\" \"$@\"";
    let mut command = program.command_through(drop_rights, &["run", "--no-chat"]);
    assert_refused(&finish(command.stdin(Stdio::null())), program.data());

    std::fs::create_dir_all(program.data().join("state")).expect("a directory");
    let mut command = program.command_through(drop_rights, &["run", "--no-chat"]);
    assert_refused(&finish(command.stdin(Stdio::null())), program.data());
}

fn assert_refused(output: &Output, place: &Path) {
    let told = told(output);
    assert_eq!(output.status.code(), Some(78), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains(&*place.to_string_lossy()), "{told} does not name {}", place.display());
}

/// B3: while nothing can be written the program lives, refuses in words, and keeps what it had; when there is
/// room again it goes on by itself.
#[test]
fn a_full_disk_refuses_messages_and_loses_nothing() {
    let backstage = Backstage::open();
    let program = Program::answered_by(BINARY, &backstage);
    // Going beyond a limit is a signal first, and only then an error like that of a full disk.
    let through = program.command_through("trap '' XFSZ; exec \"$@\"", &["run", "--no-chat"]);
    let running = program.try_start(through).expect("a start");
    running.converse("before").expect("an answer");

    limit_files(running.pid(), "0");
    for _ in 0..3 {
        let refused = running.say("during").expect_err("no room");
        assert!(refused.0.starts_with("i can't write that down: "), "{refused}");
    }
    assert_eq!(running.get("/api/health").expect("it lives")["pid"], running.pid());
    limit_files(running.pid(), "unlimited");

    let ended = running.converse("after").expect("an answer");
    assert_eq!(ended.data["how"], "finished");
    running.terminate();
    let acknowledged = vec!["before".to_owned(), "after".to_owned()];
    assert_eq!(examine(program.data()), [""; 0]);
    assert_eq!(Ledger { acknowledged, requests: backstage.requests() }.check(program.data()), [""; 0]);
    assert!(backstage.requests().iter().all(|request| !request.body.contains("during")));
}

/// B3: an answer that cannot be written down is told once, kept, and written when there is room.
#[test]
fn an_answer_that_finds_the_disk_full_is_kept_until_there_is_room() {
    use testkit::kill::wait;
    use testkit::model_server::{Act, Gate};
    let backstage = Backstage::open();
    let program = Program::answered_by(BINARY, &backstage);
    let gate = Gate::new();
    backstage.model().script([Act::says("an answer worth keeping").held_at(2, &gate)]);
    let through = program.command_through("trap '' XFSZ; exec \"$@\"", &["run", "--no-chat"]);
    let running = program.try_start(through).expect("a start");
    let mut events = running.events().expect("events");
    let message = running.say("tell me").expect("an acknowledgement");
    wait(gate.reached());

    limit_files(running.pid(), "0");
    gate.release();
    let notice = events.find(|event| event.name == "notice").expect("a notice");
    let text = notice.data["text"].as_str().expect("words");
    assert!(
        text.starts_with("i can't write things down right now: ") && text.ends_with("i keep trying."),
        "{text}"
    );
    limit_files(running.pid(), "unlimited");

    let again = events.find(|event| event.name == "notice" || event.name == "ended").expect("an end");
    assert_eq!((again.name.as_str(), &again.data["answers"]), ("ended", &message.into()), "told once");
    running.terminate();
    assert_eq!(examine(program.data()), [""; 0]);
    let out = program.run(&["chat", "--once", "and?"]);
    assert_eq!(out.status.code(), Some(0));
    let last = backstage.requests().pop().expect("a request");
    assert!(last.body.contains("an answer worth keeping"), "{}", last.body);
}

/// B3: a start on a full disk is refused in one sentence, and a sound database is not taken for a damaged one.
#[test]
fn a_start_on_a_full_disk_is_refused_and_changes_nothing() {
    let program = offline();
    let full = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
    let start = || finish(program.command_through(full, &["run", "--no-chat"]).stdin(Stdio::null()));
    assert_refused(&start(), program.data());
    assert_eq!(program.run(&["chat", "--once", "hello"]).status.code(), Some(0));
    let before = contents(program.data());
    assert_refused(&start(), program.data());
    let mut after = contents(program.data());
    after.remove(&program.data().join("state/bot.pid"));
    assert_eq!(after, before);
    assert_eq!(program.run(&["chat", "--once", "hello again"]).status.code(), Some(0));
    assert_eq!(examine(program.data()), [""; 0]);
}

fn limit_files(pid: u32, most: &str) {
    let mut prlimit = Command::new("prlimit");
    let done = finish(prlimit.args(["--pid", &pid.to_string(), &format!("--fsize={most}:unlimited")]));
    assert!(done.status.success(), "{}", told(&done));
}

/// B5: a database of a later version is left alone.
#[test]
fn a_database_of_the_future_is_left_alone() {
    let program = offline();
    assert_eq!(program.run(&["chat", "--once", "hello"]).status.code(), Some(0));
    let database = program.data().join("state/journal.db");
    let connection = Connection::open(&database).expect("a database");
    connection.pragma_update(None, "user_version", 99).expect("a version");
    drop(connection);
    let before = contents(program.data());
    for arguments in [["run", "--no-chat"], ["chat", "--once"]] {
        let output = program.run_reading(&arguments, "hello");
        assert_eq!(output.status.code(), Some(78), "{}", told(&output));
        assert_eq!(
            told(&output).trim(),
            "error: the journal has format 99 and this version of ollim-bot knows up to 1. update ollim-bot; \
             nothing was changed."
        );
    }
    assert_eq!(contents(program.data()), before);
}

/// B5: a damaged database is kept and named, whatever happened to it, and the conversation goes on.
#[test]
fn a_damaged_database_is_kept_aside_and_named() {
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
        let program = offline();
        assert_eq!(program.run(&["chat", "--once", "remember: locker 214"]).status.code(), Some(0));
        let database = program.data().join("state/journal.db");
        let damaged = damage(&std::fs::read(&database).expect("a database"));
        std::fs::write(&database, &damaged).expect("damage");

        let output = program.run(&["chat", "--once", "hello"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", told(&output));
        let said = told(&output);
        assert!(
            said.contains("the journal was damaged and there was no backup. i kept it as "),
            "{name}: {said}"
        );
        let aside = aside(program.data());
        assert_eq!(std::fs::read(&aside).expect("the original"), damaged, "{name}");
        assert!(said.contains(&*aside.to_string_lossy()), "{name}: {said}");
        let again = program.run(&["chat", "--once", "hello again"]);
        assert_eq!((again.status.code(), told(&again)), (Some(0), String::new()), "{name}: told once");
    }
}

/// B5: with a backup the conversation goes on from there.
#[test]
fn after_damage_the_conversation_goes_on_from_the_newest_backup() {
    let backstage = Backstage::open();
    let program = Program::answered_by(BINARY, &backstage);
    let state = program.data().join("state");
    let backups = state.join("backups");
    for (text, backup) in [("my locker is 214", "journal-20260101T000000Z.db"), ("on floor 3", NEWEST)] {
        assert_eq!(program.run(&["chat", "--once", text]).status.code(), Some(0));
        std::fs::create_dir_all(&backups).expect("a folder");
        std::fs::copy(state.join("journal.db"), backups.join(backup)).expect("a backup");
    }
    std::fs::write(backups.join("journal-20260103T000000Z.db"), "this one is no database").expect("a file");
    std::fs::write(state.join("journal.db"), "damage").expect("damage");

    let output = program.run(&["chat", "--once", "which locker?"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(
        told(&output).contains("went on from the backup journal-20260102T000000Z.db"),
        "{}",
        told(&output)
    );
    let last = backstage.requests().pop().expect("a request");
    assert!(last.body.contains("my locker is 214") && last.body.contains("on floor 3"), "{}", last.body);
}

/// The newest backup that is a database.
const NEWEST: &str = "journal-20260102T000000Z.db";

fn aside(data: &Path) -> PathBuf {
    let mut found: Vec<PathBuf> = contents(&data.join("state")).into_keys().collect();
    found.retain(|path| path.to_string_lossy().contains("journal.db.corrupt-") && path.extension().is_some());
    found.retain(|path| {
        !path.to_string_lossy().ends_with("-wal") && !path.to_string_lossy().ends_with("-shm")
    });
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// SE-6: a directory of the Python program opens as it is; its session goes on, and nothing of it changes.
#[test]
fn a_directory_of_the_python_program_opens_as_it_is() {
    let program = offline();
    let files = [
        ("state/sessions.json", "3f2c9a10-1111-4222-8333-444455556666"),
        ("state/session_history.jsonl", PYTHON_HISTORY),
        ("state/config.json", "{\"model.main\": \"opus\", \"unknown\": 1}\n"),
        (
            "state/pending_updates.json",
            "[{\"ts\": \"2026-01-02T03:04:05+01:00\", \"message\": \"two mails\"}]",
        ),
        ("state/inquiries.json", "{}"),
        ("routines/mail-a1b2c3d4.md", "---\nid: \"a1b2c3d4\"\ncron: \"30 8 * * *\"\n---\nTriage my mail.\n"),
        (
            "reminders/tea-b1b2c3d4.md",
            "---\nid: \"b1b2c3d4\"\nrun_at: \"2031-01-02T03:04:05+01:00\"\n---\nTea.\n",
        ),
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/config", "[core]\n\trepositoryformatversion = 0\n"),
    ];
    for (name, text) in files {
        let path = program.data().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let running = program.start();
    let health = running.get("/api/health").expect("it lives");
    assert_eq!(health["session"], "3f2c9a10-1111-4222-8333-444455556666");
    assert_eq!(health["notices"], serde_json::json!([]));
    running.converse("hello").expect("an answer");
    let (status, _) = running.terminate();

    assert_eq!(status.code(), Some(0));
    for (name, text) in files {
        let now = std::fs::read_to_string(program.data().join(name)).expect("a file");
        assert_eq!(now, text, "{name}");
    }
    let mut wrong = examine(program.data());
    wrong.retain(|wrong| !wrong.contains("has the mode"));
    assert_eq!(wrong, [""; 0]);
}

const PYTHON_HISTORY: &str = concat!(
    r#"{"session_id": "0a2c9a10-1111-4222-8333-444455556666", "event": "created", "#,
    r#""timestamp": "2026-01-01T08:00:00.123456+01:00", "parent_session_id": null}"#,
    "\n",
    r#"{"session_id": "3f2c9a10-1111-4222-8333-444455556666", "event": "created", "#,
    r#""timestamp": "2026-01-02T08:00:00.123456+01:00", "parent_session_id": null}"#,
    "\n"
);

/// SU-12: asked to end, it ends, and leaves nothing behind but what it remembers and the lock.
#[test]
fn asked_to_end_it_ends_and_leaves_only_its_memory() {
    let program = offline();
    let running = program.start();
    running.converse("hello").expect("an answer");
    let begun = Instant::now();
    let (status, _) = running.terminate();
    assert_eq!(status.code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "it took {:?}", begun.elapsed());
    let names: Vec<String> = contents(program.data())
        .into_keys()
        .map(|path| path.strip_prefix(program.data()).expect("a name").display().to_string())
        .collect();
    assert_eq!(
        names,
        ["state/bot.lock", "state/journal.db", "state/session_history.jsonl", "state/sessions.json"]
    );
    assert_eq!(examine(program.data()), [""; 0]);
}

/// Every file below `dir`, with what it holds.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry")) {
        match entry.file_type().expect("a kind").is_dir() {
            true => found.extend(contents(&entry.path())),
            false => drop(found.insert(entry.path(), std::fs::read(entry.path()).unwrap_or_default())),
        }
    }
    found
}
