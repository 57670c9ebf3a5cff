//! `config`, `updates` and `why` on the command line, with and without a running daemon.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::process::Output;

use serde_json::{Value, json};
use testkit::model_server::ScriptedReply;
use testkit::process::{BackgroundModelServer, Program, RunningProgram, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

fn parse_json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn stored_settings(program: &Program) -> Value {
    let text = std::fs::read(program.data().join("state/config.json")).expect("settings");
    serde_json::from_slice(&text).expect("a JSON document")
}

/// SL-13, RC-1, RC-8: settings are shown without a daemon, and a change is stored with all others.
#[test]
fn settings_are_shown_and_changed() {
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
    let stored = stored_settings(&program);
    assert_eq!(stored.as_object().expect("an object").len(), 18);
    assert_eq!((&stored["fork_idle_timeout"], &stored["bg_fork_timeout"]), (&json!(20), &json!(1800)));

    let listed = parse_json(&program.run(&["config", "--json"]));
    let row = json!({"name": "auto_update", "key": "auto_update", "value": false, "text": "off (default)"});
    assert_eq!(listed["settings"][9], row);
    let running = program.start();
    program.run(&["config", "auto_update", "on"]);
    assert_eq!(parse_json(&program.run(&["config", "auto_update", "--json"]))["value"], true);
    running.terminate();
}

/// Undoing a limit is described as a shell command.
#[test]
fn limit_is_undone_with_the_printed_command() {
    let program = Program::offline(BINARY);
    program.run(&["config", "daily_limit", "6.50"]);
    let output = stdout(&program.run(&["config", "daily_limit", "off"]));
    let expected = "daily_limit: off. it was $6.50 5M. `ollim-bot config daily_limit 6.50` takes it back.\n";
    assert_eq!(output, expected);
    program.run(&["config", "daily_limit", "6.50"]);
    assert_eq!(stdout(&program.run(&["config", "daily_limit"])), "daily_limit           $6.50\n");
}

/// SL-13, RC-7, RC-10: an invalid value is rejected with the valid ones, on the command line and in
/// the file.
#[test]
fn invalid_setting_is_rejected_with_the_valid_values() {
    let program = Program::offline(BINARY);
    let unknown = program.run(&["config", "colour"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("colour: there is no such setting. the settings are model.main,"));
    let wrong = program.run(&["config", "auto_update_hour", "24"]);
    assert_eq!(wrong.status.code(), Some(1));
    let output = "auto_update_hour: it cannot be `24`. use an hour from 0 to 23.";
    assert!(stderr(&wrong).contains(output), "{}", stderr(&wrong));

    let file = program.data().join("state/config.json");
    std::fs::write(&file, r#"{"auto_update_hour": 99, "model_fork": "qwen3"}"#).expect("a file");
    let listed = program.run(&["config"]);
    assert!(stdout(&listed).contains("auto_update_hour      6:00 (default)"), "{}", stdout(&listed));
    let output = stderr(&listed);
    assert!(output.contains("state/config.json: auto_update_hour: it cannot be `99`."), "{output}");
    assert!(
        output.contains("state/config.json: model.fork: Only the usual model is set up here. "),
        "{output}"
    );
    let text = program.run(&["chat", "--once", "hello"]);
    assert!(stderr(&text).contains("it cannot be `99`"), "{}", stderr(&text));
}

/// MC-29, RC-9: settings apply to the next answer, and take precedence over the environment.
#[test]
fn settings_apply_to_the_next_request() {
    let model_server = BackgroundModelServer::start();
    let mut program = Program::with_model(BINARY, &model_server);
    let request_settings = |program: &Program| {
        let text = program.run(&["chat", "--once", "hello"]);
        assert_eq!(text.status.code(), Some(0), "{}", stderr(&text));
        let request = model_server.requests().pop().expect("a request").json;
        (request["model"].as_str().unwrap_or_default().to_owned(), request["thinking"]["type"].clone())
    };
    assert_eq!(request_settings(&program).1, "adaptive");
    program.set_env("OLLIM_THINKING", "off");
    assert_eq!(request_settings(&program).1, "between_tools");
    program.run(&["config", "thinking.main", "adaptive"]);
    assert_eq!(request_settings(&program).1, "adaptive");
    program.set_env("OLLIM_THINKING", "adaptive");
    program.run(&["config", "model.main", "opus"]);
    program.run(&["config", "thinking.main", "off"]);
    assert_eq!(request_settings(&program), ("claude-opus-5-5".to_owned(), json!("adaptive")));
    program.run(&["config", "thinking.main", "default"]);
    assert_eq!(request_settings(&program).1, "adaptive");
    let output = stdout(&program.run(&["config", "thinking.main"]));
    assert_eq!(output, "thinking.main         adaptive (default)\n");
}

fn notices(running: &RunningProgram) -> String {
    running.get("/api/health").expect("it lives")["notices"].to_string()
}

/// With a broken settings file the program starts with the last valid settings, and reports line
/// and mistake until the file is fixed.
#[test]
fn broken_settings_file_falls_back_to_the_last_valid_settings() {
    let program = Program::offline(BINARY);
    let file = program.data().join("settings.toml");
    let valid = "[model]\ntries = 2\n[spend]\nunattended_dollars_per_day = 0.5\n";
    std::fs::create_dir_all(program.data()).expect("a directory");
    std::fs::write(&file, valid).expect("a file");
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
        let output = notices(&running);
        assert!(output.contains(mistake), "{output}");
        assert!(output.contains("I use the last settings that worked."), "{output}");
        running.send_and_wait("call the dentist tomorrow at 10").expect("an answer");
        let limit = stdout(&program.run(&["config", "daily_limit"]));
        assert!(limit.contains("$0.50"), "{limit}");
        let doctor = program.run(&["doctor"]);
        assert!(stdout(&doctor).contains("✗ settings "), "{}", stdout(&doctor));
        running.terminate();
    }
    assert_eq!(
        std::fs::read_to_string(program.data().join("state/settings.last-good.toml")).expect("it"),
        valid
    );

    std::fs::write(&file, valid).expect("a file");
    let running = program.start();
    assert!(!notices(&running).contains("settings"), "{}", notices(&running));
    running.terminate();
}

/// Without earlier valid settings, everything that a settings file could forbid is off: no model is
/// inferred from a key, and background spending is zero. Reminders work.
#[test]
fn broken_settings_file_at_the_first_start_uses_safe_defaults() {
    let mut program = Program::new(BINARY);
    program.set_env("ANTHROPIC_API_KEY", "sk-none").set_env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let file = program.data().join("settings.toml");
    std::fs::create_dir_all(program.data()).expect("a directory");
    std::fs::write(&file, "[model]\nuse = \"offline\"\n[spend\n").expect("a file");
    let running = program.start();
    let output = notices(&running);
    assert!(
        output.contains("settings.toml, line 3") && output.contains("No earlier settings are known"),
        "{output}"
    );
    assert_eq!(running.get("/api/health").expect("it lives")["brain"], "offline");
    let limit = stdout(&program.run(&["config", "daily_limit"]));
    assert!(limit.contains("$0.00"), "{limit}");
    running.send_and_wait("call the dentist tomorrow at 10").expect("an answer");
    running.terminate();
    assert!(!program.data().join("state/settings.last-good.toml").exists());
}

/// Updates that other programs left in the file are shown, also before the first start.
#[test]
fn updates_are_shown_with_time_and_source() {
    let program = Program::offline(BINARY);
    assert!(stdout(&program.run(&["updates"])).starts_with("No updates wait. "));
    assert!(!program.data().exists(), "looking makes no directory");
    std::fs::create_dir_all(program.data().join("state")).expect("a directory");
    let file = program.data().join("state/pending_updates.json");
    let waiting = r#"[{"ts": "2026-11-15T08:00:00+01:00", "message": "two mails\nneed you"}]"#;
    std::fs::write(&file, waiting).expect("a file");
    let expected_text = "2026-11-15 08:00  elsewhere\n  two mails\n  need you\n";
    assert_eq!(stdout(&program.run(&["updates"])), expected_text);
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), waiting, "looking changes nothing");

    let running = program.start();
    assert_eq!(stdout(&program.run(&["updates"])), expected_text);
    let update = json!({
        "id": 1, "at": "2026-11-15T07:00:00Z", "from": "elsewhere", "text": "two mails\nneed you"
    });
    let expected = json!({ "updates": [update] });
    assert_eq!(parse_json(&program.run(&["updates", "--json"])), expected);
    assert_eq!(running.get("/api/updates").expect("updates"), expected);
    running.terminate();
}

