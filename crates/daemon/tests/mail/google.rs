//! Connecting a Google account, and protection of its secrets.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use testkit::google::{CLIENT_SECRET, GoogleFault};
use testkit::process::{Pane, Program, read_tree, stderr, stdout};

use crate::rig::{ACCESS, BINARY, REFRESH, connected_account, with_client_only, write_state_file};

/// GO-5: without a client file, the setup steps and the path of the file are shown.
#[test]
fn without_a_client_the_setup_steps_are_shown() {
    let program = Program::offline(BINARY);
    for arguments in [&["google", "connect"][..], &["mail", "unread"]] {
        let output = program.run(arguments);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{}", stderr(&output));
        let place = program.data().join("state/credentials.json").display().to_string();
        for words in [
            "1. Open https://console.cloud.google.com",
            "press Publish app",
            &place,
            "`ollim-bot google connect`",
        ] {
            assert!(stderr(&output).contains(words), "{}", stderr(&output));
        }
        assert!(stderr(&output).contains("ollim-bot setup google --client-file FILE"), "{}", stderr(&output));
    }
    let mail = stderr(&program.run(&["mail", "unread"]));
    assert!(mail.contains("For one that speaks IMAP: `ollim-bot setup mail`."), "{mail}");
    assert!(!program.data().exists(), "looking makes no directory");
}

/// GO-5: without a terminal, no browser is waited for; the instructions are shown instead.
#[test]
fn without_a_terminal_no_sign_in_is_started() {
    let (google, program) = with_client_only();
    for arguments in [&["google", "connect"][..], &["mail", "unread"]] {
        let output = program.run(arguments);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(
            stderr(&output),
            "error: Google is not connected. Run `ollim-bot google connect` in a terminal, or /google-auth in Discord.\n"
        );
    }
    assert!(google.server().account().requests.is_empty());
}

/// DD-9, GO-5, GO-9: in a terminal the address is shown, and the resulting address of another
/// machine's browser can be pasted.
#[test]
fn account_is_connected_in_a_terminal() {
    let (google, program) = with_client_only();
    let pane = Pane::open(&program, &["google", "connect"], (2_000, 20));
    let screen = pane.wait_until("the address", |screen| screen.contains("paste its address here"));
    let url = screen.lines().find(|line| line.starts_with("http://")).expect("an address").to_owned();
    pane.type_line("http://127.0.0.1:1/?code=x");
    pane.wait_until("a remark", |screen| screen.contains("That is not the expected address"));
    let pasted = testkit::process::block_on(redirect_location(&url));
    pane.type_line(&pasted);
    pane.wait_until("the end", |screen| {
        screen.contains("Google is connected for tasks, calendar and mail.")
            && screen.contains("ended with 0")
    });
    let status = program.run(&["google", "status"]);
    assert_eq!(stdout(&status), "Google is connected for tasks, calendar and mail.\n");
    let token = program.data().join("state/token.json");
    assert_eq!(std::fs::metadata(token).expect("a token").permissions().mode() & 0o777, 0o600);
    assert_eq!(program.run(&["mail", "labels"]).status.code(), Some(0));

    let ended = program.run(&["google", "disconnect", "--json"]);
    assert_eq!(stdout(&ended), "{\"google\":\"not connected\",\"services\":[]}\n");
    assert!(google.server().account().refresh_tokens.is_empty());
}

