//! Servers of a single era, as strict as the specification permits.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;

use super::super::client::Client;
use super::super::transport::{Failure, Headers, Transport};
use super::fake::{Answer, Request, json as answered, serve};
use super::*;

fn refused(id: &Value, code: i64, data: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "no", "data": data } })
}

fn result(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn note() -> Value {
    let schema =
        json!({ "type": "object", "properties": { "text": { "type": "string", "x-mcp-header": "Text" } } });
    json!([{ "name": "note", "description": "Keeps a note.", "inputSchema": schema }])
}

fn plain(url: String) -> Server {
    Server::Address { url, headers: BTreeMap::new(), client: None }
}

/// A server of 2026-07-28 only. The rules are from the specification's pages "Versioning" (an
/// `initialize` is answered with -32022 and `data.supported`) and "Streamable HTTP" (the headers
/// repeat the body, else -32020 with 400; an unknown method is -32601 with 404; a session id is
/// never sent).
fn modern_only(_: &str, request: &Request) -> Answer {
    let message = request.json();
    let id = message["id"].clone();
    let method = message["method"].as_str().unwrap_or_default();
    if request.method != "POST" {
        return Answer::Whole(http("405 Method Not Allowed", "", ""));
    }
    if method == "initialize" {
        return answered("400 Bad Request", &refused(&id, -32022, &json!({ "supported": ["2026-07-28"] })));
    }
    let meta = &message["params"]["_meta"];
    let version = meta["io.modelcontextprotocol/protocolVersion"].as_str();
    if version.is_none() || !meta["io.modelcontextprotocol/clientCapabilities"].is_object() {
        return answered("400 Bad Request", &refused(&id, -32602, &Value::Null));
    }
    let name = message["params"]["name"].as_str();
    let repeated = request.header("mcp-protocol-version") == version
        && request.header("mcp-method") == Some(method)
        && request.header("mcp-name") == name
        && request.header("mcp-param-text") == message["params"]["arguments"]["text"].as_str()
        && request.header("mcp-session-id").is_none();
    if !repeated {
        return answered("400 Bad Request", &refused(&id, -32020, &Value::Null));
    }
    match method {
        "server/discover" => {
            let found = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete",
                "ttlMs": 0, "cacheScope": "private" });
            answered("200 OK", &result(&id, &found))
        }
        "tools/list" => {
            let listed =
                json!({ "tools": note(), "resultType": "complete", "ttlMs": 0, "cacheScope": "private" });
            answered("200 OK", &result(&id, &listed))
        }
        "tools/call" => {
            let text = json!({ "content": [{ "type": "text", "text": "kept" }], "resultType": "complete" });
            answered("200 OK", &result(&id, &text))
        }
        _ => answered("404 Not Found", &refused(&id, -32601, &Value::Null)),
    }
}

#[tokio::test]
async fn a_server_of_the_modern_era_alone_is_used() {
    let (origin, _tasks) = serve(modern_only).await;
    let rig = Rig::new(vec![("wiki", plain(format!("{origin}/mcp")))]);
    rig.accept().await;
    assert_eq!(rig.call("mcp__wiki__note").await, "kept");
}

/// A program of the modern era, and one that asks for input during a call.
#[tokio::test]
async fn a_program_of_the_modern_era_alone_is_used() {
    let found = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#;
    let tools = TOOLS.replace("\"id\":3", "\"id\":2");
    let program = |done: &str| {
        let script = format!(
            "while read -r line; do case \"$line\" in *server/discover*clientCapabilities*2026-07-28*|\
             *clientCapabilities*2026-07-28*server/discover*) echo '{found}';; \
             *tools/list*) echo '{tools}';; *tools/call*) echo '{done}';; *) exit 1;; esac; done"
        );
        let args = vec!["-c".to_owned(), script];
        Server::Program { command: "sh".to_owned(), args, env: BTreeMap::new() }
    };
    let done = DONE.replace("\"id\":4", "\"id\":3");
    let asks = r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","inputRequests":{}}}"#;
    let rig = Rig::new(vec![("notes", program(&done)), ("asks", program(asks))]);
    rig.accept().await;
    assert_eq!(rig.call("mcp__notes__note").await, "kept");
    assert!(rig.call("mcp__asks__note").await.contains("asks for input while it works"));
}

