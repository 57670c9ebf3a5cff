//! A data directory of the Python program with its transcripts: conversations and sessions
//! continue.
#![expect(clippy::unwrap_used, reason = "the setup of a test must succeed")]

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use testkit::kill::{Backstage, Program, Running, stderr};
use testkit::model_server::Act;

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

const MAIN: &str = "5f0c77aa-1111-4222-8333-444455556666";
const PRICES: &str = "a0b1c2d3-1111-4222-8333-444455556666";
const FORK: &str = "c3c3c3c3-1111-4222-8333-444455556666";
const NEW: u64 = 1_340_012_345_678_901_234;
const OLD: u64 = 1_310_012_345_678_901_234;

const ROUTINE: &str = "---\nid: \"9f3a1c02\"\ncron: \"0 3 1 1 *\"\nbackground: true\nsession: \"persistent\"\n\
                       update-main-session: \"freely\"\n---\nLook at the prices.\n";

/// Returns a transcript line in the format of Claude Code.
fn line(kind: &str, uuid: &str, parent: Option<&str>, content: &Value) -> String {
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
    let summary = line("user", "s1", Some("b1"), &json!("Summary: the boat is called Marlin."));
    let summary = summary.replace("\"isSidechain\":false", "\"isSidechain\":false,\"isCompactSummary\":true");
    [
        line("user", "u0", None, &json!("words before the summary")),
        line("assistant", "a0", Some("u0"), &text("Yes.")),
        format!("{boundary}\n"),
        summary,
        line("user", "u1", Some("s1"), &json!("where is the key of the shed?")),
        line("assistant", "a1", Some("u1"), &json!([{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "shed.md"}}])),
        line("user", "r1", Some("a1"), &json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "under the blue pot"}])),
        line("assistant", "a2", Some("r1"), &text("It is under the blue pot.")),
    ]
    .concat()
}

fn put(program: &Program, name: &str, text: &str) {
    let path = program.home().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Creates the directory, and a model that always gives the same answer.
fn python() -> (Backstage, Program) {
    let backstage = Backstage::open();
    backstage.model().answering(|_| Act::says("Fine."));
    let program = Program::answered_by(BINARY, &backstage);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let message = |id: u64, ts: f64| json!({"message_id": id, "fork_session_id": FORK, "parent_session_id": MAIN, "ts": ts});
    let sent = json!([message(OLD, now - 8.0 * 86_400.0), message(NEW, now - 3_600.0)]);
    put(&program, "data/state/sessions.json", MAIN);
    put(&program, "data/state/routine_sessions/9f3a1c02", PRICES);
    put(&program, "data/state/fork_messages.json", &sent.to_string());
    put(&program, "data/routines/prices.md", ROUTINE);
    let fork = [
        line("user", "f1", Some("a2"), &json!("[routine-bg:mail] look at the mail")),
        line("assistant", "f2", Some("f1"), &text("Anna asks about Lisbon.")),
    ];
    let prices = [
        line("user", "p1", None, &json!("[routine-bg:9f3a1c02] Look at the prices.")),
        line("assistant", "p2", Some("p1"), &text("The price was 417 today.")),
    ];
    for (session, text) in
        [(MAIN, main_transcript()), (FORK, main_transcript() + &fork.concat()), (PRICES, prices.concat())]
    {
        put(&program, &format!(".claude/projects/-home-julius--ollim-bot/{session}.jsonl"), &text);
    }
    (backstage, program)
}

/// Returns the body of the last model request.
fn asked(backstage: &Backstage) -> String {
    backstage.requests().last().map(|request| request.body.clone()).unwrap_or_default()
}

fn ends(running: &Running, reply: impl FnOnce() -> u64) {
    let mut events = running.events().unwrap();
    let message = reply();
    events.ended(message).unwrap();
}

#[test]
fn the_conversation_goes_on() {
    let (backstage, program) = python();
    let running = program.start();
    running.converse("and the garage?").unwrap();
    let request = asked(&backstage);
    for words in ["the boat is called Marlin", "under the blue pot", "and the garage?"] {
        assert!(request.contains(words), "{words}: {request}");
    }
    assert!(!request.contains("words before the summary"), "{request}");
    let stored = std::fs::read_to_string(program.data().join("state/sessions.json")).unwrap();
    assert_eq!(stored, MAIN);
    running.terminate();
    // A restart imports nothing twice.
    let running = program.start();
    running.converse("and the cellar?").unwrap();
    assert_eq!(asked(&backstage).matches("where is the key of the shed?").count(), 1);
    running.terminate();
}

#[test]
fn a_persistent_routine_remembers() {
    let (backstage, program) = python();
    let running = program.start();
    let done = program.run(&["routine", "run", "9f3a1c02"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let request = asked(&backstage);
    assert!(request.contains("The price was 417 today."), "{request}");
    let stored = std::fs::read_to_string(program.data().join("state/routine_sessions/9f3a1c02")).unwrap();
    assert_eq!(stored, PRICES);
    running.terminate();
}

#[test]
fn a_reply_to_an_old_message_goes_on_in_its_fork() {
    let (backstage, program) = python();
    let running = program.start();
    ends(&running, || running.reply("what does she ask?", NEW).unwrap());
    let request = asked(&backstage);
    for words in ["Anna asks about Lisbon.", "under the blue pot", "what does she ask?"] {
        assert!(request.contains(words), "{words}: {request}");
    }
    running.command("/exit").unwrap();
    // A reply to a message older than seven days is an ordinary message, and the record is removed.
    ends(&running, || running.reply("and this one?", OLD).unwrap());
    let request = asked(&backstage);
    assert!(request.contains("and this one?") && !request.contains("Anna asks about Lisbon."), "{request}");
    let file = std::fs::read_to_string(program.data().join("state/fork_messages.json")).unwrap();
    assert!(file.contains(&NEW.to_string()) && !file.contains(&OLD.to_string()), "{file}");
    running.terminate();
}

#[test]
fn transcripts_can_be_elsewhere_and_are_named_if_they_are_missing() {
    let (backstage, mut program) = python();
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
    program.set("CLAUDE_CONFIG_DIR", &place);
    let running = program.start();
    running.converse("and the garage?").unwrap();
    assert!(asked(&backstage).contains("the boat is called Marlin"));
    running.terminate();
}