/// GO-1, GO-5: a command requests its own service only, and services can be added later.
#[test]
fn services_can_be_connected_separately() {
    let (google, program) = with_client_only();
    let connect = |arguments: &[&str], ended: &str| {
        let pane = Pane::open(&program, arguments, (2_000, 20));
        let screen = pane.wait_until("the address", |screen| screen.contains("paste its address here"));
        let url = screen.lines().find(|line| line.starts_with("http://")).expect("an address").to_owned();
        pane.type_line(&testkit::process::block_on(redirect_location(&url)));
        pane.wait_until("the end", |screen| screen.contains(ended) && screen.contains("ended with 0"));
        screen
    };
    let screen = connect(&["google", "connect", "tasks"], "Google is connected for tasks.");
    assert!(screen.contains("To connect Google for tasks, open this"), "{screen}");
    let run = |arguments: &[&str]| {
        let output = program.run(arguments);
        stdout(&output) + &stderr(&output)
    };
    assert_eq!(run(&["tasks", "add", "Milk"]), "added task-0: (no due) -- Milk\n");
    let start = "2099-11-20T12:00";
    let end = "2099-11-20T13:00";
    run(&["cal", "add", "Lunch", "--start", start, "--end", end]);
    assert!(google.server().account().events.is_empty());
    assert!(program.data().join("calendar.ics").exists(), "the calendar stays in its file");
    let refused = run(&["mail", "labels"]);
    assert!(
        refused.contains("Google is connected, but not for mail. Run `ollim-bot google connect mail`"),
        "{refused}"
    );
    let doctor = run(&["doctor"]);
    assert!(doctor.contains("Google is connected without mail"), "{doctor}");
    connect(&["mail", "labels"], "INBOX");
    let status = run(&["google", "status"]);
    assert!(status.starts_with("Google is connected for tasks and mail. Not granted: calendar."), "{status}");
    let again = run(&["google", "connect", "mail"]);
    assert!(again.contains("Nothing to do"), "{again}");
}

