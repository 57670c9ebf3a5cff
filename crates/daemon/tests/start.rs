//! Start-up on any directory: single instance, no data loss, and notices for every problem.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use testkit::oracle::find_violations;
use testkit::process::{Program, assert_unusable, read_tree, run_to_end, stderr};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// B6, SU-4, SU-5: of one hundred simultaneous starts one runs, and the others exit at once and
/// name it; after a kill the next start succeeds.
#[test]
fn one_of_a_hundred_simultaneous_starts_runs() {
    let program = Program::offline(BINARY);
    for round in 0..2 {
        let starts: Vec<_> = (0..100).map(|_| spawn_start(&program)).collect();
        let mut refused = Vec::new();
        let mut running_starts = Vec::new();
        for mut start in starts {
            // Only the running one prints to stdout.
            let mut first = [0];
            let bytes_read = std::io::Read::read(start.stdout.as_mut().expect("its stdout"), &mut first);
            match bytes_read.expect("a pipe") {
                0 => refused.push(start.wait_with_output().expect("an end")),
                _ => running_starts.push(start),
            }
        }
        let [winner] = running_starts.as_mut_slice() else {
            panic!("{} run at once in round {round}", running_starts.len())
        };
        for output in &refused {
            assert_eq!(output.status.code(), Some(75), "{}", stderr(output));
            let expected = format!("already running (pid {}). talk to it: ollim-bot chat", winner.id());
            assert_eq!(stderr(output).trim(), format!("error: {expected}"), "round {round}");
        }
        // A killed process leaves its pid file, which the next round must not report.
        winner.kill().expect("a process to kill");
        winner.wait().expect("an end");
    }
    let running = program.start();
    running.send_and_wait("hello").expect("an answer");
    running.terminate();
    assert_eq!(find_violations(program.data()), [""; 0]);
}

/// An unusable file or directory disables only its own feature, with a notice. Reminders still
/// work.
#[test]
fn unusable_path_disables_only_its_feature() {
    for (path, notice) in [
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
        program.set_env("OLLIM_METRICS", "on");
        let place = program.data().join(path);
        program.start().terminate();
        let _ = std::fs::remove_dir_all(&place).or_else(|_| std::fs::remove_file(&place));
        std::fs::create_dir_all(place.parent().expect("a directory")).expect("a directory");
        // A link to itself can be neither read nor created, even by root.
        std::os::unix::fs::symlink(place.file_name().expect("a name"), &place).expect("a link");
        let running = program.start();
        let notices = running.get("/api/health").expect("it lives")["notices"].to_string();
        assert!(
            notice.is_none_or(|notice| notices.contains(notice) && notices.contains(path)),
            "{path}: {notices}"
        );
        running.send_and_wait("call the dentist tomorrow at 10").expect("an answer");
        let reminders = std::fs::read_dir(program.data().join("reminders")).expect("a directory");
        assert_eq!(reminders.count(), 1, "{path}");
        running.terminate();
    }
}