/// A server without a common revision is reported with its revisions, and nothing else is tried.
#[tokio::test]
async fn a_server_without_a_common_revision_is_told() {
    let (origin, _tasks) = serve(|_: &str, request: &Request| {
        let id = request.json()["id"].clone();
        answered("400 Bad Request", &refused(&id, -32022, &json!({ "supported": ["2031-01-01"] })))
    })
    .await;
    let told = Rig::new(vec![("wiki", plain(origin))]).call("mcp__wiki__note").await;
    assert!(told.contains("speaks protocol version 2031-01-01, and ollim-bot speaks 2026-07-28"), "{told}");
}

/// Handshake era: the newest revision is offered, and the header repeats the one that the server chose (2025-06-18,
/// "Streamable HTTP", protocol version header).
#[tokio::test]
async fn the_header_names_the_revision_that_the_server_chose() {
    let (origin, _tasks) = serve(|_: &str, request: &Request| {
        let message = request.json();
        let id = message["id"].clone();
        let header = request.header("mcp-protocol-version");
        match message["method"].as_str().unwrap_or_default() {
            "server/discover" => Answer::Whole(http("405 Method Not Allowed", "", "")),
            "initialize" => {
                assert_eq!(header, None);
                assert_eq!(message["params"]["protocolVersion"], "2025-11-25");
                let chosen = json!({ "protocolVersion": "2025-03-26", "capabilities": {} });
                answered("200 OK", &result(&id, &chosen))
            }
            _ if header != Some("2025-03-26") => Answer::Whole(http("400 Bad Request", "", "")),
            "notifications/initialized" => Answer::Whole(http("202 Accepted", "", "")),
            "tools/list" => answered("200 OK", &result(&id, &json!({ "tools": note() }))),
            _ => {
                answered("200 OK", &result(&id, &json!({ "content": [{ "type": "text", "text": "kept" }] })))
            }
        }
    })
    .await;
    let rig = Rig::new(vec![("wiki", plain(origin))]);
    rig.accept().await;
    assert_eq!(rig.call("mcp__wiki__note").await, "kept");
}

/// Handshake era: a request of the server during a call is answered with a post.
#[tokio::test]
async fn a_question_over_http_is_answered() {
    let released = Arc::new(Notify::new());
    let (origin, _tasks) = serve(move |_: &str, request: &Request| {
        let message = request.json();
        let id = message["id"].clone();
        match message["method"].as_str().unwrap_or_default() {
            "server/discover" => answered("200 OK", &refused(&id, -32601, &Value::Null)),
            "initialize" => answered("200 OK", &result(&id, &json!({ "protocolVersion": "2025-06-18" }))),
            "tools/list" => answered("200 OK", &result(&id, &json!({ "tools": note() }))),
            "tools/call" => {
                let question = json!({ "jsonrpc": "2.0", "id": "q1", "method": "roots/list" });
                let done = result(&id, &json!({ "content": [{ "type": "text", "text": "kept" }] }));
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let first = format!("{head}data: {question}\n\n");
                Answer::Held(first, Arc::clone(&released), format!("data: {done}\n\n"))
            }
            _ => {
                if id == "q1" && message["error"]["code"] == -32601 {
                    released.notify_one();
                }
                Answer::Whole(http("202 Accepted", "", ""))
            }
        }
    })
    .await;
    let rig = Rig::new(vec![("wiki", plain(origin))]);
    rig.accept().await;
    assert_eq!(rig.call("mcp__wiki__note").await, "kept");
}

/// A transport to a server that ignores requests before `initialize`.
#[derive(Default)]
struct Silent(Arc<Mutex<Vec<String>>>);

impl Transport for Silent {
    fn request<'a>(
        &'a mut self,
        _id: u64,
        message: &'a Value,
        _headers: &'a Headers,
    ) -> BoxFuture<'a, Result<Value, Failure>> {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        self.0.lock().unwrap().push(method.clone());
        Box::pin(async move {
            match method.as_str() {
                "initialize" => Ok(json!({ "protocolVersion": "2024-11-05" })),
                _ => std::future::pending().await,
            }
        })
    }

    fn notify<'a>(&'a mut self, _: &'a Value, _: &'a Headers) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async { Ok(()) })
    }

    fn take_tools_changed(&mut self) -> bool {
        false
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ignores_the_probe_gets_a_handshake() {
    let silent = Silent::default();
    let asked = Arc::clone(&silent.0);
    Client::new(Box::new(silent)).negotiate().await.unwrap();
    assert_eq!(*asked.lock().unwrap(), ["server/discover", "initialize"]);
}
