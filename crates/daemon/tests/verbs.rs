//! The daily commands: output, effects and exit codes.

use serde_json::Value;
use testkit::process::{Program, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

fn output_of(program: &Program, line: &[&str]) -> String {
    let output = program.run(line);
    assert_eq!(output.status.code(), Some(0), "{line:?}: {}", stderr(&output));
    let text = stdout(&output) + &stderr(&output);
    assert!(!text.contains('\u{1b}'), "no escape codes: {text:?}");
    text
}

fn json_of(program: &Program, line: &[&str]) -> Value {
    let line = [line, &["--json"]].concat();
    let output = program.run(&line);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line:?} {error}: {output:?}"))
}

/// A new item is confirmed with its time and delay, and can be moved, completed and undone, with
/// and without a daemon.
#[test]
fn new_item_can_be_moved_completed_and_undone() {
    let program = Program::offline(BINARY);
    let walk = |program: &Program| {
        let added = output_of(program, &["add", "call", "the", "dentist", "tomorrow", "at", "10:00"]);
        assert!(added.starts_with("✓ ") && added.contains(" 10:00 · in "), "{added}");
        assert!(added.contains("call the dentist") && added.contains("undo: ollim-bot undo"), "{added}");
        let moved = output_of(program, &["move", "dentist", "tomorrow", "11:30"]);
        assert!(moved.contains(" 11:30 · in "), "{moved}");
        let tomorrow = output_of(program, &["today", "tomorrow"]);
        assert!(tomorrow.contains("11:30") && !tomorrow.contains("10:00"), "{tomorrow}");
        assert!(output_of(program, &["undo"]).contains(" 10:00 · in "));
        assert_eq!(
            output_of(program, &["done", "dentist"]).lines().next(),
            Some("done: call the dentist. `undo` takes it back")
        );
        assert!(output_of(program, &["undo"]).contains("call the dentist"));
        assert_eq!(output_of(program, &["undo"]).trim_end(), "taken back: call the dentist");
        let gone = program.run(&["undo"]);
        assert_eq!(gone.status.code(), Some(1), "{}", stdout(&gone));
    };
    walk(&program);
    let running = program.start();
    walk(&program);
    running.terminate();
}

/// Items with a time are planned without a daemon too, with a warning that it is not running.
#[test]
fn item_with_a_time_warns_without_a_daemon() {
    let warning = "i am not running, so nothing rings: ollim-bot run, or ollim-bot service install";
    let timed = [
        &["add", "call", "tom", "tomorrow", "at", "10:00"][..],
        &["reminder", "add", "--delay", "60", "--message", "stretch"],
    ];
    let program = Program::offline(BINARY);
    for line in timed {
        let output = program.run(line);
        assert!(
            stderr(&output).contains(warning) && !stdout(&output).contains(warning),
            "{line:?}: {output:?}"
        );
        let output = program.run(&[line, &["--json"]].concat());
        assert!(!stderr(&output).contains(warning), "{line:?}: {output:?}");
    }
    assert!(!output_of(&program, &["add", "buy milk"]).contains(warning), "it has no time");
    let running = program.start();
    for line in timed {
        assert!(!output_of(&program, line).contains(warning), "{line:?}");
    }
    running.terminate();
}

