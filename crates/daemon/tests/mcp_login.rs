//! Signing in to a third-party MCP server: the real program, a strict fake server, and a simulated
//! browser.

#![expect(clippy::expect_used, reason = "a fixture that cannot be built stops the test")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;

use serde_json::json;
use testkit::mcp_server::{Consent, ProtectedServer};
use testkit::model_server::ScriptedReply;
use testkit::process::{BackgroundModelServer, Program, WaitingProcess, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

/// Opens `url` like a browser. Returns the status, the `location` header and the body.
fn open_url(url: &str) -> (u16, Option<String>, String) {
    let (host, target) = url.strip_prefix("http://").expect("an address").split_once('/').expect("a path");
    let mut stream = TcpStream::connect(host).expect("a connection");
    let request = format!("GET /{target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let location = head.lines().find_map(|line| line.strip_prefix("location: ")).map(str::to_owned);
    (status, location, body.to_owned())
}

/// Follows the consent page and its redirect. Returns the status and the page that the program
/// serves.
fn follow_consent(url: &str) -> (u16, String) {
    let (status, location, _) = open_url(url);
    assert_eq!(status, 302);
    let (status, _, page) = open_url(&location.expect("a redirect"));
    (status, page)
}

/// Returns the port of the redirect address in `url`.
fn callback_port(url: &str) -> String {
    let (_, rest) = url.split_once("redirect_uri=http%3A%2F%2F127.0.0.1%3A").expect("a redirect address");
    rest.split_once('%').expect("a path").0.to_owned()
}

struct Rig {
    server: ProtectedServer,
    program: Program,
}

impl Rig {
    fn new(program: Program) -> Self {
        let rig = Self { server: ProtectedServer::start(), program };
        std::fs::create_dir_all(rig.program.data()).expect("a folder");
        std::fs::set_permissions(rig.program.data(), std::fs::Permissions::from_mode(0o700)).expect("a mode");
        let file = json!({ "mcpServers": { "wiki": { "type": "http", "url": rig.server.url() } } });
        std::fs::write(rig.program.data().join("mcp.json"), file.to_string()).expect("a file");
        rig
    }

    fn token_path(&self) -> PathBuf {
        self.program.data().join("state/mcp-wiki.token")
    }

    /// Starts a sign-in. Returns the address for the browser.
    fn login(&self) -> (String, WaitingProcess) {
        let start = format!("{}/authorize?", self.server.issuer());
        self.program.start_until(&["mcp-servers", "login", "wiki"], &start)
    }

    fn list_servers(&self) -> String {
        stdout(&self.program.run(&["mcp-servers"]))
    }

    /// Asserts that the port of the sign-in at `url` is closed and that no secret was shown.
    fn assert_sign_in_closed(&self, url: &str, output: &Output) {
        let port = callback_port(url);
        assert!(TcpStream::connect(format!("127.0.0.1:{port}")).is_err(), "{port} is still open");
        let text = stdout(output) + &stderr(output);
        assert!(!text.contains("canary"), "{text}");
    }

    fn assert_refused(&self, expected: &[&str]) {
        assert_eq!(self.server.account().refusals, expected);
    }
}

/// After sign-in a protected server can be used. An expired token is refreshed, and the new refresh
/// token replaces the old one; a rejected refresh is reported; signing out removes the tokens.
#[test]
fn protected_server_is_used_until_the_sign_in_is_withdrawn() {
    let model_server = BackgroundModelServer::start();
    let rig = Rig::new(Program::with_model(BINARY, &model_server));
    let sign_in_needed =
        "! The server `wiki` needs you to sign in. Run `ollim-bot mcp-servers login wiki` in a terminal.";
    assert!(rig.list_servers().contains(sign_in_needed), "{}", rig.list_servers());

    let (url, login) = rig.login();
    let (status, page) = follow_consent(&url);
    assert_eq!(status, 200);
    assert!(page.contains("You can close this window"), "{page}");
    let output = login.finish();
    let printed = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        printed.contains("Signed in to wiki. `ollim-bot mcp-servers accept wiki` lets its tools be used."),
        "{printed}"
    );
    rig.assert_sign_in_closed(&url, &output);
    let mode = |path: PathBuf| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(rig.token_path()), 0o600);
    let running = rig.program.start();
    let accepted = rig.program.run(&["mcp-servers", "accept", "wiki"]);
    assert!(stdout(&accepted).contains("note"), "{}", stderr(&accepted));

    let note = |text: &str| {
        let before = model_server.requests().len();
        let call = json!({ "tool": "mcp__wiki__note", "input": { "text": text } });
        model_server.model().script([ScriptedReply::tool_call("mcp", &call), ScriptedReply::text("Done.")]);
        let mut events = running.events().expect("events");
        let message = running.send_message("keep it").expect("it is heard");
        let event = events.find(|event| ["asked", "ended"].contains(&event.name.as_str()));
        if event.expect("an event").name == "asked" {
            running.command("/allow").expect("a yes");
            events.wait_for_end(message).expect("an end");
        }
        let requests = model_server.requests().split_off(before);
        requests.iter().map(|request| request.json["messages"].to_string()).collect::<String>()
    };
    running.command("/permissions default").expect("a choice");
    let printed = note("milk");
    assert!(printed.contains("kept milk"), "{printed}");

    let first = rig.server.account().valid_tokens();
    rig.server.account().expire();
    let printed = note("bread");
    assert!(printed.contains("kept bread"), "{printed}");
    let second = rig.server.account().valid_tokens();
    assert!(second.len() == 2 && second.iter().all(|secret| !first.contains(secret)), "{first:?} {second:?}");
    assert_eq!(mode(rig.token_path()), 0o600);
    let stored = std::fs::read_to_string(rig.token_path()).expect("a file");
    assert!(second.iter().all(|secret| stored.contains(secret)), "both new tokens are kept");
    rig.server.account().expire();
    assert!(
        rig.list_servers().contains("  note  "),
        "a process of its own refreshes too: {}",
        rig.list_servers()
    );
    let printed = note("eggs");
    assert!(
        printed.contains("kept eggs"),
        "the daemon takes the token that another process stored: {printed}"
    );
    rig.assert_refused(&[]);

    rig.server.account().revoke_all();
    let ended =
        "The server `wiki` has ended your sign-in. Run `ollim-bot mcp-servers login wiki` in a terminal.";
    let printed = note("salt");
    assert!(printed.contains(ended), "{printed}");
    assert!(rig.list_servers().contains(ended), "{}", rig.list_servers());
    running.terminate();

    let output = rig.program.run(&["mcp-servers", "logout", "wiki"]);
    assert!(stdout(&output).contains("Signed out of wiki."), "{}", stderr(&output));
    assert!(!rig.token_path().exists());
    assert!(rig.list_servers().contains(sign_in_needed), "{}", rig.list_servers());
}

