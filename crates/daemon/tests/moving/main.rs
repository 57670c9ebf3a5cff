//! Export and import of a data directory: complete, also while the program runs; and use of a
//! directory of the old program.
#![expect(clippy::unwrap_used, reason = "the setup of a test must succeed")]

mod interrupted_import;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::Value;
use testkit::oracle::find_violations;
use testkit::process::{Program, read_tree, run_to_end, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

const JOBS: [(&str, &str); 5] = [
    (
        "routines/mail.md",
        "---\nid: mail\ncron: \"30 8 * * 1-5\"\nbackground: true\nsession: persistent\n---\nmail\n",
    ),
    ("routines/tea.md", "---\nid: tea\ncron: \"*/20 16 4-11 11 *\"\nbackground: true\n---\ntea\n"),
    ("reminders/dentist.md", "---\nid: dentist\nrun-at: 2031-03-05T09:00:00+01:00\n---\ncall the dentist\n"),
    ("skills/plants/SKILL.md", "---\nname: plants\ndescription: water\n---\nThe fern wants water.\n"),
    ("notes/deep/er/über.md", "a note\n"),
];

/// Creates a data directory with messages, plans and settings.
fn used_program() -> Program {
    let program = Program::offline(BINARY);
    for (name, text) in JOBS {
        let path = program.data().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let running = program.start();
    running.send_and_wait("remind me to water the plants tomorrow at 10").unwrap();
    running.send_and_wait("the locker is 417").unwrap();
    running.command("/ping-budget 4 60").unwrap();
    running.terminate();
    program
}

/// Returns all rows of a journal.
fn read_journal(data: &Path) -> BTreeMap<String, Vec<Vec<Cell>>> {
    let journal = Connection::open(data.join("state/journal.db")).unwrap();
    let mut names = journal.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let names: Vec<String> =
        names.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let rows = |table: String| {
        let mut all = journal.prepare(&format!("SELECT * FROM {table} ORDER BY 1")).unwrap();
        let width = all.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..width).map(|at| row.get(at)).collect();
        let rows = all.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap();
        (table, rows)
    };
    let mut tables: BTreeMap<String, Vec<Vec<Cell>>> = names.into_iter().map(rows).collect();
    // The commit counter is not part of an archive: each journal counts for itself.
    let counter = Cell::Text("commits".to_owned());
    tables.entry("keepsakes".to_owned()).or_default().retain(|row| row.first() != Some(&counter));
    tables
}

/// Returns all files of `data` except the journal and those that the archive leaves out.
fn read_files(data: &Path, left_out: &[String]) -> BTreeMap<PathBuf, Vec<u8>> {
    let is_left_out = |name: &Path| left_out.iter().any(|left| name.starts_with(left));
    read_tree(data)
        .into_iter()
        .map(|(path, bytes)| (path.strip_prefix(data).unwrap().to_owned(), bytes))
        .filter(|(name, _)| !is_left_out(name) && !name.starts_with("state/journal.db"))
        .collect()
}

fn json_of(program: &Program, arguments: &[&str]) -> Value {
    let output = program.run(&[arguments, &["--json"]].concat());
    serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{arguments:?}: {}", stderr(&output)))
}

/// Returns the upcoming work as reported by every command.
fn upcoming(program: &Program) -> Vec<Value> {
    let span = ["simulate", "--from", "2030-11-04", "--to", "2030-11-12"];
    let mut output = vec![
        json_of(program, &["routine", "next", "mail", "--count", "9"]),
        json_of(program, &["routine", "next", "tea", "--count", "9"]),
        json_of(program, &["routine", "list"]),
        json_of(program, &["reminder", "list"]),
        json_of(program, &["inbox"]),
        json_of(program, &["pings"])["budget"].clone(),
    ];
    output.push(json_of(program, &span));
    output
}

/// An archive imported into an empty directory is byte-identical, and the same work is upcoming.
#[test]
fn export_and_import_preserve_everything() {
    let mut program = used_program();
    let old = program.data().to_owned();
    let key = old.join("state/anthropic.key");
    std::fs::write(&key, "sk-secret").unwrap();
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    let archive = program.home().join("backup.tar.gz");
    let archive = archive.to_str().unwrap();
    let text = json_of(&program, &["export", archive]);
    assert_eq!(text["ok"], true, "{text}");
    assert_eq!(Path::new(archive).metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let left_out: Vec<String> = text["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["path"].as_str().unwrap().to_owned())
        .collect();
    assert!(left_out.contains(&"state/anthropic.key".to_owned()), "{left_out:?}");
    let files_before = read_files(&old, &left_out);
    let log_before = read_journal(&old);
    let planned_before = upcoming(&program);

    let new = program.home().join("new/data");
    program.set_data_dir(&new);
    let output = program.run(&["import", archive]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("set again here: state/anthropic.key") && text.contains("run only one"), "{text}");

    assert_eq!(read_files(&new, &left_out), files_before);
    let mut log_after = read_journal(&new);
    // This table of query statistics depends on the history of the file.
    log_after.retain(|table, _| table != "sqlite_stat1");
    assert_eq!(log_after, log_before);
    for (after, before) in upcoming(&program).into_iter().zip(planned_before) {
        assert_eq!(after.to_string(), before.to_string());
    }
    let running = program.start();
    assert_eq!(running.get("/api/health").unwrap()["notices"], serde_json::json!([]));
    running.send_and_wait("hello").unwrap();
    running.terminate();
    assert_eq!(find_violations(&new), [""; 0]);
    assert!(stdout(&program.run(&["history", "search", "locker"])).contains("417"));
}

/// An archive created during a conversation is consistent, and starts without notices.
#[test]
fn archive_is_consistent_while_the_program_is_used() {
    let mut program = used_program();
    let running = program.start();
    let archives: Vec<PathBuf> = (0..4).map(|n| program.home().join(format!("{n}.tar.gz"))).collect();
    std::thread::scope(|scope| {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let running = &running;
        scope.spawn(move || {
            let mut count = 0;
            while stopped.try_recv().is_err() {
                count += 1;
                running.send_and_wait(&format!("remind me to count to {count} tomorrow at 10")).unwrap();
                running.command(&format!("/ping-budget {} 60", 1 + count % 9)).unwrap();
            }
        });
        for archive in &archives {
            let output = program.run(&["export", archive.to_str().unwrap()]);
            assert!(output.status.success(), "{}", stderr(&output));
        }
        stop.send(()).unwrap();
    });
    running.terminate();
    for archive in &archives {
        program.set_data_dir(archive.with_extension("data"));
        let output = program.run(&["import", archive.to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
        let running = program.start();
        assert_eq!(running.get("/api/health").unwrap()["notices"], serde_json::json!([]));
        running.terminate();
        assert_eq!(find_violations(program.data()), [""; 0]);
    }
}

/// An archive can be written to stdout and read from stdin.
#[test]
fn archive_goes_through_a_pipe() {
    let program = used_program();
    let archive = program.run(&["export", "-"]);
    let length = format!("{} KB", archive.stdout.len().div_ceil(1_000));
    let output = stderr(&archive);
    assert!(
        output.contains("stdout: ") && output.contains(&format!(" files, {length} (")),
        "{length}: {output}"
    );
    let mut import = program.command(&["import", "-", "--data-dir", "piped"]);
    let mut child = import.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &archive.stdout).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(
        read_journal(&program.home().join("piped"))["messages"],
        read_journal(program.data())["messages"]
    );
}

/// An import lists the contents that decide which programs are started or where keys are sent, and
/// lists nothing if there are none.
#[test]
fn import_lists_settings_for_programs_and_keys() {
    let program = used_program();
    let archive = program.home().join("backup.tar.gz");
    let archive = archive.to_str().unwrap();
    let import_into = |place: &str| {
        assert!(program.run(&["export", archive, "--replace"]).status.success());
        stdout(&program.run(&["import", archive, "--data-dir", place]))
    };
    let output = import_into("plain");
    assert!(!output.contains("look at"), "{output}");
    let place = program.home().join("plain");
    assert!(
        output.ends_with(&format!("start it here: ollim-bot --data-dir {}\n", place.display())),
        "{output}"
    );
    for (name, text) in [
        (
            "state/environment",
            "OLLIM_USER_NAME=Ann\nOLLIM_CLAUDE=/opt/other\nOPENAI_BASE_URL=https://x.org\n",
        ),
        ("settings.toml", "[update]\nbuild = \"make\"\n[model]\ntries = 2\n"),
        ("mcp.json", r#"{"mcpServers": {"notes": {"command": "notes"}, "wiki": {"url": "https://w.org"}}}"#),
    ] {
        let path = program.data().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    }
    let output = import_into("other");
    let expected = "look at these before you start it, they say which programs run or where keys go: state/environment \
                (OLLIM_CLAUDE, OPENAI_BASE_URL), settings.toml (update.build), mcp.json (notes, wiki)\n";
    assert!(output.contains(expected), "{output}");
    let output = json_of(&program, &["import", archive, "--data-dir", "third"]);
    assert_eq!(output["look_at"].as_array().map(Vec::len), Some(3), "{output}");
}

/// An existing file or link is overwritten only with `--replace`; the size of the archive is
/// reported.
#[test]
fn existing_archive_is_overwritten_only_with_replace() {
    let program = used_program();
    let archive = program.home().join("backup.tar.gz");
    let text = json_of(&program, &["export", archive.to_str().unwrap()]);
    assert_eq!(text["archive_bytes"], archive.metadata().unwrap().len(), "{text}");
    assert!(text["bytes"].as_u64() > text["archive_bytes"].as_u64(), "{text}");
    let link = program.home().join("link.tar.gz");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    let before = read_tree(program.home());
    for name in [&archive, &link] {
        let output = program.run(&["export", name.to_str().unwrap()]);
        let printed =
            format!("error: {} is there already. name another file, or say --replace.\n", name.display());
        assert_eq!((output.status.code(), stderr(&output)), (Some(2), printed));
        assert!(read_tree(program.home()) == before, "something changed, or lies beside it");
    }
    for name in [&archive, &link] {
        let output = program.run(&["export", name.to_str().unwrap(), "--replace"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let text = stdout(&output);
        let length = name.symlink_metadata().unwrap().len().div_ceil(1_000);
        assert!(text.contains(&format!("{}: ", name.display())), "{text}");
        assert!(text.contains(&format!(" files, {length} KB (")) && text.contains(" unpacked)."), "{text}");
    }
}

/// B3: without space for a copy of the journal, the error says so, and not that it is damaged; a
/// later version is named too.
#[test]
fn failed_journal_copy_is_not_reported_as_damage() {
    let program = used_program();
    let full = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
    let output = run_to_end(program.command_through(full, &["export", "-"]).stdin(Stdio::null()));
    let text = stderr(&output);
    let state = program.data().join("state");
    assert_eq!((output.status.code(), text.lines().count()), (Some(1), 1), "{text}");
    assert!(text.contains(&format!("{}", state.display())) && !text.contains("damaged"), "{text}");
    let journal = Connection::open(state.join("journal.db")).unwrap();
    journal.pragma_update(None, "user_version", 99).unwrap();
    drop(journal);
    let output = program.run(&["export", "-"]);
    assert_eq!(output.status.code(), Some(78), "{}", stderr(&output));
    assert!(stderr(&output).contains("update ollim-bot"), "{}", stderr(&output));
}

/// An impossible export or import is refused in one sentence with a remedy.
#[test]
fn impossible_export_or_import_is_refused_in_one_sentence() {
    let program = used_program();
    let archive = program.home().join("backup.tar.gz");
    let archive = archive.to_str().unwrap();
    assert!(program.run(&["export", archive]).status.success());
    let check = |arguments: &[&str], code: i32, words: &str| {
        let output = program.run(arguments);
        let text = stderr(&output);
        assert_eq!((output.status.code(), text.lines().count()), (Some(code), 1), "{arguments:?}: {text}");
        assert!(text.contains(words), "{arguments:?}: {text}");
    };
    check(
        &["import", archive],
        2,
        "is not empty. import into an empty directory (--data-dir), or say --replace",
    );
    check(&["import", "nowhere.tar.gz", "--data-dir", "new"], 2, "nowhere.tar.gz");
    std::fs::write(program.home().join("no.tar.gz"), "this is no archive").unwrap();
    check(&["import", "no.tar.gz", "--data-dir", "new"], 1, "not a whole archive of ollim-bot");
    assert!(!program.home().join("new").exists());
    check(&["export", program.data().join("x.tar.gz").to_str().unwrap()], 2, "name a file elsewhere");
    check(&["export", "of-nothing.tar.gz", "--data-dir", "nothing"], 78, "nothing to export");
    check(&["export", "no/where/x.tar.gz"], 1, "no/where/x.tar.gz");
    let running = program.start();
    check(&["import", archive, "--replace"], 75, "stop it first");
    running.terminate();
}

/// B3, B11: `migrate` reports the format of the journal, and does nothing if it is current. A full
/// disk is a temporary error; a later format needs an action of the user.
#[test]
fn migrate_reports_the_journal_format() {
    let program = Program::offline(BINARY);
    assert!(stdout(&program.run(&["migrate"])).contains("there is no journal yet"));
    program.start().terminate();
    assert_eq!(json_of(&program, &["migrate", "--check"])["up_to_date"], true);
    let journal = Connection::open(program.data().join("state/journal.db")).unwrap();
    let newest: i64 = journal.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    let downgrade = "ALTER TABLE messages DROP COLUMN label; ALTER TABLE approvals DROP COLUMN label; \
                 ALTER TABLE approvals DROP COLUMN step; ALTER TABLE runs DROP COLUMN effort; ALTER TABLE forks DROP COLUMN effort; \
                 ALTER TABLE spending DROP COLUMN cache_write_1h; ALTER TABLE turns DROP COLUMN cache_write_1h; \
                 ALTER TABLE approvals DROP COLUMN stands; ALTER TABLE approvals DROP COLUMN stands_until; ALTER TABLE approvals DROP COLUMN withdrawn; \
                 DROP TABLE item_origins; DROP TABLE plan_origins; DROP TABLE deliveries; DROP TABLE delivery_marks; DROP INDEX messages_by_entry";
    journal.execute_batch(downgrade).unwrap();
    journal.pragma_update(None, "user_version", 7).unwrap();
    drop(journal);
    let check = json_of(&program, &["migrate", "--check"]);
    assert_eq!(
        (&check["found"], &check["known"], &check["up_to_date"]),
        (&7.into(), &newest.into(), &false.into())
    );
    let full = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
    let output = run_to_end(program.command_through(full, &["migrate"]).stdin(Stdio::null()));
    assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(1), 1), "{}", stderr(&output));
    let output = program.run(&["migrate"]);
    assert!(stdout(&output).contains(&format!("from format 7 to {newest}")), "{}", stderr(&output));
    assert!(program.data().join("state/before-migration").read_dir().unwrap().count() == 1);
    assert!(stdout(&program.run(&["migrate"])).contains("nothing was changed"));
    let running = program.start();
    let output = program.run(&["migrate"]);
    assert_eq!(output.status.code(), Some(75), "{}", stderr(&output));
    running.terminate();
    let journal = Connection::open(program.data().join("state/journal.db")).unwrap();
    journal.pragma_update(None, "user_version", 99).unwrap();
    drop(journal);
    for arguments in [&["migrate"][..], &["migrate", "--check"]] {
        assert_eq!(program.run(arguments).status.code(), Some(78), "a later version is for who updates");
    }
}

/// DD-1, DD-8, B11: a directory of the Python program is used unconverted: the doctor lists its
/// contents, and the conversation continues under its session id.
#[test]
fn directory_of_the_python_program_is_used_unconverted() {
    let program = Program::offline(BINARY);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/python");
    let before = read_tree(&golden);
    for (path, bytes) in &before {
        let path = program.data().join(path.strip_prefix(&golden).unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let doctor = stdout(&program.run(&["doctor"]));
    assert!(
        doctor.contains("2 routines, 1 reminder, 1 webhook, 1 skill; and the session of another"),
        "{doctor}"
    );
    let running = program.start();
    let health = running.get("/api/health").unwrap();
    assert_eq!(health["session"], "5f0c77aa-1111-4222-8333-444455556666");
    let pid = std::fs::read_to_string(program.data().join("state/bot.pid")).unwrap();
    assert_eq!(pid, running.pid().to_string());
    running.terminate();
    let after = read_tree(program.data());
    for (path, bytes) in &before {
        let name = path.strip_prefix(&golden).unwrap();
        // Expected changes: the old process id, the refilled ping budget, and sent messages older
        // than seven days. The session of a routine without a transcript stays until its next run.
        let may_change =
            ["bot.pid", "ping_budget.json", "pending_updates.json", "fork_messages.json", "inquiries.json"]
                .map(|name| Path::new("state").join(name))
                .contains(&name.to_owned());
        assert!(
            may_change || after.get(&program.data().join(name)) == Some(bytes),
            "{} changed",
            name.display()
        );
    }
    let routines = json_of(&program, &["routine", "list"]).to_string();
    assert!(routines.contains("9f3a1c02") && routines.contains("12345678"), "{routines}");
    assert!(json_of(&program, &["updates"]).to_string().contains("two letters need an answer"));
    let settings = stdout(&program.run(&["config", "bg_fork_timeout"]));
    assert!(settings.contains("900s"), "{settings}");
    // File modes are the user's choice.
    let wrong = find_violations(program.data()).into_iter().filter(|wrong| !wrong.contains("has the mode"));
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
    let home =
        program.home().read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut home: Vec<String> = home.collect();
    home.sort();
    assert_eq!(home, ["data", "stderr.log"], "nothing is written beside the data directory");
    drop(run_to_end(program.command(&["status"]).stdin(Stdio::null())));
}
