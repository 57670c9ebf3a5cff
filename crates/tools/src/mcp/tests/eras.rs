//! Servers of a single era, as strict as the specification permits.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;

use super::super::client::Client;
use super::super::transport::{Headers, Transport, TransportError};
use super::fake::{FakeResponse, Request, json_response as answered, serve};
use super::*;

fn error_response(id: &Value, code: i64, data: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "no", "data": data } })
}

fn result_response(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn tool_list() -> Value {
    let schema =
        json!({ "type": "object", "properties": { "text": { "type": "string", "x-mcp-header": "Text" } } });
    json!([{ "name": "note", "description": "Keeps a note.", "inputSchema": schema }])
}

fn open_server(url: String) -> ServerEndpoint {
    ServerEndpoint::Address { url, headers: BTreeMap::new(), client: None }
}

/// A server of 2026-07-28 only. The rules are from the specification's pages "Versioning" (an
/// `initialize` is answered with -32022 and `data.supported`) and "Streamable HTTP" (the headers
/// repeat the body, else -32020 with 400; an unknown method is -32601 with 404; a session id is
/// never sent).
fn modern_only(_: &str, request: &Request) -> FakeResponse {
    let message = request.json();
    let id = message["id"].clone();
    let method = message["method"].as_str().unwrap_or_default();
    if request.method != "POST" {
        return FakeResponse::Complete(http("405 Method Not Allowed", "", ""));
    }
    if method == "initialize" {
        return answered(
            "400 Bad Request",
            &error_response(&id, -32022, &json!({ "supported": ["2026-07-28"] })),
        );
    }
    let meta = &message["params"]["_meta"];
    let version = meta["io.modelcontextprotocol/protocolVersion"].as_str();
    if version.is_none() || !meta["io.modelcontextprotocol/clientCapabilities"].is_object() {
        return answered("400 Bad Request", &error_response(&id, -32602, &Value::Null));
    }
    let name = message["params"]["name"].as_str();
    let repeated = request.header("mcp-protocol-version") == version
        && request.header("mcp-method") == Some(method)
        && request.header("mcp-name") == name
        && request.header("mcp-param-text") == message["params"]["arguments"]["text"].as_str()
        && request.header("mcp-session-id").is_none();
    if !repeated {
        return answered("400 Bad Request", &error_response(&id, -32020, &Value::Null));
    }
    match method {
        "server/discover" => {
            let found = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete",
                "ttlMs": 0, "cacheScope": "private" });
            answered("200 OK", &result_response(&id, &found))
        }
        "tools/list" => {
            let listed = json!({ "tools": tool_list(), "resultType": "complete", "ttlMs": 0, "cacheScope": "private" });
            answered("200 OK", &result_response(&id, &listed))
        }
        "tools/call" => {
            let text = json!({ "content": [{ "type": "text", "text": "kept" }], "resultType": "complete" });
            answered("200 OK", &result_response(&id, &text))
        }
        _ => answered("404 Not Found", &error_response(&id, -32601, &Value::Null)),
    }
}

#[tokio::test]
async fn modern_http_server_is_used() {
    let (origin, _tasks) = serve(modern_only).await;
    let rig = Rig::new(vec![("wiki", open_server(format!("{origin}/mcp")))]);
    rig.accept().await;
    assert_eq!(rig.call("mcp__wiki__note").await, "kept");
}

/// A program of the modern era, and one that asks for input during a call.
#[tokio::test]
async fn modern_program_is_used() {
    let found = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#;
    let tools = TOOLS.replace("\"id\":3", "\"id\":2");
    let program = |done: &str| {
        let script = format!(
            "while read -r line; do case \"$line\" in *server/discover*clientCapabilities*2026-07-28*|\
             *clientCapabilities*2026-07-28*server/discover*) echo '{found}';; \
             *tools/list*) echo '{tools}';; *tools/call*) echo '{done}';; *) exit 1;; esac; done"
        );
        let args = vec!["-c".to_owned(), script];
        ServerEndpoint::Program { command: "sh".to_owned(), args, env: BTreeMap::new() }
    };
    let done = CALL_RESULT.replace("\"id\":4", "\"id\":3");
    let asks = r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","inputRequests":{}}}"#;
    let rig = Rig::new(vec![("notes", program(&done)), ("asks", program(asks))]);
    rig.accept().await;
    assert_eq!(rig.call("mcp__notes__note").await, "kept");
    assert!(rig.call("mcp__asks__note").await.contains("asks for input while it works"));
}

