//! Setup of calendars, mail and Google: accepted when they answer, with a specific message for each
//! failure.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Output;

use serde_json::json;
use testkit::dovecot::{Dovecot, PASSWORD, USER};
use testkit::google::{CLIENT, CLIENT_SECRET, GoogleElsewhere};
use testkit::kill::{Pane, Program, free_port, stderr, stdout};

use crate::rig::{fresh, json_of, keep, mode, run, secret};

/// Starts a server that answers every request with `status`. Returns its address.
fn answering(status: &'static str) -> String {
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

fn refused(output: &Output, words: &[&str]) {
    let told = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    for word in words {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert!(!told.contains("canary"), "{told}");
}

fn caldav(program: &Program, url: &str) -> Output {
    let file = secret(program, "canary-password");
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
fn every_way_a_calendar_server_can_be_wrong_has_its_line() {
    let program = fresh();
    let said = caldav(&program, &answering("401 Unauthorized"));
    refused(&said, &["password", "Nothing was changed."]);
    let said = caldav(&program, &answering("404 Not Found"));
    refused(&said, &["Nothing was changed."]);
    let nobody = format!("http://127.0.0.1:{}", free_port());
    refused(&caldav(&program, &nobody), &["Nothing was changed."]);
    refused(&caldav(&program, "nowhere"), &["error: `nowhere` is no address. write it like https://"]);
    let missing = run(&program, &["setup", "caldav", "--no-input"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("--url https://cloud.example.org"), "{}", stderr(&missing));
    assert!(!program.data().join("state/caldav.password").exists());
    assert!(!program.data().join("state/environment").exists());
}

/// Setup checks the configuration that it would store: a calendar that was in a file is also
/// checked on the server, and a rejected password changes nothing.
#[test]
fn a_calendar_that_was_kept_elsewhere_is_tried_on_the_server() {
    let program = fresh();
    let kept = keep(&program, "environment", "OLLIM_CALENDAR=local\nOLLIM_USER_NAME=Ann\n");
    let said = caldav(&program, &answering("401 Unauthorized"));
    refused(&said, &["password", "Nothing was changed."]);
    assert!(!program.data().join("state/caldav.password").exists());
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "OLLIM_CALENDAR=local\nOLLIM_USER_NAME=Ann\n");
}

fn mail(program: &Program, url: &str, password: &str) -> Output {
    let file = secret(program, password);
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
fn a_mailbox_is_connected_when_it_has_let_us_in() {
    let dovecot = Dovecot::start(|_| {});
    let program = fresh();
    let url = format!("imap://127.0.0.1:{}", dovecot.port);
    refused(
        &mail(&program, &url, "canary-wrong"),
        &["does not let ann@example.org in", "Nothing was changed."],
    );
    refused(
        &mail(&program, &format!("imap://127.0.0.1:{}", free_port()), PASSWORD),
        &["Nothing was changed."],
    );
    refused(
        &mail(&program, "https://mail.example.org", PASSWORD),
        &["error: `https://mail.example.org` is not the address of a mailbox"],
    );
    assert!(!program.data().join("state/imap.password").exists());
    let done = mail(&program, &url, PASSWORD);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).starts_with("✓ mail  by imap, 1 folder"), "{}", stdout(&done));
    assert_eq!(mode(&program.data().join("state/imap.password")), 0o600);
    let labels = run(&program, &["mail", "labels"]);
    assert_eq!(stdout(&labels), "  INBOX  INBOX\n", "{}", stderr(&labels));
    let again = run(&program, &["setup", "mail", "--no-input"]);
    assert!(stdout(&again).contains("nothing to do"), "{}", stderr(&again));
    let deep = json_of(&run(&program, &["status", "--deep", "--json"]));
    let found = deep["elsewhere"].as_array().unwrap().iter().find(|it| it["what"] == "mail").unwrap();
    assert_eq!(found["state"], "fine", "{deep}");
    drop(dovecot);
    let deep = run(&program, &["status", "--deep"]);
    assert_eq!(deep.status.code(), Some(1));
    assert!(stdout(&deep).contains("✗ mail "), "{}", stdout(&deep));
}

/// GO-5: Google needs a client of the right kind, and a terminal.
#[test]
fn google_is_connected_in_a_terminal() {
    let google = GoogleElsewhere::open();
    let mut program = fresh();
    program.set("OLLIM_GOOGLE_BASE", &google.server().url());
    refused(
        &run(&program, &["setup", "google", "--no-input"]),
        &[
            "1. Open https://console.cloud.google.com",
            "press Publish app",
            "`ollim-bot setup google --client-file FILE`",
        ],
    );
    let client =
        |kind: &str| json!({ kind: { "client_id": CLIENT, "client_secret": CLIENT_SECRET } }).to_string();
    let given = |text: &str| {
        let file = secret(&program, text);
        run(&program, &["setup", "google", "--client-file", file.to_str().unwrap(), "--no-input"])
    };
    let web = given(&client("web"));
    assert_eq!(web.status.code(), Some(2));
    assert!(stderr(&web).contains("make one of the kind `Desktop app`"), "{}", stderr(&web));
    assert!(stderr(&given("hello")).contains("that is not the JSON file of a client"));
    let pane = Pane::open(&program, &["setup", "google"], (200, 30));
    pane.shows("where is that file? (its path, or q):");
    pane.says("/no/such/file");
    pane.shows("✗ /no/such/file: No such file");
    pane.until("the question again", |screen| screen.matches("where is that file?").count() == 2);
    pane.says(secret(&program, &client("installed")).to_str().unwrap());
    pane.shows("To connect Google for tasks, calendar and mail, open this in a browser");
    drop(pane);
    std::fs::remove_file(program.data().join("state/credentials.json")).unwrap();
    refused(&given(&client("installed")), &["Run `ollim-bot google connect` in a terminal"]);
    assert_eq!(mode(&program.data().join("state/credentials.json")), 0o600);

    let pane = Pane::open(&program, &["setup", "google"], (2_000, 20));
    let screen = pane.until("the address", |screen| screen.contains("paste its address here"));
    let url = screen.lines().find(|line| line.starts_with("http://")).expect("an address").to_owned();
    pane.says(&testkit::kill::wait(location(&url)));
    pane.until("the end", |screen| {
        screen.contains("✓ google  connected for tasks, calendar and mail") && screen.contains("ended with 0")
    });
    let again = run(&program, &["setup", "google", "--no-input"]);
    assert!(stdout(&again).contains("nothing to do"), "{}", stderr(&again));

    let more = run(&program, &["setup", "google", "--services", "mail,tasks", "--no-input"]);
    assert!(stdout(&more).contains("nothing to do"), "{}", stderr(&more));

    // A working client is not replaced by one without a grant.
    assert!(stdout(&given(&client("installed"))).contains("nothing to do"));
    let kept = std::fs::read_to_string(program.data().join("state/credentials.json")).unwrap();
    let other = given(&client("installed").replace(CLIENT, "other"));
    refused(&other, &["disconnect first: ollim-bot google disconnect", "nothing was changed."]);
    assert_eq!(std::fs::read_to_string(program.data().join("state/credentials.json")).unwrap(), kept);
}

/// Returns the redirect target of the consent page at `url`.
async fn location(url: &str) -> String {
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
