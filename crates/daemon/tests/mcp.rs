//! Our MCP server: the real program, with the protocol on stdin and stdout.

use serde_json::{Value, json};
use testkit::model_server::ScriptedReply;
use testkit::process::{BackgroundModelServer, Program, free_port, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// Sends `lines` and returns the responses.
fn exchange(program: &Program, lines: &[String]) -> Vec<Value> {
    let output = program.run_with_input(&["mcp"], &(lines.join("\n") + "\n"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn request(id: u32, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn call(id: u32, name: &str, arguments: Value) -> String {
    request(id, "tools/call", json!({ "name": name, "arguments": arguments }))
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// Another agent can capture, list and search, with and without a running daemon.
#[test]
fn agent_can_capture_list_and_search() {
    let program = Program::offline(BINARY);
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
    let lines = [
        request(1, "initialize", hello),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string(),
        request(2, "tools/list", json!({})),
        call(3, "capture", json!({ "text": "call the dentist tomorrow at 10" })),
        call(4, "capture", json!({ "text": "buy milk" })),
        call(5, "inbox", json!({})),
        call(6, "reminders", json!({})),
        call(7, "today", json!({ "day": "tomorrow" })),
        call(8, "tasks_add", json!({ "title": "write the report", "due": "2026-12-24" })),
        call(9, "tasks_list", Value::Null),
        call(10, "calendar", json!({ "days": 2 })),
        call(11, "history_search", json!({ "words": "dentist" })),
    ];
    let check = |program: &Program| {
        let answers = exchange(program, &lines);
        assert_eq!(
            answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect::<Vec<_>>(),
            (1..=11).collect::<Vec<_>>()
        );
        assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(answers[1]["result"]["tools"].as_array().unwrap().len(), 8);
        assert!(text(&answers[2]).contains("call the dentist"), "{}", answers[2]);
        assert!(text(&answers[4]).contains("buy milk"), "{}", answers[4]);
        assert!(text(&answers[5]).contains("call the dentist"), "{}", answers[5]);
        assert!(text(&answers[6]).contains("call the dentist"), "{}", answers[6]);
        assert!(text(&answers[8]).contains("write the report"), "{}", answers[8]);
        assert!(answers[2..].iter().all(|answer| answer["result"]["isError"] == false), "{answers:?}");
    };
    check(&program);
    let running = program.start();
    check(&program);
    running.terminate();
}

/// Invalid messages are answered with errors, and the next message is processed.
#[test]
fn invalid_message_gets_an_error_and_the_next_one_works() {
    let program = Program::offline(BINARY);
    let lines = [
        "not json".to_owned(),
        "[]".to_owned(),
        String::new(),
        request(1, "resources/list", json!({})),
        call(2, "rm", json!({})),
        call(3, "capture", json!({ "text": "-" })),
        call(4, "inbox", json!({ "other": 1 })),
        json!({ "jsonrpc": "2.0", "id": 99, "result": {} }).to_string(),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" }).to_string(),
        request(5, "initialize", json!({ "protocolVersion": "1999-01-01" })),
        request(6, "ping", json!({})),
    ];
    let answers = exchange(&program, &lines);
    let codes: Vec<Value> = answers.iter().map(|answer| answer["error"]["code"].clone()).collect();
    assert_eq!(codes[..4], [json!(-32700), json!(-32600), json!(-32601), json!(-32602)]);
    assert_eq!(answers[4]["result"]["isError"], true);
    assert!(text(&answers[5]).starts_with("that does not fit `inbox`"), "{}", answers[5]);
    assert_eq!(answers[6]["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(answers[7], json!({ "jsonrpc": "2.0", "id": 6, "result": {} }));
    assert_eq!(answers.len(), 8);
}

/// Creates a request of revision 2026-07-28, with its envelope.
fn modern_request(id: u32, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    request(id, method, params)
}

/// Revision 2026-07-28: no handshake, and each result has the additional fields.
#[test]
fn modern_client_is_served_without_a_handshake() {
    let program = Program::offline(BINARY);
    let mut old = json!({});
    old["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2031-01-01" });
    let lines = [
        request(1, "server/discover", old),
        request(2, "server/discover", json!({})),
        modern_request(3, "server/discover", json!({})),
        modern_request(4, "tools/list", json!({})),
        modern_request(5, "tools/call", json!({ "name": "capture", "arguments": { "text": "buy milk" } })),
        request(6, "tools/list", json!({})),
        modern_request(7, "ping", json!({})),
        request(8, "initialize", json!({ "protocolVersion": "2025-11-25" })),
    ];
    let answers = exchange(&program, &lines);
    assert_eq!(answers[0]["error"]["code"], -32022);
    assert_eq!(answers[0]["error"]["data"]["requested"], "2031-01-01");
    assert_eq!(answers[0]["error"]["data"]["supported"][0], "2026-07-28");
    assert_eq!(answers[1]["error"]["code"], -32602);
    let found = &answers[2]["result"];
    assert_eq!(found["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "ollim-bot");
    for answer in &answers[2..4] {
        assert_eq!(answer["result"]["ttlMs"], 0);
        assert_eq!(answer["result"]["cacheScope"], "private");
    }
    assert!(answers[2..5].iter().all(|answer| answer["result"]["resultType"] == "complete"), "{answers:?}");
    assert!(text(&answers[4]).contains("buy milk"), "{}", answers[4]);
    let codes: Vec<&Value> = answers[5..].iter().map(|answer| &answer["error"]["code"]).collect();
    assert_eq!(codes, [&json!(-32602), &json!(-32601), &json!(-32022)]);
}

/// An overlong line ends the session with an error.
#[test]
fn overlong_message_is_refused() {
    let program = Program::offline(BINARY);
    let output = program.run_with_input(&["mcp"], &"x".repeat((1 << 20) + 10));
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("longer than 1 MB"), "{}", stdout(&output));
}

const UNKNOWN_METHOD_REPLY: &str = r#"{"id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
const INITIALIZE_REPLY: &str = r#"{"id":2,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}"#;
const TOOLS_REPLY: &str = r#"{"id":3,"result":{"tools":[{"name":"note","description":"Keeps a note.","inputSchema":{"type":"object"}}]}}"#;

/// A server's tools are listed and accepted, and a changed tool needs new consent.
#[test]
fn server_tools_are_accepted_in_their_exact_form() {
    let program = Program::offline(BINARY);
    program.run(&["chat", "--once", "hello"]);
    let text = |line: &[&str]| {
        let output = program.run(line);
        assert_eq!(output.status.code(), Some(0), "{line:?}: {}", stderr(&output));
        stdout(&output)
    };
    assert!(text(&["mcp-servers"]).contains("No servers"));
    let write = |tools: &str| {
        let script = format!(
            "while read -r line; do case \"$line\" in *server/discover*) echo '{UNKNOWN_METHOD_REPLY}';; *initialize\\\"*) echo '{INITIALIZE_REPLY}';; *tools/list*) echo '{tools}';; esac; done"
        );
        let server = json!({ "command": "sh", "args": ["-c", script] });
        let file = json!({ "mcpServers": { "notes": server, "gone": { "command": "/no/such/program" }, "x y": {} } });
        std::fs::write(program.data().join("mcp.json"), file.to_string()).expect("a file");
    };
    write(TOOLS_REPLY);
    let listed = text(&["mcp-servers", "list"]);
    assert!(
        listed.contains("notes\n  note                              not accepted    Keeps a note."),
        "{listed}"
    );
    assert!(listed.contains("The server `gone` ") && listed.contains("`x y` is left out"), "{listed}");
    assert!(text(&["mcp-servers", "accept", "notes"]).contains("Accepted notes"));
    assert!(text(&["mcp-servers"]).contains("  accepted        Keeps a note."));
    write(&TOOLS_REPLY.replace("Keeps", "Sends"));
    assert!(text(&["mcp-servers"]).contains("not accepted    Sends a note."));
    write(TOOLS_REPLY);
    assert!(text(&["mcp-servers"]).contains("  accepted        Keeps"));
    text(&["mcp-servers", "remove", "notes"]);
    assert!(text(&["mcp-servers"]).contains("not accepted    Keeps"));
    let unknown = program.run(&["mcp-servers", "accept", "nobody"]);
    assert_eq!(unknown.status.code(), Some(1));
}

/// EN-2: an unreachable server does not prevent the start. A call of its tool fails, and the turn
/// continues.
#[test]
fn unreachable_server_stops_nothing() {
    let model_server = BackgroundModelServer::start();
    let program = Program::with_model(BINARY, &model_server);
    let servers =
        json!({ "docs": { "type": "http", "url": format!("http://127.0.0.1:{}/mcp", free_port()) } });
    let file = json!({ "mcpServers": servers });
    std::fs::write(program.data().join("mcp.json"), file.to_string()).expect("a file");
    let search = json!({ "tool": "mcp__docs__search", "input": { "words": "forks" } });
    model_server.model().script([
        ScriptedReply::tool_call("mcp", &search),
        ScriptedReply::text("The server is not there."),
        ScriptedReply::text("I can't look it up now."),
    ]);
    let running = program.start();
    running.command("/permissions default").expect("a choice");
    let mut events = running.events().expect("events");
    let message = running.send_message("what do the docs say about forks?").expect("it is heard");
    let event = events.find(|event| ["asked", "ended"].contains(&event.name.as_str()));
    assert_eq!(event.expect("a question").name, "asked");
    running.command("/allow").expect("a yes");
    assert_eq!(events.wait_for_end(message).expect("an end").data["how"], "finished");
    let read: String =
        model_server.requests().iter().map(|request| request.json["messages"].to_string()).collect();
    assert!(read.contains("The server `docs` cannot be reached"), "{read}");
    running.terminate();
    let listed = stdout(&program.run(&["mcp-servers", "list"]));
    assert!(listed.contains("docs\n  ! ") && listed.contains("cannot be reached"), "{listed}");
}
