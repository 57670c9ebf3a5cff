//! Tasks and a calendar on a real Radicale, which the test command installs and every test starts
//! for itself.

#![expect(clippy::unwrap_used, reason = "the fixtures of a test exist")]

#[path = "radicale/stage.rs"]
mod stage;

use accounts::AccountError;
use accounts::calendar::{Calendar, Event, EventChange, EventTime};
use accounts::tasks::{self, TaskFilter, TaskList, TaskState};
use futures_util::future::join_all;
use jiff::Zoned;
use jiff::civil::date;
use stage::RadicaleServer;

const NOVEMBER: (&str, &str) = ("2026-11-01T00:00[Europe/Berlin]", "2026-12-01T00:00[Europe/Berlin]");

fn zoned(time: &str) -> Zoned {
    time.parse().unwrap()
}

fn event_change(summary: &str, start: &str, end: &str) -> EventChange {
    let time = |time: &str| Some(zoned(&format!("{time}[Europe/Berlin]")));
    EventChange { summary: Some(summary.into()), start: time(start), end: time(end), description: None }
}

async fn events_between(calendar: &dyn Calendar, (from, until): (&str, &str)) -> Vec<Event> {
    calendar.events_between(zoned(from), zoned(until)).await.unwrap()
}

fn format_events(events: &[Event]) -> String {
    let line = |event: &Event| match &event.when {
        EventTime::Timed(start, end) => {
            format!("{} {} - {}\n", event.summary, start.strftime("%Y-%m-%d %H:%M"), end.strftime("%H:%M"))
        }
        EventTime::Days(first, after) => format!("{} {first} until before {after}\n", event.summary),
    };
    events.iter().map(line).collect()
}

#[tokio::test]
#[ignore = "needs Radicale; cargo xtask test runs it"]
async fn task_is_added_changed_completed_and_deleted() {
    let stage = RadicaleServer::new().await;
    let list = stage.tasks();
    let other = stage.tasks();
    let new = tasks::TaskChange {
        title: Some("renew, the; passport".into()),
        due: Some(date(2026, 12, 1)),
        notes: Some("two photos\nand 60 euros".into()),
    };
    let added = list.add(new).await.unwrap();
    assert_eq!(
        other.list(TaskFilter::Open).await.unwrap(),
        std::slice::from_ref(&added),
        "another window sees it as it was told"
    );
    let change =
        tasks::TaskChange { title: Some("renew the passport".into()), ..tasks::TaskChange::default() };
    let changed = other.update(&added.id, change).await.unwrap();
    assert_eq!(
        (changed.due, changed.notes.as_deref()),
        (Some(date(2026, 12, 1)), Some("two photos\nand 60 euros"))
    );
    assert_eq!(list.complete(&added.id).await.unwrap().state, TaskState::Done);
    assert_eq!(other.list(TaskFilter::Open).await.unwrap(), []);
    assert_eq!(other.list(TaskFilter::All).await.unwrap()[0].title, "renew the passport");
    assert_eq!(list.delete(&added.id).await.unwrap().id, added.id);
    assert_eq!(list.list(TaskFilter::All).await.unwrap(), []);
    assert!(matches!(list.complete(&added.id).await, Err(AccountError::NotFound(_))));
    assert_eq!(events_between(&stage.calendar(), NOVEMBER).await, [], "tasks are no events");
}

#[tokio::test]
#[ignore = "needs Radicale; cargo xtask test runs it"]
async fn event_is_added_changed_and_deleted() {
    let stage = RadicaleServer::new().await;
    let (calendar, other) = (stage.calendar(), stage.calendar());
    let added =
        calendar.add(event_change("Lunch; with Tom", "2026-11-20T12:00", "2026-11-20T13:00")).await.unwrap();
    assert_eq!(events_between(&other, NOVEMBER).await, std::slice::from_ref(&added));
    assert_eq!(other.get(&added.id).await.unwrap(), added);
    let change = EventChange {
        description: Some("at the corner".into()),
        start: Some(zoned("2026-11-21T12:30[Europe/Berlin]")),
        ..EventChange::default()
    };
    other.update(&added.id, change).await.unwrap();
    assert_eq!(
        format_events(&events_between(&calendar, NOVEMBER).await),
        "Lunch; with Tom 2026-11-21 12:30 - 13:30\n"
    );
    assert_eq!(
        events_between(&calendar, ("2026-11-20T00:00[Europe/Berlin]", "2026-11-21T00:00[Europe/Berlin]"))
            .await,
        []
    );
    calendar.delete(&added.id).await.unwrap();
    assert_eq!(events_between(&other, NOVEMBER).await, []);
    assert!(matches!(other.get(&added.id).await, Err(AccountError::NotFound(_))));
}

