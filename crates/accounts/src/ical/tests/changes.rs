//! Tests of changes and of what they leave as it is.

use expect_test::expect;

use super::*;
use crate::calendar::EventChange;

const FROM: &str = "2026-11-01T00:00[Europe/Berlin]";
const UNTIL: &str = "2026-12-01T00:00[Europe/Berlin]";

fn context() -> ChangeContext {
    ChangeContext { now: zoned("2026-11-16T12:00[Europe/Berlin]"), random: *b"0123456789" }
}

fn change_times(start: &str, end: &str) -> EventChange {
    let time = |time: &str| Some(zoned(&format!("{time}[Europe/Berlin]")));
    EventChange { start: time(start), end: time(end), ..EventChange::default() }
}

const SERIES: &str = "BEGIN:VEVENT
    UID:team
    DTSTART;TZID=Europe/Berlin:20261102T090000
    DTEND;TZID=Europe/Berlin:20261102T093000
    RRULE:FREQ=WEEKLY;COUNT=3
    SUMMARY:Team
    X-OTHERS:keep this
    BEGIN:VALARM
    DESCRIPTION:keep this too
    END:VALARM
    END:VEVENT
    BEGIN:VJOURNAL
    UID:team
    SUMMARY:and this
    END:VJOURNAL";

#[test]
fn new_event_is_interoperable() {
    let new = EventChange {
        summary: Some("Lunch; with Tom".into()),
        description: Some("a\nb".into()),
        ..change_times("2026-11-20T12:00", "2026-11-20T13:00")
    };
    let (bytes, event) = add_event("calendar.ics", &empty_calendar(), &new, &context()).unwrap();
    assert_eq!(format_times(&event), "2026-11-20 12:00 - 13:00");
    expect![[r"
        BEGIN:VCALENDAR
        VERSION:2.0
        PRODID:-//ollim-bot//ollim-bot//EN
        BEGIN:VTIMEZONE
        TZID:Europe/Berlin
        BEGIN:DAYLIGHT
        DTSTART:20260329T020000
        TZOFFSETFROM:+0100
        TZOFFSETTO:+0200
        TZNAME:CEST
        RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
        END:DAYLIGHT
        BEGIN:STANDARD
        DTSTART:20261025T030000
        TZOFFSETFROM:+0200
        TZOFFSETTO:+0100
        TZNAME:CET
        RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
        END:STANDARD
        END:VTIMEZONE
        BEGIN:VEVENT
        UID:stuvwxyz23
        DTSTAMP:20261116T110000Z
        CREATED:20261116T110000Z
        DTSTART;TZID=Europe/Berlin:20261120T120000
        DTEND;TZID=Europe/Berlin:20261120T130000
        SUMMARY:Lunch\; with Tom
        DESCRIPTION:a\nb
        END:VEVENT
        END:VCALENDAR
    "]]
    .assert_eq(&String::from_utf8(bytes.clone()).unwrap().replace('\r', ""));
    let (twice, _) =
        add_event("calendar.ics", &bytes, &new, &ChangeContext { random: [1; 10], ..context() }).unwrap();
    assert_eq!(
        String::from_utf8(twice).unwrap().matches("BEGIN:VTIMEZONE").count(),
        1,
        "a zone is explained once"
    );
}

#[test]
fn change_of_one_occurrence_keeps_the_series() {
    let text = calendar_text(SERIES);
    let change = EventChange {
        summary: Some("Team, elsewhere".into()),
        start: Some(zoned("2026-11-10T11:00[Europe/Berlin]")),
        ..EventChange::default()
    };
    let (bytes, event) =
        update_event("calendar.ics", text.as_bytes(), "team_20261109T080000Z", &change, &context()).unwrap();
    assert_eq!(
        (event.id.as_str(), format_times(&event).as_str()),
        ("team_20261109T080000Z", "2026-11-10 11:00 - 11:30")
    );
    let bytes = String::from_utf8(bytes).unwrap();
    let series = text.split("BEGIN:VJOURNAL").next().unwrap();
    assert!(
        bytes.replace("\r\nBEGIN:VTIMEZONE", "").contains(series.split("BEGIN:VEVENT").nth(1).unwrap()),
        "{bytes}"
    );
    expect![[r"
        2026-11-02 09:00 - 09:30
        2026-11-10 11:00 - 11:30
        2026-11-16 09:00 - 09:30
    "]]
    .assert_eq(&listed_times(&bytes, FROM, UNTIL));
    let (again, event) = update_event(
        "calendar.ics",
        bytes.as_bytes(),
        "team_20261109T080000Z",
        &EventChange { summary: Some("Again".into()), ..EventChange::default() },
        &context(),
    )
    .unwrap();
    assert_eq!(
        (event.summary.as_str(), format_times(&event).as_str()),
        ("Again", "2026-11-10 11:00 - 11:30")
    );
    let (less, _) = delete_event("calendar.ics", &again, "team_20261109T080000Z", &context()).unwrap();
    expect![[r"
        2026-11-02 09:00 - 09:30
        2026-11-16 09:00 - 09:30
    "]]
    .assert_eq(&listed_times(&String::from_utf8(less.clone()).unwrap(), FROM, UNTIL));
    let (none, _) = delete_event("calendar.ics", &less, "team", &context()).unwrap();
    let none = String::from_utf8(none).unwrap();
    assert!(none.contains("BEGIN:VJOURNAL") && !none.contains("VEVENT"), "{none}");
}

#[test]
fn change_of_the_series_keeps_foreign_properties() {
    let text = calendar_text(SERIES);
    let (bytes, _) = update_event(
        "calendar.ics",
        text.as_bytes(),
        "team",
        &change_times("2026-11-03T10:00", "2026-11-03T11:00"),
        &context(),
    )
    .unwrap();
    let bytes = String::from_utf8(bytes).unwrap();
    expect![[r"
        2026-11-03 10:00 - 11:00
        2026-11-10 10:00 - 11:00
        2026-11-17 10:00 - 11:00
    "]]
    .assert_eq(&listed_times(&bytes, FROM, UNTIL));
    for kept in [
        "X-OTHERS:keep this\r\n",
        "DESCRIPTION:keep this too\r\n",
        "SEQUENCE:1\r\n",
        "BEGIN:VJOURNAL\r\nUID:team",
    ] {
        assert!(bytes.contains(kept), "{kept}: {bytes}");
    }
    let excepted = calendar_text(&SERIES.replace("SUMMARY:Team", "EXDATE:20261109T080000Z"));
    let refused = update_event(
        "calendar.ics",
        excepted.as_bytes(),
        "team",
        &change_times("2026-11-03T10:00", "2026-11-03T11:00"),
        &context(),
    );
    assert!(refused.unwrap_err().to_string().starts_with("some times of `team` were moved or left out"));
    assert!(
        update_event(
            "calendar.ics",
            excepted.as_bytes(),
            "team",
            &EventChange { summary: Some("x".into()), ..EventChange::default() },
            &context()
        )
        .is_ok()
    );
}

#[test]
fn changed_event_keeps_zone_and_length() {
    let text = event_text("DTSTART;TZID=America/New_York:20261105T090000\nDURATION:PT45M\nSUMMARY:Call");
    let moved =
        EventChange { start: Some(zoned("2026-11-06T16:00[Europe/Berlin]")), ..EventChange::default() };
    let (bytes, event) = update_event("calendar.ics", text.as_bytes(), "it", &moved, &context()).unwrap();
    assert_eq!(format_times(&event), "2026-11-06 16:00 - 16:45");
    let bytes = String::from_utf8(bytes).unwrap();
    assert!(
        bytes.contains("DTSTART;TZID=America/New_York:20261106T100000\r\n") && !bytes.contains("DURATION"),
        "{bytes}"
    );
    let longer =
        EventChange { end: Some(zoned("2026-11-06T18:00[Europe/Berlin]")), ..EventChange::default() };
    let (_, event) = update_event("calendar.ics", bytes.as_bytes(), "it", &longer, &context()).unwrap();
    assert_eq!(format_times(&event), "2026-11-06 16:00 - 18:00");
}

#[test]
fn invalid_changes_are_refused() {
    let days = event_text("DTSTART;VALUE=DATE:20261105");
    let refused = |text: &str, change: &EventChange| {
        update_event("calendar.ics", text.as_bytes(), "it", change, &context()).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&days, &EventChange { end: None, ..change_times("2026-11-05T10:00", "2026-11-05T10:00") }),
        "it takes whole days. say both when it begins and when it ends."
    );
    assert_eq!(
        refused(&days, &change_times("2026-11-05T10:00", "2026-11-05T09:00")),
        "it would end (2026-11-05T09:00) before it begins (2026-11-05T10:00)."
    );
    let missing = find_event(
        &CalendarDocument::parse("c", days.as_bytes()).unwrap(),
        "nobody",
        zoned(FROM).time_zone(),
    )
    .unwrap_err();
    assert_eq!(missing.to_string(), "there is no event `nobody`. `ollim-bot cal upcoming` shows their ids.");
    let none = add_event("calendar.ics", &empty_calendar(), &EventChange::default(), &context()).unwrap_err();
    assert_eq!(none.to_string(), "an event needs a beginning and an end.");
}

/// The second occurrence of a repeated hour is stored unambiguously.
#[test]
fn second_occurrence_of_a_repeated_hour_is_kept() {
    let second = zoned("2026-10-25T02:30+01:00[Europe/Berlin]");
    let new =
        EventChange { start: Some(second.clone()), end: Some(second.clone()), ..EventChange::default() };
    let (_, event) = add_event("calendar.ics", &empty_calendar(), &new, &context()).unwrap();
    assert_eq!(event.when, EventTime::Timed(second.clone(), second));
}
