//! Setup of calendars, mail and Google: accepted when they answer, with a specific message for each
//! failure.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Output;

use serde_json::json;
use testkit::dovecot::{Dovecot, PASSWORD, USER};
use testkit::google::{BackgroundGoogleServer, CLIENT, CLIENT_SECRET};
use testkit::process::{Pane, Program, free_port, stderr, stdout};

use crate::rig::{fresh_program, mode, parse_json, run, write_secret, write_state_file};

/// Starts a server that answers every request with `status`. Returns its address.
fn start_server(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its number").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = (&stream).write_all(answer.as_bytes());
        }
    });
    format!("http://127.0.0.1:{port}")
}

fn assert_refused(output: &Output, words: &[&str]) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains("canary"), "{text}");
}

fn set_up_caldav(program: &Program, url: &str) -> Output {
    let file = write_secret(program, "canary-password");
    let words = [
        "setup",
        "caldav",
        "--url",
        url,
        "--user",
        "me",
        "--password-file",
        file.to_str().unwrap(),
        "--no-input",
    ];
    run(program, &words)
}

/// A server that does not answer, rejects the password, or is no calendar server, is reported
/// specifically; nothing is stored.
#[test]
fn calendar_server_failures_are_reported_specifically() {
    let program = fresh_program();
    let output = set_up_caldav(&program, &start_server("401 Unauthorized"));
    assert_refused(&output, &["password", "Nothing was changed."]);
    let output = set_up_caldav(&program, &start_server("404 Not Found"));
    assert_refused(&output, &["Nothing was changed."]);
    let closed_port = format!("http://127.0.0.1:{}", free_port());
    assert_refused(&set_up_caldav(&program, &closed_port), &["Nothing was changed."]);
    assert_refused(
        &set_up_caldav(&program, "nowhere"),
        &["error: `nowhere` is no address. write it like https://"],
    );
    let missing = run(&program, &["setup", "caldav", "--no-input"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("--url https://cloud.example.org"), "{}", stderr(&missing));
    assert!(!program.data().join("state/caldav.password").exists());
    assert!(!program.data().join("state/environment").exists());
}

/// Setup checks the configuration that it would store: a calendar that was in a file is also
/// checked on the server, and a rejected password changes nothing.
#[test]
fn local_calendar_is_also_checked_on_the_server() {
    let program = fresh_program();
    let file = write_state_file(&program, "environment", "OLLIM_CALENDAR=local\nOLLIM_USER_NAME=Ann\n");
    let output = set_up_caldav(&program, &start_server("401 Unauthorized"));
    assert_refused(&output, &["password", "Nothing was changed."]);
    assert!(!program.data().join("state/caldav.password").exists());
    assert_eq!(std::fs::read_to_string(file).unwrap(), "OLLIM_CALENDAR=local\nOLLIM_USER_NAME=Ann\n");
}

fn set_up_mail(program: &Program, url: &str, password: &str) -> Output {
    let file = write_secret(program, password);
    run(
        program,
        &[
            "setup",
            "mail",
            "--url",
            url,
            "--user",
            USER,
            "--password-file",
            file.to_str().unwrap(),
            "--no-input",
        ],
    )
}

/// J1: a mailbox is connected after a successful sign-in; wrong passwords and addresses are
/// reported.
#[test]
fn mailbox_is_connected_after_a_successful_sign_in() {
    let dovecot = Dovecot::start(|_| {});
    let program = fresh_program();
    let url = format!("imap://127.0.0.1:{}", dovecot.port);
    assert_refused(
        &set_up_mail(&program, &url, "canary-wrong"),
        &["does not let ann@example.org in", "Nothing was changed."],
    );
    assert_refused(
        &set_up_mail(&program, &format!("imap://127.0.0.1:{}", free_port()), PASSWORD),
        &["Nothing was changed."],
    );
    assert_refused(
        &set_up_mail(&program, "https://mail.example.org", PASSWORD),
        &["error: `https://mail.example.org` is not the address of a mailbox"],
    );
    assert!(!program.data().join("state/imap.password").exists());
    let done = set_up_mail(&program, &url, PASSWORD);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).starts_with("✓ mail  by imap, 1 folder"), "{}", stdout(&done));
    assert_eq!(mode(&program.data().join("state/imap.password")), 0o600);
    let labels = run(&program, &["mail", "labels"]);
    assert_eq!(stdout(&labels), "  INBOX  INBOX\n", "{}", stderr(&labels));
    let again = run(&program, &["setup", "mail", "--no-input"]);
    assert!(stdout(&again).contains("nothing to do"), "{}", stderr(&again));
    let deep = parse_json(&run(&program, &["status", "--deep", "--json"]));
    let found =
        deep["elsewhere"].as_array().unwrap().iter().find(|service| service["what"] == "mail").unwrap();
    assert_eq!(found["state"], "fine", "{deep}");
    drop(dovecot);
    let deep = run(&program, &["status", "--deep"]);
    assert_eq!(deep.status.code(), Some(1));
    assert!(stdout(&deep).contains("✗ mail "), "{}", stdout(&deep));
}