/// A server without a common revision is reported with its revisions, and nothing else is tried.
#[tokio::test]
async fn server_without_common_revision_is_reported() {
    let (origin, _tasks) = serve(|_: &str, request: &Request| {
        let id = request.json()["id"].clone();
        answered("400 Bad Request", &error_response(&id, -32022, &json!({ "supported": ["2031-01-01"] })))
    })
    .await;
    let told = Rig::new(vec![("wiki", open_server(origin))]).call("mcp__wiki__note").await;
    assert!(told.contains("speaks protocol version 2031-01-01, and ollim-bot speaks 2026-07-28"), "{told}");
}

/// Handshake era: the newest revision is offered, and the header repeats the one that the server chose (2025-06-18,
/// "Streamable HTTP", protocol version header).
#[tokio::test]
async fn header_repeats_the_chosen_revision() {
    let (origin, _tasks) = serve(|_: &str, request: &Request| {
        let message = request.json();
        let id = message["id"].clone();
        let header = request.header("mcp-protocol-version");
        match message["method"].as_str().unwrap_or_default() {
            "server/discover" => FakeResponse::Complete(http("405 Method Not Allowed", "", "")),
            "initialize" => {
                assert_eq!(header, None);
                assert_eq!(message["params"]["protocolVersion"], "2025-11-25");
                let chosen = json!({ "protocolVersion": "2025-03-26", "capabilities": {} });
                answered("200 OK", &result_response(&id, &chosen))
            }
            _ if header != Some("2025-03-26") => FakeResponse::Complete(http("400 Bad Request", "", "")),
            "notifications/initialized" => FakeResponse::Complete(http("202 Accepted", "", "")),
            "tools/list" => answered("200 OK", &result_response(&id, &json!({ "tools": tool_list() }))),
            _ => answered(
                "200 OK",
                &result_response(&id, &json!({ "content": [{ "type": "text", "text": "kept" }] })),
            ),
        }
    })
    .await;
    let rig = Rig::new(vec![("wiki", open_server(origin))]);
    rig.accept().await;
    assert_eq!(rig.call("mcp__wiki__note").await, "kept");
}

/// Handshake era: a request of the server during a call is answered with a post.
#[tokio::test]
async fn server_request_over_http_is_answered() {
    let released = Arc::new(Notify::new());
    let (origin, _tasks) = serve(move |_: &str, request: &Request| {
        let message = request.json();
        let id = message["id"].clone();
        match message["method"].as_str().unwrap_or_default() {
            "server/discover" => answered("200 OK", &error_response(&id, -32601, &Value::Null)),
            "initialize" => {
                answered("200 OK", &result_response(&id, &json!({ "protocolVersion": "2025-06-18" })))
            }
            "tools/list" => answered("200 OK", &result_response(&id, &json!({ "tools": tool_list() }))),
            "tools/call" => {
                let question = json!({ "jsonrpc": "2.0", "id": "q1", "method": "roots/list" });
                let done = result_response(&id, &json!({ "content": [{ "type": "text", "text": "kept" }] }));
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let first = format!("{head}data: {question}\n\n");
                FakeResponse::Split(first, Arc::clone(&released), format!("data: {done}\n\n"))
            }
            _ => {
                if id == "q1" && message["error"]["code"] == -32601 {
                    released.notify_one();
                }
                FakeResponse::Complete(http("202 Accepted", "", ""))
            }
        }
    })
    .await;
    let rig = Rig::new(vec![("wiki", open_server(origin))]);
    rig.accept().await;
    assert_eq!(rig.call("mcp__wiki__note").await, "kept");
}

/// A transport to a server that ignores requests before `initialize`.
#[derive(Default)]
struct SilentTransport(Arc<Mutex<Vec<String>>>);

impl Transport for SilentTransport {
    fn request<'a>(
        &'a mut self,
        _id: u64,
        message: &'a Value,
        _headers: &'a Headers,
    ) -> BoxFuture<'a, Result<Value, TransportError>> {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        self.0.lock().unwrap().push(method.clone());
        Box::pin(async move {
            match method.as_str() {
                "initialize" => Ok(json!({ "protocolVersion": "2024-11-05" })),
                _ => std::future::pending().await,
            }
        })
    }

    fn notify<'a>(&'a mut self, _: &'a Value, _: &'a Headers) -> BoxFuture<'a, Result<(), TransportError>> {
        Box::pin(async { Ok(()) })
    }

    fn take_tools_changed(&mut self) -> bool {
        false
    }
}

#[tokio::test(start_paused = true)]
async fn ignored_probe_leads_to_a_handshake() {
    let silent = SilentTransport::default();
    let asked = Arc::clone(&silent.0);
    Client::new(Box::new(silent)).negotiate().await.unwrap();
    assert_eq!(*asked.lock().unwrap(), ["server/discover", "initialize"]);
}
