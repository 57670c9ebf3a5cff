//! Tests of the API: messages, buttons, commands, events, cost and updates.

use std::time::Duration;

use domain::record::{Address, MessageChange, Record, SentChange};
use domain::sent_messages::SentId;
use surfaces::web::WebLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fixture::{Fixture, routes};
use crate::origins::wait_for_turn;

#[tokio::test]
async fn a_message_is_stored_before_it_is_confirmed() {
    let rig = Fixture::new().await;
    let said = rig.send(&rig.paired_request("POST", "/api/messages", "{\"text\":\"good morning\"}")).await;
    assert_eq!((said.status, said.json()["message"].as_u64()), (202, Some(1)));
    assert!(!rig.journal.0.borrow().is_empty());
    wait_for_turn(&rig).await;
    let read = rig.send(&rig.paired_request("GET", "/api/messages", "")).await.json();
    let texts: Vec<_> =
        read["messages"].as_array().unwrap().iter().map(|entry| entry["text"].as_str()).collect();
    assert_eq!(texts, [Some("good morning"), Some("good morning")]);
    assert_eq!(
        (&read["messages"][0]["by"], &read["messages"][1]["by"]),
        (&"human".into(), &"assistant".into())
    );
    assert_eq!(read["more"], false);
}

#[tokio::test]
async fn the_conversation_is_read_in_pages() {
    let rig = Fixture::new().await;
    rig.send(&rig.paired_request("POST", "/api/messages", "{\"text\":\"hi\"}")).await;
    wait_for_turn(&rig).await;
    let newest = rig.send(&rig.paired_request("GET", "/api/messages?limit=1", "")).await.json();
    assert_eq!((newest["messages"][0]["id"].as_u64(), &newest["more"]), (Some(2), &true.into()));
    let older = rig.send(&rig.paired_request("GET", "/api/messages?limit=1&before=2", "")).await.json();
    assert_eq!((older["messages"][0]["id"].as_u64(), &older["more"]), (Some(1), &false.into()));
    let wrong = rig.send(&rig.paired_request("GET", "/api/messages?before=x", "")).await;
    assert!(wrong.status == 400 && wrong.error_message().contains("?before=NUMBER"));
}

#[tokio::test]
async fn errors_say_what_is_wrong() {
    let rig = Fixture::new().await;
    let rows = [
        ("/api/messages", "{\"text\":\"  \"}", 422, "there are no words in that message."),
        ("/api/stop", "{}", 422, "nothing is running."),
        ("/api/messages", "{\"txt\":\"hi\"}", 400, "the body is not the JSON this address takes"),
        ("/api/messages", "hi", 400, "the body is not the JSON this address takes"),
        ("/api/nothing", "{}", 404, "there is nothing at this address"),
    ];
    for (address, body, status, words) in rows {
        let answer = rig.send(&rig.paired_request("POST", address, body)).await;
        assert_eq!(answer.status, status, "{address} {body}");
        assert!(answer.error_message().starts_with(words), "{}", answer.error_message());
    }
}

/// MT-12: a reply contains the text it replies to, which is empty for an unknown message.
#[tokio::test]
async fn a_reply_contains_the_text_it_replies_to() {
    let rig = Fixture::new().await;
    rig.send(&rig.paired_request("POST", "/api/messages", "{\"text\":\"hi\"}")).await;
    wait_for_turn(&rig).await;
    for (to, expected) in [("2", "hi"), ("77", ""), ("18446744073709551615", "")] {
        let body = format!("{{\"text\":\"and you?\",\"reply_to\":{to}}}");
        assert_eq!(rig.send(&rig.paired_request("POST", "/api/messages", &body)).await.status, 202);
        let records = rig.journal.0.borrow().clone();
        let newest = records.iter().rev().find_map(|record| {
            let Record::Message(MessageChange::Received(message)) = record else { return None };
            Some(message.address.clone())
        });
        let Some(Address::Reply(reply)) = newest else { panic!("{newest:?} is no reply") };
        assert_eq!((reply.sent_id.0.to_string(), reply.quote.as_str()), (to.to_owned(), expected));
        wait_for_turn(&rig).await;
    }
}