/// GO-5: Google needs a client of the right kind, and a terminal.
#[test]
fn google_is_connected_in_a_terminal() {
    let google = BackgroundGoogleServer::start();
    let mut program = fresh_program();
    program.set_env("OLLIM_GOOGLE_BASE", &google.server().url());
    assert_refused(
        &run(&program, &["setup", "google", "--no-input"]),
        &[
            "1. Open https://console.cloud.google.com",
            "press Publish app",
            "`ollim-bot setup google --client-file FILE`",
        ],
    );
    let client =
        |kind: &str| json!({ kind: { "client_id": CLIENT, "client_secret": CLIENT_SECRET } }).to_string();
    let set_up_with = |text: &str| {
        let file = write_secret(&program, text);
        run(&program, &["setup", "google", "--client-file", file.to_str().unwrap(), "--no-input"])
    };
    let web = set_up_with(&client("web"));
    assert_eq!(web.status.code(), Some(2));
    assert!(stderr(&web).contains("make one of the kind `Desktop app`"), "{}", stderr(&web));
    assert!(stderr(&set_up_with("hello")).contains("that is not the JSON file of a client"));
    let pane = Pane::open(&program, &["setup", "google"], (200, 30));
    pane.wait_for_text("where is that file? (its path, or q):");
    pane.type_line("/no/such/file");
    pane.wait_for_text("✗ /no/such/file: No such file");
    pane.wait_until("the question again", |screen| screen.matches("where is that file?").count() == 2);
    pane.type_line(write_secret(&program, &client("installed")).to_str().unwrap());
    pane.wait_for_text("To connect Google for tasks, calendar and mail, open this in a browser");
    drop(pane);
    std::fs::remove_file(program.data().join("state/credentials.json")).unwrap();
    assert_refused(&set_up_with(&client("installed")), &["Run `ollim-bot google connect` in a terminal"]);
    assert_eq!(mode(&program.data().join("state/credentials.json")), 0o600);

    let pane = Pane::open(&program, &["setup", "google"], (2_000, 20));
    let screen = pane.wait_until("the address", |screen| screen.contains("paste its address here"));
    let url = screen.lines().find(|line| line.starts_with("http://")).expect("an address").to_owned();
    pane.type_line(&testkit::process::block_on(redirect_location(&url)));
    pane.wait_until("the end", |screen| {
        screen.contains("✓ google  connected for tasks, calendar and mail") && screen.contains("ended with 0")
    });
    let again = run(&program, &["setup", "google", "--no-input"]);
    assert!(stdout(&again).contains("nothing to do"), "{}", stderr(&again));

    let more = run(&program, &["setup", "google", "--services", "mail,tasks", "--no-input"]);
    assert!(stdout(&more).contains("nothing to do"), "{}", stderr(&more));

    // A working client is not replaced by one without a grant.
    assert!(stdout(&set_up_with(&client("installed"))).contains("nothing to do"));
    let stored = std::fs::read_to_string(program.data().join("state/credentials.json")).unwrap();
    let other = set_up_with(&client("installed").replace(CLIENT, "other"));
    assert_refused(&other, &["disconnect first: ollim-bot google disconnect", "nothing was changed."]);
    assert_eq!(std::fs::read_to_string(program.data().join("state/credentials.json")).unwrap(), stored);
}

/// Returns the redirect target of the consent page at `url`.
async fn redirect_location(url: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (host, target) = url.strip_prefix("http://").expect("an address").split_once('/').expect("a path");
    let mut stream = tokio::net::TcpStream::connect(host).await.expect("a line");
    let request = format!("GET /{target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("a question");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let line = answer.lines().find_map(|line| line.strip_prefix("location: "));
    line.unwrap_or_else(|| panic!("{answer}")).to_owned()
}
