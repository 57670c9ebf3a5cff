//! Tests of the endpoints for the views of the page.

use serde_json::{Value, json};
use surfaces::web::calendar::{Appointment, AppointmentTime};

use crate::fixture::{Fixture, RawResponse};
use crate::origins::wait_for_turn;

async fn post(rig: &Fixture, address: &str, body: &Value) -> RawResponse {
    rig.send(&rig.paired_request("POST", address, &body.to_string())).await
}

async fn get(rig: &Fixture, address: &str) -> Value {
    let answer = rig.send(&rig.paired_request("GET", address, "")).await;
    assert_eq!(answer.status, 200, "{address}: {}", answer.body);
    answer.json()
}

async fn capture(rig: &Fixture, text: &str) -> Value {
    post(rig, "/api/capture", &json!({ "text": text })).await.json()
}

/// Returns the names of all plans.
async fn plan_names(rig: &Fixture) -> Vec<String> {
    let schedule = get(rig, "/api/schedule").await;
    let jobs = schedule["jobs"].as_array().unwrap().iter();
    jobs.map(|job| job["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_reading_previews_the_effect_without_changes() {
    let rig = Fixture::new().await;
    let before = rig.journal.0.borrow().len();
    let read = post(&rig, "/api/reading", &json!({ "text": "call tom tomorrow at 10" })).await.json();
    assert_eq!(read["does"], "plan");
    let words = read["words"].as_str().unwrap();
    assert!(words.contains("10:00 · in 1 day") || words.contains("10:00 · in 25 h"), "{words}");
    assert!(words.ends_with("call tom"), "{words}");
    assert_eq!(rig.journal.0.borrow().len(), before);
}

#[tokio::test]
async fn a_capture_can_be_undone_until_something_else_changes() {
    let rig = Fixture::new().await;
    let caught = capture(&rig, "call tom tomorrow at 10").await;
    assert!(caught["text"].as_str().unwrap().starts_with("✓ "), "{caught}");
    assert_eq!(plan_names(&rig).await, ["call tom"]);
    let undo = caught["undo"].clone();
    capture(&rig, "call ann tomorrow at 11").await;
    let late = post(&rig, "/api/undo", &json!({ "undo": undo })).await;
    assert_eq!(late.status, 422);
    assert!(late.error_message().starts_with("something else was changed since then."));
    let mark = capture(&rig, "call bob tomorrow at 12").await["undo"].clone();
    assert_eq!(post(&rig, "/api/undo", &json!({ "undo": mark })).await.status, 200);
    assert_eq!(plan_names(&rig).await, ["call tom", "call ann"]);
}

#[tokio::test]
async fn text_without_a_time_is_stored_in_the_inbox() {
    let rig = Fixture::new().await;
    let kept = capture(&rig, "  plan lisbon ").await;
    assert!(kept["text"].as_str().unwrap().starts_with("✓ kept in your inbox as 1 · plan lisbon"), "{kept}");
    capture(&rig, &"x".repeat(100_000)).await;
    let inbox = get(&rig, "/api/today").await["kept"].clone();
    assert_eq!(inbox.as_array().unwrap().len(), 2, "also what is very long");
    assert_eq!(inbox[0]["text"], "plan lisbon");
    let empty = post(&rig, "/api/capture", &json!({ "text": "  " })).await;
    assert_eq!(empty.status, 422);
    assert!(empty.error_message().contains("no words in that"), "{}", empty.error_message());
    let wrong = capture(&rig, "call tom on 31 feb").await;
    assert!(
        wrong["text"].as_str().unwrap().contains("feb"),
        "what is wrong is told, and the words are kept: {wrong}"
    );
    assert_eq!(get(&rig, "/api/today").await["kept"].as_array().unwrap().len(), 3);
    assert_eq!(post(&rig, "/api/undo", &json!({ "undo": wrong["undo"] })).await.status, 200);
    assert_eq!(get(&rig, "/api/today").await["kept"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn inbox_items_are_planned_or_dropped() {
    let rig = Fixture::new().await;
    capture(&rig, "plan lisbon").await;
    capture(&rig, "locker 214").await;
    let ids = get(&rig, "/api/today").await["kept"].clone();
    let sort = async |body: Value| post(&rig, "/api/inbox", &body).await;
    let unclear = sort(json!({ "do": "plan", "id": ids[0]["id"], "when": "someday maybe" })).await;
    assert_eq!(unclear.status, 422);
    let told = sort(json!({ "do": "plan", "id": ids[0]["id"], "when": "tomorrow 9" })).await.json();
    assert!(told["text"].as_str().unwrap().contains("09:00"), "{told}");
    assert_eq!(sort(json!({ "do": "drop", "id": ids[1]["id"] })).await.status, 200);
    assert_eq!(sort(json!({ "do": "plan", "id": 77, "when": "tomorrow 9" })).await.status, 422);
    assert_eq!(get(&rig, "/api/today").await["kept"], json!([]));
    assert_eq!(plan_names(&rig).await, ["plan lisbon"]);
}

#[tokio::test]
async fn a_draft_is_checked_and_its_next_times_are_returned() {
    let rig = Fixture::new().await;
    rig.job_files.put("routines/mail.md", "0 9 * * *\nmail").await;
    let check = async |text: &str| {
        post(&rig, "/api/schedule/check", &json!({ "file": "routines/mail.md", "text": text })).await
    };
    let good = check("30 8 * * 1-5\nmail").await.json();
    assert_eq!((good["when"].as_str(), good["next"].as_array().unwrap().len()), (Some("weekdays 08:30"), 5));
    assert!(good["next"][0]["words"].as_str().unwrap().contains("08:30"), "{good}");
    let bad = check("99 9 * * *\nmail").await;
    assert!(bad.status == 422 && bad.error_message().starts_with("line 1"), "{}", bad.body);
    assert_eq!(rig.job_files.files.borrow()["routines/mail.md"], "0 9 * * *\nmail", "nothing was saved");
}

#[tokio::test]
async fn search_hits_are_read_in_their_context() {
    let rig = Fixture::new().await;
    post(&rig, "/api/messages", &json!({ "text": "the dentist is at three" })).await;
    wait_for_turn(&rig).await;
    let found = get(&rig, "/api/search?words=dentist").await;
    assert_eq!(found["hits"].as_array().unwrap().len(), 2, "{found}");
    assert_eq!((&found["hits"][1]["by"], &found["hits"][1]["id"]), (&json!("human"), &json!(1)));
    assert_eq!(get(&rig, "/api/search?words=dentist&before=2").await["hits"].as_array().unwrap().len(), 1);
    let there = get(&rig, "/api/messages?to=1").await;
    assert_eq!((there["messages"].as_array().unwrap().len(), &there["messages"][0]["id"]), (1, &json!(1)));
    let long =
        rig.send(&rig.paired_request("GET", &format!("/api/search?words={}", "x".repeat(401)), "")).await;
    assert!(long.status == 400 && long.error_message().contains("?words=WORDS"));
}

#[tokio::test]
async fn pings_cost_and_lateness_are_returned_with_statistics() {
    let rig = Fixture::new().await;
    let pings = get(&rig, "/api/pings?days=7").await;
    assert_eq!((pings["grid"].as_array().unwrap().len(), &pings["budget"]["capacity"]), (28, &json!(5)));
    assert_eq!(pings["attention"]["quiet"], "22:00-08:00");
    assert!(
        rig.send(&rig.paired_request("GET", "/api/pings?days=91", ""))
            .await
            .error_message()
            .contains("from 1 to 90")
    );
    let cost = get(&rig, "/api/cost?days=14").await;
    assert_eq!(cost["by_day_and_source"][0]["name"], "main");
    assert_eq!(get(&rig, "/api/delivery").await["bins"].as_array().unwrap().len(), 8);
}

#[tokio::test]
async fn the_page_is_compressed_if_accepted() {
    let rig = Fixture::new().await;
    let plain = rig.send(&rig.paired_request("GET", "/page.js", "")).await;
    assert!(!plain.headers.contains_key("content-encoding") && plain.body.contains("import"));
    for (accepts, packed) in
        [("gzip, deflate, br", true), ("gzip;q=0.5", true), ("gzip;q=0", false), ("br", false)]
    {
        let answer = rig
            .send(&rig.paired_request("GET", "/page.js", "").with_header("accept-encoding", accepts))
            .await;
        assert_eq!(answer.headers.contains_key("content-encoding"), packed, "{accepts}");
        assert_eq!(answer.headers["vary"], "accept-encoding");
    }
}

#[tokio::test]
async fn the_calendar_is_returned_separately_with_its_errors() {
    let rig = Fixture::new().await;
    let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
    let event = |name: &str, when| Appointment { name: name.to_owned(), place: None, when };
    let booked = vec![
        event(
            "a long day",
            AppointmentTime::Days("2026-11-15".parse().unwrap(), "2026-11-16".parse().unwrap()),
        ),
        event("dentist", AppointmentTime::Timed(at("2026-11-15T14:00Z"), at("2026-11-15T14:30Z"))),
        event("another day", AppointmentTime::Timed(at("2026-11-17T14:00Z"), at("2026-11-17T14:30Z"))),
    ];
    rig.job_files.calendar.send_modify(|calendar| *calendar = Ok(booked));
    let told = get(&rig, "/api/calendar").await;
    let names: Vec<&str> =
        told["events"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a long day", "dentist"]);
    assert_eq!(told["events"][0]["kind"], "day");
    assert_eq!(told["events"][1]["from"], "2026-11-15T15:00:00+01:00", "on the human's own clock");
    assert_eq!(
        get(&rig, "/api/calendar?from=2026-11-17&to=2026-11-18").await["events"][0]["name"],
        "another day"
    );
    rig.job_files.calendar.send_modify(|calendar| *calendar = Err("the server does not answer.".to_owned()));
    let answer = rig.send(&rig.paired_request("GET", "/api/calendar", "")).await;
    assert_eq!((answer.status, answer.error_message().as_str()), (500, "the server does not answer."));
    assert_eq!(get(&rig, "/api/today").await["broken"], 0, "the day is there without it");
}

#[tokio::test]
async fn earlier_versions_of_a_file_are_returned() {
    let rig = Fixture::new().await;
    rig.job_files.put("routines/mail.md", "0 9 * * *\nmail").await;
    rig.job_files.put("routines/mail.md", "0 8 * * *\nmail").await;
    let told = get(&rig, "/api/schedule/versions?file=routines/mail.md").await;
    let versions = told["versions"].as_array().unwrap();
    assert_eq!(versions.len(), 2, "{told}");
    let address = |id: &str| format!("/api/schedule/version?file=routines/mail.md&id={id}");
    let first = get(&rig, &address(versions[1]["id"].as_str().unwrap())).await;
    assert_eq!(first["text"], "0 9 * * *\nmail");
    for bad in ["..%2f", "HEAD", "--help", "main", ""] {
        assert_eq!(rig.send(&rig.paired_request("GET", &address(bad), "")).await.status, 400, "{bad}");
    }
    let outside =
        rig.send(&rig.paired_request("GET", "/api/schedule/versions?file=state/config.json", "")).await;
    assert_eq!(outside.status, 400);
}

#[tokio::test]
async fn an_update_that_was_read_is_not_pending() {
    let rig = Fixture::new().await;
    assert_eq!(get(&rig, "/api/context").await["limit"], 200_000);
    let gone = post(&rig, "/api/updates/read", &json!({ "id": 7 })).await;
    assert_eq!(gone.error_message(), "that does not wait any more: it was read meanwhile.");
    let unknown = post(&rig, "/api/pings/dislike", &json!({ "ping": 7 })).await;
    assert_eq!(unknown.error_message(), "that came from none of my runs, or is too long ago.");
}
