//! A data directory of the Python program with its transcripts: conversations and sessions
//! continue.
#![expect(clippy::unwrap_used, reason = "the setup of a test must succeed")]

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use testkit::model_server::ScriptedReply;
use testkit::process::{BackgroundModelServer, Program, RunningProgram, stderr};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

const MAIN_SESSION: &str = "5f0c77aa-1111-4222-8333-444455556666";
const ROUTINE_SESSION: &str = "a0b1c2d3-1111-4222-8333-444455556666";
const FORK_SESSION: &str = "c3c3c3c3-1111-4222-8333-444455556666";
const NEW_MESSAGE: u64 = 1_340_012_345_678_901_234;
const OLD_MESSAGE: u64 = 1_310_012_345_678_901_234;

const ROUTINE: &str = "---\nid: \"9f3a1c02\"\ncron: \"0 3 1 1 *\"\nbackground: true\nsession: \"persistent\"\n\
                       update-main-session: \"freely\"\n---\nLook at the prices.\n";

/// Returns a transcript line in the format of Claude Code.
fn transcript_line(kind: &str, uuid: &str, parent: Option<&str>, content: &Value) -> String {
    let message =
        json!({"id": format!("msg_{uuid}"), "role": kind, "model": "claude-sonnet-4-5", "content": content});
    let line = json!({"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/srv/julius", "version": "2.1.69",
        "gitBranch": "", "type": kind, "message": message, "uuid": uuid, "timestamp": "2026-03-05T09:07:12.123Z"});
    format!("{line}\n")
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// The transcript of main: a compaction, a tool call, and an answer.
fn main_transcript() -> String {
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": null, "logicalParentUuid": "a0",
        "compactMetadata": {"trigger": "manual", "preTokens": 10_668}, "timestamp": "2026-03-05T09:07:12.123Z"});
    let summary = transcript_line("user", "s1", Some("b1"), &json!("Summary: the boat is called Marlin."));
    let summary = summary.replace("\"isSidechain\":false", "\"isSidechain\":false,\"isCompactSummary\":true");
    [
        transcript_line("user", "u0", None, &json!("words before the summary")),
        transcript_line("assistant", "a0", Some("u0"), &text("Yes.")),
        format!("{boundary}\n"),
        summary,
        transcript_line("user", "u1", Some("s1"), &json!("where is the key of the shed?")),
        transcript_line("assistant", "a1", Some("u1"), &json!([{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "shed.md"}}])),
        transcript_line("user", "r1", Some("a1"), &json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "under the blue pot"}])),
        transcript_line("assistant", "a2", Some("r1"), &text("It is under the blue pot.")),
    ]
    .concat()
}

