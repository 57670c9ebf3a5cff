//! `config`, `updates` and `why` on the command line, with and without a running daemon.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::process::Output;

use serde_json::{Value, json};
use testkit::kill::{Backstage, Program, Running, stderr, stdout};
use testkit::model_server::Act;

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn kept(program: &Program) -> Value {
    let text = std::fs::read(program.data().join("state/config.json")).expect("settings");
    serde_json::from_slice(&text).expect("a JSON document")
}

/// SL-13, RC-1, RC-8: settings are shown without a daemon, and a change is stored with all others.
#[test]
fn settings_are_told_and_changed() {
    let program = Program::offline(BINARY);
    let all = stdout(&program.run(&["config"]));
    assert_eq!(all.lines().count(), 18, "{all}");
    assert!(all.contains("\nfork_idle_timeout     10m (default)\n"), "{all}");
    assert!(all.starts_with("model.main            offline (default)\n"), "{all}");
    assert!(all.contains("\ndaily_limit           $5.00 5M (default)\nname                  "), "{all}");
    assert!(!program.data().exists(), "looking makes no directory");

    let changed = program.run(&["config", "fork_idle_timeout", "20"]);
    assert_eq!((stdout(&changed).as_str(), changed.status.code()), ("fork_idle_timeout: 20m\n", Some(0)));
    assert_eq!(stdout(&program.run(&["config", "fork_idle_timeout"])), "fork_idle_timeout     20m\n");
    let kept = kept(&program);
    assert_eq!(kept.as_object().expect("an object").len(), 18);
    assert_eq!((&kept["fork_idle_timeout"], &kept["bg_fork_timeout"]), (&json!(20), &json!(1800)));

    let listed = json_of(&program.run(&["config", "--json"]));
    let row = json!({"name": "auto_update", "key": "auto_update", "value": false, "text": "off (default)"});
    assert_eq!(listed["settings"][9], row);
    let running = program.start();
    program.run(&["config", "auto_update", "on"]);
    assert_eq!(json_of(&program.run(&["config", "auto_update", "--json"]))["value"], true);
    running.terminate();
}

/// Undoing a limit is described as a shell command.
#[test]
fn a_limit_is_taken_back_by_what_was_told() {
    let program = Program::offline(BINARY);
    program.run(&["config", "daily_limit", "6.50"]);
    let told = stdout(&program.run(&["config", "daily_limit", "off"]));
    let back = "daily_limit: off. it was $6.50 5M. `ollim-bot config daily_limit 6.50` takes it back.\n";
    assert_eq!(told, back);
    program.run(&["config", "daily_limit", "6.50"]);
    assert_eq!(stdout(&program.run(&["config", "daily_limit"])), "daily_limit           $6.50\n");
}

