//! Clock changes: delays are elapsed time, a changed clock repeats no occurrence, and occurrences
//! that became due while the machine slept are found at once.

use domain::failure::Failure;
use expect_test::expect;
use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use testkit::story::Story;

use crate::{dentist_reminder, mail_routine, ping_call, read_in_request, story_at, text_of};

const NINE: &str = "cron: 0 9 * * *";

/// Returns the days and times at which the routine was done.
fn done_times(story: &Story) -> Vec<String> {
    let done = |line: &str| Some(line.strip_suffix(" routine:mail try 1 done")?.to_owned());
    story.occurrences().lines().filter_map(done).collect()
}

/// C2: a relative delay is elapsed time, also across both changes of daylight saving time.
#[test]
fn delay_is_elapsed_time_across_clock_changes() {
    for (start, run_at, next) in [
        ("2026-03-29T01:49:50[Europe/Madrid]", "2026-03-29T01:50:00+01:00", "03:20:00"),
        ("2026-10-25T02:49:50+02:00[Europe/Madrid]", "2026-10-25T02:50:00+02:00", "02:20:00"),
    ] {
        let mut story = Story::new(start);
        let follows = ModelOutcome::tool_call("follow_up_chain", r#"{"minutes_from_now":30}"#);
        story.script([follows, ModelOutcome::text("Not yet."), ModelOutcome::text("Sent.")]);
        let text =
            format!("---\nid: c1\nrun-at: {run_at}\nmax-chain: 1\nbackground: true\n---\nwas it sent?\n");
        story.write_file("reminders/report.md", &text).advance_time("29m");
        assert_eq!(story.contexts().len(), 2, "{start}");
        story.advance_time("2m");
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
fn skipped_or_repeated_time_runs_once() {
    for (start, when) in [
        ("2026-03-29T01:58[Europe/Madrid]", "sun 03:00:00"),
        ("2026-10-25T02:28+02:00[Europe/Madrid]", "sun 02:30:00"),
    ] {
        let mut story = Story::new(start);
        story.write_file("routines/mail.md", &mail_routine("cron: 30 2 * * *")).advance_time("70m");
        assert_eq!(done_times(&story), [when], "{start}");
    }
}

/// C4: whatever the clock is set to, no occurrence is repeated, and routines continue.
#[test]
fn setting_the_clock_repeats_no_occurrence() {
    for by in ["-1h", "1h", "-24h", "30d", "-30d", "-20000d"] {
        let mut story = story_at("16T08:59:50");
        story.write_file("routines/mail.md", &mail_routine("cron: 0 * * * *")).advance_time("20s");
        assert_eq!(done_times(&story), ["mon 09:00:00"]);
        story.set_clock(by).advance_time("20s");
        let contexts = story.contexts().len();
        assert!(contexts <= 2, "{by}: {}", story.occurrences());
        story.advance_time("61m");
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
fn corrected_clock_leaves_no_damage() {
    for (away, back) in [("30d", "-30d"), ("-30d", "30d"), ("-20500d", "20500d"), ("1h", "-1h")] {
        let mut story = story_at("16T08:50");
        story
            .write_file("routines/mail.md", &mail_routine(NINE))
            .write_file("reminders/call.md", &dentist_reminder("16T09:05", "background: true"));
        story.advance_time("10s").set_clock(away).advance_time("20s").crash().advance_time("20s");
        story.set_clock(back).advance_time("20s").crash().advance_time("20m");
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
fn clock_set_back_far_stops_nothing() {
    let mut story = story_at("16T08:50");
    story
        .write_file("routines/mail.md", &mail_routine("cron: 0 * * * *"))
        .advance_time("10s")
        .set_clock("40d")
        .advance_time("20s");
    story.script([ModelOutcome::fail(Failure::VendorError("500".to_owned()))]).advance_time("10m 10s");
    assert!(story.occurrences().contains("again"), "{}", story.occurrences());
    story.set_clock("-20h").advance_time("5s").set_clock("-940h").advance_time("2m");
    assert!(!story.occurrences().contains("again"), "{}", story.occurrences());
    story.advance_time("1h");
    assert!(done_times(&story).contains(&"mon 10:00:00".to_owned()), "{}", story.occurrences());
}

/// C4, PB-3, A9: the ping budget stays within its bounds whatever the clock does.
#[test]
fn ping_budget_stays_within_bounds_when_the_clock_changes() {
    let model = ScriptedModel::answering(|context| match context.entries.last().map(|said| text_of(said)) {
        Some(said) if said.contains("[routine-bg:") => ping_call("up"),
        _ => ModelOutcome::text("Done."),
    });
    let mut story = Story::with_model("2026-11-16T08:59:50[Europe/Madrid]", model);
    story
        .write_file("routines/mail.md", &mail_routine("cron: 0 9 * * *\nupdate-main-session: freely"))
        .advance_time("1s");
    for by in ["-1h", "-24h", "1h", "30d", "-30d", "-30d", "60d"] {
        story.run_now("routine:mail").set_clock(by).advance_time("2s");
        let text = story.read_file("state/ping_budget.json");
        let (_, rest) = text.split_once("\"available\":").unwrap();
        let available: f64 = rest.split([',', '}']).next().unwrap().parse().unwrap();
        assert!((0.0..=5.0).contains(&available), "{by}: {text}");
    }
}

/// C5, SC-18: an occurrence that became due while the machine slept starts within five seconds
/// after it wakes, or is reported as missed.
#[test]
fn occurrence_due_during_sleep_is_found_at_once() {
    for (asleep, ended) in [
        ("1s", ""),
        ("15s", "mon 09:00:00 reminder:d1 try 1 done"),
        ("10m", "mon 09:00:00 reminder:d1 try 1 done"),
        ("23h", "mon 09:00:00 reminder:d1 try 1 done"),
        ("6d", "mon 09:00:00 reminder:d1 try 1 done"),
        ("14d", "mon 09:00:00 reminder:d1 try 0 missed: it was too late when i could"),
    ] {
        let mut story = story_at("16T08:59:48");
        story
            .write_file("reminders/call.md", &dentist_reminder("16T09:00", "background: true"))
            .advance_time("1s");
        story.machine_sleeps(asleep).advance_time("5s");
        assert_eq!(story.occurrences(), ended, "{asleep}");
    }
}

/// C6: routines follow the user's time zone, and reminders keep their instant.
#[test]
fn routine_follows_the_zone_and_reminder_keeps_its_instant() {
    let zones = [("Asia/Tokyo", "08:59:50+09:00"), ("America/Los_Angeles", "08:59:50-08:00")];
    for (zone, time) in zones {
        let mut story = Story::new(&format!("2026-11-16T{time}[{zone}]"));
        story.write_file("routines/mail.md", &mail_routine(NINE)).advance_time("20s");
        assert_eq!(done_times(&story), ["mon 09:00:00"], "{zone}");
    }
    let mut story = Story::new("2026-11-16T16:59:50[Asia/Tokyo]");
    story.write_file("reminders/call.md", &dentist_reminder("16T09:00", "")).advance_time("20s");
    assert!(
        read_in_request(&story, 0).starts_with("[2026-11-16 Mon 05:00 PM JST] [reminder:d1]"),
        "{}",
        read_in_request(&story, 0)
    );
}

/// C6: after a change of the time zone routines run at local time, none twice or retroactively, and
/// reminders keep their instant.
#[test]
fn routines_follow_a_change_of_the_time_zone() {
    let mut story = story_at("16T08:50");
    story
        .write_file("routines/mail.md", &mail_routine(NINE))
        .write_file("reminders/call.md", &dentist_reminder("16T09:05", "background: true"));
    story.advance_time("1s").move_to_zone("Europe/Lisbon").advance_time("20m");
    expect!["mon 08:05:00 reminder:d1 try 1 done"].assert_eq(&story.occurrences());
    story.advance_time("1h");
    expect![[r#"
        mon 08:05:00 reminder:d1 try 1 done
        mon 09:00:00 routine:mail try 1 done"#]]
    .assert_eq(&story.occurrences());
}
