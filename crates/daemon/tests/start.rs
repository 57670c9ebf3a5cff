//! Start-up on any directory: single instance, no data loss, and notices for every problem.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use testkit::kill::{Program, assert_unusable, contents, finish, stderr};
use testkit::oracle::examine;

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// B6, SU-4, SU-5: of one hundred simultaneous starts one runs, and the others exit at once and
/// name it; after a kill the next start succeeds.
#[test]
fn of_a_hundred_simultaneous_starts_exactly_one_runs() {
    let program = Program::offline(BINARY);
    for round in 0..2 {
        let starts: Vec<_> = (0..100).map(|_| start_quietly(&program)).collect();
        let mut lost = Vec::new();
        let mut runs = Vec::new();
        for mut start in starts {
            // Only the running one prints to stdout.
            let mut first = [0];
            let spoke = std::io::Read::read(start.stdout.as_mut().expect("its stdout"), &mut first);
            match spoke.expect("a pipe") {
                0 => lost.push(start.wait_with_output().expect("an end")),
                _ => runs.push(start),
            }
        }
        let [winner] = runs.as_mut_slice() else { panic!("{} run at once in round {round}", runs.len()) };
        for output in &lost {
            assert_eq!(output.status.code(), Some(75), "{}", stderr(output));
            let named = format!("already running (pid {}). talk to it: ollim-bot chat", winner.id());
            assert_eq!(stderr(output).trim(), format!("error: {named}"), "round {round}");
        }
        // A killed process leaves its pid file, which the next round must not report.
        winner.kill().expect("a process to kill");
        winner.wait().expect("an end");
    }
    let running = program.start();
    running.converse("hello").expect("an answer");
    running.terminate();
    assert_eq!(examine(program.data()), [""; 0]);
}

/// An unusable file or directory disables only its own feature, with a notice. Reminders still
/// work.
#[test]
fn a_path_that_cannot_be_used_takes_only_its_feature_away() {
    for (path, told) in [
        ("routines", Some("no routine runs")),
        ("webhooks", Some("no webhook can be called")),
        (".claude/agents", Some("your own subagents can't be used")),
        ("state/marks", None),
        ("state/routine_sessions", Some("can't keep it")),
        ("state/backups", Some("I can't make backups of our conversation")),
        ("state/before-migration", Some("can't be kept when its format changes")),
        ("state/metrics.token", Some("no numbers are served")),
    ] {
        let mut program = Program::offline(BINARY);
        program.set("OLLIM_METRICS", "on");
        let place = program.data().join(path);
        program.start().terminate();
        let _ = std::fs::remove_dir_all(&place).or_else(|_| std::fs::remove_file(&place));
        std::fs::create_dir_all(place.parent().expect("a directory")).expect("a directory");
        // A link to itself can be neither read nor created, even by root.
        std::os::unix::fs::symlink(place.file_name().expect("a name"), &place).expect("a link");
        let running = program.start();
        let notices = running.get("/api/health").expect("it lives")["notices"].to_string();
        assert!(
            told.is_none_or(|told| notices.contains(told) && notices.contains(path)),
            "{path}: {notices}"
        );
        running.converse("call the dentist tomorrow at 10").expect("an answer");
        let reminders = std::fs::read_dir(program.data().join("reminders")).expect("a directory");
        assert_eq!(reminders.count(), 1, "{path}");
        running.terminate();
    }
}

/// The first backup is made soon after the first message, and contains it.
#[test]
fn the_first_backup_is_made_soon_after_the_first_words() {
    let program = Program::offline(BINARY);
    let running = program.start();
    running.converse("remember: locker 214").expect("an answer");
    let backups = program.data().join("state/backups");
    let backup = || {
        let files = std::fs::read_dir(&backups).into_iter().flatten().flatten();
        files.map(|file| file.path()).find(|path| path.extension().is_some_and(|end| end == "db"))
    };
    let backup = testkit::kill::wait(async {
        loop {
            match backup() {
                Some(path) => break path,
                None => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
            }
        }
    });
    let copy = rusqlite::Connection::open(backup).expect("a journal");
    let words = "SELECT EXISTS (SELECT 1 FROM messages WHERE text = 'remember: locker 214')";
    assert!(copy.query_row(words, [], |row| row.get::<_, bool>(0)).expect("a row"));
    running.terminate();
}

