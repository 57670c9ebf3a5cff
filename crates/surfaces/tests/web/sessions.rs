//! Tests of the session tree endpoint.

use domain::record::{ForkChange, Record, TurnChange};
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// Returns a fixture with a message on main and a finished fork about flights.
async fn with_finished_fork() -> Fixture {
    let rig = Fixture::new().await;
    let closed = |record: &Record| matches!(record, Record::Turn(TurnChange::Closed(_)));
    let left = |record: &Record| matches!(record, Record::Fork(ForkChange::Ended(_)));
    say(&rig, "/api/messages", "good morning").await;
    wait_for_records(&rig, closed, 1).await;
    say(&rig, "/api/commands", "/fork flights").await;
    wait_for_records(&rig, closed, 2).await;
    say(&rig, "/api/commands", "/report they cost 80").await;
    wait_for_records(&rig, left, 1).await;
    rig
}

async fn say(rig: &Fixture, address: &str, text: &str) {
    let answer = rig.send(&rig.paired_request("POST", address, &json!({ "text": text }).to_string())).await;
    assert!(answer.status < 300, "{text}: {}", answer.body);
}

/// Waits for `times` matching records.
async fn wait_for_records(rig: &Fixture, wanted: fn(&Record) -> bool, times: usize) {
    let enough = |records: &Vec<Record>| records.iter().filter(|record| wanted(record)).count() >= times;
    rig.journal.0.subscribe().wait_for(enough).await.unwrap();
}

async fn sessions(rig: &Fixture, query: &str) -> Value {
    rig.send(&rig.paired_request("GET", &format!("/api/sessions{query}"), "")).await.json()
}

#[tokio::test]
async fn the_tree_is_newest_first_with_a_drawing() {
    let rig = with_finished_fork().await;
    let tree = sessions(&rig, "").await;
    let told: Vec<_> =
        tree["lines"].as_array().unwrap().iter().map(|line| line["why"].as_str().unwrap()).collect();
    assert_eq!(told, ["reported", "forked", "created"]);
    assert_eq!((&tree["lanes"], &tree["older"], &tree["left_out"]), (&json!(1), &json!(0), &Value::Null));
    assert_eq!(tree["open"].as_array().unwrap().len(), 1, "the fork has ended");
    assert_eq!((&tree["open"][0]["branch"], &tree["open"][0]["entries"]), (&json!("main"), &json!(2)));

    let reported = &tree["lines"][0];
    let session = &tree["lines"][1]["to"]["session"];
    assert_eq!((&reported["label"], &reported["lane"]), (&json!("flights"), &json!(1)));
    assert_eq!((&reported["from"]["session"], &reported["to"]), (session, &Value::Null));
    assert_eq!(reported["entries"], tree["lines"][1]["entries"], "both ends tell how much was said");
    let drawing = tree["drawing"].as_str().unwrap();
    assert!(drawing.starts_with("●    main · now") && drawing.contains(" reported "), "{drawing}");
}

#[tokio::test]
async fn a_limit_omits_the_oldest_moves_with_their_number() {
    let rig = with_finished_fork().await;
    let tree = sessions(&rig, "?limit=2").await;
    assert_eq!(tree["lines"].as_array().unwrap().len(), 2);
    assert_eq!((&tree["older"], &tree["left_out"]), (&json!(1), &json!("1 older move is left out.")));
    for wrong in ["?limit=0", "?limit=5001", "?limit=x", "?limit=-1", "?most=2"] {
        let answer = rig.send(&rig.paired_request("GET", &format!("/api/sessions{wrong}"), "")).await;
        let words = "ask with `?limit=NUMBER`, from 1 to 5000, or without it.";
        assert_eq!((answer.status, answer.error_message().as_str()), (400, words), "{wrong}");
    }
}

#[tokio::test]
async fn an_empty_conversation_gives_an_empty_tree() {
    let rig = Fixture::new().await;
    let tree = sessions(&rig, "").await;
    assert_eq!((&tree["lines"], &tree["open"]), (&json!([]), &json!([])));
    assert_eq!(tree["drawing"], "nothing was said yet.\n");
}
