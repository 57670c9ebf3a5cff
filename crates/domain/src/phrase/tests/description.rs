//! Tests of formatting times.

use expect_test::expect;

use super::*;

/// The second occurrence of a doubled hour is formatted with its UTC offset, and parses back.
#[test]
fn a_doubled_hour_is_formatted_with_its_offset() {
    for (now, at, told) in [
        (
            "2026-10-24T12:00[Europe/Berlin]",
            "2026-10-25T02:30+01:00[Europe/Berlin]",
            "sun 25 oct 2026 02:30:00+01:00",
        ),
        ("2026-10-24T12:00[Europe/Berlin]", "2026-10-25T02:30+02:00[Europe/Berlin]", "sun 25 oct 2026 02:30"),
        (
            "2026-10-31T12:00[America/New_York]",
            "2026-11-01T01:30-05:00[America/New_York]",
            "sun 1 nov 2026 01:30:00-05:00",
        ),
    ] {
        let (now, at): (Zoned, Zoned) = (now.parse().unwrap(), at.parse().unwrap());
        assert_eq!(format_exact(&at), told);
        assert_eq!(parse(&format!("x {told}"), &now, &Habits::default()).when, Some(Timing::Once(at)));
    }
}

/// A delay in minutes is shown in minutes, one in seconds with seconds; the instant itself is
/// exact.
#[test]
fn a_delay_is_shown_with_the_precision_of_the_request() {
    let now: Zoned = "2026-11-15T14:33:06.25[Europe/Berlin]".parse().unwrap();
    let told = |text: &str| describe(&parse(text, &now, &Habits::default()).when.unwrap(), &now, &[]);
    assert_eq!(told("x in 90 min"), "today 16:03 · in 1 h 30 min");
    assert_eq!(told("x in 1 min"), "today 14:34 · in 1 min");
    assert_eq!(told("x in 90 s"), "today 14:34:36 · in 2 min");
    assert_eq!(told("x in 2 s"), "today 14:33:08 · in 2 s");
    let Some(Timing::Once(at)) = parse("x in 90 min", &now, &Habits::default()).when else { panic!() };
    assert_eq!(at.timestamp() - now.timestamp(), jiff::Span::new().seconds(5400).fieldwise());
}

/// Every format contains both the clock time and the distance.
#[test]
fn formats_contain_clock_time_and_distance() {
    let told = |text: &str, fires: &[&str]| {
        let fires: Vec<_> = fires.iter().map(|fire| fire.parse().unwrap()).collect();
        let reading = parse(text, &now(), &Habits::default());
        describe(&reading.when.unwrap(), &now(), &fires) + "\n"
    };
    let week = ["2026-11-16T14:00Z", "2026-11-17T14:00Z", "2026-11-18T14:00Z"];
    let firsts = ["2026-12-01T08:00Z", "2027-01-01T08:00Z", "2027-02-01T08:00Z"];
    let hours = ["2026-11-15T15:00Z", "2026-11-16T09:00Z", "2026-11-16T10:00Z"];
    let rows = [
        told("x tomorrow at 10", &[]),
        told("x in 4 min", &[]),
        told("x in 30 s", &[]),
        told("x friday", &[]),
        told("x 24.12.2027 17:00", &[]),
        told("x at 9:00 tokyo time", &[]),
        told("x tue 15:00, leave 25 min before", &[]),
        told("x every weekday at 3", &week),
        told("x every 1st at 9", &firsts),
        told("x every hour 10-16", &hours),
        told("x mon wed fri 7am until 1 dec @home", &[]),
        told("x every 2nd tuesday 19:00", &[]),
        told("x every 3 days", &[]),
        told("x every 30 min 9-17", &[]),
        told("x every 2 hours 9-17", &[]),
        told("x twice a day", &[]),
        told("x every last friday", &[]),
        told("x every 24 dec", &[]),
        told("x every 3 months", &[]),
        told("x daily 9:00 tokyo time", &[]),
        told("after standup: x", &[]),
        told("next time we talk: x", &[]),
    ];
    expect![[r#"
        mon 16 nov 10:00 · in 19 h 27 min
        today 14:37 · in 4 min
        today 14:33:30 · in 30 s
        fri 20 nov 09:00 · in 5 days
        fri 24 dec 2027 17:00 · in 404 days
        mon 16 nov 01:00 (09:00 tokyo) · in 10 h 27 min
        tue 17 nov 15:00 · in 2 days, leave at 14:35
        weekdays 15:00 · next mon 16, tue 17, wed 18
        every month on the 1st, 09:00 · next tue 1 dec, fri 1 jan, mon 1 feb
        every hour 10:00-16:00 · next today 16:00, mon 16 10:00, 11:00
        mondays, wednesdays and fridays 07:00, until 2026-12-01 · only at home
        every 2 weeks on tuesday, 19:00
        every 3 days 09:00
        every 30 min 09:00-17:00
        every 2 hours 09:00-17:00
        every day 09:00 and 18:00
        every month on the last friday, 09:00
        every year on 24 dec, 09:00
        on the 15th of feb, may, aug and nov, 09:00
        every day 09:00, Asia/Tokyo time
        after standup
        next time we talk
    "#]]
    .assert_eq(&rows.concat());
}
