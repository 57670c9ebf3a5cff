//! The daily commands: output, effects and exit codes.

use serde_json::Value;
use testkit::kill::{Program, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

fn said(program: &Program, line: &[&str]) -> String {
    let output = program.run(line);
    assert_eq!(output.status.code(), Some(0), "{line:?}: {}", stderr(&output));
    let told = stdout(&output) + &stderr(&output);
    assert!(!told.contains('\u{1b}'), "no escape codes: {told:?}");
    told
}

fn json(program: &Program, line: &[&str]) -> Value {
    let line = [line, &["--json"]].concat();
    let output = program.run(&line);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line:?} {error}: {output:?}"))
}

/// A new item is confirmed with its time and delay, and can be moved, completed and undone, with
/// and without a daemon.
#[test]
fn what_is_added_can_be_moved_done_and_taken_back() {
    let program = Program::offline(BINARY);
    let walk = |program: &Program| {
        let added = said(program, &["add", "call", "the", "dentist", "tomorrow", "at", "10:00"]);
        assert!(added.starts_with("✓ ") && added.contains(" 10:00 · in "), "{added}");
        assert!(added.contains("call the dentist") && added.contains("undo: ollim-bot undo"), "{added}");
        let moved = said(program, &["move", "dentist", "tomorrow", "11:30"]);
        assert!(moved.contains(" 11:30 · in "), "{moved}");
        let tomorrow = said(program, &["today", "tomorrow"]);
        assert!(tomorrow.contains("11:30") && !tomorrow.contains("10:00"), "{tomorrow}");
        assert!(said(program, &["undo"]).contains(" 10:00 · in "));
        assert_eq!(
            said(program, &["done", "dentist"]).lines().next(),
            Some("done: call the dentist. `undo` takes it back")
        );
        assert!(said(program, &["undo"]).contains("call the dentist"));
        assert_eq!(said(program, &["undo"]).trim_end(), "taken back: call the dentist");
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
fn what_nobody_would_ring_is_told_with_what_does() {
    let nobody = "i am not running, so nothing rings: ollim-bot run, or ollim-bot service install";
    let timed = [
        &["add", "call", "tom", "tomorrow", "at", "10:00"][..],
        &["reminder", "add", "--delay", "60", "--message", "stretch"],
    ];
    let program = Program::offline(BINARY);
    for line in timed {
        let output = program.run(line);
        assert!(
            stderr(&output).contains(nobody) && !stdout(&output).contains(nobody),
            "{line:?}: {output:?}"
        );
        let output = program.run(&[line, &["--json"]].concat());
        assert!(!stderr(&output).contains(nobody), "{line:?}: {output:?}");
    }
    assert!(!said(&program, &["add", "buy milk"]).contains(nobody), "it has no time");
    let running = program.start();
    for line in timed {
        assert!(!said(&program, line).contains(nobody), "{line:?}");
    }
    running.terminate();
}

/// Undo restores a cancelled job with its time, and then undoes older changes in order, with and
/// without a daemon.
#[test]
fn what_was_cancelled_comes_back_and_nothing_else_goes() {
    let program = Program::offline(BINARY);
    let walk = |program: &Program| {
        said(program, &["add", "first", "tomorrow", "at", "9:00"]);
        said(program, &["add", "water", "every", "day", "at", "8:00"]);
        said(program, &["add", "second", "tomorrow", "at", "9:30"]);
        for kind in [["reminder", "first", "09:00"], ["routine", "water", "08:00"]] {
            assert!(said(program, &[kind[0], "cancel", kind[1]]).starts_with("cancelled "));
            assert!(!said(program, &[kind[0], "list"]).contains(kind[1]));
            let back = said(program, &["undo"]);
            assert!(back.starts_with("✓ ") && back.contains(kind[1]) && back.contains(kind[2]), "{back}");
            assert!(said(program, &[kind[0], "list"]).contains(kind[1]));
        }
        assert_eq!(said(program, &["undo"]).trim_end(), "taken back: second");
        said(program, &["config", "quiet", "21-7"]);
        let refused = program.run(&["undo"]);
        assert_eq!(refused.status.code(), Some(1), "{}", stdout(&refused));
        assert!(stderr(&refused).contains("the last change was to the setting"), "{}", stderr(&refused));
        said(program, &["reminder", "cancel", "first"]);
        said(program, &["routine", "cancel", "water"]);
    };
    walk(&program);
    let running = program.start();
    walk(&program);
    running.terminate();
}

/// Without a recent reminder, `done` and `snooze` do not apply to inbox items.
#[test]
fn what_was_only_kept_is_not_what_rang() {
    let program = Program::offline(BINARY);
    said(&program, &["add", "milk"]);
    for verb in ["done", "snooze"] {
        let output = program.run(&[verb]);
        assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
        assert!(stderr(&output).contains("nothing rang in the last two hours. say which one"));
    }
    assert_eq!(json(&program, &["inbox"])["inbox"][0]["text"], "milk");
    assert!(said(&program, &["lighter"]).starts_with("nothing of today can be moved."));
    assert!(said(&program, &["today", "24.12."]).starts_with("nothing that day."));
}

/// A text without a time goes to the inbox, and a time that follows applies to it.
#[test]
fn what_has_no_time_is_kept_until_it_has_one() {
    let program = Program::offline(BINARY);
    let kept = said(&program, &["add", "buy milk"]);
    assert!(kept.starts_with("✓ kept in your inbox as 1 · buy milk\nwhen? 1h · "), "{kept}");
    assert!(said(&program, &["now"]).contains("buy milk\nwhy: it has waited longest in your inbox"));
    for look in [
        &["today"][..],
        &["today", "--json"],
        &["today", "tomorrow"],
        &["chat", "--once", "today"],
        &["pings"],
    ] {
        said(&program, look);
    }
    assert_eq!(json(&program, &["inbox"])["inbox"][0]["text"], "buy milk", "looking takes nothing out");
    let planned = said(&program, &["add", "tomorrow"]);
    assert!(planned.contains(" 09:00 · in ") && planned.contains("buy milk"), "{planned}");
    assert_eq!(json(&program, &["inbox"])["inbox"], serde_json::json!([]));
    assert!(said(&program, &["undo"]).contains("back in your inbox as 1: buy milk"));
    said(&program, &["inbox", "add", "call mum at 5"]);
    assert!(said(&program, &["inbox"]).starts_with("1. buy milk\n2. call mum at 5\n"));
    assert!(said(&program, &["inbox", "take", "2", "tomorrow 8:00"]).contains("08:00"));
    assert!(said(&program, &["done", "milk"]).starts_with("done: buy milk"));
    assert!(said(&program, &["undo"]).contains("buy milk"));
    assert!(said(&program, &["inbox", "clear"]).contains("1 went out of it"));
    assert!(said(&program, &["undo"]).contains("buy milk"));
    let output = program.run_reading(&["add", "-"], "water the plants in 2 hours\n");
    assert!(stdout(&output).contains("in 2 h · water the plants"), "{}", stdout(&output));
}

/// An ambiguous reference is an error, and an unknown one is reported with similar names.
#[test]
fn a_reference_is_never_a_guess() {
    let program = Program::offline(BINARY);
    said(&program, &["add", "dentist tomorrow 9:00"]);
    said(&program, &["add", "dentist invoice tomorrow 10:00"]);
    let both = program.run(&["done", "dentist"]);
    assert_eq!(both.status.code(), Some(3));
    assert!(
        stderr(&both).contains("\"dentist\" matches 2 things") && stderr(&both).contains("dentist invoice")
    );
    let error = &json(&program, &["move", "dentist", "friday"])["error"];
    assert_eq!((&error["code"], &error["kind"]), (&3.into(), &"ambiguous".into()));
    let id = error["candidates"][0]["id"].as_str().unwrap().to_owned();
    assert!(said(&program, &["done", &id[..4]]).starts_with("done: "));
    let missing = program.run(&["done", "dentsit"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("did you mean: dentist"), "{}", stderr(&missing));
    let day = program.run(&["today", "someday"]);
    assert_eq!((day.status.code(), stdout(&day)), (Some(2), String::new()));
}

/// An unreadable or past time is reported with an example, and nothing is written.
#[test]
fn a_time_that_cannot_be_read_changes_nothing() {
    let program = Program::offline(BINARY);
    said(&program, &["add", "call mum tomorrow 10:00"]);
    said(&program, &["inbox", "add", "buy milk"]);
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
    let told = said(&program, &["chat", "--once", "move mum to gibberish"]);
    assert!(told.starts_with("`gibberish` is no time that i know"), "{told}");
    let kept = json(&program, &["inbox"]);
    assert_eq!(kept["inbox"].as_array().unwrap().len(), 1, "{kept}");
    assert!(said(&program, &["today", "tomorrow"]).contains(" 10:00 · "));
    said(&program, &["chat", "--once", "move the sofa to the cellar"]);
    assert_eq!(json(&program, &["inbox"])["inbox"][1]["text"], "move the sofa to the cellar");
}

/// `now`, `today` and `pause` as text and as JSON.
#[test]
fn the_day_is_told_for_people_and_for_programs() {
    let program = Program::offline(BINARY);
    assert_eq!(said(&program, &["now"]), "nothing is planned.\n");
    assert_eq!(said(&program, &["today"]), "nothing left today.\n");
    said(&program, &["add", "stretch in 5 min"]);
    let now = json(&program, &["now"]);
    assert!(now["thing"].as_str().unwrap().ends_with("in 5 min · stretch"), "{now}");
    assert_eq!(now["why"], "it is the next thing planned.");
    assert_eq!(json(&program, &["today"])["next"]["name"], "stretch");
    assert_eq!(json(&program, &["today", "week"])["jobs"][0]["name"], "stretch");
    assert!(said(&program, &["pause", "tomorrow"]).starts_with("all that repeats rests until "));
    assert_eq!(said(&program, &["resume"]), "everything goes on as planned.\n");
    assert!(said(&program, &["pings"]).contains("budget: "));
}

/// Global flags are accepted after the text; the JSON output contains what was planned or stored.
#[test]
fn a_flag_after_the_words_is_no_word() {
    let program = Program::offline(BINARY);
    let planned = json(&program, &["add", "call mum", "tomorrow 17:00"]);
    assert!(!planned["text"].as_str().unwrap().contains("json"), "{planned}");
    let one = &planned["planned"][0];
    assert_eq!((&one["kind"], &one["name"]), (&"reminder".into(), &"call mum".into()), "{planned}");
    assert!(one["at"].as_str().unwrap().contains("T17:00:00"), "{planned}");
    let id = one["id"].as_str().unwrap();
    assert_eq!(json(&program, &["reminder", "list"])["reminders"][0]["id"], id);
    assert_eq!(json(&program, &["add", "buy milk"])["kept"], serde_json::json!([1]));
    let list = said(&program, &["undo", "--list"]);
    assert!(list.contains("1. Added to the inbox: buy milk, "), "{list}");
    assert!(list.contains("2. Planned: call mum, ") && !list.contains("after reading"), "{list}");
    assert_eq!(json(&program, &["undo"])["planned"], serde_json::json!([]));
    said(&program, &["add", "--", "read", "about", "--json"]);
    assert_eq!(json(&program, &["inbox"])["inbox"][0]["text"], "read about --json");
}

/// Commands named in answers exist on the command line.
#[test]
fn what_an_answer_names_can_be_typed() {
    let program = Program::offline(BINARY);
    said(&program, &["add", "dentist tomorrow 9:00"]);
    assert!(said(&program, &["week"]).contains("09:00"));
    let snoozed = program.run(&["snooze", "1h"]);
    assert_eq!(snoozed.status.code(), Some(1), "nothing rang: {}", stdout(&snoozed));
    assert_eq!(program.run(&["snooze", "until", "yesterday"]).status.code(), Some(2));
    assert_eq!(json(&program, &["inbox"])["inbox"], serde_json::json!([]), "and nothing is kept of it");
    assert!(said(&program, &["focus", "25"]).contains("`ollim-bot focus off`"));
    said(&program, &["focus", "off"]);
    let wrong = program.run(&["focus", "forever"]);
    assert!(!stderr(&wrong).contains("`/focus"), "{}", stderr(&wrong));
    let unknown = program.run(&["why", "99"]);
    assert!(stderr(&unknown).contains("`ollim-bot why` alone"), "{}", stderr(&unknown));
}

/// Reminders are sorted by time, and an overdue one is marked.
#[test]
fn reminders_are_listed_by_their_time() {
    let program = Program::offline(BINARY);
    said(&program, &["add", "dentist tomorrow 9:00"]);
    said(&program, &["add", "call mum tomorrow 8:00"]);
    let listed = json(&program, &["reminder", "list"]);
    let names: Vec<&str> =
        listed["reminders"].as_array().unwrap().iter().map(|one| one["summary"].as_str().unwrap()).collect();
    assert_eq!(names, ["call mum", "dentist"], "by their time");
    let due = "---\nid: due\nrun-at: 2026-11-01T10:00:00+01:00\n---\nwater the plants\n";
    std::fs::write(program.data().join("reminders/due.md"), due).unwrap();
    assert!(
        said(&program, &["reminder", "list"]).contains("water the plants  (due; rings at the next start)")
    );
}

/// Completion offers the stored names.
#[test]
fn tab_knows_the_real_names() {
    let program = Program::offline(BINARY);
    said(&program, &["add", "dentist tomorrow 9:00"]);
    let listed = json(&program, &["reminder", "list"]);
    let id = listed["reminders"][0]["id"].as_str().unwrap();
    let mut asked = program.command(&["--", "ollim-bot", "done", ""]);
    asked.env("COMPLETE", "fish").env("OLLIM_DATA_DIR", program.data());
    let told = stdout(&testkit::kill::finish(&mut asked));
    assert!(told.contains(&format!("{id}\tdentist")), "{told}");
    let mut asked = program.command(&["--", "ollim-bot", "config", "model"]);
    let told = stdout(&testkit::kill::finish(asked.env("COMPLETE", "fish")));
    assert!(told.contains("model.main"), "{told}");
}

/// Any input is stored, planned or rejected in one line, with `add` and with `chat`.
#[test]
fn bad_input_is_told_in_one_line_and_nothing_is_lost() {
    let program = Program::offline(BINARY);
    let fails = |line: &[&str], input: &str, code: i32, words: &str| {
        let output = program.run_reading(line, input);
        assert_eq!(output.status.code(), Some(code), "{line:?}: {}", stdout(&output));
        let told = stderr(&output);
        assert!(told.contains(words) && told.trim_end().lines().count() == 1, "{line:?}: {told}");
    };
    let long = "very long words ".repeat(6_500);
    for empty in ["", " ", "\n\t\n"] {
        fails(&["add", "-"], empty, 1, "there are no words in that");
        fails(&["chat", "--once"], empty, 1, "there are no words in that");
    }
    fails(&["add", "-"], &long, 1, "the most i take at once is 100000");
    fails(&["chat", "--once"], &long, 1, "the most i take at once is 100000");
    assert_eq!(json(&program, &["inbox"])["inbox"], serde_json::json!([]), "nothing of it is there by half");

    let kept = "long but not too long ".repeat(4_000);
    assert_eq!(program.run_reading(&["add", "-"], &kept).status.code(), Some(0));
    assert_eq!(json(&program, &["inbox"])["inbox"][0]["text"], kept.trim());
    said(&program, &["inbox", "clear"]);

    let rung = program.run_reading(&["add", "-"], "call \u{1b}[31mmum\u{7} tomorrow 9:00\u{0}");
    assert!(stdout(&rung).contains("09:00 · in ") && !stdout(&rung).contains('\u{1b}'), "{}", stdout(&rung));
    let files = std::fs::read_dir(program.data().join("reminders")).unwrap();
    let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    assert!(texts.collect::<String>().chars().all(|letter| letter == '\n' || !letter.is_control()));

    for (words, told) in [("pay rent on 30 feb", "there is no 30 february"), ("call tom at 25:00", "25:00")] {
        let before = json(&program, &["inbox"])["inbox"].as_array().unwrap().len();
        for line in [&["add", words][..], &["chat", "--once", words]] {
            let output = program.run(line);
            assert_eq!(output.status.code(), Some(0), "{line:?}: {}", stderr(&output));
            assert!(stdout(&output).contains(told), "{line:?}: {}", stdout(&output));
        }
        let after = json(&program, &["inbox"])["inbox"].as_array().unwrap().clone();
        assert_eq!(after.len(), before + 2, "{words} is kept: {after:?}");
        assert!(words.ends_with(after[before]["text"].as_str().unwrap()), "{after:?}");
    }
    for (words, told) in [
        ("remind me to call tom yesterday at 9", "yesterday is over"),
        ("report on 2020-01-01 10:00", "1 jan 2020 is over"),
    ] {
        let before = json(&program, &["inbox"])["inbox"].as_array().unwrap().len();
        fails(&["add", words], "", 2, told);
        assert!(said(&program, &["chat", "--once", words]).contains(told));
        let after = json(&program, &["inbox"])["inbox"].as_array().unwrap().len();
        assert_eq!(after, before + 1, "what was said in the chat is kept");
    }
    let skipped = said(&program, &["add", "tea on 28 march 2027 at 2:30"]);
    assert!(skipped.contains("sun 28 mar 03:00") && skipped.contains("the clocks change"), "{skipped}");
}

/// A short-lived command delivers no due reminders; they wait for the daemon.
#[test]
fn a_verb_rings_nothing_in_passing() {
    let program = Program::offline(BINARY);
    said(&program, &["add", "stretch in 1 second"]);
    let due = |program: &Program| program.data().join("reminders/stretch.md").exists();
    while json(&program, &["today"])["rest"] != serde_json::json!([]) {
        std::thread::yield_now();
    }
    said(&program, &["now"]);
    said(&program, &["add", "buy milk"]);
    assert!(due(&program), "it still waits");
    let running = program.start();
    while due(&program) {
        std::thread::yield_now();
    }
    running.terminate();
}
