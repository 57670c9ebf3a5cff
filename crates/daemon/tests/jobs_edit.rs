//! Changing routines on the command line: with flags, in an editor, and pausing.

mod job_files;

use expect_test::expect;
use job_files::{expect_failure, git, json_of, output_of, program, read, write};
use serde_json::Value;
use testkit::process::{stderr, stdout};

/// A hand-written routine.
const MORNING_ROUTINE: &str = "---\n# mine\nid: 7f3a9c21\ncron: 30 8 * * 1-5 # weekdays\ndescription: Morning check-in\nmood: calm\n---\n\nName the first thing.\n";

/// B9, DD-25: an edit changes the given keys and preserves every other line.
#[test]
fn edit_changes_only_the_given_keys() {
    let program = program();
    write(&program, "routines/morning.md", MORNING_ROUTINE);
    assert_eq!(
        output_of(&program, &["routine", "edit", "check-in", "--cron", "0 9 * * *", "--model", "opus"]),
        "changed 7f3a9c21"
    );
    let file = read(&program, "routines/morning.md");
    let expected =
        MORNING_ROUTINE.replace("30 8 * * 1-5", "\"0 9 * * *\"").replace("calm\n", "calm\nmodel: \"opus\"\n");
    assert_eq!(file, expected);
    output_of(&program, &["routine", "edit", "morning", "--model", "", "-m", "Name two things."]);
    let file = read(&program, "routines/morning.md");
    assert!(file.ends_with("mood: calm\n---\nName two things.\n"), "{file}");
    output_of(&program, &["routine", "edit", "morning", "--every", "2 weeks", "--from", "2026-11-18T09:00"]);
    assert_eq!(json_of(&program, &["routine", "show", "morning"])["every_days"], 14);
    assert_eq!(
        output_of(&program, &["routine", "edit", "morning", "--every", "2 weeks"]),
        "unchanged 7f3a9c21"
    );
    let before = read(&program, "routines/morning.md");
    expect_failure(
        &program,
        &["routine", "edit", "morning", "--isolated", "--background", "--session", "persistent"],
        1,
        expect![
            "error: routines/morning.md: `session`: `persistent` cannot stand beside `isolated: true`; leave one of them out. the file is as it was."
        ],
    );
    assert_eq!(read(&program, "routines/morning.md"), before);
}

/// B9: a mistake in the editor is reported with its line, changes nothing, and the edited text is
/// preserved.
#[test]
fn mistake_in_the_editor_loses_nothing() {
    let mut program = program();
    write(&program, "routines/morning.md", MORNING_ROUTINE);
    expect_failure(
        &program,
        &["routine", "edit", "morning"],
        2,
        expect!["error: EDITOR is not set. set it, or give what changes as flags."],
    );
    program.set_env("EDITOR", "sed -i 's/30 8/30/; s/first/second/'");
    let output = program.run(&["routine", "edit", "morning"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.starts_with(
            "error: routines/morning.md: line 4: `cron`: \"30 * * 1-5\" does not have five fields"
        ),
        "{text}"
    );
    assert!(
        text.contains("your edit is kept in") && text.contains("ollim-bot routine edit 7f3a9c21"),
        "{text}"
    );
    assert_eq!(read(&program, "routines/morning.md"), MORNING_ROUTINE);
    program.set_env("EDITOR", "sed -i 's/30 /30 8 /'");
    assert_eq!(output_of(&program, &["routine", "edit", "morning"]), "changed 7f3a9c21");
    assert_eq!(read(&program, "routines/morning.md"), MORNING_ROUTINE.replace("first", "second"));
    program.set_env("EDITOR", "true");
    assert_eq!(output_of(&program, &["routine", "edit", "morning"]), "unchanged 7f3a9c21");
    program.set_env("EDITOR", "false");
    assert_eq!(program.run(&["routine", "edit", "morning"]).status.code(), Some(1));
}

/// An invalid file is not run, and the reason is reported.
#[test]
fn invalid_file_is_not_run() {
    let program = program();
    write(&program, "routines/nf.md", "no head");
    let ran = program.run(&["routine", "run", "nf"]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        stderr(&ran).starts_with("error: routines/nf.md: line 1: there is no frontmatter"),
        "{}",
        stderr(&ran)
    );
}

/// A pause of all routines is shown wherever a routine is shown.
#[test]
fn global_pause_is_shown_with_every_routine() {
    let program = program();
    write(&program, "routines/morning.md", MORNING_ROUTINE);
    let output_for = |arguments: &[&str]| stdout(&program.run(arguments));
    output_of(&program, &["pause", "until", "friday"]);
    let list = output_for(&["routine", "list"]);
    assert!(list.contains("  (paused until fri ") && list.contains(", next fri "), "{list}");
    assert!(output_for(&["routine", "next", "7f3a", "--count", "1"]).starts_with("fri "));
    let shown = output_for(&["routine", "show", "7f3a"]);
    assert!(shown.contains("paused until fri ") && shown.contains(" · next fri "), "{shown}");
    let doctor = output_for(&["doctor"]);
    assert!(doctor.contains("schedule 1 item, all that repeats paused until fri "), "{doctor}");
    let status = output_for(&["status"]);
    assert!(status.contains("\n  paused    all that repeats is paused until fri "), "{status}");
    output_of(&program, &["pause"]);
    assert!(output_for(&["routine", "list"]).contains("  (paused)"));
    let never = "all that repeats is paused. to go on: ollim-bot resume";
    assert_eq!(output_of(&program, &["routine", "next", "7f3a"]), never);
    output_of(&program, &["resume"]);
    assert!(output_for(&["routine", "list"]).contains("  (next "));
    assert!(!output_for(&["status"]).contains("paused"));
}

/// A routine is paused until it is resumed or until a time, and its next times are listed
/// accordingly.
#[test]
fn routine_is_paused_and_resumed() {
    let program = program();
    write(&program, "routines/morning.md", MORNING_ROUTINE);
    let next = |count: &str| json_of(&program, &["routine", "next", "7f3a", "--count", count]);
    let fires: Vec<jiff::Zoned> = next("12")
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|fire| format!("{}[Europe/Madrid]", fire.as_str()?).parse().ok())
        .collect();
    assert_eq!(fires.len(), 12);
    assert!(fires.is_sorted() && fires.iter().all(|fire| fire.strftime("%H:%M").to_string() == "08:30"));
    assert_eq!(output_of(&program, &["routine", "pause", "morning"]), "paused 7f3a9c21");
    assert_eq!(next("3"), Value::Array(Vec::new()));
    expect!["it is paused. to go on: ollim-bot routine resume 7f3a9c21"]
        .assert_eq(&output_of(&program, &["routine", "next", "7f3a"]));
    assert_eq!(
        output_of(&program, &["routine", "pause", "morning", "--until", "2999-01-02 08:30"]),
        "paused 7f3a9c21 until 2999-01-02 08:30"
    );
    assert_eq!(next("1"), serde_json::json!(["2999-01-02T08:30:00+01:00"]));
    assert_eq!(output_of(&program, &["routine", "resume", "morning"]), "resumed 7f3a9c21");
    assert_eq!(read(&program, "routines/morning.md"), MORNING_ROUTINE);
    let history = git(program.data(), &["log", "--format=%s"]);
    expect![[r#"
        resume routine 7f3a9c21
        pause routine 7f3a9c21
        pause routine 7f3a9c21
    "#]]
    .assert_eq(&String::from_utf8_lossy(&history.stdout));
}
