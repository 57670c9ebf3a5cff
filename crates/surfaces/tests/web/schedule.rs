//! Tests of the schedule endpoints.

use domain::record::{PlanChange, Record};
use serde_json::{Value, json};

use crate::fixture::{Fixture, RawResponse};

const HOURLY: &str = "0 * * * *\ncheck the mail";

async fn get(rig: &Fixture, address: &str) -> RawResponse {
    rig.send(&rig.paired_request("GET", address, "")).await
}

async fn post(rig: &Fixture, address: &str, body: &Value) -> RawResponse {
    rig.send(&rig.paired_request("POST", address, &body.to_string())).await
}

/// Returns a fixture with an hourly routine, at 08:16 in Madrid.
async fn with_hourly_routine() -> Fixture {
    let rig = Fixture::new().await;
    rig.job_files.put("routines/mail.md", HOURLY).await;
    rig
}

#[tokio::test]
async fn a_job_is_returned_with_its_next_times() {
    let rig = with_hourly_routine().await;
    let schedule = get(&rig, "/api/schedule").await.json();
    assert_eq!(schedule["now"], "2026-11-15T08:16:40+01:00");
    assert_eq!(
        (&schedule["from"], &schedule["to"]),
        (&json!("2026-11-15T00:00:00+01:00"), &json!("2026-11-16T00:00:00+01:00"))
    );
    let hours: Vec<i64> =
        schedule["hours"].as_array().unwrap().iter().map(|hour| hour["hour"].as_i64().unwrap()).collect();
    assert_eq!(hours, [0, 6, 12, 18]);
    let job = &schedule["jobs"][0];
    let told = ["job", "kind", "id", "name", "when", "file"].map(|key| job[key].as_str().unwrap());
    assert_eq!(told, ["routine:mail", "routine", "mail", "check the mail", "every hour", "routines/mail.md"]);
    assert_eq!(job["next"], json!({ "at": "2026-11-15T09:00:00+01:00", "words": "today 09:00 · in 44 min" }));
    assert_eq!((job["fires"].as_array().unwrap().len(), &job["fires_cut"]), (15, &json!(false)));
    assert_eq!(
        (&job["background"], &job["may_ping"], &job["session"]),
        (&json!(false), &json!(false), &Value::Null)
    );
    assert_eq!((&job["open"], &job["last"], &job["paused"]), (&Value::Null, &json!([]), &Value::Null));
}

#[tokio::test]
async fn other_days_are_returned_within_limits() {
    let rig = with_hourly_routine().await;
    let tomorrow = get(&rig, "/api/schedule?from=2026-11-16&to=2026-11-17").await.json();
    assert_eq!(tomorrow["jobs"][0]["fires"].as_array().unwrap().len(), 24);
    rig.job_files.put("routines/often.md", "* * * * *\nlook").await;
    let week = get(&rig, "/api/schedule?from=2026-11-16&to=2026-11-23").await.json();
    let often = &week["jobs"][0];
    assert_eq!((often["fires"].as_array().unwrap().len(), &often["fires_cut"]), (200, &json!(true)));
    assert_eq!(week["hours"], json!([]), "hours are named along a day");
    for wrong in
        ["?from=soon", "?to=2026-11-15", "?from=2026-11-16&to=2026-11-15", "?to=2027-11-15", "?days=2"]
    {
        let answer = get(&rig, &format!("/api/schedule{wrong}")).await;
        assert_eq!(answer.status, 400, "{wrong}");
        assert!(answer.error_message().starts_with("ask with `?from=2026-11-16"), "{wrong}");
    }
}

#[tokio::test]
async fn a_job_is_run_now_and_its_outcome_is_returned() {
    let rig = with_hourly_routine().await;
    let begun = post(&rig, "/api/schedule/run", &json!({ "job": "routine:mail" })).await;
    assert_eq!(begun.status, 202, "{begun:?}");
    assert!(begun.json()["message"].is_u64(), "it is put to main");
    let ended = |record: &Record| {
        let Record::Plan(PlanChange::Occurrence(one)) = record else { return false };
        matches!(one.state, domain::occurrence::OccurrenceState::Ended(_))
    };
    rig.journal.0.subscribe().wait_for(|records| records.iter().any(ended)).await.unwrap();
    let past = get(&rig, "/api/schedule/past?job=routine:mail").await.json();
    let last = get(&rig, "/api/schedule").await.json()["jobs"][0]["last"].clone();
    for told in [&past["past"], &last] {
        assert_eq!(
            (&told[0]["state"], &told[0]["late"], &told[0]["tries"]),
            (&json!("done"), &json!(false), &json!(1))
        );
        assert_eq!(told[0]["due"], "2026-11-15T08:16:40+01:00");
    }
}

#[tokio::test]
async fn an_invalid_job_is_refused_with_an_error() {
    let rig = with_hourly_routine().await;
    let nobody = post(&rig, "/api/schedule/run", &json!({ "job": "routine:nobody" })).await;
    assert_eq!((nobody.status, nobody.error_message().as_str()), (422, "routine:nobody is not planned."));
    for wrong in ["main", "mail", "webhook:x", ""] {
        let answer = post(&rig, "/api/schedule/run", &json!({ "job": wrong })).await;
        assert_eq!(answer.status, 400, "{wrong}");
        assert!(answer.error_message().contains("write `routine:ID` or `reminder:ID`"), "{wrong}");
    }
    assert_eq!(get(&rig, "/api/schedule/past?job=routine:mail&limit=0").await.status, 400);
}