const SERIES: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//other//EN\r\nBEGIN:VEVENT\r\nUID:team_call@other\r\nDTSTAMP:20260101T000000Z\r\nDTSTART;TZID=America/New_York:20261019T090000\r\nDTEND;TZID=America/New_York:20261019T093000\r\nRRULE:FREQ=WEEKLY;COUNT=5\r\nEXDATE;TZID=America/New_York:20261102T090000\r\nSUMMARY:Team\r\nX-OTHER-MARK:keep me\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

/// A recurring event of another client spans the clock changes of two zones.
#[tokio::test]
#[ignore = "needs Radicale; cargo xtask test runs it"]
async fn foreign_series_spans_clock_changes() {
    let stage = RadicaleServer::new().await;
    stage.put_object("work/series.ics", SERIES).await;
    let days = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//other//EN\r\nBEGIN:VEVENT\r\nUID:trip\r\nDTSTAMP:20260101T000000Z\r\nDTSTART;VALUE=DATE:20261031\r\nDTEND;VALUE=DATE:20261102\r\nSUMMARY:Trip\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    stage.put_object("work/trip.ics", days).await;
    let calendar = stage.calendar();
    let window = ("2026-10-01T00:00[Europe/Berlin]", "2026-12-01T00:00[Europe/Berlin]");
    assert_eq!(
        format_events(&events_between(&calendar, window).await),
        "Team 2026-10-19 15:00 - 15:30\nTeam 2026-10-26 14:00 - 14:30\nTrip 2026-10-31 until before 2026-11-02\n\
         Team 2026-11-09 15:00 - 15:30\nTeam 2026-11-16 15:00 - 15:30\n"
    );
    let moved =
        EventChange { start: Some(zoned("2026-11-10T16:00[Europe/Berlin]")), ..EventChange::default() };
    calendar.update("team_call@other_20261109T140000Z", moved).await.unwrap();
    calendar.delete("team_call@other_20261026T130000Z").await.unwrap();
    assert_eq!(
        format_events(&events_between(&stage.calendar(), window).await),
        "Team 2026-10-19 15:00 - 15:30\nTrip 2026-10-31 until before 2026-11-02\n\
         Team 2026-11-10 16:00 - 16:30\nTeam 2026-11-16 15:00 - 15:30\n"
    );
    let kept = stage.get_object("work/series.ics").await;
    assert!(kept.contains("X-OTHER-MARK:keep me") && kept.contains("RECURRENCE-ID"), "{kept}");
    calendar.delete("team_call@other").await.unwrap();
    assert_eq!(
        format_events(&events_between(&calendar, window).await),
        "Trip 2026-10-31 until before 2026-11-02\n"
    );
    let today = ("2026-11-01T00:00[Europe/Berlin]", "2026-11-02T00:00[Europe/Berlin]");
    assert_eq!(
        format_events(&events_between(&calendar, today).await),
        "Trip 2026-10-31 until before 2026-11-02\n",
        "it still goes on"
    );
}

/// Two clients repeatedly change the same event at the same time, and no change is lost.
#[tokio::test]
#[ignore = "needs Radicale; cargo xtask test runs it"]
async fn concurrent_changes_of_an_event_are_all_kept() {
    let stage = RadicaleServer::new().await;
    let one = stage.calendar();
    let two = stage.calendar();
    let event = one.add(event_change("Lunch", "2026-11-20T12:00", "2026-11-20T13:00")).await.unwrap();
    for n in 0..8 {
        let summary = EventChange { summary: Some(format!("Lunch {n}")), ..EventChange::default() };
        let words = EventChange { description: Some(format!("words {n}")), ..EventChange::default() };
        let both = join_all([one.update(&event.id, summary), two.update(&event.id, words)]).await;
        assert!(both.iter().all(Result::is_ok), "{both:?}");
        let now = one.get(&event.id).await.unwrap();
        assert_eq!(
            (now.summary, now.details.description),
            (format!("Lunch {n}"), Some(format!("words {n}")))
        );
    }
}

