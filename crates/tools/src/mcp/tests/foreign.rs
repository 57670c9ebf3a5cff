//! Interoperability tests with servers built on the protocol's Python SDK, which `cargo xtask test
//! --long` installs.

use std::process::Stdio;

use serde_json::Map;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::super::client::Client;
use super::super::http::HttpTransport;
use super::super::oauth::TokenProvider;
use super::super::protocol::Era;
use super::super::stdio::StdioTransport;
use super::super::transport::TransportError;
use super::*;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/foreign/mcp_server.py");

/// The variable with the path of a Python with SDK 2.x, which speaks both eras.
const PYTHON_BOTH_ERAS: &str = "OLLIM_MCP_PYTHON";
/// The variable with the path of a Python with SDK 1.x, which speaks only the handshake era.
const PYTHON_HANDSHAKE: &str = "OLLIM_MCP_PYTHON_HANDSHAKE";

#[expect(clippy::disallowed_methods, reason = "the test runner passes the location of the SDK")]
fn python_path(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} names no python"))
}

fn stdio_client(variable: &str) -> Client {
    let environment = BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]);
    let context = ProcessContext { launcher: Vec::new(), environment, directory: std::env::temp_dir() };
    let args = [SCRIPT.to_owned(), "stdio".to_owned()];
    Client::new(Box::new(
        StdioTransport::start(&python_path(variable), &args, &BTreeMap::new(), &context).unwrap(),
    ))
}

/// Starts an HTTP server that ends with the returned child.
async fn start_http_server(variable: &str, kind: &str) -> (Child, String) {
    let mut program = Command::new(python_path(variable));
    program.args([SCRIPT, kind]).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = program.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = lines.next_line().await.unwrap().unwrap();
    (child, format!("http://127.0.0.1:{port}/mcp"))
}

fn http_client(url: &str, headers: &BTreeMap<String, String>) -> Client {
    let authorizer = TokenProvider::new("notes", url, Arc::new(MemoryTokenStore::default()));
    Client::new(Box::new(HttpTransport::new(url, headers, authorizer).unwrap()))
}

/// Negotiates, lists the tools and calls one.
async fn check_use(mut client: Client, expected: Era) {
    client.negotiate().await.unwrap();
    assert_eq!(client.era(), Some(&expected));
    let listed = client.request("tools/list", Map::new(), Vec::new()).await.unwrap();
    assert_eq!(listed["tools"][0]["name"], "note");
    let mut params = Map::new();
    params.insert("name".to_owned(), json!("note"));
    params.insert("arguments".to_owned(), json!({ "text": "milk" }));
    let called = client.request("tools/call", params, Vec::new()).await.unwrap();
    assert_eq!(content::result_text(&called), Ok("kept milk".to_owned()));
}

fn modern() -> Era {
    Era::Modern("2026-07-28".to_owned())
}

fn handshake() -> Era {
    Era::Handshake("2025-11-25".to_owned())
}

#[tokio::test]
#[ignore = "needs the Python SDK"]
async fn sdk_program_is_used_in_both_eras() {
    check_use(stdio_client(PYTHON_BOTH_ERAS), modern()).await;
    check_use(stdio_client(PYTHON_HANDSHAKE), handshake()).await;
}

#[tokio::test]
#[ignore = "needs the Python SDK"]
async fn sdk_http_server_is_used_in_both_eras() {
    let (_current, url) = start_http_server(PYTHON_BOTH_ERAS, "http").await;
    check_use(http_client(&url, &BTreeMap::new()), modern()).await;
    let (_old, url) = start_http_server(PYTHON_HANDSHAKE, "http").await;
    check_use(http_client(&url, &BTreeMap::new()), handshake()).await;
}

/// A protected server of the SDK requires a sign-in and accepts a token.
#[tokio::test]
#[ignore = "needs the Python SDK"]
async fn protected_sdk_server_requires_a_sign_in() {
    for (variable, era) in [(PYTHON_BOTH_ERAS, modern()), (PYTHON_HANDSHAKE, handshake())] {
        let (_server, url) = start_http_server(variable, "protected").await;
        let refused = http_client(&url, &BTreeMap::new()).negotiate().await;
        assert_eq!(refused, Err(TransportError::SignInNeeded));
        let token = BTreeMap::from([("Authorization".to_owned(), "Bearer good".to_owned())]);
        check_use(http_client(&url, &token), era).await;
    }
}
