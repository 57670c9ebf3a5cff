//! Clock changes: delays are elapsed time, a changed clock repeats no occurrence, and occurrences
//! that became due while the machine slept are found at once.

use domain::failure::Failure;
use expect_test::expect;
use testkit::puppet::{Line, Puppet};
use testkit::story::Story;

use crate::{at, dentist, mail, pings, read, words};

const NINE: &str = "cron: 0 9 * * *";

/// Returns the days and times at which the routine was done.
fn done(story: &Story) -> Vec<String> {
    let done = |line: &str| Some(line.strip_suffix(" routine:mail try 1 done")?.to_owned());
    story.occurrences().lines().filter_map(done).collect()
}

/// C2: a relative delay is elapsed time, also across both changes of daylight saving time.
#[test]
fn a_delay_is_time_that_passed_over_both_changes_of_the_clocks() {
    for (start, run_at, next) in [
        ("2026-03-29T01:49:50[Europe/Madrid]", "2026-03-29T01:50:00+01:00", "03:20:00"),
        ("2026-10-25T02:49:50+02:00[Europe/Madrid]", "2026-10-25T02:50:00+02:00", "02:20:00"),
    ] {
        let mut story = Story::new(start);
        let follows = Line::calls("follow_up_chain", r#"{"minutes_from_now":30}"#);
        story.model([follows, Line::says("Not yet."), Line::says("Sent.")]);
        let text =
            format!("---\nid: c1\nrun-at: {run_at}\nmax-chain: 1\nbackground: true\n---\nwas it sent?\n");
        story.file("reminders/report.md", &text).passes("29m");
        assert_eq!(story.contexts().len(), 2, "{start}");
        story.passes("2m");
        assert_eq!(story.contexts().len(), 3, "{start}");
        let ended = story.occurrences();
        let all = story.all_occurrences();
        let due: Vec<i64> = all.iter().map(|occurrence| occurrence.key.due.as_second()).collect();
        assert_eq!(due.iter().max().unwrap() - due.iter().min().unwrap(), 30 * 60, "{ended}");
        assert!(ended.contains(&format!("sun {next} reminder:")), "{ended}");
    }
}

/// SC-11: a time that the clock skips is run right after, and a time that occurs twice is run once.
#[test]
fn a_time_that_the_clock_skips_or_repeats_comes_once() {
    for (start, when) in [
        ("2026-03-29T01:58[Europe/Madrid]", "sun 03:00:00"),
        ("2026-10-25T02:28+02:00[Europe/Madrid]", "sun 02:30:00"),
    ] {
        let mut story = Story::new(start);
        story.file("routines/mail.md", &mail("cron: 30 2 * * *")).passes("70m");
        assert_eq!(done(&story), [when], "{start}");
    }
}

/// C4: whatever the clock is set to, no occurrence is repeated, and routines continue.
#[test]
fn a_clock_that_is_set_keeps_no_time_twice() {
    for by in ["-1h", "1h", "-24h", "30d", "-30d", "-20000d"] {
        let mut story = at("16T08:59:50");
        story.file("routines/mail.md", &mail("cron: 0 * * * *")).passes("20s");
        assert_eq!(done(&story), ["mon 09:00:00"]);
        story.clock_set(by).passes("20s");
        let contexts = story.contexts().len();
        assert!(contexts <= 2, "{by}: {}", story.occurrences());
        story.passes("61m");
        let keys: Vec<_> = story.all_occurrences().into_iter().map(|occurrence| occurrence.key).collect();
        let mut unique = keys.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(keys.len(), unique.len(), "{by}");
        let went_on = story.contexts().len() - contexts;
        let expected = if matches!(by, "-1h" | "-24h") { 0..=1 } else { 1..=2 };
        assert!(expected.contains(&went_on), "{by}: {went_on} {}", story.occurrences());
    }
}

/// C4: a clock that was far off, also across a restart, causes no lasting damage once it is
/// corrected.
#[test]
fn a_clock_that_was_wrong_and_is_right_again_harms_nothing() {
    for (away, back) in [("30d", "-30d"), ("-30d", "30d"), ("-20500d", "20500d"), ("1h", "-1h")] {
        let mut story = at("16T08:50");
        story
            .file("routines/mail.md", &mail(NINE))
            .file("reminders/call.md", &dentist("16T09:05", "background: true"));
        story.passes("10s").clock_set(away).passes("20s").crash().passes("20s");
        story.clock_set(back).passes("20s").crash().passes("20m");
        let ended = story.occurrences();
        let kept = ended.lines().filter(|line| line.contains("mon 09:00:00 routine:mail")).count();
        assert_eq!(kept, 1, "{away}: {ended}");
        let reminded = ended.lines().filter(|line| line.contains("reminder:d1")).count();
        assert_eq!(reminded, 1, "{away}: {ended}");
        assert!(story.contexts().len() <= 4, "{away}: {ended}");
    }
}

/// C4: a clock that is set back far, without a restart, stops neither routines nor a pending retry.
#[test]
fn a_clock_that_is_set_back_far_stops_nothing() {
    let mut story = at("16T08:50");
    story.file("routines/mail.md", &mail("cron: 0 * * * *")).passes("10s").clock_set("40d").passes("20s");
    story.model([Line::fails(Failure::Broken("500".to_owned()))]).passes("10m 10s");
    assert!(story.occurrences().contains("again"), "{}", story.occurrences());
    story.clock_set("-20h").passes("5s").clock_set("-940h").passes("2m");
    assert!(!story.occurrences().contains("again"), "{}", story.occurrences());
    story.passes("1h");
    assert!(done(&story).contains(&"mon 10:00:00".to_owned()), "{}", story.occurrences());
}

/// C4, PB-3, A9: the ping budget stays within its bounds whatever the clock does.
#[test]
fn the_budget_stays_within_its_bounds_whatever_the_clock_does() {
    let puppet = Puppet::answering(|context| match context.said.last().map(|said| words(said)) {
        Some(said) if said.contains("[routine-bg:") => pings("up"),
        _ => Line::says("Done."),
    });
    let mut story = Story::played_by("2026-11-16T08:59:50[Europe/Madrid]", puppet);
    story.file("routines/mail.md", &mail("cron: 0 9 * * *\nupdate-main-session: freely")).passes("1s");
    for by in ["-1h", "-24h", "1h", "30d", "-30d", "-30d", "60d"] {
        story.runs_now("routine:mail").clock_set(by).passes("2s");
        let text = story.reads_file("state/ping_budget.json");
        let (_, rest) = text.split_once("\"available\":").unwrap();
        let available: f64 = rest.split([',', '}']).next().unwrap().parse().unwrap();
        assert!((0.0..=5.0).contains(&available), "{by}: {text}");
    }
}

/// C5, SC-18: an occurrence that became due while the machine slept starts within five seconds
/// after it wakes, or is reported as missed.
#[test]
fn what_was_due_while_the_machine_slept_is_found_at_once() {
    for (asleep, ended) in [
        ("1s", ""),
        ("15s", "mon 09:00:00 reminder:d1 try 1 done"),
        ("10m", "mon 09:00:00 reminder:d1 try 1 done"),
        ("23h", "mon 09:00:00 reminder:d1 try 1 done"),
        ("6d", "mon 09:00:00 reminder:d1 try 1 done"),
        ("14d", "mon 09:00:00 reminder:d1 try 0 missed: it was too late when i could"),
    ] {
        let mut story = at("16T08:59:48");
        story.file("reminders/call.md", &dentist("16T09:00", "background: true")).passes("1s");
        story.sleeps(asleep).passes("5s");
        assert_eq!(story.occurrences(), ended, "{asleep}");
    }
}

/// C6: routines follow the user's time zone, and reminders keep their instant.
#[test]
fn a_routine_follows_the_zone_and_a_reminder_keeps_its_instant() {
    let zones = [("Asia/Tokyo", "08:59:50+09:00"), ("America/Los_Angeles", "08:59:50-08:00")];
    for (zone, time) in zones {
        let mut story = Story::new(&format!("2026-11-16T{time}[{zone}]"));
        story.file("routines/mail.md", &mail(NINE)).passes("20s");
        assert_eq!(done(&story), ["mon 09:00:00"], "{zone}");
    }
    let mut story = Story::new("2026-11-16T16:59:50[Asia/Tokyo]");
    story.file("reminders/call.md", &dentist("16T09:00", "")).passes("20s");
    assert!(
        read(&story, 0).starts_with("[2026-11-16 Mon 05:00 PM JST] [reminder:d1]"),
        "{}",
        read(&story, 0)
    );
}

/// C6: after a change of the time zone routines run at local time, none twice or retroactively, and
/// reminders keep their instant.
#[test]
fn who_moves_has_their_routines_where_they_are() {
    let mut story = at("16T08:50");
    story
        .file("routines/mail.md", &mail(NINE))
        .file("reminders/call.md", &dentist("16T09:05", "background: true"));
    story.passes("1s").moves_to("Europe/Lisbon").passes("20m");
    expect!["mon 08:05:00 reminder:d1 try 1 done"].assert_eq(&story.occurrences());
    story.passes("1h");
    expect![[r#"
        mon 08:05:00 reminder:d1 try 1 done
        mon 09:00:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());
}