#[tokio::test]
#[ignore = "needs Radicale; cargo xtask test runs it"]
async fn calendar_is_discovered_from_any_url() {
    let stage = RadicaleServer::new().await;
    stage.calendar().add(event_change("Lunch", "2026-11-20T12:00", "2026-11-20T13:00")).await.unwrap();
    for path in ["", "/", "/me/", "/me/work/", "/me/work", "/.well-known/caldav"] {
        let found = stage.calendar_at(path, None).events_between(zoned(NOVEMBER.0), zoned(NOVEMBER.1)).await;
        assert_eq!(found.unwrap().len(), 1, "{path}");
    }
    let named = async |name: &str| {
        stage.calendar_at("/", Some(name)).events_between(zoned(NOVEMBER.0), zoned(NOVEMBER.1)).await
    };
    assert_eq!(named("my work").await.unwrap().len(), 1, "by its name for people");
    assert_eq!(named("yonder").await.unwrap().len(), 0, "by its folder");
    let missing = named("nobody").await.unwrap_err().to_string();
    assert_eq!(missing, "there is no calendar `nobody` that takes events. it has: My work, Empty.");
    let nowhere =
        stage.calendar_at("/me/gone/", None).events_between(zoned(NOVEMBER.0), zoned(NOVEMBER.1)).await;
    assert_eq!(nowhere.unwrap().len(), 1, "an address that is gone is looked for where the server says");
}

#[tokio::test]
#[ignore = "needs Radicale; cargo xtask test runs it"]
async fn wrong_password_is_reported() {
    let stage = RadicaleServer::new().await;
    let refused = stage
        .calendar_with_wrong_password()
        .events_between(zoned(NOVEMBER.0), zoned(NOVEMBER.1))
        .await
        .unwrap_err();
    let said = "127.0.0.1 does not accept the user or the password. check OLLIM_CALDAV_USER and OLLIM_CALDAV_PASSWORD.";
    assert_eq!(refused, AccountError::NotConnected(said.into()));
}

/// Returns `events` events in November with descriptions of `letters` characters.
fn november_events(events: usize, letters: usize) -> impl Iterator<Item = (String, String)> {
    let words = "w".repeat(letters);
    (0..events).map(move |n| {
        let day = 1 + n % 28;
        let hour = n / 28 % 24;
        let minute = n / 672 % 60;
        let event = format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//other//EN\r\nBEGIN:VEVENT\r\nUID:event-{n}\r\n\
             DTSTAMP:20260101T000000Z\r\nDTSTART:202611{day:02}T{hour:02}{minute:02}00Z\r\nDURATION:PT30S\r\n\
             SUMMARY:Event {n}\r\nDESCRIPTION:{words}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        );
        (format!("event-{n}.ics"), event)
    })
}

/// A response that would be too large is fetched in parts.
#[tokio::test]
#[ignore = "needs Radicale; cargo xtask test runs it"]
async fn large_response_is_fetched_in_parts() {
    let stage = RadicaleServer::new().await;
    stage.write_objects("work", november_events(450, 400));
    let window = ("2026-11-01T00:00[UTC]", "2026-12-01T00:00[UTC]");
    let whole = events_between(&stage.calendar(), window).await;
    let parts = events_between(&stage.calendar_with_limit(120_000), window).await;
    assert_eq!((whole.len(), parts == whole), (450, true));
    let refused =
        stage.calendar_with_limit(1_000).events_between(zoned(window.0), zoned(window.1)).await.unwrap_err();
    assert!(refused.to_string().contains("which is more than i read"), "{refused}");
}

/// Tests with minutes of run time.
mod long {
    use super::*;

    #[tokio::test]
    #[ignore = "needs Radicale and some minutes; cargo xtask test --long runs it"]
    async fn ten_thousand_events_are_listed() {
        let stage = RadicaleServer::new().await;
        stage.write_objects("work", november_events(10_000, 700));
        let calendar = stage.calendar();
        let month = events_between(&calendar, ("2026-11-01T00:00[UTC]", "2026-12-01T00:00[UTC]")).await;
        assert_eq!(month.len(), 10_000);
        let day = events_between(&calendar, ("2026-11-20T00:00[UTC]", "2026-11-21T00:00[UTC]")).await;
        assert_eq!(day.len(), 357);
        assert_eq!(calendar.get("event-9999").await.unwrap().summary, "Event 9999");
    }
}