/// Undo restores a cancelled job with its time, and then undoes older changes in order, with and
/// without a daemon.
#[test]
fn undo_restores_a_cancelled_job() {
    let program = Program::offline(BINARY);
    let walk = |program: &Program| {
        output_of(program, &["add", "first", "tomorrow", "at", "9:00"]);
        output_of(program, &["add", "water", "every", "day", "at", "8:00"]);
        output_of(program, &["add", "second", "tomorrow", "at", "9:30"]);
        for kind in [["reminder", "first", "09:00"], ["routine", "water", "08:00"]] {
            assert!(output_of(program, &[kind[0], "cancel", kind[1]]).starts_with("cancelled "));
            assert!(!output_of(program, &[kind[0], "list"]).contains(kind[1]));
            let back = output_of(program, &["undo"]);
            assert!(back.starts_with("✓ ") && back.contains(kind[1]) && back.contains(kind[2]), "{back}");
            assert!(output_of(program, &[kind[0], "list"]).contains(kind[1]));
        }
        assert_eq!(output_of(program, &["undo"]).trim_end(), "taken back: second");
        output_of(program, &["config", "quiet", "21-7"]);
        let refused = program.run(&["undo"]);
        assert_eq!(refused.status.code(), Some(1), "{}", stdout(&refused));
        assert!(stderr(&refused).contains("the last change was to the setting"), "{}", stderr(&refused));
        output_of(program, &["reminder", "cancel", "first"]);
        output_of(program, &["routine", "cancel", "water"]);
    };
    walk(&program);
    let running = program.start();
    walk(&program);
    running.terminate();
}

/// Without a recent reminder, `done` and `snooze` do not apply to inbox items.
#[test]
fn done_and_snooze_ignore_inbox_items() {
    let program = Program::offline(BINARY);
    output_of(&program, &["add", "milk"]);
    for verb in ["done", "snooze"] {
        let output = program.run(&[verb]);
        assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
        assert!(stderr(&output).contains("nothing rang in the last two hours. say which one"));
    }
    assert_eq!(json_of(&program, &["inbox"])["inbox"][0]["text"], "milk");
    assert!(output_of(&program, &["lighter"]).starts_with("nothing of today can be moved."));
    assert!(output_of(&program, &["today", "24.12."]).starts_with("nothing that day."));
}

/// A text without a time goes to the inbox, and a time that follows applies to it.
#[test]
fn text_without_a_time_stays_in_the_inbox() {
    let program = Program::offline(BINARY);
    let added = output_of(&program, &["add", "buy milk"]);
    assert!(added.starts_with("✓ kept in your inbox as 1 · buy milk\nwhen? 1h · "), "{added}");
    assert!(output_of(&program, &["now"]).contains("buy milk\nwhy: it has waited longest in your inbox"));
    for look in [
        &["today"][..],
        &["today", "--json"],
        &["today", "tomorrow"],
        &["chat", "--once", "today"],
        &["pings"],
    ] {
        output_of(&program, look);
    }
    assert_eq!(json_of(&program, &["inbox"])["inbox"][0]["text"], "buy milk", "looking takes nothing out");
    let planned = output_of(&program, &["add", "tomorrow"]);
    assert!(planned.contains(" 09:00 · in ") && planned.contains("buy milk"), "{planned}");
    assert_eq!(json_of(&program, &["inbox"])["inbox"], serde_json::json!([]));
    assert!(output_of(&program, &["undo"]).contains("back in your inbox as 1: buy milk"));
    output_of(&program, &["inbox", "add", "call mum at 5"]);
    assert!(output_of(&program, &["inbox"]).starts_with("1. buy milk\n2. call mum at 5\n"));
    assert!(output_of(&program, &["inbox", "take", "2", "tomorrow 8:00"]).contains("08:00"));
    assert!(output_of(&program, &["done", "milk"]).starts_with("done: buy milk"));
    assert!(output_of(&program, &["undo"]).contains("buy milk"));
    assert!(output_of(&program, &["inbox", "clear"]).contains("1 went out of it"));
    assert!(output_of(&program, &["undo"]).contains("buy milk"));
    let output = program.run_with_input(&["add", "-"], "water the plants in 2 hours\n");
    assert!(stdout(&output).contains("in 2 h · water the plants"), "{}", stdout(&output));
}

