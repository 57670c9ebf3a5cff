//! `chat --once` and piped `chat`: one answer per question, in one continuing conversation.
#![expect(clippy::expect_used, reason = "test helpers panic with a message")]

use std::process::Output;

use serde_json::{Value, json};
use testkit::kill::{Backstage, Program, free_port, stderr, stdout};
use testkit::model_server::{Act, Fault};
use testkit::oracle::{Ledger, examine};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn stage() -> (Backstage, Program) {
    let backstage = Backstage::open();
    let program = Program::answered_by(BINARY, &backstage);
    (backstage, program)
}

/// SE-6: the second call continues the conversation in the same session.
#[test]
fn one_question_is_answered_and_the_next_one_continues() {
    let (backstage, program) = stage();
    backstage.model().script([Act::says("good morning to you, and a fine day"), Act::says("the same")]);

    let first = program.run(&["chat", "--once", "good", "morning"]);
    assert_eq!(
        (stdout(&first).as_str(), stderr(&first).as_str()),
        ("good morning to you, and a fine day\n", "")
    );
    assert_eq!(first.status.code(), Some(0));
    let session = std::fs::read_to_string(program.data().join("state/sessions.json")).expect("a session");
    let second = program.run_reading(&["chat", "--once"], "and what did i say?\n");
    assert_eq!((stdout(&second).as_str(), second.status.code()), ("the same\n", Some(0)));

    let requests = backstage.requests();
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
    assert_eq!(examine(program.data()), [""; 0]);
}

#[test]
fn an_answer_as_json_is_one_document() {
    let (backstage, program) = stage();
    backstage.model().script([Act::says("with \"quotes\"\nand lines"), Act::overloaded()]);

    let answered = program.run(&["chat", "--once", "--json", "hello"]);
    assert_eq!(json_of(&answered), json!({ "ok": true, "answer": "with \"quotes\"\nand lines" }));
    assert_eq!(answered.status.code(), Some(0));
    let failed = program.run(&["--json", "chat", "--once", "hello"]);
    assert_eq!(json_of(&failed)["ok"], false);
    assert_eq!(failed.status.code(), Some(1));
}