/// GO-4: for access that ends within a week, the doctor explains the cause and the fix.
#[test]
fn doctor_explains_access_that_ended_after_a_week() {
    let (google, program) = connected_account();
    #[expect(clippy::disallowed_methods, reason = "the program runs in real time")]
    let now = jiff::Timestamp::now();
    let connected_at = now - jiff::SignedDuration::from_hours(7 * 24);
    let old = json!({ "token": ACCESS, "refresh_token": REFRESH, "expiry": "2020-01-01T00:00:00Z",
        "connected_at": connected_at.to_string() });
    write_state_file(&program, "token.json", &old.to_string());
    google.server().account().refresh_tokens.clear();
    let output = stderr(&program.run(&["mail", "labels"]));
    assert!(output.contains("and press Publish app. Verification is not needed"), "{output}");
    let doctor = stdout(&program.run(&["doctor"]));
    assert!(doctor.contains("the Google project is probably in status Testing"), "{doctor}");
    assert!(
        doctor.contains("fix: open https://console.cloud.google.com/auth/audience and press Publish app"),
        "{doctor}"
    );
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

/// GO-12, GO-13, GO-14: once Google is connected, the task commands use Google Tasks.
#[test]
fn connected_google_stores_the_tasks() {
    let (google, program) = connected_account();
    let run = |arguments: &[&str]| stdout(&program.run(arguments));
    assert_eq!(run(&["tasks", "list"]), "no tasks\n");
    assert_eq!(run(&["tasks", "add", "Milk", "--due", "2026-11-20"]), "added task-0: 2026-11-20 -- Milk\n");
    assert_eq!(run(&["tasks", "list"]), "  task-0  2026-11-20    [ ]  Milk\n");
    assert_eq!(run(&["tasks", "done", "task-0"]), "completed task-0\n");
    assert_eq!(run(&["tasks", "list", "--all"]), "  task-0  2026-11-20    [x]  Milk\n");
    assert_eq!(google.server().account().tasks[0]["status"], "completed");
    assert!(!program.data().join("tasks.md").exists());
}

/// GO-17, GO-18, GO-19, GO-20, GO-21: once Google is connected, the calendar commands use Google
/// Calendar.
#[test]
fn connected_google_stores_the_events() {
    let (google, program) = connected_account();
    let run = |arguments: &[&str]| stdout(&program.run(arguments));
    let start = "2099-11-20T12:00";
    let end = "2099-11-20T13:00";
    assert_eq!(run(&["cal", "add", "Lunch", "--start", start, "--end", end]), "created event0: Lunch\n");
    assert_eq!(google.server().account().events[0]["start"]["dateTime"], "2099-11-20T12:00:00+01:00");
    assert!(
        run(&["cal", "show", "event0"])
            .starts_with("title:       Lunch\nwhen:        2099-11-20  12:00-13:00")
    );
    assert_eq!(run(&["cal", "today"]), "no events\n");
    assert_eq!(run(&["cal", "update", "event0", "--summary", "Late lunch"]), "updated event0\n");
    assert_eq!(run(&["cal", "delete", "event0"]), "deleted event0\n");
    let gone = program.run(&["cal", "show", "event0"]);
    assert_eq!(
        (gone.status.code(), stderr(&gone).as_str()),
        (Some(1), "error: google has no event `event0`.\n")
    );
}

#[test]
fn remote_base_url_is_refused() {
    let mut program = Program::offline(BINARY);
    program.set_env("OLLIM_GOOGLE_BASE", "https://google.example.com");
    let output = program.run(&["google", "status"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).starts_with("error: OLLIM_GOOGLE_BASE: `https://google.example.com`"),
        "{}",
        stderr(&output)
    );
}

/// J2: secret files that others can read are refused.
#[test]
fn readable_token_file_is_refused() {
    let (_google, program) = connected_account();
    let token = program.data().join("state/token.json");
    set_permissions(&token, Permissions::from_mode(0o644)).expect("a file of ours");
    let output = program.run(&["mail", "unread"]);
    let expected =
        format!("error: {}: others can read this file. make it yours alone: chmod 600\n", token.display());
    assert_eq!((output.status.code(), stderr(&output)), (Some(1), expected));
}

/// J1, GO-4: whatever happens to the token, no secret appears in output or other files.
#[test]
fn secrets_appear_only_in_their_files() {
    let (google, mut program) = connected_account();
    program.set_env("OLLIM_LOG", "debug");
    let mut text = String::new();
    let mut run = |arguments: &[&str]| {
        let output = program.run(arguments);
        text.push_str(&(stdout(&output) + &stderr(&output)));
    };
    run(&["google", "status"]);
    run(&["mail", "unread"]);
    let echo = format!(r#"{{"error":{{"code":400,"message":"bad token {ACCESS}"}}}}"#);
    google.server().account().faults.push_back(GoogleFault {
        path: "gmail",
        status: 400,
        retry_after: None,
        body: echo,
    });
    run(&["mail", "labels", "--json"]);
    let old = json!({ "token": ACCESS, "refresh_token": REFRESH, "expiry": "2020-01-01T00:00:00Z" });
    write_state_file(&program, "token.json", &old.to_string());
    let echo = format!(r#"{{"error":"internal","error_description":"{REFRESH} {CLIENT_SECRET}"}}"#);
    google.server().account().faults.push_back(GoogleFault {
        path: "token",
        status: 500,
        retry_after: None,
        body: echo,
    });
    let mut run = |arguments: &[&str]| {
        let output = program.run(arguments);
        text.push_str(&(stdout(&output) + &stderr(&output)));
    };
    run(&["mail", "labels"]);
    google.server().account().refresh_tokens.clear();
    run(&["mail", "labels"]);
    run(&["google", "connect"]);
    assert!(text.contains("Google access has ended:"), "{text}");
    let left = read_tree(program.data());
    for secret in [ACCESS, REFRESH, CLIENT_SECRET] {
        assert!(!text.contains(secret), "{text}");
        for (path, bytes) in &left {
            let holds = String::from_utf8_lossy(bytes).contains(secret);
            assert!(!holds || path.ends_with("credentials.json"), "{}", path.display());
        }
    }
    assert!(program.data().join("state/google_auth_revoked").exists());
}

/// GO-4: the doctor reports a withdrawn grant until it is resolved, also after it was reported in
/// the chat.
#[test]
fn doctor_reports_a_withdrawn_grant_until_it_is_resolved() {
    let (google, program) = connected_account();
    let doctor = || stdout(&program.run(&["doctor"]));
    assert!(!doctor().contains("withdrawn"));
    let old = json!({ "token": ACCESS, "refresh_token": REFRESH, "expiry": "2020-01-01T00:00:00Z" });
    write_state_file(&program, "token.json", &old.to_string());
    google.server().account().refresh_tokens.clear();
    program.run(&["mail", "labels"]);
    std::fs::remove_file(program.data().join("state/google_auth_revoked")).expect("a mark for who tells it");
    for _ in 0..2 {
        let output = doctor();
        assert!(output.contains("✗ google   access was withdrawn on 20"), "{output}");
        assert!(output.contains("    fix: ollim-bot setup google; to go on without it: "), "{output}");
    }
    program.run(&["google", "disconnect"]);
    assert!(!doctor().contains("withdrawn"));
}
