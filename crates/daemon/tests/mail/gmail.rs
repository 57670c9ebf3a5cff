//! Mail at Google: listing, reading, labels, and error messages.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use testkit::google::{GoogleFault, mail};
use testkit::process::{Program, stderr, stdout};

use crate::rig::connected_account;

fn check(program: &Program, arguments: &[&str], expected: &Expect) {
    let output = program.run(arguments);
    let code = output.status.code().expect("an end");
    expected.assert_eq(&format!("{}{}(exit {code})\n", stdout(&output), stderr(&output)));
}

/// GO-22: a line has id, local time, sender and subject, with placeholders for missing values.
#[test]
fn unread_and_matching_mail_is_listed() {
    let (google, program) = connected_account();
    let mut odd = mail("18c2", "<news@example.org>", "", "");
    odd["internalDate"] = json!(null);
    google.server().account().messages =
        vec![mail("18c1", "\"Bell, Ann\" <ann@example.org>", "=?utf-8?Q?Gr=C3=BC=C3=9Fe?=", "x"), odd];
    for name in ["mail", "gmail"] {
        check(
            &program,
            &[name, "unread"],
            &expect![[r#"
                  18c1  2026-11-16 09:00  Bell, Ann  Grüße
                  18c2  (no date)      news@example.org  (no subject)
                (exit 0)
            "#]],
        );
        check(
            &program,
            &[name, "search", "ann", "--max", "1"],
            &expect![[r#"
              18c1  2026-11-16 09:00  Bell, Ann  Grüße
            (exit 0)
        "#]],
        );
        check(
            &program,
            &[name, "search", "-from:nobody"],
            &expect![[r#"
            no messages
            (exit 0)
        "#]],
        );
    }
    let requests = google.server().account().requests.clone();
    assert_eq!(requests[0].query_value("maxResults"), Some("20"));
    assert!(requests.iter().any(|request| request.query_value("q") == Some("-from:nobody")));
    program.run(&["mail", "search", "--max", "3", "from:ann", "is:unread"]);
    let asked = google.server().account().requests.last().expect("a request").clone();
    assert_eq!(
        (asked.query_value("q"), asked.query_value("maxResults")),
        (Some("from:ann is:unread"), Some("3"))
    );
}

/// GO-23: a message is shown with its headers and then its text.
#[test]
fn message_is_shown_with_headers_and_text() {
    let (google, program) = connected_account();
    google.server().account().messages = vec![
        mail("18c1", "Ann <ann@example.org>", "Lunch?", "Are you free\r\non Monday?\u{1b}[31m\r\n"),
        mail("18c2", "Ann <ann@example.org>", "", ""),
    ];
    check(
        &program,
        &["mail", "read", "18c1"],
        &expect![[r#"
            from:    Ann <ann@example.org>
            to:      me@example.org
            date:    Mon, 16 Nov 2026 08:00:00 +0100
            subject: Lunch?

            Are you free
            on Monday?[31m
            (exit 0)
        "#]],
    );
    check(
        &program,
        &["gmail", "read", "18c2"],
        &expect![[r#"
            from:    Ann <ann@example.org>
            to:      me@example.org
            date:    Mon, 16 Nov 2026 08:00:00 +0100
            subject: 

            (no text body)
            (exit 0)
        "#]],
    );
}

/// GO-24: a line has two spaces, the id, two spaces, and the name.
#[test]
fn labels_are_listed() {
    let (_google, program) = connected_account();
    check(
        &program,
        &["mail", "labels"],
        &expect![[r#"
              INBOX  INBOX
              Label_1  Familie/Grüße
            (exit 0)
        "#]],
    );
}

#[test]
fn json_output_has_all_fields() {
    let (google, program) = connected_account();
    google.server().account().messages = vec![mail("18c1", "Ann <ann@example.org>", "Lunch?", "hi")];
    let json = |arguments: &[&str]| -> Value {
        let output = program.run(arguments);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stdout(&output)))
    };
    let heading = json!({ "id": "18c1", "at": "2026-11-16T08:00:00Z", "from": "Ann", "subject": "Lunch?" });
    assert_eq!(json(&["mail", "unread", "--json"]), json!({ "messages": [heading] }));
    assert_eq!(json(&["mail", "read", "18c1", "--json"])["body"], "hi");
    assert_eq!(json(&["mail", "labels", "--json"])["labels"][0], json!({ "id": "INBOX", "name": "INBOX" }));
    let failed = json(&["mail", "read", "nope", "--json"]);
    assert_eq!((&failed["ok"], &failed["error"]["code"]), (&json!(false), &json!(1)));
}

/// GO-26: an error is one plain line with exit code 1.
#[test]
fn google_error_is_one_line() {
    let (google, program) = connected_account();
    let fault = |status: u16, body: &str| GoogleFault {
        path: "gmail",
        status,
        retry_after: Some(9),
        body: body.to_owned(),
    };
    google.server().account().faults.extend([fault(429, ""), fault(500, "<html>oops</html>")]);
    check(
        &program,
        &["mail", "unread"],
        &expect![[r#"
        error: google says that we ask too often. try again in 9 s.
        (exit 1)
    "#]],
    );
    check(
        &program,
        &["mail", "labels"],
        &expect![[r#"
        error: google has trouble of its own (500). try again later.
        (exit 1)
    "#]],
    );
    check(
        &program,
        &["mail", "read", "nope"],
        &expect![[r#"
        error: google has no message `nope`.
        (exit 1)
    "#]],
    );
    assert_eq!(program.run(&["mail", "unread", "--max", "0"]).status.code(), Some(2));
    assert_eq!(program.run(&["mail"]).status.code(), Some(2));
}
