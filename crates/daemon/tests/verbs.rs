//! The verbs of every day on the command line: what they say, what they keep, and how they end.

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

/// What is added is told with the clock and the distance, can be moved, done and taken back; the same without an
/// assistant that runs and with one.
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
        let gone = program.run(&["undo"]);
        assert_eq!(gone.status.code(), Some(1), "{}", stdout(&gone));
        said(program, &["done", "dentist"]);
    };
    walk(&program);
    let running = program.start();
    walk(&program);
    running.terminate();
}

/// Words without a time are kept, and a time that is said next is theirs.
#[test]
fn what_has_no_time_is_kept_until_it_has_one() {
    let program = Program::offline(BINARY);
    let kept = said(&program, &["add", "buy milk"]);
    assert!(kept.starts_with("✓ kept in your inbox as 1 · buy milk\nwhen? 1h · "), "{kept}");
    assert!(said(&program, &["now"]).contains("buy milk\nwhy: it has waited longest in your inbox"));
    assert_eq!(json(&program, &["inbox"])["inbox"][0]["text"], "buy milk");
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

/// What could be meant twice is never guessed, and what nobody has is told with what is near it.
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

/// One thing, the day, and rest, each also as one document.
#[test]
fn the_day_is_told_for_people_and_for_programs() {
    let program = Program::offline(BINARY);
    assert_eq!(said(&program, &["now"]), "nothing is planned.\n");
    assert_eq!(said(&program, &["today"]), "nothing left today, and nothing is planned.\n");
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

/// Completions know the real names, whatever the shell.
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
