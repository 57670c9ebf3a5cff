//! Routines and reminders on the command line: files written, output, and refusals.

mod job_files;

use expect_test::expect;
use job_files::{expect_failure, git, json_of, output_of, program, read, write};
use serde_json::Value;
use testkit::process::{stderr, stdout};

/// A hand-written routine.
const MORNING_ROUTINE: &str = "---\n# mine\nid: 7f3a9c21\ncron: 30 8 * * 1-5 # weekdays\ndescription: Morning check-in\nmood: calm\n---\n\nName the first thing.\n";

/// CL-5, CL-6, CL-7, DD-28, DD-29, DD-14, CL-16: a new routine is a committed file with the values
/// of the flags.
#[test]
fn new_routine_is_written_as_a_file() {
    let program = program();
    let flags = "--cron|30 8 * * 1-5|-m|Check the mail.|-d|Mail|--background|--model|opus|--no-thinking|\
        --update-main-session|freely|--no-ping|--allowed-tools|Read|Bash(ls *)|--skills|news|--session|persistent|\
        --if-missed|if-within 2h|--overlap|queue|--until|2999-12-01|--timezone|Asia/Tokyo";
    let output =
        output_of(&program, &["routine", "add"].into_iter().chain(flags.split('|')).collect::<Vec<_>>());
    let id = output.strip_prefix("scheduled ").and_then(|rest| rest.split(':').next()).unwrap_or_default();
    assert!(id.len() == 8 && id.chars().all(|c| c.is_ascii_hexdigit()), "{output}");
    assert_eq!(
        output,
        format!(
            "scheduled {id}: [bg,persistent] cron '30 8 * * 1-5' until 2999-12-01 in Asia/Tokyo  (model: opus)  (no-thinking) -- Mail"
        )
    );
    let file = read(&program, "routines/check-the-mail.md").replace(id, "ID");
    expect![[r#"
        ---
        id: "ID"
        cron: "30 8 * * 1-5"
        until: "2999-12-01"
        timezone: "Asia/Tokyo"
        background: true
        model: "opus"
        thinking: false
        description: "Mail"
        update-main-session: "freely"
        allow-ping: false
        allowed-tools:
          - "Read"
          - "Bash(ls *)"
        skills:
          - "news"
        session: "persistent"
        if-missed: "if-within 2h"
        overlap: "queue"
        ---
        Check the mail.
    "#]]
    .assert_eq(&file);
    let history = git(program.data(), &["log", "--format=%s"]);
    assert_eq!(String::from_utf8_lossy(&history.stdout).trim(), format!("add routine {id}"));
}

/// CL-5, CL-6, DD-37, DD-39: an invalid routine is refused in one line, and nothing is written.
#[test]
fn invalid_routine_is_refused_in_one_line() {
    let program = program();
    let with = |rest: &[&'static str]| [&["routine", "add", "-m", "Check."], rest].concat();
    expect_failure(
        &program,
        &with(&["--cron", "0 9 * *"]),
        1,
        expect![[
            r#"error: `cron`: "0 9 * *" does not have five fields (4 found); write them as: minute, hour, day, month, weekday, like `0 9 * * 1-5`"#
        ]],
    );
    expect_failure(
        &program,
        &with(&["--cron", "0 9 * * *", "--session", "weekly", "--background"]),
        1,
        expect![[
            r#"error: `session`: "weekly" is not a kind of session; write `persistent`, or leave the line out"#
        ]],
    );
    expect_failure(
        &program,
        &with(&["--cron", "0 9 * * *", "--session", "persistent"]),
        1,
        expect!["error: `session`: `persistent` needs `background: true`; a job in main has main's session"],
    );
    expect_failure(
        &program,
        &with(&["--cron", "0 9 * * *", "--timezone", "Mars"]),
        1,
        expect![[
            r#"error: `timezone`: "Mars" is not a zone; write its name, such as `Europe/Berlin` or `UTC`"#
        ]],
    );
    expect_failure(
        &program,
        &with(&["--every", "3 days"]),
        1,
        expect![
            "error: `from`: is missing, and `every` counts from it; write the first time like `2026-11-18T09:00`"
        ],
    );
    expect_failure(
        &program,
        &with(&[]),
        2,
        expect!["error: --cron is missing. `--help` shows how it is written."],
    );
    expect_failure(
        &program,
        &["routine", "add", "--cron", "0 9 * * *", "-m", "?!"],
        1,
        expect!["error: --message: it is told to do nothing; write what to do"],
    );
    let mode = program.run(&with(&["--cron", "0 9 * * *", "--update-main-session", "loudly"]));
    assert_eq!(mode.status.code(), Some(2));
    assert!(stderr(&mode).contains("on_ping"), "{}", stderr(&mode));
    assert!(!program.data().join("routines").exists());
}

/// CL-4: a command group without an action shows its help.
#[test]
fn command_group_without_an_action_shows_its_help() {
    let program = program();
    for group in ["routine", "reminder"] {
        let output = program.run(&[group]);
        assert_eq!(output.status.code(), Some(1));
        let text = stdout(&output);
        assert!(text.starts_with(&format!("examples:\n  ollim-bot {group} list")), "{text}");
        assert!(text.contains(&format!("Usage: ollim-bot {group}")), "{text}");
    }
}

/// CL-8, CL-12, RP-36, DD-27: the list shows each job with its schedule, and each invalid file with
/// the reason.
#[test]
fn list_shows_jobs_and_invalid_files() {
    let program = program();
    assert_eq!(output_of(&program, &["routine", "list"]), "no routines");
    assert_eq!(output_of(&program, &["reminder", "list"]), "no pending reminders");
    write(
        &program,
        "routines/a.md",
        "---\nid: a1\ncron: 0 9 * * *\nuntil: 2020-01-01\n---\nCheck the mail.\n",
    );
    write(
        &program,
        "routines/b.md",
        "---\nid: b2\ncron: 0 9 * * *\nbackground: true\nsession: persistent\npaused: true\n---\nNotes.\n",
    );
    write(&program, "routines/c.md", "---\nid: c3\ncron: never\n---\nx\n");
    write(&program, "routines/d.md", "---\nid: a1\ncron: 0 9 * * *\n---\nTwin.\n");
    expect![[r#"
        routines:
          a1  cron '0 9 * * *' until 2020-01-01  Check the mail.  (never again)
          b2  [bg,persistent] cron '0 9 * * *'  Notes.  (paused)
          ! routines/c.md: line 3: `cron`: "never" does not have five fields (1 found); write them as: minute, hour, day, month, weekday, like `0 9 * * 1-5`
          ! routines/d.md: `id`: `a1` is already the id of a.md, which comes first; give this one another id"#]]
    .assert_eq(&format!("routines:\n{}", output_of(&program, &["routine", "list"])));
    let listed = json_of(&program, &["routine", "list"]);
    assert_eq!(listed["routines"][1]["paused"], true);
    assert_eq!((&listed["invalid"][0]["line"], &listed["invalid"][0]["field"]), (&3.into(), &"cron".into()));
    let reminder = "---\nid: r1\nrun-at: 2999-11-20T09:00:00+01:00\nbackground: true\nisolated: true\nmax-chain: 3\nchain-depth: 1\n---\nCall mum.\n";
    write(&program, "reminders/call.md", reminder);
    expect!["  r1  [bg,isolated] at 2999-11-20T09:00  (chain 1/3)  Call mum."]
        .assert_eq(&output_of(&program, &["reminder", "list"]));
    let doctor = stdout(&program.run(&["doctor"]));
    assert!(doctor.contains("! jobs     routines/c.md: line 3: `cron`"), "{doctor}");
}

/// CL-10, CL-11, DD-43, DD-44, DD-45: a reminder is created with a delay in minutes or a time.
#[test]
fn reminder_is_added_with_a_delay_or_a_time() {
    let program = program();
    let at = output_of(
        &program,
        &["reminder", "add", "--at", "2999-07-20 09:00", "-m", "Call mum.", "--max-chain", "2"],
    );
    assert!(at.ends_with(": at 2999-07-20T09:00  (chain 0/2) -- Call mum."), "{at}");
    let reminder = &json_of(&program, &["reminder", "list"])["reminders"][0];
    assert_eq!(reminder["run_at"], "2999-07-20T09:00:00+02:00");
    assert_eq!(reminder["chain_parent"], reminder["id"]);
    output_of(&program, &["reminder", "add", "--delay", "20", "-m", "Bread out."]);
    assert_eq!(json_of(&program, &["reminder", "list"])["reminders"].as_array().map(Vec::len), Some(2));

    expect_failure(
        &program,
        &["reminder", "add", "-m", "x"],
        2,
        expect!["error: --delay or --at is missing. `--help` shows how it is written."],
    );
    expect_failure(
        &program,
        &["reminder", "add", "--at", "2020-01-01 09:00", "-m", "x"],
        2,
        expect!["error: 2020-01-01 09:00 is already past. name a time to come."],
    );
    expect_failure(
        &program,
        &["reminder", "add", "--at", "someday", "-m", "x"],
        2,
        expect![[
            r#"error: "someday" is not a time i can read. write it like "tomorrow at 9" or "2026-11-20 09:00"."#
        ]],
    );
    expect_failure(
        &program,
        &["reminder", "add", "--delay", "5", "--chain-depth", "2", "-m", "x"],
        1,
        expect![
            "error: `chain-depth`: 2 is more than `max-chain`, which is 0; lower it or raise `max-chain`"
        ],
    );
    assert_eq!(program.run(&["reminder", "add", "--delay", "-5", "-m", "x"]).status.code(), Some(2));
}

/// CL-9, CL-11: a job is referenced by its id, a prefix of the id, its file or words of its text;
/// ambiguity is an error.
#[test]
fn ambiguous_job_reference_is_an_error() {
    let program = program();
    let reminder =
        |id: &str, words: &str| format!("---\nid: {id}\nrun-at: 2999-11-20T09:00:00+01:00\n---\n{words}\n");
    write(&program, "reminders/dentist.md", &reminder("7c1e02ab", "dentist"));
    write(&program, "reminders/dentist-invoice.md", &reminder("a90b11cd", "dentist invoice"));
    write(&program, "reminders/call-mum.md", &reminder("c3d4e5f6", "Call mum at the seaside."));
    write(&program, "reminders/odd.md", "---\nid: [\n---\n");
    expect_failure(
        &program,
        &["reminder", "cancel", "dentist"],
        3,
        expect![[r#"
        error: "dentist" matches 2 reminders
          a90b11cd  dentist invoice  next wed 20 nov 2999 09:00
          7c1e02ab  dentist          next wed 20 nov 2999 09:00
        use an id: ollim-bot reminder cancel a90b11cd"#]],
    );
    let output = program.run(&["reminder", "cancel", "dentist", "--json"]);
    let text: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    assert_eq!((&text["error"]["code"], &text["error"]["kind"]), (&3.into(), &"ambiguous".into()));
    assert_eq!(text["error"]["candidates"][1]["id"], "7c1e02ab");
    expect_failure(
        &program,
        &["reminder", "cancel", "barber"],
        1,
        expect!["error: reminder barber not found"],
    );
    expect_failure(&program, &["routine", "cancel", "7c1e"], 1, expect!["error: routine 7c1e not found"]);
    assert_eq!(output_of(&program, &["reminder", "cancel", "7c1e"]), "cancelled 7c1e02ab");
    assert_eq!(output_of(&program, &["reminder", "cancel", "Dentist", "invoice"]), "cancelled a90b11cd");
    assert_eq!(output_of(&program, &["reminder", "cancel", "call-mum"]), "cancelled c3d4e5f6");
    assert_eq!(output_of(&program, &["reminder", "cancel", "odd"]), "cancelled reminders/odd.md");
    assert_eq!(output_of(&program, &["reminder", "list"]), "no pending reminders");
}

/// One job is shown with its next times and its unmodified file.
#[test]
fn job_is_shown_with_its_file() {
    let program = program();
    write(&program, "routines/morning.md", &MORNING_ROUTINE.replace("mood: calm", "paused: true"));
    expect![[r#"
        7f3a9c21  routines/morning.md
        weekdays 08:30 · it is paused. to go on: ollim-bot routine resume 7f3a9c21

        ---
        # mine
        id: 7f3a9c21
        cron: 30 8 * * 1-5 # weekdays
        description: Morning check-in
        paused: true
        ---

        Name the first thing."#]]
    .assert_eq(&output_of(&program, &["routine", "show", "morning"]));
    write(&program, "routines/odd.md", "---\nid: odd\n---\nx\n");
    assert!(
        output_of(&program, &["routine", "show", "odd"])
            .starts_with("odd  routines/odd.md\ninvalid: `cron`: is missing")
    );
}

/// Adds the same reminder `each` times in each of `threads` concurrent threads, each time in a new
/// process, and counts the files.
fn add_concurrently(threads: usize, each: usize) {
    let program = program();
    let add = || {
        for _ in 0..each {
            output_of(&program, &["reminder", "add", "--delay", "60", "-m", "Call mum."]);
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(add))));
    let listed = json_of(&program, &["reminder", "list"]);
    let ids: std::collections::BTreeSet<String> = listed["reminders"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|reminder| reminder["id"].to_string())
        .collect();
    assert_eq!(ids.len(), threads * each, "each has an id of its own");
    let files = std::fs::read_dir(program.data().join("reminders")).map(Iterator::count).unwrap_or_default();
    assert_eq!(files, threads * each, "each has a file, and there is nothing else");
}

/// B7: concurrent additions of the same text are all stored.
#[test]
fn concurrent_additions_of_the_same_reminder_are_all_stored() {
    add_concurrently(8, 5);
}

/// B7: like the previous test, with 32 concurrent processes, 100 times.
#[test]
#[ignore = "3,200 programs are started; `cargo xtask test --long` does"]
fn all_3200_concurrent_additions_are_stored() {
    add_concurrently(32, 100);
}
