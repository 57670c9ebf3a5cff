//! Hostile and broken calendars: problems are reported, and all other events are listed.

use proptest::prelude::*;

use super::*;

const FROM: &str = "2026-11-01T00:00[Europe/Berlin]";
const UNTIL: &str = "2026-12-01T00:00[Europe/Berlin]";
const GOOD: &str = "BEGIN:VEVENT\nUID:good\nSUMMARY:Good\nDTSTART:20261102T080000Z\nEND:VEVENT";

/// Checks the problem of a bad event beside a good one, which must be listed.
fn check(bad: &str, expected: &str) {
    let text = calendar_text(&format!("BEGIN:VEVENT\nUID:bad\nSUMMARY:Bad one\n{bad}\nEND:VEVENT\n{GOOD}"));
    let look = query_events(text.as_bytes(), FROM, UNTIL);
    assert!(look.events.iter().any(|event| event.id == "good"), "{bad}");
    assert_eq!(look.problems, [expected], "{bad}");
}

#[test]
fn problems_are_reported_and_other_events_listed() {
    check("DTEND:20261102T080000Z", "`Bad one`: it has no beginning (DTSTART), so it is left out.");
    check("DTSTART:tomorrow", "`Bad one`: DTSTART `tomorrow` is no day and no time, so it is left out.");
    check(
        "DTSTART:20261102T080000Z\nDTEND:20261102T070000Z",
        "`Bad one`: it ends before it begins, so it is left out.",
    );
    check(
        "DTSTART:20261102T080000Z\nDURATION:soon",
        "`Bad one`: its DURATION `soon` is no length, so it is left out.",
    );
    check(
        "DTSTART:20261102T080000Z\nDURATION:P99999999999999W",
        "`Bad one`: its DURATION `P99999999999999W` is no length, so it is left out.",
    );
    let first = "so only its first time is shown.";
    let ruled = |rule: &str, why: &str| {
        check(&format!("DTSTART:20261102T080000Z\nRRULE:{rule}"), &format!("`Bad one`: {why}, {first}"))
    };
    ruled("FREQ=SECONDLY;COUNT=1000000000", "it recurs SECONDLY, which i do not follow");
    ruled("FREQ=DAILY;BYHOUR=1,2,3", "its rule uses BYHOUR, which i cannot follow");
    ruled("FREQ=MONTHLY;BYSETPOS=99999", "its rule says BYSETPOS=99999, which makes no sense");
    ruled("FREQ=MONTHLY;BYSETPOS=0", "its rule says BYSETPOS=0, which makes no sense");
    ruled("FREQ=DAILY;INTERVAL=0", "its rule says INTERVAL=0, which makes no sense");
    ruled("FREQ=WEEKLY;BYDAY=5XX", "its rule says BYDAY=5XX, which makes no sense");
    ruled("COUNT=3", "its rule does not say how often (FREQ)");
    ruled("", "its rule does not say how often (FREQ)");
    check(
        "DTSTART:00010101T000000Z\nRRULE:FREQ=DAILY;BYDAY=MO;COUNT=1000000000",
        &format!("`Bad one`: it has more times than i can count, {first}"),
    );
}

#[test]
fn huge_count_means_forever() {
    let text = event_text("DTSTART:20260101T080000Z\nRRULE:FREQ=DAILY;COUNT=99999999999");
    let look = query_events(text.as_bytes(), FROM, UNTIL);
    assert_eq!((look.events.len(), look.problems.len()), (30, 0));
}

#[test]
fn endless_rules_exhaust_the_budget() {
    let bomb = "BEGIN:VEVENT\nUID:bomb\nDTSTART:18000101T000000Z\nRRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=5\nEND:VEVENT\n";
    let text = calendar_text(&format!("{}{GOOD}", bomb.repeat(30)));
    let sheet = CalendarDocument::parse("calendar.ics", text.as_bytes()).unwrap();
    let look = events_between(&sheet, &zoned(FROM), &zoned(UNTIL), &mut Budget::with_steps(300_000));
    assert!(look.events.iter().any(|event| event.id == "good"));
    let given_up =
        look.problems.iter().filter(|why| why.contains("the calendar has more times than i can count"));
    assert_eq!(given_up.count(), 27, "each was followed as long as there were steps");
}

#[test]
fn non_calendar_text_is_refused() {
    let refused =
        |bytes: &[u8]| CalendarDocument::parse("calendar.ics", bytes).map(|_| ()).unwrap_err().to_string();
    let sentence = "calendar.ics is no calendar: BEGIN:VCALENDAR stands nowhere in it. move it away, or put an iCalendar file there.";
    assert_eq!(refused(b""), sentence);
    assert_eq!(refused(b"<html>not found</html>"), sentence);
    let wide: Vec<u8> = event_text("").encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(refused(&wide), sentence);
}

#[test]
fn unclosed_event_does_not_affect_others() {
    let text = calendar_text(&format!("BEGIN:VEVENT\nSUMMARY:Open\nDTSTART:20261102T080000Z\n{GOOD}"));
    let look = query_events(text.as_bytes(), FROM, UNTIL);
    assert_eq!(look.events.len(), 1);
    assert_eq!(look.problems, ["`Open`: it begins and never ends, so it is left out."]);
    let cut = &text.as_bytes()[..text.len() - 20];
    let change = crate::calendar::EventChange {
        start: Some(zoned(FROM)),
        end: Some(zoned(FROM)),
        ..Default::default()
    };
    let stamp = ChangeContext { now: zoned(FROM), random: [0; 10] };
    let refused = add_event("calendar.ics", cut, &change, &stamp).unwrap_err().to_string();
    assert!(refused.starts_with("the calendar breaks off before its END:VCALENDAR"), "{refused}");
}

