//! Tests of parsing files of other programs.

use expect_test::expect;

use super::*;

const FROM: &str = "2026-11-01T00:00[Europe/Berlin]";
const UNTIL: &str = "2026-12-01T00:00[Europe/Berlin]";

const TIME_FORMATS: &str = "BEGIN:VTIMEZONE
    TZID:Our Office
    BEGIN:STANDARD
    DTSTART:16011028T030000
    RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
    TZOFFSETFROM:+0200
    TZOFFSETTO:+0100
    END:STANDARD
    BEGIN:DAYLIGHT
    DTSTART:16010325T020000
    RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
    TZOFFSETFROM:+0100
    TZOFFSETTO:+0200
    END:DAYLIGHT
    END:VTIMEZONE
    BEGIN:VEVENT
    UID:1
    DTSTART:20261102T080000Z
    DTEND:20261102T090000Z
    END:VEVENT
    BEGIN:VEVENT
    UID:2
    DTSTART:20261103T090000
    DURATION:PT1H30M
    END:VEVENT
    BEGIN:VEVENT
    UID:3
    DTSTART;TZID=\"America/New_York\":20261104T090000
    DTEND;TZID=America/New_York:20261104T100000
    END:VEVENT
    BEGIN:VEVENT
    UID:4
    DTSTART;TZID=Our Office:20261105T090000
    DTEND;TZID=Our Office:20261105T100000
    END:VEVENT
    BEGIN:VEVENT
    UID:5
    DTSTART;TZID=/mozilla.org/20070129_1/America/New_York:20261106T090000
    END:VEVENT
    BEGIN:VEVENT
    UID:6
    DTSTART;TZID=Nowhere at all:20261107T090000
    END:VEVENT
    BEGIN:VEVENT
    UID:7
    DTSTART;VALUE=DATE:20261108
    END:VEVENT
    BEGIN:VEVENT
    UID:8
    DTSTART;VALUE=DATE:20261109
    DTEND;VALUE=DATE:20261112
    END:VEVENT
    BEGIN:VEVENT
    UID:9
    DTSTART:20261113T090000
    DURATION:P1DT1H
    END:VEVENT";