/// If the user denies consent, nothing is stored and the port is closed.
#[test]
fn denied_sign_in_is_reported_and_stores_nothing() {
    let rig = Rig::new(Program::offline(BINARY));
    rig.server.account().consent = Consent::Deny;
    let (url, login) = rig.login();
    let (status, page) = follow_consent(&url);
    assert_eq!(status, 200);
    assert!(page.contains("Nothing was connected."), "{page}");
    let output = login.finish();
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    let expected = "The sign-in to `wiki` was denied (access_denied). Nothing has changed. \
                    `ollim-bot mcp-servers login wiki` tries again.";
    assert!(text.contains(expected), "{text}");
    rig.assert_sign_in_closed(&url, &output);
    assert!(!rig.token_path().exists());
    assert!(rig.server.account().token_requests.is_empty());
    rig.assert_refused(&[]);
}

/// A code that the authorization server rejects is reported with the reason.
#[test]
fn rejected_code_is_reported_with_its_reason() {
    let rig = Rig::new(Program::offline(BINARY));
    let (url, login) = rig.login();
    let (_, location, _) = open_url(&url);
    let (start, rest) = location.as_deref().and_then(|to| to.split_once("code-canary")).expect("a code");
    open_url(&format!("{start}code-of-another{rest}"));
    let output = login.finish();
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    let expected = "The sign-in to `wiki` failed: invalid_grant: The request was refused. \
                    `ollim-bot mcp-servers login wiki` tries again.";
    assert!(text.contains(expected), "{text}");
    assert!(!rig.token_path().exists());
    rig.assert_refused(&["token: invalid_grant"]);
}

/// A response with another state is answered with 404, and the sign-in continues.
#[test]
fn response_with_another_state_is_not_used() {
    let rig = Rig::new(Program::offline(BINARY));
    rig.server.account().consent = Consent::WrongState;
    let (url, login) = rig.login();
    assert_eq!(follow_consent(&url).0, 404);
    assert!(rig.server.account().token_requests.is_empty());
    rig.server.account().consent = Consent::Allow;
    assert_eq!(follow_consent(&url).0, 200);
    let output = login.finish();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    rig.assert_sign_in_closed(&url, &output);
    assert!(rig.token_path().exists());
    rig.assert_refused(&[]);
}

/// RFC 9207: a response that names another issuer, or none although the metadata promises it, ends
/// the sign-in; its code is not used.
#[test]
fn response_of_another_issuer_ends_the_sign_in() {
    let rig = Rig::new(Program::offline(BINARY));
    for consent in [Consent::WrongIssuer, Consent::NoIssuer] {
        rig.server.account().consent = consent;
        let (url, login) = rig.login();
        follow_consent(&url);
        let output = login.finish();
        assert_eq!(output.status.code(), Some(1));
        let text = stderr(&output);
        assert!(text.contains("was answered by another authorization server, so it was not used."), "{text}");
        rig.assert_sign_in_closed(&url, &output);
        assert!(!rig.token_path().exists());
    }
    assert!(rig.server.account().token_requests.is_empty());
}

/// The issuer of the response is compared with the authorization server's metadata, which may end
/// with a slash that the resource metadata omits.
#[test]
fn issuer_may_end_with_a_slash() {
    let rig = Rig::new(Program::offline(BINARY));
    rig.server.account().trailing_slash = true;
    let (url, login) = rig.login();
    follow_consent(&url);
    let output = login.finish();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    rig.assert_refused(&[]);
}

/// A token file that others can read is refused, with the step that fixes it.
#[test]
fn readable_token_file_is_refused() {
    let rig = Rig::new(Program::offline(BINARY));
    let (url, login) = rig.login();
    follow_consent(&url);
    assert_eq!(login.finish().status.code(), Some(0));
    std::fs::set_permissions(rig.token_path(), std::fs::Permissions::from_mode(0o644)).expect("a mode");
    let listed = rig.list_servers();
    assert!(listed.contains("others can read") && listed.contains("chmod 600"), "{listed}");
}