/// An ambiguous reference is an error, and an unknown one is reported with similar names.
#[test]
fn ambiguous_reference_is_an_error() {
    let program = Program::offline(BINARY);
    output_of(&program, &["add", "dentist tomorrow 9:00"]);
    output_of(&program, &["add", "dentist invoice tomorrow 10:00"]);
    let both = program.run(&["done", "dentist"]);
    assert_eq!(both.status.code(), Some(3));
    assert!(
        stderr(&both).contains("\"dentist\" matches 2 things") && stderr(&both).contains("dentist invoice")
    );
    let error = &json_of(&program, &["move", "dentist", "friday"])["error"];
    assert_eq!((&error["code"], &error["kind"]), (&3.into(), &"ambiguous".into()));
    let id = error["candidates"][0]["id"].as_str().unwrap().to_owned();
    assert!(output_of(&program, &["done", &id[..4]]).starts_with("done: "));
    let missing = program.run(&["done", "dentsit"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("did you mean: dentist"), "{}", stderr(&missing));
    let day = program.run(&["today", "someday"]);
    assert_eq!((day.status.code(), stdout(&day)), (Some(2), String::new()));
}

/// An unreadable or past time is reported with an example, and nothing is written.
#[test]
fn unreadable_time_changes_nothing() {
    let program = Program::offline(BINARY);
    output_of(&program, &["add", "call mum tomorrow 10:00"]);
    output_of(&program, &["inbox", "add", "buy milk"]);
    for (line, words) in [
        (&["move", "mum", "gibberish"][..], "`gibberish` is no time that i know"),
        (&["move", "sofa", "gibberish"], "`gibberish` is no time that i know"),
        (&["move", "mum", "yesterday"], "yesterday is over"),
        (&["inbox", "take", "1", "gibberish"], "`gibberish` is no time that i know"),
        (&["pause", "until", "xyz"], "`xyz` is no time that i know"),
        (&["pause", "yesterday"], "yesterday is over"),
    ] {
        let output = program.run(line);
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{line:?}");
        assert!(stderr(&output).contains(words) && stderr(&output).contains("say "), "{}", stderr(&output));
    }
    let printed = output_of(&program, &["chat", "--once", "move mum to gibberish"]);
    assert!(printed.starts_with("`gibberish` is no time that i know"), "{printed}");
    let inbox = json_of(&program, &["inbox"]);
    assert_eq!(inbox["inbox"].as_array().unwrap().len(), 1, "{inbox}");
    assert!(output_of(&program, &["today", "tomorrow"]).contains(" 10:00 · "));
    output_of(&program, &["chat", "--once", "move the sofa to the cellar"]);
    assert_eq!(json_of(&program, &["inbox"])["inbox"][1]["text"], "move the sofa to the cellar");
}

/// `now`, `today` and `pause` as text and as JSON.
#[test]
fn day_is_shown_as_text_and_as_json() {
    let program = Program::offline(BINARY);
    assert_eq!(output_of(&program, &["now"]), "nothing is planned.\n");
    assert_eq!(output_of(&program, &["today"]), "nothing left today.\n");
    output_of(&program, &["add", "stretch in 5 min"]);
    let now = json_of(&program, &["now"]);
    assert!(now["thing"].as_str().unwrap().ends_with("in 5 min · stretch"), "{now}");
    assert_eq!(now["why"], "it is the next thing planned.");
    assert_eq!(json_of(&program, &["today"])["next"]["name"], "stretch");
    assert_eq!(json_of(&program, &["today", "week"])["jobs"][0]["name"], "stretch");
    assert!(output_of(&program, &["pause", "tomorrow"]).starts_with("all that repeats rests until "));
    assert_eq!(output_of(&program, &["resume"]), "everything goes on as planned.\n");
    assert!(output_of(&program, &["pings"]).contains("budget: "));
}

/// Global flags are accepted after the text; the JSON output contains what was planned or stored.
#[test]
fn global_flag_is_accepted_after_the_text() {
    let program = Program::offline(BINARY);
    let planned = json_of(&program, &["add", "call mum", "tomorrow 17:00"]);
    assert!(!planned["text"].as_str().unwrap().contains("json"), "{planned}");
    let one = &planned["planned"][0];
    assert_eq!((&one["kind"], &one["name"]), (&"reminder".into(), &"call mum".into()), "{planned}");
    assert!(one["at"].as_str().unwrap().contains("T17:00:00"), "{planned}");
    let id = one["id"].as_str().unwrap();
    assert_eq!(json_of(&program, &["reminder", "list"])["reminders"][0]["id"], id);
    assert_eq!(json_of(&program, &["add", "buy milk"])["kept"], serde_json::json!([1]));
    let list = output_of(&program, &["undo", "--list"]);
    assert!(list.contains("1. Added to the inbox: buy milk, "), "{list}");
    assert!(list.contains("2. Planned: call mum, ") && !list.contains("after reading"), "{list}");
    assert_eq!(json_of(&program, &["undo"])["planned"], serde_json::json!([]));
    output_of(&program, &["add", "--", "read", "about", "--json"]);
    assert_eq!(json_of(&program, &["inbox"])["inbox"][0]["text"], "read about --json");
}

/// Commands named in answers exist on the command line.
#[test]
fn commands_named_in_answers_exist() {
    let program = Program::offline(BINARY);
    output_of(&program, &["add", "dentist tomorrow 9:00"]);
    assert!(output_of(&program, &["week"]).contains("09:00"));
    let snoozed = program.run(&["snooze", "1h"]);
    assert_eq!(snoozed.status.code(), Some(1), "nothing rang: {}", stdout(&snoozed));
    assert_eq!(program.run(&["snooze", "until", "yesterday"]).status.code(), Some(2));
    assert_eq!(json_of(&program, &["inbox"])["inbox"], serde_json::json!([]), "and nothing is kept of it");
    assert!(output_of(&program, &["focus", "25"]).contains("`ollim-bot focus off`"));
    output_of(&program, &["focus", "off"]);
    let wrong = program.run(&["focus", "forever"]);
    assert!(!stderr(&wrong).contains("`/focus"), "{}", stderr(&wrong));
    let unknown = program.run(&["why", "99"]);
    assert!(stderr(&unknown).contains("`ollim-bot why` alone"), "{}", stderr(&unknown));
}

/// Reminders are sorted by time, and an overdue one is marked.
#[test]
fn reminders_are_listed_by_their_time() {
    let program = Program::offline(BINARY);
    output_of(&program, &["add", "dentist tomorrow 9:00"]);
    output_of(&program, &["add", "call mum tomorrow 8:00"]);
    let listed = json_of(&program, &["reminder", "list"]);
    let names: Vec<&str> =
        listed["reminders"].as_array().unwrap().iter().map(|one| one["summary"].as_str().unwrap()).collect();
    assert_eq!(names, ["call mum", "dentist"], "by their time");
    let due = "---\nid: due\nrun-at: 2026-11-01T10:00:00+01:00\n---\nwater the plants\n";
    std::fs::write(program.data().join("reminders/due.md"), due).unwrap();
    assert!(
        output_of(&program, &["reminder", "list"])
            .contains("water the plants  (due; rings at the next start)")
    );
}

/// Completion offers the stored names.
#[test]
fn completion_offers_the_stored_names() {
    let program = Program::offline(BINARY);
    output_of(&program, &["add", "dentist tomorrow 9:00"]);
    let listed = json_of(&program, &["reminder", "list"]);
    let id = listed["reminders"][0]["id"].as_str().unwrap();
    let mut command = program.command(&["--", "ollim-bot", "done", ""]);
    command.env("COMPLETE", "fish").env("OLLIM_DATA_DIR", program.data());
    let output = stdout(&testkit::process::run_to_end(&mut command));
    assert!(output.contains(&format!("{id}\tdentist")), "{output}");
    let mut command = program.command(&["--", "ollim-bot", "config", "model"]);
    let output = stdout(&testkit::process::run_to_end(command.env("COMPLETE", "fish")));
    assert!(output.contains("model.main"), "{output}");
}

/// Any input is stored, planned or rejected in one line, with `add` and with `chat`.
#[test]
fn invalid_input_is_rejected_in_one_line() {
    let program = Program::offline(BINARY);
    let expect_failure = |line: &[&str], input: &str, code: i32, words: &str| {
        let output = program.run_with_input(line, input);
        assert_eq!(output.status.code(), Some(code), "{line:?}: {}", stdout(&output));
        let printed = stderr(&output);
        assert!(printed.contains(words) && printed.trim_end().lines().count() == 1, "{line:?}: {printed}");
    };
    let long = "very long words ".repeat(6_500);
    for empty in ["", " ", "\n\t\n"] {
        expect_failure(&["add", "-"], empty, 1, "there are no words in that");
        expect_failure(&["chat", "--once"], empty, 1, "there are no words in that");
    }
    expect_failure(&["add", "-"], &long, 1, "the most i take at once is 100000");
    expect_failure(&["chat", "--once"], &long, 1, "the most i take at once is 100000");
    assert_eq!(
        json_of(&program, &["inbox"])["inbox"],
        serde_json::json!([]),
        "nothing of it is there by half"
    );

    let long_text = "long but not too long ".repeat(4_000);
    assert_eq!(program.run_with_input(&["add", "-"], &long_text).status.code(), Some(0));
    assert_eq!(json_of(&program, &["inbox"])["inbox"][0]["text"], long_text.trim());
    output_of(&program, &["inbox", "clear"]);

    let output = program.run_with_input(&["add", "-"], "call \u{1b}[31mmum\u{7} tomorrow 9:00\u{0}");
    assert!(
        stdout(&output).contains("09:00 · in ") && !stdout(&output).contains('\u{1b}'),
        "{}",
        stdout(&output)
    );
    let files = std::fs::read_dir(program.data().join("reminders")).unwrap();
    let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    assert!(texts.collect::<String>().chars().all(|letter| letter == '\n' || !letter.is_control()));

    for (words, printed) in
        [("pay rent on 30 feb", "there is no 30 february"), ("call tom at 25:00", "25:00")]
    {
        let before = json_of(&program, &["inbox"])["inbox"].as_array().unwrap().len();
        for line in [&["add", words][..], &["chat", "--once", words]] {
            let output = program.run(line);
            assert_eq!(output.status.code(), Some(0), "{line:?}: {}", stderr(&output));
            assert!(stdout(&output).contains(printed), "{line:?}: {}", stdout(&output));
        }
        let after = json_of(&program, &["inbox"])["inbox"].as_array().unwrap().clone();
        assert_eq!(after.len(), before + 2, "{words} is kept: {after:?}");
        assert!(words.ends_with(after[before]["text"].as_str().unwrap()), "{after:?}");
    }
    for (words, printed) in [
        ("remind me to call tom yesterday at 9", "yesterday is over"),
        ("report on 2020-01-01 10:00", "1 jan 2020 is over"),
    ] {
        let before = json_of(&program, &["inbox"])["inbox"].as_array().unwrap().len();
        expect_failure(&["add", words], "", 2, printed);
        assert!(output_of(&program, &["chat", "--once", words]).contains(printed));
        let after = json_of(&program, &["inbox"])["inbox"].as_array().unwrap().len();
        assert_eq!(after, before + 1, "what was said in the chat is kept");
    }
    let skipped = output_of(&program, &["add", "tea on 28 march 2027 at 2:30"]);
    assert!(skipped.contains("sun 28 mar 03:00") && skipped.contains("the clocks change"), "{skipped}");
}

/// A short-lived command delivers no due reminders; they wait for the daemon.
#[test]
fn short_lived_command_delivers_no_reminders() {
    let program = Program::offline(BINARY);
    output_of(&program, &["add", "stretch in 1 second"]);
    let due = |program: &Program| program.data().join("reminders/stretch.md").exists();
    while json_of(&program, &["today"])["rest"] != serde_json::json!([]) {
        std::thread::yield_now();
    }
    output_of(&program, &["now"]);
    output_of(&program, &["add", "buy milk"]);
    assert!(due(&program), "it still waits");
    let running = program.start();
    while due(&program) {
        std::thread::yield_now();
    }
    running.terminate();
}
