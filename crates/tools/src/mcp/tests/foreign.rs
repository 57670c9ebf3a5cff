//! Interoperability tests with servers built on the protocol's Python SDK, which `cargo xtask test
//! --long` installs.

use std::process::Stdio;

use serde_json::Map;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::super::client::Client;
use super::super::http::Posts;
use super::super::oauth::Authorizer;
use super::super::protocol::Era;
use super::super::stdio::Pipes;
use super::super::transport::Failure;
use super::*;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/foreign/mcp_server.py");

/// The variable with the path of a Python with SDK 2.x, which speaks both eras.
const CURRENT: &str = "OLLIM_MCP_PYTHON";
/// The variable with the path of a Python with SDK 1.x, which speaks only the handshake era.
const HANDSHAKE: &str = "OLLIM_MCP_PYTHON_HANDSHAKE";

#[expect(clippy::disallowed_methods, reason = "the test runner passes the location of the SDK")]
fn python(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} names no python"))
}

fn on_pipes(variable: &str) -> Client {
    let environment = BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]);
    let around = Surroundings { leash: Vec::new(), environment, directory: std::env::temp_dir() };
    let args = [SCRIPT.to_owned(), "stdio".to_owned()];
    Client::new(Box::new(Pipes::start(&python(variable), &args, &BTreeMap::new(), &around).unwrap()))
}

/// Starts an HTTP server that ends with the returned child.
async fn over_http(variable: &str, kind: &str) -> (Child, String) {
    let mut program = Command::new(python(variable));
    program.args([SCRIPT, kind]).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = program.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = lines.next_line().await.unwrap().unwrap();
    (child, format!("http://127.0.0.1:{port}/mcp"))
}

fn posts(url: &str, headers: &BTreeMap<String, String>) -> Client {
    let authorizer = Authorizer::new("notes", url, Arc::new(Tokens::default()));
    Client::new(Box::new(Posts::new(url, headers, authorizer).unwrap()))
}

/// Negotiates, lists the tools and calls one.
async fn used(mut client: Client, expected: Era) {
    client.negotiate().await.unwrap();
    assert_eq!(client.era(), Some(&expected));
    let listed = client.request("tools/list", Map::new(), Vec::new()).await.unwrap();
    assert_eq!(listed["tools"][0]["name"], "note");
    let mut params = Map::new();
    params.insert("name".to_owned(), json!("note"));
    params.insert("arguments".to_owned(), json!({ "text": "milk" }));
    let called = client.request("tools/call", params, Vec::new()).await.unwrap();
    assert_eq!(content::words(&called), Ok("kept milk".to_owned()));
}

fn modern() -> Era {
    Era::Modern("2026-07-28".to_owned())
}

fn handshake() -> Era {
    Era::Handshake("2025-11-25".to_owned())
}

#[tokio::test]
#[ignore = "needs the Python SDK"]
async fn a_program_by_the_sdk_is_used_in_both_eras() {
    used(on_pipes(CURRENT), modern()).await;
    used(on_pipes(HANDSHAKE), handshake()).await;
}

#[tokio::test]
#[ignore = "needs the Python SDK"]
async fn an_address_by_the_sdk_is_used_in_both_eras() {
    let (_current, url) = over_http(CURRENT, "http").await;
    used(posts(&url, &BTreeMap::new()), modern()).await;
    let (_old, url) = over_http(HANDSHAKE, "http").await;
    used(posts(&url, &BTreeMap::new()), handshake()).await;
}

/// A protected server of the SDK requires a sign-in and accepts a token.
#[tokio::test]
#[ignore = "needs the Python SDK"]
async fn a_protected_address_by_the_sdk_wants_a_sign_in() {
    for (variable, era) in [(CURRENT, modern()), (HANDSHAKE, handshake())] {
        let (_server, url) = over_http(variable, "protected").await;
        let refused = posts(&url, &BTreeMap::new()).negotiate().await;
        assert_eq!(refused, Err(Failure::SignInNeeded));
        let token = BTreeMap::from([("Authorization".to_owned(), "Bearer good".to_owned())]);
        used(posts(&url, &token), era).await;
    }
}