/// SU-1: a second start exits before it contacts the claude program or Discord.
#[test]
fn whoever_comes_second_touches_nothing() {
    let mut program = Program::offline(BINARY);
    let running = program.start();
    let claude = program.home().join("claude");
    let called = program.home().join("called");
    std::fs::write(&claude, format!("#!/bin/sh\necho called >> {}\n", called.display())).expect("a program");
    std::fs::set_permissions(&claude, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a program");
    let discord = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    discord.set_nonblocking(true).expect("a port");
    let address = discord.local_addr().expect("its address");
    program.set("OLLIM_MODEL", "claude").set("OLLIM_CLAUDE", claude.to_str().expect("a path"));
    program.set("DISCORD_TOKEN", "t0.k.en").set("DISCORD_API_BASE", &format!("http://{address}/api/v10"));
    let second = program.run(&["run", "--no-chat"]);
    assert_eq!(second.status.code(), Some(75), "{}", stderr(&second));
    assert!(!called.exists());
    assert!(discord.accept().is_err(), "nobody called Discord");
    running.terminate();
}

/// B6: the lock is valid before the pid is written, and the pid of a dead process is not reported.
#[test]
fn the_number_that_a_dead_one_left_behind_is_not_told() {
    let program = Program::offline(BINARY);
    let state = program.data().join("state");
    std::fs::create_dir_all(&state).expect("a directory");
    std::fs::write(state.join("bot.pid"), "4194304").expect("a number");
    let lock = std::fs::File::create(state.join("bot.lock")).expect("a lock");
    lock.try_lock().expect("nobody has it");
    let output = program.run(&["run", "--no-chat"]);
    assert_eq!(output.status.code(), Some(75));
    assert!(stderr(&output).contains(&format!("(pid {})", std::process::id())), "{}", stderr(&output));
}

/// SU-4, B6: the Python program uses no lock. While it runs, ours exits without changes and reports
/// its pid; after it has ended, ours starts normally. The pid of an unrelated process is ignored.
#[test]
fn the_python_program_is_not_joined_by_another() {
    let program = Program::offline(BINARY);
    let state = program.data().join("state");
    let number = program.data().join("state/bot.pid");
    std::fs::create_dir_all(&state).expect("a directory");
    std::fs::write(state.join("sessions.json"), "3f2c9a10-1111-4222-8333-444455556666").expect("a session");
    let python = program.home().join("python3");
    let script = program.home().join("ollim-bot");
    std::os::unix::fs::symlink("/bin/sh", &python).expect("what reads it");
    std::fs::write(&script, "read line\n").expect("a program");
    let mut other = std::process::Command::new(&python);
    let mut other = other.arg(&script).stdin(Stdio::piped()).spawn().expect("it starts");
    std::fs::write(&number, other.id().to_string()).expect("a number");
    // Lax file modes would be tightened, which would be a change.
    let ours = [program.data(), state.as_path(), &state.join("sessions.json"), number.as_path()];
    for (path, mode) in ours.into_iter().zip([0o700, 0o700, 0o600, 0o600]) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    }
    let before = contents(program.data());
    let output = program.run(&["run", "--no-chat"]);
    assert_eq!(output.status.code(), Some(75), "{}", stderr(&output));
    let named = format!("the python ollim-bot is already running here (pid {}). stop it first", other.id());
    assert!(stderr(&output).contains(&named), "{}", stderr(&output));
    assert_eq!(contents(program.data()), before);

    drop(other.stdin.take());
    other.wait().expect("an end");
    let mut reader = std::process::Command::new("cat");
    let mut reader = reader.arg("-").arg(&script).stdin(Stdio::piped()).spawn().expect("it starts");
    for left_behind in [other.id(), reader.id()] {
        std::fs::write(&number, left_behind.to_string()).expect("a number");
        let running = program.start();
        let health = running.get("/api/health").expect("it lives");
        assert_eq!(health["session"], "3f2c9a10-1111-4222-8333-444455556666");
        assert_eq!(std::fs::read_to_string(&number).expect("a number"), running.pid().to_string());
        running.terminate();
    }
    drop(reader.stdin.take());
    reader.wait().expect("an end");
}

