//! Difficult recurrence rules with the results of other implementations.

use super::*;

const BERLIN: (&str, &str) = ("2026-01-01T00:00[Europe/Berlin]", "2036-01-01T00:00[Europe/Berlin]");

/// Checks the first times of a rule that begins at `start` in Berlin.
fn check(start: &str, rule: &str, expected: &[&str]) {
    let zone = if start.len() == 8 { ";VALUE=DATE" } else { ";TZID=Europe/Berlin" };
    let text = event_text(&format!("DTSTART{zone}:{start}\nRRULE:{rule}"));
    let look = query_events(text.as_bytes(), BERLIN.0, BERLIN.1);
    assert_eq!(look.problems, Vec::<String>::new(), "{rule}");
    let time = |event: &Event| match &event.when {
        EventTime::Timed(start, _) => start.strftime("%Y-%m-%d %H:%M").to_string(),
        EventTime::Days(first, _) => first.to_string(),
    };
    let found: Vec<_> = look.events.iter().map(time).take(expected.len()).collect();
    assert_eq!(found, expected, "{rule} from {start}");
    let counted = rule.contains("COUNT") || rule.contains("UNTIL");
    assert!(!counted || look.events.len() == expected.len(), "{rule}: {}", look.events.len());
}

#[test]
fn weekdays_are_counted_from_either_end_of_the_month() {
    check(
        "20260130T170000",
        "FREQ=MONTHLY;BYDAY=-1FR",
        &["2026-01-30 17:00", "2026-02-27 17:00", "2026-03-27 17:00"],
    );
    check(
        "20260105T090000",
        "FREQ=MONTHLY;BYDAY=1MO,3MO;COUNT=4",
        &["2026-01-05 09:00", "2026-01-19 09:00", "2026-02-02 09:00", "2026-02-16 09:00"],
    );
    // Only some months have a fifth Monday.
    check("20260330", "FREQ=MONTHLY;BYDAY=5MO", &["2026-03-30", "2026-06-29", "2026-08-31", "2026-11-30"]);
    check(
        "20260213",
        "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
        &["2026-02-13", "2026-03-13", "2026-11-13", "2027-08-13"],
    );
    // The US election day: the Tuesday after the first Monday of November.
    let election = "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8";
    check("20281107", election, &["2028-11-07", "2032-11-02"]);
    check("20260511", "FREQ=YEARLY;BYDAY=20MO", &["2026-05-11", "2026-05-18", "2027-05-17", "2028-05-15"]);
    check("20261228", "FREQ=YEARLY;BYDAY=-1MO", &["2026-12-28", "2027-12-27", "2028-12-25"]);
}

#[test]
fn months_that_lack_a_day_are_left_out() {
    check(
        "20260131",
        "FREQ=MONTHLY",
        &["2026-01-31", "2026-03-31", "2026-05-31", "2026-07-31", "2026-08-31"],
    );
    check(
        "20260131",
        "FREQ=MONTHLY;BYMONTHDAY=-1",
        &["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30"],
    );
    check("20280229", "FREQ=YEARLY", &["2028-02-29", "2032-02-29"]);
    check("20280229", "FREQ=YEARLY;INTERVAL=3", &["2028-02-29"]);
    check(
        "20260130",
        "FREQ=MONTHLY;BYMONTHDAY=30,31;BYMONTH=1,2,3;COUNT=5",
        &["2026-01-30", "2026-01-31", "2026-03-30", "2026-03-31", "2027-01-30"],
    );
}

#[test]
fn set_positions_select_dates() {
    // The last working day.
    check(
        "20260130",
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
        &["2026-01-30", "2026-02-27", "2026-03-31"],
    );
    check(
        "20260107",
        "FREQ=MONTHLY;BYDAY=TU,WE,TH;BYSETPOS=3;COUNT=3",
        &["2026-01-07", "2026-02-05", "2026-03-05"],
    );
    check(
        "20260101",
        "FREQ=YEARLY;BYMONTH=1;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1,-1;COUNT=4",
        &["2026-01-01", "2026-01-30", "2027-01-01", "2027-01-29"],
    );
}

