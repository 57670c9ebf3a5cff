//! `chat --once` and piped `chat`: one answer per question, in one continuing conversation.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::process::Output;

use serde_json::{Value, json};
use testkit::model_server::{ReplyFault, ScriptedReply};
use testkit::oracle::{Observations, find_violations};
use testkit::process::{BackgroundModelServer, Program, free_port, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

fn parse_json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn setup() -> (BackgroundModelServer, Program) {
    let model_server = BackgroundModelServer::start();
    let program = Program::with_model(BINARY, &model_server);
    (model_server, program)
}

/// SE-6: the second call continues the conversation in the same session.
#[test]
fn next_question_continues_the_conversation() {
    let (model_server, program) = setup();
    model_server.model().script([
        ScriptedReply::text("good morning to you, and a fine day"),
        ScriptedReply::text("the same"),
    ]);

    let first = program.run(&["chat", "--once", "good", "morning"]);
    assert_eq!(
        (stdout(&first).as_str(), stderr(&first).as_str()),
        ("good morning to you, and a fine day\n", "")
    );
    assert_eq!(first.status.code(), Some(0));
    let session = std::fs::read_to_string(program.data().join("state/sessions.json")).expect("a session");
    let second = program.run_with_input(&["chat", "--once"], "and what did i say?\n");
    assert_eq!((stdout(&second).as_str(), second.status.code()), ("the same\n", Some(0)));

    let requests = model_server.requests();
    let messages = requests[1].json["messages"].as_array().expect("messages");
    let texts: Vec<&str> =
        messages.iter().filter_map(|one| one["content"].as_array()?.last()?["text"].as_str()).collect();
    assert_eq!(texts[0], "good morning");
    assert_eq!(texts[1], "good morning to you, and a fine day");
    assert_eq!(texts[2], "and what did i say?\n");
    assert_eq!(
        std::fs::read_to_string(program.data().join("state/sessions.json")).expect("a session"),
        session
    );
    assert_eq!(find_violations(program.data()), [""; 0]);
}

#[test]
fn json_answer_is_one_document() {
    let (model_server, program) = setup();
    model_server
        .model()
        .script([ScriptedReply::text("with \"quotes\"\nand lines"), ScriptedReply::overloaded()]);

    let answered = program.run(&["chat", "--once", "--json", "hello"]);
    assert_eq!(parse_json(&answered), json!({ "ok": true, "answer": "with \"quotes\"\nand lines" }));
    assert_eq!(answered.status.code(), Some(0));
    let failed = program.run(&["--json", "chat", "--once", "hello"]);
    assert_eq!(parse_json(&failed)["ok"], false);
    assert_eq!(failed.status.code(), Some(1));
}

#[test]
fn question_goes_through_a_running_daemon() {
    let (model_server, program) = setup();
    let running = program.start();
    let mut events = running.events().expect("events");

    let output = program.run(&["chat", "--once", "hello"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("hello"), "{}", stdout(&output));
    let ended = events.wait_for_end(1).expect("the running one answered");
    assert_eq!(ended.data["how"], "finished");
    running.terminate();
    let ledger = Observations { acknowledged: vec!["hello".to_owned()], requests: model_server.requests() };
    assert_eq!(ledger.check(program.data()), [""; 0]);
}

/// A failure is one sentence on stderr and exit code 1; the message is saved, and the next call
/// works.
#[test]
fn model_failure_is_reported_and_loses_nothing() {
    let check = |act: ScriptedReply, sentence: &str| {
        let (model_server, program) = setup();
        // A message that waits for an unavailable model is answered first.
        model_server.model().script([
            act,
            ScriptedReply::text("here i am"),
            ScriptedReply::text("here i am"),
        ]);
        let failed = program.run(&["chat", "--once", "are you there?"]);
        assert_eq!(failed.status.code(), Some(1), "{sentence}: {}", stderr(&failed));
        assert!(stderr(&failed).contains(sentence), "{sentence}: {}", stderr(&failed));
        assert_eq!(stderr(&failed).lines().count(), 1, "{}", stderr(&failed));
        let next = program.run(&["chat", "--once", "and now?"]);
        assert_eq!((stdout(&next).as_str(), next.status.code()), ("here i am\n", Some(0)), "{sentence}");
        let last = model_server.requests().pop().expect("a request");
        assert!(last.body.contains("are you there?"), "{sentence}: the message is kept");
        assert_eq!(find_violations(program.data()), [""; 0], "{sentence}");
    };
    check(ScriptedReply::rate_limited(30), "overloaded right now, and asks to wait 30 s");
    check(ScriptedReply::spend_limited(), "spend limit");
    check(ScriptedReply::overloaded(), "the model is overloaded right now");
    check(ScriptedReply::server_error(), "the model failed on its side");
    check(ScriptedReply::empty(), "the model answered nothing");
    check(ScriptedReply::text("x").with_fault(ReplyFault::Html), "the model answered something i can't read");
    check(ScriptedReply::text("some words").with_fault(ReplyFault::Garbage(3)), "the model");
    check(
        ScriptedReply::text("some words").with_fault(ReplyFault::Cut(4)),
        "the model stopped in the middle",
    );
    check(
        ScriptedReply::text("some words").with_fault(ReplyFault::Error(3, "overloaded_error".to_owned())),
        "the model",
    );
    check(ScriptedReply::text("some words").with_fault(ReplyFault::BadJson(3)), "the model");
}

#[test]
fn unreachable_model_is_reported() {
    let (model_server, mut program) = setup();
    program.set_env("ANTHROPIC_BASE_URL", &format!("http://127.0.0.1:{}", free_port()));
    let failed = program.run(&["chat", "--once", "are you there?"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr(&failed).starts_with("i can't reach the model"), "{}", stderr(&failed));
    program.set_env("ANTHROPIC_BASE_URL", &model_server.url());
    assert_eq!(program.run(&["chat", "--once", "and now?"]).status.code(), Some(0));
    assert_eq!(find_violations(program.data()), [""; 0]);
}

#[test]
fn api_key_is_never_printed() {
    let (model_server, mut program) = setup();
    program.set_env("ANTHROPIC_API_KEY", "sk-very-secret").set_env("OLLIM_LOG", "trace");
    model_server.model().script([ScriptedReply::refusal(
        401,
        "authentication_error",
        "invalid x-api-key: sk-very-secret",
    )]);
    let failed = program.run(&["chat", "--once", "hello"]);
    assert!(!stderr(&failed).contains("sk-very-secret"), "{}", stderr(&failed));
    assert!(!stdout(&failed).contains("sk-very-secret"), "{}", stdout(&failed));
}

/// Control characters are removed from answers.
#[test]
fn answer_cannot_control_the_terminal() {
    let (model_server, program) = setup();
    let evil = "\u{1b}]0;owned\u{7}title \u{1b}[2Jcleared \u{9b}31mred\r\u{8}\u{0}end\ttab\nline";
    model_server
        .model()
        .script([ScriptedReply::text(evil), ScriptedReply::refusal(400, "invalid_request_error", evil)]);
    let output = program.run(&["chat", "--once", "hello"]);
    let harmless = |text: &str| text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t');
    assert!(harmless(&stdout(&output)), "{:?}", stdout(&output));
    assert!(stdout(&output).ends_with("end\ttab\nline\n"), "{:?}", stdout(&output));
    let failed = program.run(&["chat", "--once", "hello"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(harmless(&stderr(&failed)), "{:?}", stderr(&failed));
}

/// An empty or too long message is refused and not saved.
#[test]
fn empty_or_too_long_message_is_refused() {
    let (model_server, program) = setup();
    let blank = program.run_with_input(&["chat", "--once"], " \n ");
    assert_eq!(blank.status.code(), Some(1));
    assert_eq!(stderr(&blank), "error: there are no words in that message.\n");
    let long = program.run_with_input(&["chat", "--once"], &"é".repeat(100_001));
    assert_eq!(long.status.code(), Some(1));
    assert!(
        stderr(&long).contains("100001 characters and the most i take at once is 100000"),
        "{}",
        stderr(&long)
    );
    assert_eq!(model_server.requests().len(), 0);
    assert_eq!(find_violations(program.data()), [""; 0]);
}

/// Each line of a pipe is answered, even after a failure.
#[test]
fn pipe_is_answered_line_by_line() {
    let (model_server, program) = setup();
    let expected = ScriptedReply::text;
    model_server.model().script([
        expected("one"),
        ScriptedReply::overloaded(),
        expected("two"),
        expected("three"),
    ]);
    let output = program.run_with_input(&["chat"], "first\n\nsecond\nthird\n");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines[lines.len() - 1]), ("one", "three"), "{text}");
    assert!(text.contains("overloaded right now"), "{text}");
    assert_eq!(find_violations(program.data()), [""; 0]);
}

/// With `--json`, each line of a pipe gets one document, also for commands and refusals.
#[test]
fn json_pipe_gets_one_document_per_line() {
    let (model_server, program) = setup();
    let expected = ScriptedReply::text;
    model_server.model().script([
        expected("one"),
        ScriptedReply::overloaded(),
        expected("two"),
        expected("two\nlines"),
    ]);
    let output = program.run_with_input(&["chat", "--json"], "first\n\nsecond\n/nonsense\n/status\nthird\n");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let printed = stdout(&output);
    let printed: Vec<Value> =
        printed.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    assert_eq!(printed.len(), 5, "{printed:?}");
    assert_eq!((&printed[0], &printed[1]["ok"]), (&json!({ "ok": true, "answer": "one" }), &json!(false)));
    let refused = printed[2]["error"]["message"].as_str().expect("a sentence");
    assert!(refused.contains("there is no command `/nonsense`"), "{refused}");
    assert_eq!((&printed[3]["ok"], printed[3]["text"].is_string()), (&json!(true), true));
    assert_eq!(printed[4], json!({ "ok": true, "answer": "two\nlines" }));
}

/// A command without output of its own reports what it did.
#[test]
fn command_without_output_reports_what_it_did() {
    let (model_server, program) = setup();
    model_server.model().script([ScriptedReply::text("I am here."), ScriptedReply::text("I am here.")]);
    let check = |command: &str, expected: &str| {
        let output = program.run(&["chat", "--once", command]);
        assert_eq!(output.status.code(), Some(0), "{command}: {}", stderr(&output));
        assert!(stdout(&output).contains(expected), "{command}: {}", stdout(&output));
    };
    check("/fork tea", "The side conversation has begun.");
    check("/exit", "The side conversation ends.");
}

/// A text that begins with a slash is a command in every mode, and never reaches the model.
#[test]
fn slash_command_works_with_once_and_in_a_pipe() {
    let (model_server, program) = setup();
    let help = program.run(&["chat", "--once", "/help"]);
    assert_eq!(help.status.code(), Some(0), "{}", stderr(&help));
    for command in ["/stop", "/compact [what to mind]", "/undo", "/help"] {
        assert!(stdout(&help).contains(&format!("{command} ")), "{}", stdout(&help));
    }
    assert_eq!(stdout(&program.run_with_input(&["chat", "--once"], "/help\n")), stdout(&help));
    assert_eq!(stdout(&program.run_with_input(&["chat"], "/help\n/quit\nhello\n")), stdout(&help));
    let compact = program.run(&["chat", "--once", "/compact"]);
    assert_eq!(compact.status.code(), Some(1));
    assert_eq!(stderr(&compact), stderr(&program.run(&["compact"])));
    let unknown = program.run(&["chat", "--once", "--json", "/nonsense"]);
    assert_eq!(parse_json(&unknown)["ok"], false);
    assert_eq!(model_server.requests().len(), 0);
}

/// `ollim-bot cost` and the page show the same, and the price of a model is looked up by its name.
#[test]
fn cost_command_shows_the_recorded_usage() {
    let (model_server, program) = setup();
    let nothing = program.run(&["cost"]);
    assert_eq!(nothing.status.code(), Some(0));
    assert!(stdout(&nothing).starts_with("no model was called in the last 30 days, so nothing was spent."));
    std::fs::write(
        program.data().join("settings.toml"),
        "[prices]\n\"claude-sonnet-5-5\" = { input = 1000, output = 1000, cache_read = 1000, cache_write = 1000, cache_write_1h = 1000 }\n",
    )
    .expect("a settings file");
    model_server.model().script([ScriptedReply::text("good morning")]);
    program.run(&["chat", "--once", "good morning"]);

    let cost = parse_json(&program.run(&["cost", "--json"]));
    let usage = model_server.model().usage()[0];
    let tokens = usage.input + usage.cache_read + usage.cache_write + usage.output;
    assert_eq!(cost["today"]["dollars"], json!(tokens as f64 / 1e3));
    assert_eq!((&cost["today"]["calls"], &cost["today"]["input"]), (&json!(1), &json!(usage.input)));
    assert_eq!((&cost["by_source"][0]["name"], &cost["by_source"][0]["calls"]), (&json!("main"), &json!(1)));
    let listed = stdout(&program.run(&["cost", "--days", "1", "--by", "model"]));
    assert!(listed.contains("today, by model:\n  anthropic:"), "{listed}");
    assert_eq!(program.run(&["cost", "--days", "0"]).status.code(), Some(2));
    assert_eq!(program.run(&["cost", "--by", "mood"]).status.code(), Some(2));
}

/// E4: a limit reached in the background is shown on every surface until the user changes it,
/// together with the cost of routines.
#[test]
fn limit_reached_in_the_background_is_shown_everywhere() {
    let (model_server, program) = setup();
    let prices = "[prices]\n\"claude-sonnet-5-5\" = { input = 8500, output = 8500, cache_read = 8500, cache_write = 8500, cache_write_1h = 8500 }\n";
    std::fs::write(program.data().join("settings.toml"), prices).expect("a settings file");
    std::fs::create_dir_all(program.data().join("routines")).expect("a directory");
    for (id, more) in [("mail", "background: true\n"), ("never", "background: true\n"), ("here", "")] {
        let text = format!("---\nid: {id}\ncron: 0 3 * * *\n{more}---\nlook\n");
        std::fs::write(program.data().join(format!("routines/{id}.md")), text).expect("a routine");
    }
    model_server.model().script([ScriptedReply::text("done")]);
    let ran = program.run(&["routine", "run", "mail"]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));

    let reached = "today's $5.00 is used up. routines are left out until tomorrow, reminders go on.";
    let doctor = stdout(&program.run(&["doctor"]));
    assert!(doctor.contains(&format!("! cost     {reached}")), "{doctor}");
    let cost = stdout(&program.run(&["chat", "--once", "/cost"]));
    assert!(cost.contains(reached), "{cost}");
    let cost = stdout(&program.run(&["cost"]));
    assert!(cost.contains(reached) && cost.contains("`ollim-bot config daily_limit 50.00 5M`"), "{cost}");
    assert!(cost.contains("\n  routine · look "), "{cost}");
    let status = stdout(&program.run(&["status"]));
    assert!(status.contains(&format!("\n  limit     {reached}")), "{status}");
    let cost = parse_json(&program.run(&["cost", "--json"]));
    assert_eq!(cost["by_source"][0]["runs"], 1);
    assert!(cost["unattended"]["standing"].as_str().is_some_and(|words| words.starts_with(reached)));
    let list = stdout(&program.run(&["routine", "list"]));
    let routine_lines: Vec<&str> = list.lines().filter(|line| line.contains(" in 30 days")).collect();
    assert!(
        matches!(routine_lines[..], [line] if line.contains("  mail  ") && line.contains("  $")),
        "{list}"
    );
    let list = parse_json(&program.run(&["routine", "list", "--json"]));
    let spent = |at: usize| list["routines"][at]["spent_in_30_days"]["calls"].clone();
    assert_eq!([spent(0), spent(1), spent(2)], [Value::Null, json!(1), Value::Null]);

    assert_eq!(program.run(&["config", "daily_limit", "off"]).status.code(), Some(0));
    assert!(!stdout(&program.run(&["doctor"])).contains("! cost"));
    assert!(stdout(&program.run(&["cost"])).contains("work nobody waits for has no daily limit"));
}

/// MC-26, MC-29, RC-3: the chosen model answers from the next message on, also after a restart, and
/// is recorded in the ledger.
#[test]
fn chosen_model_survives_a_restart() {
    let (model_server, program) = setup();
    let running = program.start();
    program.run(&["chat", "--once", "one"]);
    let chosen = program.run(&["model", "Haiku"]);
    assert_eq!(stdout(&chosen), "From the next answer on, haiku answers (claude-haiku-5-5).\n");
    program.run(&["chat", "--once", "two"]);
    let unknown = program.run(&["model", "gpt"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(
        stderr(&unknown).contains(
            "I don't know a model called `gpt`. Choose fable, haiku, opus, sonnet, a full id such as"
        )
    );
    running.kill();
    program.run(&["chat", "--once", "three"]);
    assert_eq!(stdout(&program.run(&["model"])), "Model: haiku (claude-haiku-5-5).\n");
    program.run(&["model", "default"]);
    program.run(&["chat", "--once", "four"]);

    let requests = model_server.requests();
    let requested_models: Vec<&str> =
        requests.iter().filter_map(|request| request.json["model"].as_str()).collect();
    assert_eq!(
        requested_models,
        ["claude-sonnet-5-5", "claude-haiku-5-5", "claude-haiku-5-5", "claude-sonnet-5-5"]
    );
    let config = std::fs::read_to_string(program.data().join("state/config.json")).expect("a config");
    let config: Value = serde_json::from_str(&config).expect("JSON");
    assert_eq!(config["model_main"], Value::Null);
    let cost = parse_json(&program.run(&["cost", "--json"]));
    assert_eq!(cost["by_model"][0]["name"], "anthropic:claude-haiku-5-5");
    assert_eq!(cost["by_model"][0]["calls"], 2);
}