fn start_quietly(program: &Program) -> std::process::Child {
    let mut command = program.command(&["run", "--no-chat"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// B4: an unusable data directory is named in one sentence.
#[test]
fn a_directory_that_cannot_be_used_is_named_in_one_sentence() {
    let mut program = Program::offline(BINARY);
    let file = program.home().join("file");
    std::fs::write(&file, "mine").expect("a file");
    for place in [file.clone(), file.join("below"), PathBuf::from("/proc/ollim-bot")] {
        program.keep_in(&place);
        let output = program.run(&["run", "--no-chat"]);
        assert_unusable(&output, &place);
    }
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "mine");
}

/// B4: a data directory without write permission is named in one sentence.
#[test]
fn a_directory_that_may_not_be_written_is_named_in_one_sentence() {
    if !rustix::process::geteuid().is_root() || !Path::new("/usr/bin/setpriv").exists() {
        return;
    }
    let program = Program::offline(BINARY);
    std::fs::set_permissions(program.home(), PermissionsExt::from_mode(0o755)).expect("a home");
    // The original binary may be in a directory that the other user cannot read.
    let copy = program.home().join("ollim-bot");
    std::fs::copy(BINARY, &copy).expect("a copy");
    let drop_rights =
        "shift; exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$HOME/ollim-bot\" \"$@\"";
    let mut command = program.command_through(drop_rights, &["run", "--no-chat"]);
    assert_unusable(&finish(command.stdin(Stdio::null())), program.data());

    std::fs::create_dir_all(program.data().join("state")).expect("a directory");
    let mut command = program.command_through(drop_rights, &["run", "--no-chat"]);
    assert_unusable(&finish(command.stdin(Stdio::null())), program.data());
}

/// SE-6: a directory of the Python program opens unconverted; its session continues, and its files
/// do not change.
#[test]
fn a_directory_of_the_python_program_opens_as_it_is() {
    let program = Program::offline(BINARY);
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
    // There is no transcript to import; and J2: files that others can read are made private.
    let notices = health["notices"].as_array().expect("notices").clone();
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices[0].as_str().is_some_and(|notice| notice.contains("could not be imported")));
    assert!(notices[1].as_str().is_some_and(|notice| notice.ends_with("all is yours alone again.")));
    running.converse("hello").expect("an answer");
    let (status, _) = running.terminate();

    assert_eq!(status.code(), Some(0));
    // The pending update waits for a model.
    assert!(program.data().join("state/pending_updates.json").exists());
    for (name, text) in files.into_iter().filter(|(name, _)| !name.contains("pending_updates")) {
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

/// SU-12, SU-6, DD-2: on SIGTERM it exits, and leaves only its journal, documents and lock file.
#[test]
fn asked_to_end_it_ends_and_leaves_only_its_memory() {
    let program = Program::offline(BINARY);
    let running = program.start();
    running.converse("hello").expect("an answer");
    let (status, _) = running.terminate();
    assert_eq!(status.code(), Some(0));
    let names: Vec<String> = contents(program.data())
        .into_keys()
        .map(|path| path.strip_prefix(program.data()).expect("a name").display().to_string())
        .filter(|name| !name.starts_with(".git/"))
        .collect();
    assert_eq!(
        names,
        [
            ".claude/agents/gmail-reader.md",
            ".claude/agents/guide.md",
            ".claude/agents/history-reviewer.md",
            ".claude/agents/responsiveness-reviewer.md",
            ".claude/agents/user-proxy.md",
            ".gitignore",
            "routine-reminder-spec.md",
            "skill-spec.md",
            "state/agents.json",
            "state/bot.lock",
            "state/journal.db",
            "state/journal.mark",
            "state/session_history.jsonl",
            "state/sessions.json",
            "state/settings.last-good.toml",
            "webhook-spec.md"
        ]
    );
    assert_eq!(examine(program.data()), [""; 0]);
}

/// BF-10: keys without effect in the main conversation are logged; the job is planned anyway.
#[test]
fn what_has_no_effect_in_the_main_conversation_is_named() {
    let program = Program::offline(BINARY);
    let routines = program.data().join("routines");
    std::fs::create_dir_all(&routines).expect("a directory");
    let job = |id: &str, lines: &str| format!("---\nid: {id}\ncron: '0 9 * * *'\n{lines}---\nTriage.\n");
    std::fs::write(routines.join("a.md"), job("a", "model: opus\nisolated: true\n")).expect("a file");
    std::fs::write(routines.join("b.md"), job("b", "background: true\nmodel: opus\nisolated: true\n"))
        .expect("a file");
    let running = program.start();
    let planned = running.get("/api/schedule").expect("an answer").to_string();
    assert!(planned.contains("routine:a") && planned.contains("routine:b"), "{planned}");
    let log = running.log();
    let named: Vec<&str> = log.lines().filter(|line| line.contains("has no effect without")).collect();
    let [line] = named.as_slice() else { panic!("{log}") };
    assert!(line.contains("`model`, `isolated`") && line.contains("routines/a.md"), "{line}");
    running.terminate();
}
