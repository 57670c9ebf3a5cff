//! Tests of Gmail: listing, reading and errors.

use accounts::mail::{Mailbox, MailboxLabel, MessageSummary};
use serde_json::json;
use testkit::google::{GoogleFault, mail};

use crate::rig::Rig;

fn ids(headings: &[MessageSummary]) -> Vec<&str> {
    headings.iter().map(|heading| heading.id.as_str()).collect()
}

fn add_mails(rig: &Rig, count: usize) {
    let mails = (0..count).map(|n| mail(&format!("m{n}"), "Ann <a@example.org>", &format!("s{n}"), "words"));
    rig.server.account().messages.extend(mails);
}

/// GO-22: unread mail is listed over several pages, newest first, up to the requested number.
#[tokio::test]
async fn unread_mail_is_listed_over_pages() {
    let rig = Rig::connected().await;
    add_mails(&rig, 7);
    rig.server.account().messages[2]["labelIds"] = json!(["INBOX"]);
    rig.server.account().page_size = Some(2);
    assert_eq!(ids(&rig.google.unread(20).await.unwrap()), ["m0", "m1", "m3", "m4", "m5", "m6"]);
    assert_eq!(ids(&rig.google.unread(3).await.unwrap()), ["m0", "m1", "m3"]);
    let requests = rig.server.account().requests.clone();
    assert_eq!(requests[0].query_value("q"), Some("is:unread"));
    assert!(requests.iter().all(|request| request.method == "GET"), "mail is only read");
}

/// GO-22, GO-25: encoded words, quoted names, header names of any case, and missing headers.
#[tokio::test]
async fn summary_is_readable_despite_odd_headers() {
    let rig = Rig::connected().await;
    let mut odd = mail("b", "", "", "");
    odd["payload"]["headers"] = json!([]);
    odd["internalDate"] = json!(null);
    rig.server.account().messages =
        vec![mail("a", "\"Bell, Ann\" <a@example.org>", "=?utf-8?Q?Gr=C3=BC=C3=9Fe?= \u{202e}exe", "x"), odd];
    let found = rig.google.unread(20).await.unwrap();
    let heading = |id: &str, at: Option<i64>, from: &str, subject: &str| MessageSummary {
        id: id.to_owned(),
        at: at.map(|at| jiff::Timestamp::from_second(at).unwrap()),
        from: from.to_owned(),
        subject: subject.to_owned(),
    };
    assert_eq!(
        found,
        [heading("a", Some(1_794_816_000), "Bell, Ann", "Grüße exe"), heading("b", None, "", "")]
    );
}

#[tokio::test]
async fn search_query_is_sent_unchanged() {
    let rig = Rig::connected().await;
    add_mails(&rig, 2);
    rig.server.account().messages[1]["payload"]["headers"][2]["value"] = json!("Grüße & mehr");
    assert_eq!(ids(&rig.google.search("grüße & mehr", 20).await.unwrap()), ["m1"]);
    assert_eq!(rig.google.search("nothing like it", 20).await.unwrap(), []);
}