#[tokio::test]
async fn a_job_is_paused_and_resumed() {
    let rig = with_hourly_routine().await;
    let paused = post(&rig, "/api/schedule/pause", &json!({ "job": "routine:mail" })).await.json();
    assert_eq!(paused["text"], "check the mail is paused.");
    let job = get(&rig, "/api/schedule").await.json()["jobs"][0].clone();
    assert_eq!(job["paused"], json!({ "until": null, "words": "paused" }));
    assert_eq!((&job["next"], &job["fires"]), (&Value::Null, &json!([])));
    let on = post(&rig, "/api/schedule/resume", &json!({ "job": "routine:mail" })).await.json();
    assert_eq!(on["text"], "check the mail goes on.");
    assert!(get(&rig, "/api/schedule").await.json()["jobs"][0]["next"].is_object());
    for until in ["soon", "2020-01-01"] {
        let answer =
            post(&rig, "/api/schedule/pause", &json!({ "job": "routine:mail", "until": until })).await;
        assert_eq!(answer.status, 422);
        assert!(answer.error_message().contains("is no time to come"), "{answer:?}");
    }
}

#[tokio::test]
async fn a_file_is_changed_only_if_valid_and_unmodified() {
    let rig = with_hourly_routine().await;
    let file = get(&rig, "/api/schedule/file?file=routines/mail.md").await.json();
    assert_eq!(file, json!({ "file": "routines/mail.md", "text": HOURLY }));
    let save = async |before: &str, text: &str| {
        let body = json!({ "file": "routines/mail.md", "before": before, "text": text });
        post(&rig, "/api/schedule/file", &body).await
    };
    let bad = save(HOURLY, "99 * * * *\nmail").await;
    assert_eq!(bad.status, 422);
    assert!(bad.error_message().starts_with("line 1: `cron`"), "{bad:?}");
    let moved = save("0 0 * * *\nmail", "0 7 * * *\nmail").await;
    assert_eq!(moved.status, 409);
    assert!(moved.error_message().contains("somebody else"), "{moved:?}");
    assert_eq!(rig.job_files.files.borrow()["routines/mail.md"], HOURLY, "nothing was changed");
    let saved = save(HOURLY, "0 7 * * *\ncheck the mail").await.json();
    assert_eq!(saved["text"], "routines/mail.md is saved.");
    assert_eq!(get(&rig, "/api/schedule").await.json()["jobs"][0]["when"], "every day 07:00");

    assert_eq!(get(&rig, "/api/schedule/file?file=routines/other.md").await.status, 404);
    for wrong in ["state/config.md", "routines/../state/config.md", "mail.md"] {
        let answer = get(&rig, &format!("/api/schedule/file?file={wrong}")).await;
        assert_eq!(answer.status, 400, "{wrong}");
        assert!(answer.error_message().contains("is no job file"), "{wrong}");
    }
}

#[tokio::test]
async fn an_invalid_file_is_reported_with_its_reason() {
    let rig = with_hourly_routine().await;
    rig.job_files.put("routines/bad.md", "never\nx").await;
    let schedule = get(&rig, "/api/schedule").await.json();
    assert_eq!(schedule["broken"][0]["file"], "routines/bad.md");
    assert!(schedule["broken"][0]["why"].as_str().unwrap().starts_with("line 1: `cron`"));
    assert_eq!(schedule["jobs"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn today_contains_the_next_item_and_those_before_midnight() {
    let rig = with_hourly_routine().await;
    rig.job_files.put("routines/tomorrow.md", "0 7 * * *\nwake").await;
    let today = get(&rig, "/api/today").await.json();
    assert_eq!(
        (&today["next"]["job"], &today["next"]["words"]),
        (&json!("routine:mail"), &json!("today 09:00 · in 44 min"))
    );
    assert_eq!(today["rest"].as_array().unwrap().len(), 15);
    assert_eq!((&today["inbox"], &today["missed"]), (&json!("the inbox is empty."), &json!([])));
}

#[tokio::test]
async fn text_is_planned_or_stored_in_the_inbox() {
    let rig = with_hourly_routine().await;
    let planned = post(&rig, "/api/schedule/words", &json!({ "text": "call mum tomorrow at 10" })).await;
    assert_eq!(planned.status, 200, "{planned:?}");
    let text = planned.json()["text"].as_str().unwrap().to_owned();
    assert!(text.contains("mon 16 nov 10:00") && text.contains("call mum"), "{text}");
    let untimed = post(&rig, "/api/schedule/words", &json!({ "text": "call mum" })).await.json();
    assert!(
        untimed["text"].as_str().unwrap().starts_with("✓ kept in your inbox as 1 · call mum"),
        "{untimed}"
    );
    let nothing = post(&rig, "/api/schedule/words", &json!({ "text": " " })).await;
    assert_eq!(nothing.status, 422, "{nothing:?}");
}