/// Both examples of the standard: the same rule with different week starts.
#[test]
fn week_start_is_respected() {
    let rule = |start: &str| format!("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST={start}");
    check("20260804", &rule("MO"), &["2026-08-04", "2026-08-09", "2026-08-18", "2026-08-23"]);
    check("20260804", &rule("SU"), &["2026-08-04", "2026-08-16", "2026-08-18", "2026-08-30"]);
    check(
        "20260103",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=SA,MO;COUNT=4",
        &["2026-01-03", "2026-01-12", "2026-01-17", "2026-01-26"],
    );
}

#[test]
fn rule_end_is_inclusive() {
    check(
        "20260101T090000",
        "FREQ=DAILY;UNTIL=20260103T080000Z",
        &["2026-01-01 09:00", "2026-01-02 09:00", "2026-01-03 09:00"],
    );
    check("20260101T090000", "FREQ=DAILY;UNTIL=20260103T075959Z", &["2026-01-01 09:00", "2026-01-02 09:00"]);
    check(
        "20260101T090000",
        "FREQ=DAILY;UNTIL=20260103",
        &["2026-01-01 09:00", "2026-01-02 09:00", "2026-01-03 09:00"],
    );
    check("20260101", "FREQ=DAILY;UNTIL=20260103", &["2026-01-01", "2026-01-02", "2026-01-03"]);
    check("20260101", "FREQ=DAILY;COUNT=1", &["2026-01-01"]);
}

/// 2:30 does not exist on 29 March 2026 and exists twice on 25 October.
#[test]
fn local_times_survive_clock_changes() {
    check(
        "20260328T023000",
        "FREQ=DAILY;COUNT=3",
        &["2026-03-28 02:30", "2026-03-29 03:30", "2026-03-30 02:30"],
    );
    check(
        "20261024T090000",
        "FREQ=DAILY;COUNT=3",
        &["2026-10-24 09:00", "2026-10-25 09:00", "2026-10-26 09:00"],
    );
    let twice = event_text(
        "DTSTART;TZID=Europe/Berlin:20261024T023000\nDTEND;TZID=Europe/Berlin:20261024T033000\nRRULE:FREQ=DAILY;COUNT=2",
    );
    let look = query_events(twice.as_bytes(), BERLIN.0, BERLIN.1);
    let EventTime::Timed(start, end) = &look.events[1].when else { panic!() };
    assert_eq!(
        (start.to_string(), end.to_string()),
        (
            "2026-10-25T02:30:00+02:00[Europe/Berlin]".to_owned(),
            "2026-10-25T02:30:00+01:00[Europe/Berlin]".to_owned(),
        )
    );
}

/// A weekly call at nine in New York is at another hour in Berlin for some weeks of the year.
#[test]
fn series_follows_its_own_zone() {
    let call =
        event_text("DTSTART;TZID=America/New_York:20261019T090000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=3");
    expect_test::expect![[r"
        2026-10-19 15:00 - 16:00
        2026-10-26 14:00 - 15:00
        2026-11-02 15:00 - 16:00
    "]]
    .assert_eq(&listed_times(&call, BERLIN.0, BERLIN.1));
}

/// A distant window is reached by skipping, with the same result as counting.
#[test]
fn distant_window_gives_the_same_result() {
    for rule in [
        "FREQ=DAILY;INTERVAL=3",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,SU;WKST=SU",
        "FREQ=MONTHLY;INTERVAL=5;BYDAY=2WE,-1FR",
        "FREQ=YEARLY;INTERVAL=2;BYMONTH=2;BYMONTHDAY=28",
        "FREQ=DAILY;INTERVAL=2;COUNT=1900",
        "FREQ=WEEKLY;COUNT=500",
        "FREQ=WEEKLY;BYDAY=TU,TH;COUNT=1000",
    ] {
        let text = event_text(&format!("DTSTART;TZID=Europe/Berlin:20260107T100000\nRRULE:{rule}"));
        let all = query_events(text.as_bytes(), BERLIN.0, "2041-01-01T00:00[Europe/Berlin]");
        let far = query_events(
            text.as_bytes(),
            "2035-06-01T00:00[Europe/Berlin]",
            "2036-06-01T00:00[Europe/Berlin]",
        );
        let inside = |event: &&Event| {
            let told = format_times(event);
            told.as_str() >= "2035-06-01" && told.as_str() < "2036-06-01"
        };
        let expected: Vec<_> = all.events.iter().filter(inside).cloned().collect();
        assert_eq!(far.events, expected, "{rule}");
        assert!(!expected.is_empty() || rule.contains("500"), "{rule}");
    }
}