/// GO-23: the first text, depth first, is read, or else HTML; attachments are ignored.
#[tokio::test]
async fn text_part_is_read() {
    let rig = Rig::connected().await;
    let mut nested = mail("n", "Ann <a@example.org>", "s", "");
    let part = |kind: &str, data: serde_json::Value| json!({ "mimeType": kind, "headers": [], "body": data });
    nested["payload"]["mimeType"] = json!("multipart/mixed");
    nested["payload"]["parts"] = json!([
        part("application/pdf", json!({ "attachmentId": "x", "size": 50_000_000 })),
        { "mimeType": "text/plain", "headers": [{ "name": "content-disposition", "value": "Attachment; filename=a.txt" }],
          "body": { "data": "bm90IHRoaXM" } },
        { "mimeType": "multipart/alternative", "body": {}, "parts": [
            part("text/html", json!({ "data": "PGI-bm90IHRoaXM8L2I-" })),
            { "mimeType": "text/plain", "headers": [{ "name": "CONTENT-TYPE", "value": "text/plain; Charset=\"ISO-8859-1\"" }],
              "body": { "data": "R3L832U" } },
        ] },
    ]);
    let mut html = mail("h", "a@example.org", "s", "");
    html["payload"]["mimeType"] = json!("text/html");
    html["payload"]["body"]["data"] = json!("PHN0eWxlPng8L3N0eWxlPjxwPkhlbGxvPC9wPjxwPnlvdTwvcD4=");
    let empty = mail("e", "a@example.org", "s", "");
    rig.server.account().messages = vec![nested, html, empty];
    let letter = rig.google.read("n").await.unwrap();
    assert_eq!(letter.body.as_deref(), Some("Grüße"));
    assert_eq!((letter.from.as_str(), letter.to.as_str()), ("Ann <a@example.org>", "me@example.org"));
    assert_eq!(letter.date, "Mon, 16 Nov 2026 08:00:00 +0100");
    assert_eq!(rig.google.read("h").await.unwrap().body.as_deref(), Some("Hello you"));
    assert_eq!(rig.google.read("e").await.unwrap().body, None);
}

#[tokio::test]
async fn labels_have_two_names() {
    let rig = Rig::connected().await;
    let label = |id: &str, name: &str| MailboxLabel { id: id.to_owned(), name: name.to_owned() };
    assert_eq!(
        rig.google.labels().await.unwrap(),
        [label("INBOX", "INBOX"), label("Label_1", "Familie/Grüße")]
    );
}

/// A message deleted between listing and reading is not listed.
#[tokio::test]
async fn deleted_mail_is_not_listed() {
    let rig = Rig::connected().await;
    add_mails(&rig, 2);
    rig.fail("messages/m0", 404, r#"{"error":{"code":404,"message":"gone"}}"#);
    assert_eq!(ids(&rig.google.unread(20).await.unwrap()), ["m1"]);
}

#[tokio::test]
async fn every_error_is_one_sentence() {
    let rig = Rig::connected().await;
    let sentence = async |status: u16, retry_after: Option<u32>, body: &str| {
        let fault = GoogleFault { path: "labels", status, retry_after, body: body.to_owned() };
        rig.server.account().faults.push_back(fault);
        rig.google.labels().await.unwrap_err().to_string()
    };
    assert_eq!(sentence(429, Some(30), "").await, "google says that we ask too often. try again in 30 s.");
    let quota = r#"{"error":{"errors":[{"domain":"usageLimits","reason":"rateLimitExceeded"}],"code":403}}"#;
    assert_eq!(
        sentence(403, None, quota).await,
        "google says that we ask too often. try again in a few minutes."
    );
    assert_eq!(sentence(502, None, "<html>").await, "google has trouble of its own (502). try again later.");
    assert_eq!(sentence(200, None, "{").await, "google's answer about labels cannot be read.");
    assert_eq!(sentence(302, None, "").await, "google refuses with 302: it gives no reason.");
    let big = sentence(200, None, &" ".repeat(17 << 20)).await;
    assert_eq!(big, "google's answer is longer than 16 MB, so i did not read it.");
    let missing = rig.google.read("nope").await.unwrap_err().to_string();
    assert_eq!(missing, "google has no message `nope`.");
    let before = rig.request_paths().len();
    for id in ["../labels", "", "..", "a b", "a/b"] {
        let wrong = rig.google.read(id).await.unwrap_err().to_string();
        assert_eq!(wrong, "that is not the id of a message. ids stand first in a list of them.");
    }
    assert_eq!(rig.request_paths().len(), before, "what is no id is not sent");
}

#[tokio::test]
async fn endless_pages_are_limited() {
    let rig = Rig::connected().await;
    for _ in 0..100 {
        rig.fail("/messages", 200, r#"{"nextPageToken":"again"}"#);
    }
    let trouble = rig.google.unread(20).await.unwrap_err().to_string();
    assert_eq!(trouble, "google does not stop sending pages of messages.");
}