/// XB-7, XB-18, XB-19: a button has exactly the effect of its value, and other values are refused.
#[tokio::test]
async fn a_button_has_an_effect_or_an_error() {
    let rig = Fixture::new().await;
    let rows = [
        ("act:dismiss:_", 202, ""),
        ("act:task_done:7", 202, ""),
        ("act:agent:0a1b2c3d", 422, "that option has expired"),
        ("act:fork_save:_", 422, "we are not in a side conversation."),
        ("act:snooze:_", 422, "unknown action"),
        ("dismiss", 400, "`dismiss` is no button of mine."),
    ];
    for (button, status, words) in rows {
        let body = format!("{{\"message\":2,\"button\":\"{button}\"}}");
        let answer = rig.send(&rig.paired_request("POST", "/api/buttons", &body)).await;
        assert_eq!(answer.status, status, "{button}");
        if status != 202 {
            assert!(answer.error_message().starts_with(words), "{}", answer.error_message());
        }
    }
    let records = rig.journal.0.borrow().clone();
    assert!(records.contains(&Record::from(SentChange::MessageHidden(SentId(2)))), "{records:?}");
}

/// MC-1, MC-2, SL-2, XB-8: requests of unauthenticated clients are refused and nothing is stored.
#[tokio::test]
async fn requests_of_unpaired_clients_are_refused() {
    let rig = Fixture::new().await;
    let before = rig.journal.0.borrow().len();
    let tries = [
        ("/api/messages", r#"{"text":"hello"}"#),
        ("/api/commands", r#"{"text":"/clear"}"#),
        ("/api/buttons", r#"{"message":2,"button":"act:dismiss:_"}"#),
    ];
    for (address, body) in tries {
        assert_eq!(rig.send(&rig.unpaired_request("POST", address, body)).await.status, 401, "{address}");
    }
    assert_eq!(rig.journal.0.borrow().len(), before);
}

#[tokio::test]
async fn every_response_has_security_headers() {
    let rig = Fixture::new().await;
    let refused = [("GET", "/nothing"), ("GET", "/api/nothing"), ("PUT", "/")];
    for (method, address) in routes().into_iter().chain(refused) {
        for raw in [
            rig.paired_request(method, address, "{}"),
            rig.unpaired_request(method, address, "{}"),
            rig.paired_request(method, address, "").without_header("host"),
        ] {
            let headers = rig.send(&raw).await.headers;
            let policy = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
            let seals = [
                ("content-security-policy", policy),
                ("x-content-type-options", "nosniff"),
                ("referrer-policy", "no-referrer"),
                ("cross-origin-opener-policy", "same-origin"),
                ("cross-origin-resource-policy", "same-origin"),
            ];
            for (name, value) in seals {
                assert_eq!(headers.get(name).map(String::as_str), Some(value), "{}", raw.text());
            }
            let cache = if address.starts_with("/api/") { "no-store" } else { "no-cache" };
            assert_eq!(headers["cache-control"], cache, "{address}");
        }
    }
}

#[tokio::test]
async fn events_report_a_whole_turn() {
    let rig = Fixture::new().await;
    let mut stream = rig.connect().await;
    stream.write_all(rig.paired_request("GET", "/api/events", "").text().as_bytes()).await.unwrap();
    let mut told = crate::fixture::read_response(&mut stream).await.body;
    rig.send(&rig.paired_request("POST", "/api/messages", "{\"text\":\"!tool good morning\"}")).await;
    let mut buffer = [0; 8192];
    while !told.contains("event: ended") {
        let count = stream.read(&mut buffer).await.unwrap();
        told.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    let names: Vec<_> = told.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let turn =
        ["hello", "said", "began", "said", "working", "said", "delta", "delta", "delta", "said", "ended"];
    assert_eq!(names, turn);
    let ids: Vec<u64> = told.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    assert_eq!(ids, (0..11).collect::<Vec<u64>>());
}

#[tokio::test]
async fn an_idle_stream_sends_heartbeats() {
    let rig = Fixture::with_limits(WebLimits {
        heartbeat_interval: Duration::from_millis(20),
        ..WebLimits::DEFAULT
    })
    .await;
    let mut stream = rig.connect().await;
    stream.write_all(rig.paired_request("GET", "/api/events", "").text().as_bytes()).await.unwrap();
    let mut told = String::new();
    let mut buffer = [0; 8192];
    while !told.contains("\n: still here") {
        let count = stream.read(&mut buffer).await.unwrap();
        assert!(count > 0);
        told.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
}

#[tokio::test]
async fn cost_is_reported_with_totals_and_limits() {
    let rig = Fixture::new().await;
    let cost = rig.send(&rig.paired_request("GET", "/api/cost?days=7", "")).await.json();
    let today = serde_json::json!({
        "calls": 1, "unpriced_calls": 0, "input": 10, "cache_read": 90, "cache_write": 0, "output": 5,
        "cached_percent": 90, "dollars": 1.25,
    });
    assert_eq!((&cost["today"], &cost["month"], &cost["days"]), (&today, &today, &7.into()));
    assert_eq!(
        (&cost["by_source"][0]["name"], &cost["by_model"][0]["name"]),
        (&"main".into(), &"played".into())
    );
    assert_eq!(
        (&cost["by_day"][0]["name"], &cost["by_day"][0]["dollars"]),
        (&"2026-11-15".into(), &1.25.into())
    );
    assert_eq!(
        (&cost["unattended"]["dollars_left"], &cost["unattended"]["tokens_left"]),
        (&5.0.into(), &serde_json::Value::Null)
    );
    let unattended = &cost["unattended"];
    assert_eq!(
        (&unattended["nearest"], &unattended["percent"], &unattended["standing"]),
        (&"$0.00 of $5.00".into(), &0.into(), &serde_json::Value::Null)
    );
    assert_eq!(
        (&cost["by_source"][0]["runs"], &cost["by_model"][0]["runs"]),
        (&1.into(), &serde_json::Value::Null)
    );
    for wrong in ["/api/cost?days=0", "/api/cost?days=x", "/api/cost?day=7", "/api/cost?days=65000"] {
        let answer = rig.send(&rig.paired_request("GET", wrong, "")).await;
        assert!(answer.status == 400 && answer.error_message().contains("?days=NUMBER"), "{wrong}");
    }
}

/// The page and `ollim-bot updates --json` read the same JSON.
#[tokio::test]
async fn pending_updates_are_listed_with_their_source() {
    let rig = Fixture::new().await;
    let updates = rig.send(&rig.paired_request("GET", "/api/updates", "")).await.json();
    let update = serde_json::json!({
        "id": 3, "at": "2026-11-15T07:00:00Z", "from": "routine:mail", "text": "two mails need an answer"
    });
    assert_eq!(updates, serde_json::json!({ "updates": [update] }));
}

/// SL-6, SL-12, SL-13: a command is answered with text, and an invalid one with an error that says
/// what is right.
#[tokio::test]
async fn a_command_is_answered_with_text() {
    let rig = Fixture::new().await;
    let give = async |text: &str| {
        let body = serde_json::json!({ "text": text }).to_string();
        rig.send(&rig.paired_request("POST", "/api/commands", &body)).await
    };
    for (command, words) in [
        ("/config", "**model.main**: (default)\n**model.fork**: (inherit main)\n"),
        ("/config fork_idle_timeout 20", "**fork_idle_timeout**: 20m"),
        ("/ping-budget", "budget: 5/5"),
        ("/cost", "no model was called today, so nothing was spent."),
        ("/why", "i have not answered anything yet."),
        ("/help", "our conversation\n  /stop "),
    ] {
        let told = give(command).await.json();
        assert!(told["text"].as_str().unwrap_or_default().starts_with(words), "{command}: {told}");
    }
    for (command, words) in [
        (
            "/config fork_idle_timeout soon",
            "fork_idle_timeout: it cannot be `soon`. use a number of minutes above 0.",
        ),
        ("/ping-budget none", "`none` is no number above 0."),
        ("/thinking adaptive", "has no setting for thinking"),
        ("/tell", "there is no command `/tell`."),
    ] {
        let refused = give(command).await;
        assert!(
            refused.status == 422 && refused.error_message().contains(words),
            "{command}: {}",
            refused.error_message()
        );
    }
}