/// SL-13, RC-7, RC-10: an invalid value is rejected with the valid ones, on the command line and in
/// the file.
#[test]
fn a_wrong_setting_is_told_with_what_would_be_right() {
    let program = Program::offline(BINARY);
    let unknown = program.run(&["config", "colour"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("colour: there is no such setting. the settings are model.main,"));
    let wrong = program.run(&["config", "auto_update_hour", "24"]);
    assert_eq!(wrong.status.code(), Some(1));
    let told = "auto_update_hour: it cannot be `24`. use an hour from 0 to 23.";
    assert!(stderr(&wrong).contains(told), "{}", stderr(&wrong));

    let file = program.data().join("state/config.json");
    std::fs::write(&file, r#"{"auto_update_hour": 99, "model_fork": "qwen3"}"#).expect("a file");
    let listed = program.run(&["config"]);
    assert!(stdout(&listed).contains("auto_update_hour      6:00 (default)"), "{}", stdout(&listed));
    let told = stderr(&listed);
    assert!(told.contains("state/config.json: auto_update_hour: it cannot be `99`."), "{told}");
    assert!(told.contains("state/config.json: model.fork: Only the usual model is set up here. "), "{told}");
    let said = program.run(&["chat", "--once", "hello"]);
    assert!(stderr(&said).contains("it cannot be `99`"), "{}", stderr(&said));
}

/// MC-29, RC-9: settings apply to the next answer, and take precedence over the environment.
#[test]
fn what_was_set_is_what_the_model_is_asked() {
    let backstage = Backstage::open();
    let mut program = Program::answered_by(BINARY, &backstage);
    let asked = |program: &Program| {
        let said = program.run(&["chat", "--once", "hello"]);
        assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
        let request = backstage.requests().pop().expect("a request").json;
        (request["model"].as_str().unwrap_or_default().to_owned(), request["thinking"]["type"].clone())
    };
    assert_eq!(asked(&program).1, "adaptive");
    program.set("OLLIM_THINKING", "off");
    assert_eq!(asked(&program).1, "between_tools");
    program.run(&["config", "thinking.main", "adaptive"]);
    assert_eq!(asked(&program).1, "adaptive");
    program.set("OLLIM_THINKING", "adaptive");
    program.run(&["config", "model.main", "opus"]);
    program.run(&["config", "thinking.main", "off"]);
    assert_eq!(asked(&program), ("claude-opus-5-5".to_owned(), json!("adaptive")));
    program.run(&["config", "thinking.main", "default"]);
    assert_eq!(asked(&program).1, "adaptive");
    let told = stdout(&program.run(&["config", "thinking.main"]));
    assert_eq!(told, "thinking.main         adaptive (default)\n");
}

fn notices(running: &Running) -> String {
    running.get("/api/health").expect("it lives")["notices"].to_string()
}

/// With a broken settings file the program starts with the last valid settings, and reports line
/// and mistake until the file is fixed.
#[test]
fn a_broken_settings_file_starts_with_the_last_settings_that_worked() {
    let program = Program::offline(BINARY);
    let file = program.data().join("settings.toml");
    let right = "[model]\ntries = 2\n[spend]\nunattended_dollars_per_day = 0.5\n";
    std::fs::create_dir_all(program.data()).expect("a directory");
    std::fs::write(&file, right).expect("a file");
    let running = program.start();
    assert!(!notices(&running).contains("settings"), "{}", notices(&running));
    running.terminate();

    for (broken, mistake) in [
        ("[model]\ntries = 2\n[spend\n", "settings.toml, line 3: this is not valid TOML"),
        ("[model]\ncolour = 1\n", "settings.toml, line 2: there is no setting called `colour` here."),
        ("[model]\ncompact_at_percent = 500\n", "model.compact_at_percent is 500"),
        (
            "[model]\ncontext_tokens = 9223372036854775807\n",
            "model.context_tokens is 9223372036854775807. write a number from 4000 to 100000000.",
        ),
        (
            "[model]\nreply_seconds = 9223372036854775807\n",
            "line 2: `reply_seconds` is 9223372036854775807; write a number from 1 to 86400.",
        ),
    ] {
        std::fs::write(&file, broken).expect("a file");
        let running = program.start();
        let told = notices(&running);
        assert!(told.contains(mistake), "{told}");
        assert!(told.contains("I use the last settings that worked."), "{told}");
        running.converse("call the dentist tomorrow at 10").expect("an answer");
        let limit = stdout(&program.run(&["config", "daily_limit"]));
        assert!(limit.contains("$0.50"), "{limit}");
        let doctor = program.run(&["doctor"]);
        assert!(stdout(&doctor).contains("✗ settings "), "{}", stdout(&doctor));
        running.terminate();
    }
    assert_eq!(
        std::fs::read_to_string(program.data().join("state/settings.last-good.toml")).expect("it"),
        right
    );

    std::fs::write(&file, right).expect("a file");
    let running = program.start();
    assert!(!notices(&running).contains("settings"), "{}", notices(&running));
    running.terminate();
}

/// Without earlier valid settings, everything that a settings file could forbid is off: no model is
/// inferred from a key, and background spending is zero. Reminders work.
#[test]
fn a_broken_settings_file_at_the_first_start_allows_nothing_that_it_could_forbid() {
    let mut program = Program::new(BINARY);
    program.set("ANTHROPIC_API_KEY", "sk-none").set("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let file = program.data().join("settings.toml");
    std::fs::create_dir_all(program.data()).expect("a directory");
    std::fs::write(&file, "[model]\nuse = \"offline\"\n[spend\n").expect("a file");
    let running = program.start();
    let told = notices(&running);
    assert!(
        told.contains("settings.toml, line 3") && told.contains("No earlier settings are known"),
        "{told}"
    );
    assert_eq!(running.get("/api/health").expect("it lives")["brain"], "offline");
    let limit = stdout(&program.run(&["config", "daily_limit"]));
    assert!(limit.contains("$0.00"), "{limit}");
    running.converse("call the dentist tomorrow at 10").expect("an answer");
    running.terminate();
    assert!(!program.data().join("state/settings.last-good.toml").exists());
}

/// Updates that other programs left in the file are shown, also before the first start.
#[test]
fn updates_are_told_with_when_and_from_whom() {
    let program = Program::offline(BINARY);
    assert!(stdout(&program.run(&["updates"])).starts_with("No updates wait. "));
    assert!(!program.data().exists(), "looking makes no directory");
    std::fs::create_dir_all(program.data().join("state")).expect("a directory");
    let file = program.data().join("state/pending_updates.json");
    let waiting = r#"[{"ts": "2026-11-15T08:00:00+01:00", "message": "two mails\nneed you"}]"#;
    std::fs::write(&file, waiting).expect("a file");
    let told = "2026-11-15 08:00  elsewhere\n  two mails\n  need you\n";
    assert_eq!(stdout(&program.run(&["updates"])), told);
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), waiting, "looking changes nothing");

    let running = program.start();
    assert_eq!(stdout(&program.run(&["updates"])), told);
    let update = json!({
        "id": 1, "at": "2026-11-15T07:00:00Z", "from": "elsewhere", "text": "two mails\nneed you"
    });
    let shape = json!({ "updates": [update] });
    assert_eq!(json_of(&program.run(&["updates", "--json"])), shape);
    assert_eq!(running.get("/api/updates").expect("updates"), shape);
    running.terminate();
}

/// A setting that the model changes is asked for, and changed once the user allows it. The permission mode is not, also not in
/// the mode that asks for nothing.
#[test]
fn a_setting_is_changed_by_the_model_after_a_yes() {
    let backstage = Backstage::open();
    let program = Program::answered_by(BINARY, &backstage);
    let running = program.start();
    running.command("/permissions bypassPermissions").expect("the mode");
    let runs = |command: &str| Act::empty().and_calls("Bash", &json!({ "command": command }));
    backstage.model().script([
        runs("ollim-bot config permission_mode dontAsk"),
        runs("ollim-bot config fork_idle_timeout 20"),
        Act::says("Set."),
    ]);
    let mut events = running.events().expect("events");
    let message = running.say("wait longer in forks").expect("a number");
    while running.command("/allow 1").is_err() {
        events.next().expect("an event before the question");
    }
    events.ended(message).expect("an answer");
    let kept = kept(&program);
    assert_eq!((&kept["fork_idle_timeout"], &kept["permission_mode"]), (&json!(20), &json!("default")));
    running.terminate();
}

/// An answer is explained after the program has ended, as text and as JSON.
#[test]
fn an_answer_is_explained() {
    let backstage = Backstage::open();
    let program = Program::answered_by(BINARY, &backstage);
    assert_eq!(stdout(&program.run(&["why"])), "i have not answered anything yet.\n");
    let call = json!({"text": "milk"});
    backstage.model().script([Act::empty().and_calls("inbox_add", &call), Act::says("kept")]);
    program.run(&["chat", "--once", "keep milk"]);
    let told = stdout(&program.run(&["why"]));
    for words in [
        "answer 1 was begun on ",
        "it answers what you said in the terminal: \"keep milk\"",
        "2 calls of anthropic:",
        "% of them from the cache",
        "inbox_add (context)",
        "it was finished after ",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!((5..=8).contains(&told.lines().count()), "{told}");
    let value = json_of(&program.run(&["why", "1", "--json"]));
    assert_eq!(
        (&value["turn"], &value["calls"], &value["ending"]),
        (&json!(1), &json!(2), &json!("finished"))
    );
    assert_eq!(value["tools"], json!([{ "tool": "inbox_add", "rule": "context", "after": [] }]));
    assert_eq!(value["message"]["surface"], "terminal");
    let unknown = program.run(&["why", "9"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stderr(&unknown).contains("there is no answer with the number 9"), "{}", stderr(&unknown));
}

/// CL-3: the help of each command has an example.
#[test]
fn the_help_of_each_has_an_example() {
    let program = Program::offline(BINARY);
    for command in ["config", "updates", "why"] {
        let help = stdout(&program.run(&[command, "--help"]));
        assert!(help.contains("example") && help.contains(&format!("  ollim-bot {command}")), "{help}");
    }
}