fn write_file(program: &Program, name: &str, text: &str) {
    let path = program.home().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Creates the directory, and a model that always gives the same answer.
fn setup() -> (BackgroundModelServer, Program) {
    let model_server = BackgroundModelServer::start();
    model_server.model().answering(|_| ScriptedReply::text("Fine."));
    let program = Program::with_model(BINARY, &model_server);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let message = |id: u64, ts: f64| json!({"message_id": id, "fork_session_id": FORK_SESSION, "parent_session_id": MAIN_SESSION, "ts": ts});
    let sent = json!([message(OLD_MESSAGE, now - 8.0 * 86_400.0), message(NEW_MESSAGE, now - 3_600.0)]);
    write_file(&program, "data/state/sessions.json", MAIN_SESSION);
    write_file(&program, "data/state/routine_sessions/9f3a1c02", ROUTINE_SESSION);
    write_file(&program, "data/state/fork_messages.json", &sent.to_string());
    write_file(&program, "data/routines/prices.md", ROUTINE);
    let fork = [
        transcript_line("user", "f1", Some("a2"), &json!("[routine-bg:mail] look at the mail")),
        transcript_line("assistant", "f2", Some("f1"), &text("Anna asks about Lisbon.")),
    ];
    let prices = [
        transcript_line("user", "p1", None, &json!("[routine-bg:9f3a1c02] Look at the prices.")),
        transcript_line("assistant", "p2", Some("p1"), &text("The price was 417 today.")),
    ];
    for (session, text) in [
        (MAIN_SESSION, main_transcript()),
        (FORK_SESSION, main_transcript() + &fork.concat()),
        (ROUTINE_SESSION, prices.concat()),
    ] {
        write_file(&program, &format!(".claude/projects/-home-julius--ollim-bot/{session}.jsonl"), &text);
    }
    (model_server, program)
}

/// Returns the body of the last model request.
fn last_request(model_server: &BackgroundModelServer) -> String {
    model_server.requests().last().map(|request| request.body.clone()).unwrap_or_default()
}

fn wait_for_reply(running: &RunningProgram, send: impl FnOnce() -> u64) {
    let mut events = running.events().unwrap();
    let message = send();
    events.wait_for_end(message).unwrap();
}

#[test]
fn conversation_continues() {
    let (model_server, program) = setup();
    let running = program.start();
    running.send_and_wait("and the garage?").unwrap();
    let request = last_request(&model_server);
    for words in ["the boat is called Marlin", "under the blue pot", "and the garage?"] {
        assert!(request.contains(words), "{words}: {request}");
    }
    assert!(!request.contains("words before the summary"), "{request}");
    let stored = std::fs::read_to_string(program.data().join("state/sessions.json")).unwrap();
    assert_eq!(stored, MAIN_SESSION);
    running.terminate();
    // A restart imports nothing twice.
    let running = program.start();
    running.send_and_wait("and the cellar?").unwrap();
    assert_eq!(last_request(&model_server).matches("where is the key of the shed?").count(), 1);
    running.terminate();
}

#[test]
fn persistent_routine_keeps_its_session() {
    let (model_server, program) = setup();
    let running = program.start();
    let done = program.run(&["routine", "run", "9f3a1c02"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let request = last_request(&model_server);
    assert!(request.contains("The price was 417 today."), "{request}");
    let stored = std::fs::read_to_string(program.data().join("state/routine_sessions/9f3a1c02")).unwrap();
    assert_eq!(stored, ROUTINE_SESSION);
    running.terminate();
}

#[test]
fn reply_to_an_old_message_resumes_its_fork() {
    let (model_server, program) = setup();
    let running = program.start();
    wait_for_reply(&running, || running.reply("what does she ask?", NEW_MESSAGE).unwrap());
    let request = last_request(&model_server);
    for words in ["Anna asks about Lisbon.", "under the blue pot", "what does she ask?"] {
        assert!(request.contains(words), "{words}: {request}");
    }
    running.command("/exit").unwrap();
    // A reply to a message older than seven days is an ordinary message, and the record is removed.
    wait_for_reply(&running, || running.reply("and this one?", OLD_MESSAGE).unwrap());
    let request = last_request(&model_server);
    assert!(request.contains("and this one?") && !request.contains("Anna asks about Lisbon."), "{request}");
    let file = std::fs::read_to_string(program.data().join("state/fork_messages.json")).unwrap();
    assert!(file.contains(&NEW_MESSAGE.to_string()) && !file.contains(&OLD_MESSAGE.to_string()), "{file}");
    running.terminate();
}

#[test]
fn transcript_directory_is_configurable_and_reported_if_missing() {
    let (model_server, mut program) = setup();
    std::fs::rename(program.home().join(".claude"), program.home().join("claude")).unwrap();
    let place = program.home().join("claude").to_str().unwrap().to_owned();
    let running = program.start();
    let health = running.get("/api/health").unwrap();
    let notices = health["notices"].to_string();
    let missing = program.home().join(".claude/projects");
    assert!(
        notices.contains(missing.to_str().unwrap()) && notices.contains("CLAUDE_CONFIG_DIR"),
        "{notices}"
    );
    running.terminate();
    program.set_env("CLAUDE_CONFIG_DIR", &place);
    let running = program.start();
    running.send_and_wait("and the garage?").unwrap();
    assert!(last_request(&model_server).contains("the boat is called Marlin"));
    running.terminate();
}