#[test]
fn with_a_running_assistant_the_question_goes_through_it() {
    let (backstage, program) = stage();
    let running = program.start();
    let mut events = running.events().expect("events");

    let output = program.run(&["chat", "--once", "hello"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("hello"), "{}", stdout(&output));
    let ended = events.ended(1).expect("the running one answered");
    assert_eq!(ended.data["how"], "finished");
    running.terminate();
    let ledger = Ledger { acknowledged: vec!["hello".to_owned()], requests: backstage.requests() };
    assert_eq!(ledger.check(program.data()), [""; 0]);
}

/// A failure is one sentence on stderr and exit code 1; the message is saved, and the next call
/// works.
#[test]
fn a_failing_model_is_told_in_words_and_costs_nothing() {
    let check = |act: Act, sentence: &str| {
        let (backstage, program) = stage();
        // A message that waits for an unavailable model is answered first.
        backstage.model().script([act, Act::says("here i am"), Act::says("here i am")]);
        let failed = program.run(&["chat", "--once", "are you there?"]);
        assert_eq!(failed.status.code(), Some(1), "{sentence}: {}", stderr(&failed));
        assert!(stderr(&failed).contains(sentence), "{sentence}: {}", stderr(&failed));
        assert_eq!(stderr(&failed).lines().count(), 1, "{}", stderr(&failed));
        let next = program.run(&["chat", "--once", "and now?"]);
        assert_eq!((stdout(&next).as_str(), next.status.code()), ("here i am\n", Some(0)), "{sentence}");
        let last = backstage.requests().pop().expect("a request");
        assert!(last.body.contains("are you there?"), "{sentence}: the message is kept");
        assert_eq!(examine(program.data()), [""; 0], "{sentence}");
    };
    check(Act::rate_limited(30), "overloaded right now, and asks to wait 30 s");
    check(Act::spend_limited(), "spend limit");
    check(Act::overloaded(), "the model is overloaded right now");
    check(Act::broken(), "the model failed on its side");
    check(Act::empty(), "the model answered nothing");
    check(Act::says("x").with(Fault::Html), "the model answered something i can't read");
    check(Act::says("some words").with(Fault::Garbage(3)), "the model");
    check(Act::says("some words").with(Fault::Cut(4)), "the model stopped in the middle");
    check(Act::says("some words").with(Fault::Error(3, "overloaded_error".to_owned())), "the model");
    check(Act::says("some words").with(Fault::BadJson(3)), "the model");
}

#[test]
fn a_model_that_nobody_can_reach_is_told_in_words() {
    let (backstage, mut program) = stage();
    program.set("ANTHROPIC_BASE_URL", &format!("http://127.0.0.1:{}", free_port()));
    let failed = program.run(&["chat", "--once", "are you there?"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr(&failed).starts_with("i can't reach the model"), "{}", stderr(&failed));
    program.set("ANTHROPIC_BASE_URL", &backstage.url());
    assert_eq!(program.run(&["chat", "--once", "and now?"]).status.code(), Some(0));
    assert_eq!(examine(program.data()), [""; 0]);
}

#[test]
fn the_key_is_told_to_nobody() {
    let (backstage, mut program) = stage();
    program.set("ANTHROPIC_API_KEY", "sk-very-secret").set("OLLIM_LOG", "trace");
    backstage.model().script([Act::refuses(
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
fn an_answer_cannot_command_the_terminal() {
    let (backstage, program) = stage();
    let evil = "\u{1b}]0;owned\u{7}title \u{1b}[2Jcleared \u{9b}31mred\r\u{8}\u{0}end\ttab\nline";
    backstage.model().script([Act::says(evil), Act::refuses(400, "invalid_request_error", evil)]);
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
fn a_message_that_cannot_be_taken_is_refused_in_words() {
    let (backstage, program) = stage();
    let blank = program.run_reading(&["chat", "--once"], " \n ");
    assert_eq!(blank.status.code(), Some(1));
    assert_eq!(stderr(&blank), "error: there are no words in that message.\n");
    let long = program.run_reading(&["chat", "--once"], &"é".repeat(100_001));
    assert_eq!(long.status.code(), Some(1));
    assert!(
        stderr(&long).contains("100001 characters and the most i take at once is 100000"),
        "{}",
        stderr(&long)
    );
    assert_eq!(backstage.requests().len(), 0);
    assert_eq!(examine(program.data()), [""; 0]);
}

/// Each line of a pipe is answered, even after a failure.
#[test]
fn a_pipe_is_answered_line_by_line() {
    let (backstage, program) = stage();
    let says = Act::says;
    backstage.model().script([says("one"), Act::overloaded(), says("two"), says("three")]);
    let output = program.run_reading(&["chat"], "first\n\nsecond\nthird\n");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stdout(&output);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!((lines[0], lines[lines.len() - 1]), ("one", "three"), "{told}");
    assert!(told.contains("overloaded right now"), "{told}");
    assert_eq!(examine(program.data()), [""; 0]);
}

/// With `--json`, each line of a pipe gets one document, also for commands and refusals.
#[test]
fn a_pipe_that_wants_json_gets_a_document_for_each_line() {
    let (backstage, program) = stage();
    let says = Act::says;
    backstage.model().script([says("one"), Act::overloaded(), says("two"), says("two\nlines")]);
    let output = program.run_reading(&["chat", "--json"], "first\n\nsecond\n/nonsense\n/status\nthird\n");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stdout(&output);
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    assert_eq!(told.len(), 5, "{told:?}");
    assert_eq!((&told[0], &told[1]["ok"]), (&json!({ "ok": true, "answer": "one" }), &json!(false)));
    let refused = told[2]["error"]["message"].as_str().expect("a sentence");
    assert!(refused.contains("there is no command `/nonsense`"), "{refused}");
    assert_eq!((&told[3]["ok"], told[3]["text"].is_string()), (&json!(true), true));
    assert_eq!(told[4], json!({ "ok": true, "answer": "two\nlines" }));
}

/// A command without output of its own reports what it did.
#[test]
fn a_command_without_an_answer_of_its_own_says_what_was_done() {
    let (backstage, program) = stage();
    backstage.model().script([Act::says("I am here."), Act::says("I am here.")]);
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
fn a_command_that_is_said_once_or_piped_is_obeyed() {
    let (backstage, program) = stage();
    let help = program.run(&["chat", "--once", "/help"]);
    assert_eq!(help.status.code(), Some(0), "{}", stderr(&help));
    for command in ["/stop", "/compact [what to mind]", "/undo", "/help"] {
        assert!(stdout(&help).contains(&format!("{command} ")), "{}", stdout(&help));
    }
    assert_eq!(stdout(&program.run_reading(&["chat", "--once"], "/help\n")), stdout(&help));
    assert_eq!(stdout(&program.run_reading(&["chat"], "/help\n/quit\nhello\n")), stdout(&help));
    let compact = program.run(&["chat", "--once", "/compact"]);
    assert_eq!(compact.status.code(), Some(1));
    assert_eq!(stderr(&compact), stderr(&program.run(&["compact"])));
    let unknown = program.run(&["chat", "--once", "--json", "/nonsense"]);
    assert_eq!(json_of(&unknown)["ok"], false);
    assert_eq!(backstage.requests().len(), 0);
}

/// `ollim-bot cost` and the page show the same, and the price of a model is looked up by its name.
#[test]
fn what_an_answer_cost_is_told_by_command_and_page_alike() {
    let (backstage, program) = stage();
    let nothing = program.run(&["cost"]);
    assert_eq!(nothing.status.code(), Some(0));
    assert!(stdout(&nothing).starts_with("no model was called in the last 30 days, so nothing was spent."));
    std::fs::write(
        program.data().join("settings.toml"),
        "[prices]\n\"claude-sonnet-5-5\" = { input = 1000, output = 1000, cache_read = 1000, cache_write = 1000, cache_write_1h = 1000 }\n",
    )
    .expect("a settings file");
    backstage.model().script([Act::says("good morning")]);
    program.run(&["chat", "--once", "good morning"]);

    let cost = json_of(&program.run(&["cost", "--json"]));
    let usage = backstage.model().usage()[0];
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
fn a_limit_that_was_reached_unseen_is_told_wherever_one_looks() {
    let (backstage, program) = stage();
    let prices = "[prices]\n\"claude-sonnet-5-5\" = { input = 8500, output = 8500, cache_read = 8500, cache_write = 8500, cache_write_1h = 8500 }\n";
    std::fs::write(program.data().join("settings.toml"), prices).expect("a settings file");
    std::fs::create_dir_all(program.data().join("routines")).expect("a directory");
    for (id, more) in [("mail", "background: true\n"), ("never", "background: true\n"), ("here", "")] {
        let text = format!("---\nid: {id}\ncron: 0 3 * * *\n{more}---\nlook\n");
        std::fs::write(program.data().join(format!("routines/{id}.md")), text).expect("a routine");
    }
    backstage.model().script([Act::says("done")]);
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
    let cost = json_of(&program.run(&["cost", "--json"]));
    assert_eq!(cost["by_source"][0]["runs"], 1);
    assert!(cost["unattended"]["standing"].as_str().is_some_and(|words| words.starts_with(reached)));
    let list = stdout(&program.run(&["routine", "list"]));
    let told: Vec<&str> = list.lines().filter(|line| line.contains(" in 30 days")).collect();
    assert!(matches!(told[..], [line] if line.contains("  mail  ") && line.contains("  $")), "{list}");
    let list = json_of(&program.run(&["routine", "list", "--json"]));
    let spent = |at: usize| list["routines"][at]["spent_in_30_days"]["calls"].clone();
    assert_eq!([spent(0), spent(1), spent(2)], [Value::Null, json!(1), Value::Null]);

    assert_eq!(program.run(&["config", "daily_limit", "off"]).status.code(), Some(0));
    assert!(!stdout(&program.run(&["doctor"])).contains("! cost"));
    assert!(stdout(&program.run(&["cost"])).contains("work nobody waits for has no daily limit"));
}

/// MC-26, MC-29, RC-3: the chosen model answers from the next message on, also after a restart, and
/// is recorded in the ledger.
#[test]
fn another_model_can_be_chosen_while_it_runs_and_stays_chosen() {
    let (backstage, program) = stage();
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

    let requests = backstage.requests();
    let asked: Vec<&str> = requests.iter().filter_map(|request| request.json["model"].as_str()).collect();
    assert_eq!(asked, ["claude-sonnet-5-5", "claude-haiku-5-5", "claude-haiku-5-5", "claude-sonnet-5-5"]);
    let config = std::fs::read_to_string(program.data().join("state/config.json")).expect("a config");
    let config: Value = serde_json::from_str(&config).expect("JSON");
    assert_eq!(config["model_main"], Value::Null);
    let cost = json_of(&program.run(&["cost", "--json"]));
    assert_eq!(cost["by_model"][0]["name"], "anthropic:claude-haiku-5-5");
    assert_eq!(cost["by_model"][0]["calls"], 2);
}