#[test]
fn long_lines_and_deep_nesting_are_bounded() {
    let mut text =
        String::from("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:a\r\nDTSTART:20261102T080000Z\r\nSUMMARY:x");
    text.push_str(&"\r\n y".repeat(1_000_000));
    text.push_str("\r\nLOCATION:here\r\n");
    text.push_str(&"BEGIN:X\r\n".repeat(100_000));
    text.push_str("END:VEVENT\r\nEND:VCALENDAR\r\n");
    let look = query_events(text.as_bytes(), FROM, UNTIL);
    assert_eq!(look.events[0].details.location.as_deref(), Some("here"));
    assert_eq!(look.events[0].summary, "", "a line of more than 256 KB is passed over");
}

fn calendar_texts() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        Just("BEGIN:VEVENT".to_owned()),
        Just("END:VEVENT".to_owned()),
        Just("BEGIN:VCALENDAR".to_owned()),
        Just("END:VCALENDAR".to_owned()),
        Just("BEGIN:VTIMEZONE".to_owned()),
        Just("BEGIN:STANDARD".to_owned()),
        Just("END:VTIMEZONE".to_owned()),
        "UID:[a-c]",
        "(DTSTART|DTEND|RECURRENCE-ID|EXDATE|RDATE)(;TZID=(Europe/Berlin|a|\"))?:(2026|9999|0000)1[0-2][0-3][0-9](T[0-2][0-9]0000Z?)?",
        "RRULE:FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)(;INTERVAL=[0-9]{1,6})?(;COUNT=[0-9]{1,12})?(;BYDAY=-?[1-6]?(MO|SU))?(;BYMONTHDAY=-?[0-9]{1,2})?(;BYSETPOS=-?[0-9])?",
        "DURATION:-?P[0-9]{0,12}[DWT][0-9]{0,9}[HMS]?",
        "TZOFFSETTO:[+-][0-9]{4}",
        "(SUMMARY|DESCRIPTION):\\PC{0,20}",
        " \\PC{0,5}",
        ".{0,10}",
    ];
    let line = line.prop_map(|line| (line + "\r\n").into_bytes());
    let junk = proptest::collection::vec(any::<u8>(), 0..12);
    proptest::collection::vec(prop_oneof![8 => line.boxed(), 1 => junk.boxed()], 0..40).prop_map(|all| {
        let all = all.concat();
        [b"BEGIN:VCALENDAR\r\n".to_vec(), all, b"END:VCALENDAR\r\n".to_vec()].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    /// Any input is parsed, listed events can be found, changed and deleted, and everything else
    /// stays byte for byte.
    #[test]
    fn edits_preserve_arbitrary_input(text in calendar_texts()) {
        let look = query_events(&text, FROM, UNTIL);
        let stamp = ChangeContext { now: zoned(FROM), random: [7; 10] };
        for event in look.events.iter().take(3) {
            let change = crate::calendar::EventChange { summary: Some("New, words".into()), ..Default::default() };
            if let Ok((changed, kept)) = update_event("calendar.ics", &text, &event.id, &change, &stamp) {
                prop_assert_eq!(&kept.summary, "New, words");
                prop_assert_eq!(&kept.when, &event.when);
                prop_assert!(changed.len() > text.len() - 100);
            }
            delete_event("calendar.ics", &text, &event.id, &stamp).ok();
        }
        let new = crate::calendar::EventChange {
            summary: Some("Mine".into()),
            start: Some(zoned("2026-11-20T09:00[Europe/Berlin]")),
            end: Some(zoned("2026-11-20T10:00[Europe/Berlin]")),
            description: None,
        };
        if let Ok((added, mine)) = add_event("calendar.ics", &text, &new, &stamp) {
            let after = query_events(&added, FROM, UNTIL);
            prop_assert!(after.events.contains(&mine));
            let (left, _) = delete_event("calendar.ics", &added, &mine.id, &stamp).unwrap();
            let gone = vtimezone::vtimezone_for(zoned(FROM).time_zone(), &zoned("2026-11-20T09:00[Europe/Berlin]")).unwrap();
            let left = String::from_utf8_lossy(&left).replacen(&gone, "", 1);
            prop_assert!(left == String::from_utf8_lossy(&text) || String::from_utf8_lossy(&text).contains("TZID"));
        }
    }

    /// Arbitrary bytes.
    #[test]
    fn arbitrary_bytes_are_accepted(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(sheet) = CalendarDocument::parse("calendar.ics", &bytes) {
            events_between(&sheet, &zoned(FROM), &zoned(UNTIL), &mut Budget::new());
        }
        let inside = [b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261102\n", bytes.as_slice(), b"\nEND:VEVENT\nEND:VCALENDAR\n"].concat();
        events_between(&CalendarDocument::parse("calendar.ics", &inside).unwrap(), &zoned(FROM), &zoned(UNTIL), &mut Budget::new());
    }
}
