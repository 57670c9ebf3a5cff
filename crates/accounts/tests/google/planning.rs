//! Tests of Google Tasks and Google Calendar.

use accounts::AccountError;
use accounts::calendar::{self, Calendar, EventTime};
use accounts::tasks::{self, TaskFilter, TaskList, TaskState};
use jiff::Zoned;
use jiff::civil::date;
use serde_json::json;

use crate::rig::Rig;

fn zoned(time: &str) -> Zoned {
    time.parse().unwrap()
}

/// GO-12: all pages are listed, completed tasks only on request.
#[tokio::test]
async fn tasks_are_listed_over_pages() {
    let rig = Rig::connected().await;
    rig.server.account().tasks = (0..5)
        .map(|n| json!({ "id": format!("t{n}"), "title": "x", "status": if n == 1 { "completed" } else { "needsAction" },
            "due": "2026-11-20T00:00:00.000Z" }))
        .collect();
    rig.server.account().page_size = Some(2);
    let open = rig.google.list(TaskFilter::Open).await.unwrap();
    assert_eq!(open.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["t0", "t2", "t3", "t4"]);
    assert_eq!(open[0].due, Some(date(2026, 11, 20)));
    let all = rig.google.list(TaskFilter::All).await.unwrap();
    assert_eq!((all.len(), all[1].state), (5, TaskState::Done));
}

/// GO-13, GO-14, GO-15, GO-16: the life of a task, with the requests sent to Google.
#[tokio::test]
async fn task_is_added_changed_completed_and_deleted() {
    let rig = Rig::connected().await;
    let new = tasks::TaskChange {
        title: Some("Milk".into()),
        due: Some(date(2026, 11, 20)),
        notes: Some("2 l".into()),
    };
    let task = TaskList::add(&rig.google, new).await.unwrap();
    assert_eq!((task.id.as_str(), task.title.as_str(), task.state), ("task-0", "Milk", TaskState::Open));
    let sent = rig.server.account().requests[0].body.clone();
    let sent: serde_json::Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(sent, json!({ "title": "Milk", "due": "2026-11-20T00:00:00.000Z", "notes": "2 l" }));

    let change = tasks::TaskChange { title: Some("Oat milk".into()), ..tasks::TaskChange::default() };
    let task = TaskList::update(&rig.google, "task-0", change).await.unwrap();
    assert_eq!((task.title.as_str(), task.due), ("Oat milk", Some(date(2026, 11, 20))));
    assert_eq!(rig.google.complete("task-0").await.unwrap().state, TaskState::Done);
    assert_eq!(TaskList::delete(&rig.google, "task-0").await.unwrap().title, "Oat milk");
    assert_eq!(rig.google.list(TaskFilter::All).await.unwrap(), []);
    let gone = TaskList::delete(&rig.google, "task-0").await.unwrap_err();
    assert_eq!(gone, AccountError::NotFound("google has no task `task-0`.".to_owned()));
}

/// GO-17, GO-18: events over several pages, in order, in the user's time zone; whole days stay
/// days.
#[tokio::test]
async fn events_are_listed_in_order_in_the_users_zone() {
    let rig = Rig::connected().await;
    rig.server.account().events = vec![
        json!({ "id": "late", "summary": "Late", "start": { "dateTime": "2026-11-16T20:00:00+01:00" },
            "end": { "dateTime": "2026-11-16T21:00:00+01:00" } }),
        json!({ "id": "call_20261116T150000Z", "start": { "dateTime": "2026-11-16T10:00:00-05:00", "timeZone": "America/New_York" },
            "end": { "dateTime": "2026-11-16T10:30:00-05:00" }, "recurringEventId": "call" }),
        json!({ "id": "day", "summary": "Holiday", "start": { "date": "2026-11-16" }, "end": { "date": "2026-11-17" } }),
        json!({ "id": "next", "start": { "dateTime": "2026-11-18T10:00:00Z" }, "end": { "dateTime": "2026-11-18T11:00:00Z" } }),
    ];
    rig.server.account().page_size = Some(1);
    let from = zoned("2026-11-16T00:00[Europe/Madrid]");
    let until = zoned("2026-11-17T00:00[Europe/Madrid]");
    let events = rig.google.events_between(from, until).await.unwrap();
    let ids: Vec<_> = events.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids, ["day", "call_20261116T150000Z", "late"]);
    assert_eq!(events[0].when, EventTime::Days(date(2026, 11, 16), date(2026, 11, 17)));
    let call = (zoned("2026-11-16T16:00[Europe/Madrid]"), zoned("2026-11-16T16:30[Europe/Madrid]"));
    assert_eq!(events[1].when, EventTime::Timed(call.0, call.1));
    assert_eq!(events[1].summary, "");
    assert_eq!(rig.server.account().requests[0].query_value("timeMin"), Some("2026-11-15T23:00:00Z"));
}

/// GO-20, GO-21: times are sent with offset and zone name; a whole day can become a time.
#[tokio::test]
async fn event_is_added_changed_shown_and_deleted() {
    let rig = Rig::connected().await;
    let new = calendar::EventChange {
        summary: Some("Lunch".into()),
        start: Some(zoned("2026-11-16T12:00[Europe/Madrid]")),
        end: Some(zoned("2026-11-16T13:00[Europe/Madrid]")),
        description: None,
    };
    let event = Calendar::add(&rig.google, new).await.unwrap();
    assert_eq!((event.id.as_str(), event.summary.as_str()), ("event0", "Lunch"));
    let sent: serde_json::Value = serde_json::from_str(&rig.server.account().requests[0].body).unwrap();
    assert_eq!(sent["start"]["dateTime"], "2026-11-16T12:00:00+01:00");
    assert_eq!(sent["start"]["timeZone"], "Europe/Madrid");

    rig.server.account().events[0]["start"] = json!({ "date": "2026-11-16" });
    let change = calendar::EventChange {
        start: Some(zoned("2026-11-16T12:30[Europe/Madrid]")),
        ..calendar::EventChange::default()
    };
    let event = Calendar::update(&rig.google, "event0", change).await.unwrap();
    let times = (zoned("2026-11-16T12:30[Europe/Madrid]"), zoned("2026-11-16T13:00[Europe/Madrid]"));
    assert_eq!(event.when, EventTime::Timed(times.0, times.1));

    rig.server.account().events[0]["attendees"] =
        json!([{ "email": "a@example.org" }, { "displayName": "no address" }]);
    rig.server.account().events[0]["htmlLink"] = json!("https://www.google.com/calendar/event?eid=x");
    let event = rig.google.get("event0").await.unwrap();
    assert_eq!(event.details.attendees, ["a@example.org"]);
    assert_eq!(event.details.status.as_deref(), Some("confirmed"));
    assert!(event.details.link.is_some());
    assert_eq!(Calendar::delete(&rig.google, "event0").await.unwrap().summary, "Lunch");
    let gone = rig.google.get("event0").await.unwrap_err();
    assert_eq!(gone, AccountError::NotFound("google has no event `event0`.".to_owned()));
}

#[tokio::test]
async fn error_message_of_google_is_shown() {
    let rig = Rig::connected().await;
    let wrong = Calendar::add(&rig.google, calendar::EventChange::default()).await.unwrap_err();
    assert_eq!(
        wrong,
        AccountError::InvalidRequest("google refuses that for calendar: Missing end time.".to_owned())
    );
}