#[test]
fn all_time_formats_are_parsed() {
    expect![[r"
        2026-11-02 09:00 - 10:00
        2026-11-03 09:00 - 10:30
        2026-11-04 15:00 - 16:00
        2026-11-05 09:00 - 10:00
        2026-11-06 15:00 - 15:00
        2026-11-07 09:00 - 09:00
        2026-11-08 until before 2026-11-09
        2026-11-09 until before 2026-11-12
        2026-11-13 09:00 - 2026-11-14 10:00
    "]]
    .assert_eq(&listed_times(&calendar_text(TIME_FORMATS), FROM, UNTIL));
}

/// Daylight saving time of a zone that the calendar defines itself.
#[test]
fn custom_zone_has_daylight_saving_time() {
    let zone = "BEGIN:VTIMEZONE\nTZID:X\nBEGIN:DAYLIGHT\nDTSTART:20070311T020000\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=2SU\nTZOFFSETFROM:-0500\nTZOFFSETTO:-0400\nEND:DAYLIGHT\nBEGIN:STANDARD\nDTSTART:20071104T020000\nRRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=1SU\nTZOFFSETFROM:-0400\nTZOFFSETTO:-0500\nEND:STANDARD\nEND:VTIMEZONE";
    let series = "BEGIN:VEVENT\nUID:1\nDTSTART;TZID=X:20261019T090000\nRRULE:FREQ=WEEKLY;COUNT=3\nEND:VEVENT";
    let text = calendar_text(&format!("{zone}\n{series}"));
    let known = text.replace("TZID=X", "TZID=America/New_York");
    let window = ("2026-01-01T00:00Z[UTC]", "2027-01-01T00:00Z[UTC]");
    assert_eq!(listed_times(&text, window.0, window.1), listed_times(&known, window.0, window.1));
    assert!(listed_times(&text, window.0, window.1).contains("2026-10-19 13:00 - 13:00\n"));
}

#[test]
fn series_exceptions_are_applied() {
    let text = calendar_text(
        "BEGIN:VEVENT
        UID:team
        DTSTART;TZID=Europe/Berlin:20261102T090000
        DTEND;TZID=Europe/Berlin:20261102T093000
        RRULE:FREQ=WEEKLY;COUNT=5
        EXDATE;TZID=Europe/Berlin:20261109T090000
        RDATE;TZID=Europe/Berlin:20261110T110000,20261102T090000
        SUMMARY:Team
        END:VEVENT
        BEGIN:VEVENT
        UID:team
        RECURRENCE-ID;TZID=Europe/Berlin:20261116T090000
        DTSTART;TZID=Europe/Berlin:20261117T140000
        DTEND;TZID=Europe/Berlin:20261117T150000
        SUMMARY:Team\\, moved
        END:VEVENT
        BEGIN:VEVENT
        UID:team
        RECURRENCE-ID:20261123T080000Z
        DTSTART:20261123T080000Z
        STATUS:CANCELLED
        END:VEVENT",
    );
    let look = query_events(text.as_bytes(), FROM, UNTIL);
    let lines: String =
        look.events.iter().map(|it| format!("{}  {}  {}\n", it.id, format_times(it), it.summary)).collect();
    expect![[r"
        team_20261102T080000Z  2026-11-02 09:00 - 09:30  Team
        team_20261110T100000Z  2026-11-10 11:00 - 11:30  Team
        team_20261116T080000Z  2026-11-17 14:00 - 15:00  Team, moved
        team_20261130T080000Z  2026-11-30 09:00 - 09:30  Team
    "]]
    .assert_eq(&lines);
    let sheet = CalendarDocument::parse("calendar.ics", text.as_bytes()).unwrap();
    let home = zoned(FROM).time_zone().clone();
    for event in &look.events {
        assert_eq!(find_event(&sheet, &event.id, &home).as_ref(), Ok(event), "each can be shown by its id");
    }
    assert!(find_event(&sheet, "team_20261109T080000Z", &home).is_err(), "it was left out");
    assert!(find_event(&sheet, "team_20261103T080000Z", &home).is_err(), "it never was");
    assert_eq!(find_event(&sheet, "team", &home).unwrap().summary, "Team");
}

#[test]
fn text_is_unfolded_and_unescaped() {
    let text = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:a\r\nDTSTART:20261102T080000Z\r\nSUMMARY;LANGUAGE=\"a:b;c\":Lunch\\, then \r\n caf\u{c3}\r\n \u{a9}\r\nDESCRIPTION:one\\ntwo\\\\three\\;\r\nLOCATION:Here\r\nURL:https://example.org/x\r\nSTATUS:TENTATIVE\r\nATTENDEE;CN=\"Tom: the cat\":mailto:tom@example.org\r\nATTENDEE:MAILTO:ann@example.org\r\nBEGIN:VALARM\r\nDESCRIPTION:Wake up\r\nSUMMARY:No\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let event = query_events(&bytes, FROM, UNTIL).events.remove(0);
    assert_eq!(event.summary, "Lunch, then café");
    assert_eq!(event.details.description.as_deref(), Some("one\ntwo\\three;"));
    assert_eq!(event.details.attendees, ["tom@example.org", "ann@example.org"]);
    assert_eq!(event.details.status.as_deref(), Some("tentative"));
    assert_eq!(
        (event.details.location.as_deref(), event.details.link.as_deref()),
        (Some("Here"), Some("https://example.org/x"))
    );
    let cut = text.replace("DTSTART", "DTS\r\n TART").replace("SUMMARY;", "SUMM\n ARY;");
    let cut: Vec<u8> = cut.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    assert_eq!(query_events(&cut, FROM, UNTIL).events, [event], "a fold may stand anywhere");
    let latin = b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\nDTSTART:20261102T080000Z\nSUMMARY:caf\xe9\nEND:VEVENT\nEND:VCALENDAR\n";
    assert_eq!(
        query_events(latin, FROM, UNTIL).events[0].summary,
        "café",
        "in the letters of western Europe too"
    );
}

#[test]
fn continuing_events_are_listed_and_past_ones_are_not() {
    let text = calendar_text(
        "BEGIN:VEVENT\nUID:1\nDTSTART:20261031T120000Z\nDTEND:20261102T120000Z\nEND:VEVENT
        BEGIN:VEVENT\nUID:2\nDTSTART:20261031T120000Z\nDTEND:20261031T230000Z\nEND:VEVENT
        BEGIN:VEVENT\nUID:3\nDTSTART:20261130T230000Z\nEND:VEVENT
        BEGIN:VEVENT\nUID:4\nDTSTART;VALUE=DATE:20261030\nDTEND;VALUE=DATE:20261102\nEND:VEVENT
        BEGIN:VEVENT\nUID:5\nDTSTART;VALUE=DATE:20261030\nDTEND;VALUE=DATE:20261101\nEND:VEVENT
        BEGIN:VEVENT\nUID:6\nDTSTART:20261031T230000Z\nEND:VEVENT
        BEGIN:VEVENT\nUID:7\nDTSTART:20261029T230000Z\nDURATION:P3D\nRRULE:FREQ=MONTHLY\nEND:VEVENT",
    );
    let look = query_events(text.as_bytes(), FROM, UNTIL);
    let ids: Vec<_> = look.events.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids, ["4", "7_20261029T230000Z", "1", "6", "7_20261129T230000Z"]);
}