/// A setting that the model changes needs an approval, and is changed once the user gives it. The
/// permission mode is never changed by the model, even in the mode that asks for nothing.
#[test]
fn a_setting_is_changed_by_the_model_after_a_yes() {
    let backstage = BackgroundModelServer::start();
    let program = Program::with_model(BINARY, &backstage);
    let running = program.start();
    running.command("/permissions bypassPermissions").expect("the mode");
    let runs = |command: &str| ScriptedReply::empty().with_tool_call("Bash", &json!({ "command": command }));
    backstage.model().script([
        runs("ollim-bot config permission_mode dontAsk"),
        runs("ollim-bot config fork_idle_timeout 20"),
        ScriptedReply::text("Set."),
    ]);
    let mut events = running.events().expect("events");
    let message = running.send_message("wait longer in forks").expect("a number");
    while running.command("/allow 1").is_err() {
        events.next().expect("an event before the question");
    }
    events.wait_for_end(message).expect("an answer");
    let kept = stored_settings(&program);
    assert_eq!((&kept["fork_idle_timeout"], &kept["permission_mode"]), (&json!(20), &json!("default")));
    running.terminate();
}

/// An answer is explained after the program has ended, as text and as JSON.
#[test]
fn answer_is_explained() {
    let model_server = BackgroundModelServer::start();
    let program = Program::with_model(BINARY, &model_server);
    assert_eq!(stdout(&program.run(&["why"])), "i have not answered anything yet.\n");
    let call = json!({"text": "milk"});
    model_server
        .model()
        .script([ScriptedReply::empty().with_tool_call("inbox_add", &call), ScriptedReply::text("kept")]);
    program.run(&["chat", "--once", "keep milk"]);
    let output = stdout(&program.run(&["why"]));
    for words in [
        "answer 1 was begun on ",
        "it answers what you said in the terminal: \"keep milk\"",
        "2 calls of anthropic:",
        "% of them from the cache",
        "inbox_add (context)",
        "it was finished after ",
    ] {
        assert!(output.contains(words), "{words}: {output}");
    }
    assert!((5..=8).contains(&output.lines().count()), "{output}");
    let value = parse_json(&program.run(&["why", "1", "--json"]));
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
fn help_of_each_command_has_an_example() {
    let program = Program::offline(BINARY);
    for command in ["config", "updates", "why"] {
        let help = stdout(&program.run(&[command, "--help"]));
        assert!(help.contains("example") && help.contains(&format!("  ollim-bot {command}")), "{help}");
    }
}