/// The first backup is made soon after the first message, and contains it.
#[test]
fn first_backup_is_made_soon_after_the_first_message() {
    let program = Program::offline(BINARY);
    let running = program.start();
    running.send_and_wait("remember: locker 214").expect("an answer");
    let backups = program.data().join("state/backups");
    let backup = || {
        let files = std::fs::read_dir(&backups).into_iter().flatten().flatten();
        files.map(|file| file.path()).find(|path| path.extension().is_some_and(|end| end == "db"))
    };
    let backup = testkit::process::block_on(async {
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
fn second_start_contacts_nothing() {
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
    program.set_env("OLLIM_MODEL", "claude").set_env("OLLIM_CLAUDE", claude.to_str().expect("a path"));
    program
        .set_env("DISCORD_TOKEN", "t0.k.en")
        .set_env("DISCORD_API_BASE", &format!("http://{address}/api/v10"));
    let second = program.run(&["run", "--no-chat"]);
    assert_eq!(second.status.code(), Some(75), "{}", stderr(&second));
    assert!(!called.exists());
    assert!(discord.accept().is_err(), "nobody called Discord");
    running.terminate();
}

/// B6: the lock is valid before the pid is written, and the pid of a dead process is not reported.
#[test]
fn pid_of_a_dead_process_is_not_reported() {
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
fn running_python_program_prevents_the_start() {
    let program = Program::offline(BINARY);
    let state = program.data().join("state");
    let pid_file = program.data().join("state/bot.pid");
    std::fs::create_dir_all(&state).expect("a directory");
    std::fs::write(state.join("sessions.json"), "3f2c9a10-1111-4222-8333-444455556666").expect("a session");
    let python = program.home().join("python3");
    let script = program.home().join("ollim-bot");
    std::os::unix::fs::symlink("/bin/sh", &python).expect("what reads it");
    std::fs::write(&script, "read line\n").expect("a program");
    let mut other = std::process::Command::new(&python);
    let mut other = other.arg(&script).stdin(Stdio::piped()).spawn().expect("it starts");
    std::fs::write(&pid_file, other.id().to_string()).expect("a number");
    // Lax file modes would be tightened, which would be a change.
    let ours = [program.data(), state.as_path(), &state.join("sessions.json"), pid_file.as_path()];
    for (path, mode) in ours.into_iter().zip([0o700, 0o700, 0o600, 0o600]) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    }
    let before = read_tree(program.data());
    let output = program.run(&["run", "--no-chat"]);
    assert_eq!(output.status.code(), Some(75), "{}", stderr(&output));
    let expected =
        format!("the python ollim-bot is already running here (pid {}). stop it first", other.id());
    assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
    assert_eq!(read_tree(program.data()), before);

    drop(other.stdin.take());
    other.wait().expect("an end");
    let mut reader = std::process::Command::new("cat");
    let mut reader = reader.arg("-").arg(&script).stdin(Stdio::piped()).spawn().expect("it starts");
    for left_behind in [other.id(), reader.id()] {
        std::fs::write(&pid_file, left_behind.to_string()).expect("a number");
        let running = program.start();
        let health = running.get("/api/health").expect("it lives");
        assert_eq!(health["session"], "3f2c9a10-1111-4222-8333-444455556666");
        assert_eq!(std::fs::read_to_string(&pid_file).expect("a number"), running.pid().to_string());
        running.terminate();
    }
    drop(reader.stdin.take());
    reader.wait().expect("an end");
}

fn spawn_start(program: &Program) -> std::process::Child {
    let mut command = program.command(&["run", "--no-chat"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// B4: an unusable data directory is named in one sentence.
#[test]
fn unusable_directory_is_named_in_one_sentence() {
    let mut program = Program::offline(BINARY);
    let file = program.home().join("file");
    std::fs::write(&file, "mine").expect("a file");
    for place in [file.clone(), file.join("below"), PathBuf::from("/proc/ollim-bot")] {
        program.set_data_dir(&place);
        let output = program.run(&["run", "--no-chat"]);
        assert_unusable(&output, &place);
    }
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "mine");
}

/// B4: a data directory without write permission is named in one sentence.
#[test]
fn read_only_directory_is_named_in_one_sentence() {
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
    assert_unusable(&run_to_end(command.stdin(Stdio::null())), program.data());

    std::fs::create_dir_all(program.data().join("state")).expect("a directory");
    let mut command = program.command_through(drop_rights, &["run", "--no-chat"]);
    assert_unusable(&run_to_end(command.stdin(Stdio::null())), program.data());
}

/// SE-6: a directory of the Python program opens unconverted; its session continues, and its files
/// do not change.
#[test]
fn directory_of_the_python_program_opens_unconverted() {
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
    running.send_and_wait("hello").expect("an answer");
    let (status, _) = running.terminate();

    assert_eq!(status.code(), Some(0));
    // The pending update waits for a model.
    assert!(program.data().join("state/pending_updates.json").exists());
    for (name, text) in files.into_iter().filter(|(name, _)| !name.contains("pending_updates")) {
        let now = std::fs::read_to_string(program.data().join(name)).expect("a file");
        assert_eq!(now, text, "{name}");
    }
    let mut wrong = find_violations(program.data());
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
fn sigterm_ends_it_and_leaves_only_its_files() {
    let program = Program::offline(BINARY);
    let running = program.start();
    running.send_and_wait("hello").expect("an answer");
    let (status, _) = running.terminate();
    assert_eq!(status.code(), Some(0));
    let names: Vec<String> = read_tree(program.data())
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
    assert_eq!(find_violations(program.data()), [""; 0]);
}

/// BF-10: keys without effect in the main conversation are logged; the job is planned anyway.
#[test]
fn keys_without_effect_in_main_are_logged() {
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
