//! `run` of a job on the command line, in the running daemon or in the same process.
#![expect(clippy::unwrap_used, reason = "the setup of a test must succeed")]

use serde_json::{Value, json};
use testkit::model_server::ScriptedReply;
use testkit::process::{BackgroundModelServer, Program, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");
const ROUTINE: &str = "---\nid: stretch\ncron: 0 3 1 1 *\n---\nremember: stretch\n";
const REMINDER: &str = "---\nid: tea\nrun-at: 2031-01-02T03:04:05+01:00\n---\nmake tea\n";

/// Creates a program with a routine on January 1st and a reminder in the far future.
fn program_with_jobs() -> Program {
    let program = Program::offline(BINARY);
    for (name, text) in [("routines/stretch.md", ROUTINE), ("reminders/tea.md", REMINDER)] {
        let path = program.data().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    program
}

fn parse_json(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stdout(output)))
}

#[test]
fn job_runs_in_this_process_without_a_daemon() {
    let program = program_with_jobs();
    let done = program.run(&["routine", "run", "stretch"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert_ne!(stdout(&done).trim(), "", "it tells what was said");
    let output = parse_json(&program.run(&["reminder", "run", "tea", "--json"]));
    assert_eq!((&output["ok"], &output["state"]), (&json!(true), &json!("done")));
    assert!(!program.data().join("reminders/tea.md").exists(), "a reminder that is done now is done");
}

#[test]
fn job_runs_in_the_daemon_and_status_shows_the_next_one() {
    let program = program_with_jobs();
    let running = program.start();
    let done = program.run(&["reminder", "run", "tea", "--json"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert_eq!(parse_json(&done)["said"].as_array().unwrap().len(), 1, "{}", stdout(&done));
    let status = stdout(&program.run(&["status"]));
    let next = status.lines().find(|line| line.trim_start().starts_with("next ")).unwrap();
    assert!(next.contains("1 jan") && next.ends_with("· remember: stretch"), "{next}");
    assert_eq!(parse_json(&program.run(&["status", "--json"]))["next_fire"]["job"], "routine:stretch");
    running.terminate();
}

/// A reminder prints its text and then the model's text, each once.
#[test]
fn reminder_prints_its_text_and_the_answer() {
    let model_server = BackgroundModelServer::start();
    let program = Program::with_model(BINARY, &model_server);
    let file = program.data().join("reminders/tea.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, REMINDER).unwrap();
    model_server.model().script([ScriptedReply::text("The kettle is waiting.")]);
    let done = program.run(&["reminder", "run", "tea", "--json"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert_eq!(parse_json(&done)["said"], json!(["⏰ make tea", "The kettle is waiting."]));
}

#[test]
fn unknown_job_is_refused_in_one_sentence() {
    let program = program_with_jobs();
    let refused = program.run(&["routine", "run", "nobody"]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(stderr(&refused).trim(), "error: routine nobody not found");
}

const ROUTINE_WITH_TOOLS: &str =
    "---\nid: log\ncron: 0 3 1 1 *\nbackground: true\nallowed-tools:\n- Read(**.md)\n---\nWrite the log.\n";

/// I6, BF-2: permissions that another program adds to a job file are withheld until the user
/// accepts them; other changes apply at once. Files from before the first start, and changes by a
/// command, are accepted automatically.
#[test]
fn job_gets_only_the_tools_that_the_user_accepted() {
    let model_server = BackgroundModelServer::start();
    let program = Program::with_model(BINARY, &model_server);
    let file = program.data().join("routines/log.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, ROUTINE_WITH_TOOLS).unwrap();
    // Returns the request of the next run, which lists its tools.
    let request_of_next_run = || {
        model_server.model().script([ScriptedReply::text("Done."), ScriptedReply::text("Done.")]);
        let done = program.run(&["routine", "run", "log"]);
        assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
        model_server
            .requests()
            .into_iter()
            .rev()
            .find(|request| request.body.contains("Write the log"))
            .unwrap()
            .body
    };
    assert!(request_of_next_run().contains("Read(**.md)"), "it was there before the first start");
    std::fs::write(&file, ROUTINE_WITH_TOOLS.replace("- Read(**.md)", "- Read(**.md)\n- WebSearch")).unwrap();
    let request = request_of_next_run();
    assert!(request.contains("Read(**.md)") && !request.contains("- WebSearch"), "{request}");
    let listed = stdout(&program.run(&["routine", "list"]));
    let sentence = "asks for \"WebSearch\", which you have not accepted: it runs without. `ollim-bot routine accept log` accepts it.";
    assert!(listed.contains(sentence), "{listed}");
    assert!(stdout(&program.run(&["doctor"])).contains(&format!("routines/log.md {sentence}")));
    // A flag accepts only its own value, and no earlier changes of the file.
    assert_eq!(program.run(&["routine", "edit", "log", "--skills", "tidy"]).status.code(), Some(0));
    assert!(stdout(&program.run(&["routine", "show", "log"])).contains(sentence));
    let accepted = stdout(&program.run(&["routine", "accept", "log"]));
    assert!(accepted.starts_with("accepted log: \"WebSearch\". it holds"), "{accepted}");
    assert!(request_of_next_run().contains("WebSearch"));
    assert!(!stdout(&program.run(&["routine", "list"])).contains("not accepted"));
}

/// A run that must report first, or whose session is compacted afterwards, is followed until it
/// really ends.
#[test]
fn run_is_followed_to_its_real_end() {
    let model_server = BackgroundModelServer::start();
    let program = Program::with_model(BINARY, &model_server);
    let file = program.data().join("routines/log.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let text =
        "---\nid: log\ncron: 0 3 1 1 *\nbackground: true\nupdate-main-session: always\n---\nWrite the log.\n";
    std::fs::write(&file, text).unwrap();
    model_server.model().script([
        ScriptedReply::text("Done."),
        ScriptedReply::tool_call("report_updates", &json!({ "message": "the log is written" })),
        ScriptedReply::text("Done."),
    ]);
    let done = program.run(&["routine", "run", "log"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(!stderr(&done).contains("it goes on"), "{}", stderr(&done));
    assert_eq!(model_server.requests().len(), 3);
}
