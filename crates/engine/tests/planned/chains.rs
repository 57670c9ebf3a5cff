//! Chains: a reminder schedules follow-up checks of itself, up to its limit.

use domain::failure::Failure;
use expect_test::expect;
use testkit::oracle::examine;
use testkit::puppet::{Line, Puppet};
use testkit::story::{Story, Trouble};

use crate::{at, dentist, read, words};

/// A reminder with the id `c1`, due at nine, that allows `max` follow-up checks.
fn chain(max: u32, head: &str) -> String {
    let max = if max == 0 { String::new() } else { format!("max-chain: {max}\n") };
    format!("---\nid: c1\nrun-at: 2026-11-16T09:00:00+01:00\n{max}{head}\n---\nwas the report sent?\n")
}

fn follows(minutes: u32) -> Line {
    Line::calls("follow_up_chain", &format!(r#"{{"minutes_from_now":{minutes}}}"#))
}

fn story(max: u32, head: &str) -> Story {
    let mut story = at("16T08:59:50");
    story.file("reminders/report.md", &chain(max, head)).passes("1s");
    story
}

/// CH-1, CH-4, CH-5, CH-7, CH-9: a chain has at most its maximum of checks, each knows its number,
/// and the last cannot continue it.
#[test]
fn a_chain_has_as_many_checks_as_it_may() {
    let mut story = story(2, "background: true");
    story.model([follows(5), Line::says("Not yet."), follows(6), Line::says("Not yet.")]);
    story.model([follows(7), Line::says("Sent.")]).passes("30m");
    let told: Vec<String> = [0, 2, 4].iter().map(|nth| read(&story, *nth)).collect();
    assert!(told[0].contains("CHAIN CONTEXT:") && told[0].contains("check 1 of 3"), "{}", told[0]);
    assert!(told[0].contains("follow_up_chain(minutes_from_now=N)"), "{}", told[0]);
    assert!(told[1].contains("check 2 of 3"), "{}", told[1]);
    assert!(told[2].contains("FINAL check") && told[2].contains("check 3 of 3"), "{}", told[2]);
    assert!(told[2].contains("`follow_up_chain` is NOT available"), "{}", told[2]);
    assert!(told.iter().all(|told| told.ends_with("\n\nwas the report sent?")), "{told:?}");
    expect![[r#"
        -- mon 08:59
        fork/e6984080> calls follow_up_chain {"minutes_from_now":5}
        fork/e6984080> follow_up_chain: one more check comes in 5 minutes. it starts fresh: its words are all it gets.
        fork/e6984080> assistant: Not yet.
        fork/77cbc4a1> calls follow_up_chain {"minutes_from_now":6}
        fork/77cbc4a1> follow_up_chain: one more check comes in 6 minutes. it starts fresh: its words are all it gets.
        fork/77cbc4a1> assistant: Not yet.
        fork/1a82e79b> calls follow_up_chain {"minutes_from_now":7}
        fork/1a82e79b> follow_up_chain: Error: limit reached, this was the last check of its chain. if it is unresolved and cannot wait, ping now; otherwise let it end.
        fork/1a82e79b> assistant: Sent.
        -- mon 09:29
    "#]].assert_eq(&story.told());
    expect![[r#"
        mon 09:00:00 reminder:c1 try 1 done
        mon 09:05:00 reminder:8144c24f try 1 done
        mon 09:11:00 reminder:8144c2ba try 1 done"#]]
    .assert_eq(&story.occurrences());
    assert_eq!(story.files("reminders"), Vec::<String>::new());
}

/// CH-2, CH-7: a follow-up check inherits the text and all settings of its parent.
#[test]
fn a_check_inherits_all_that_its_parent_has() {
    let head = "background: true\nisolated: true\nmodel: haiku\nthinking: false\nallow-ping: false\n\
                update-main-session: freely\nallowed-tools:\n- WebFetch\ndescription: the report";
    let mut story = story(2, head);
    story.model([follows(5), Line::says("Not yet.")]).passes("20s");
    let files = story.files("reminders");
    assert_eq!(files.len(), 1, "{files:?}");
    expect![[r#"
        ---
        id: "8144c24f"
        run-at: "2026-11-16T09:05:00+01:00"
        background: true
        chain-depth: 1
        max-chain: 2
        chain-parent: "c1"
        model: "haiku"
        thinking: false
        isolated: true
        description: "the report"
        update-main-session: "freely"
        allow-ping: false
        allowed-tools:
          - "WebFetch"
        ---
        was the report sent?
    "#]]
    .assert_eq(&story.reads_file(&format!("reminders/{}", files[0])));
}

/// CH-7: a check is due the requested minutes after the request, also if the parent itself was
/// late.
#[test]
fn a_check_comes_after_so_many_minutes() {
    let mut story = story(1, "background: true");
    story.model([follows(5), Line::says("Not yet."), Line::says("Sent.")]).away("1h").passes("10m");
    expect![[r#"
        mon 09:00:00 reminder:c1 try 1 done
        mon 10:04:51 reminder:8144c24f try 1 done"#]]
    .assert_eq(&story.occurrences());
}

/// CH-8: a check starts without the conversation of the one before.
#[test]
fn a_check_starts_with_no_memory_of_the_one_before() {
    let mut story = story(1, "background: true");
    story.model([follows(1), Line::says("The secret is 42."), Line::says("Sent.")]).passes("2m");
    assert_eq!(story.contexts().len(), 3);
    let said: Vec<String> = story.contexts()[2].said.iter().map(|said| words(said)).collect();
    assert!(said.iter().all(|said| !said.contains("42")), "{said:?}");
}

/// CH-6, CH-9: a reminder without a chain has no chain text and cannot be followed up.
#[test]
fn a_reminder_without_a_chain_is_not_followed() {
    let mut story = story(0, "background: true");
    story.model([follows(5), Line::says("Well.")]).passes("20s");
    assert!(!read(&story, 0).contains("CHAIN"), "{}", read(&story, 0));
    assert!(story.told().contains("Error: there is no active reminder context"), "{}", story.told());
    assert_eq!(story.files("reminders"), Vec::<String>::new());
}

/// CH-3, MC-20: on main the chain applies to the reminder's own turn, and not to the next message
/// of the user.
#[test]
fn a_chain_on_main_holds_for_its_own_turn() {
    let mut story = story(2, "");
    story.model([follows(5), Line::says("Was the report sent?")]).passes("20s");
    assert!(read(&story, 0).contains("check 1 of 3"), "{}", read(&story, 0));
    story.model([follows(5), Line::says("Well.")]).human("ask me again later");
    assert!(
        story.told().contains("follow_up_chain: Error: there is no active reminder context"),
        "{}",
        story.told()
    );
    assert_eq!(story.files("reminders").len(), 1);
    story.model([Line::says("And now?")]).passes("5m");
    assert!(read(&story, 4).contains("check 2 of 3"), "{}", read(&story, 4));
}

/// CH-3: another reminder that ends meanwhile does not end the chain.
#[test]
fn another_reminder_that_ends_meanwhile_takes_nothing_away() {
    let mut story = story(1, "background: true");
    story.model([Line::holds("Hm"), Line::says("Ring ring.")]);
    story.file("reminders/call.md", &dentist("16T09:01", "background: true")).passes("90s");
    assert!(story.occurrences().contains("reminder:d1 try 1 done"), "{}", story.occurrences());
    story.model([follows(5), Line::says("Not yet.")]).crash().passes("10s");
    assert_eq!(story.files("reminders").len(), 1, "{}", story.told());
}

/// CH-7, A11: a check that is requested twice is scheduled once, at the time of the last request.
#[test]
fn a_check_that_is_asked_for_twice_is_one() {
    let mut story = story(1, "background: true");
    story.model([follows(5), follows(8), Line::says("Not yet.")]).passes("20s");
    assert_eq!(story.files("reminders").len(), 1, "{:?}", story.files("reminders"));
    story.passes("10m");
    expect![[r#"
        mon 09:00:00 reminder:c1 try 1 done
        mon 09:08:00 reminder:8144c24f try 1 done"#]]
    .assert_eq(&story.occurrences());
}

/// CH-7: an invalid number of minutes is refused.
#[test]
fn a_check_comes_no_sooner_than_in_a_minute() {
    let mut story = story(1, "background: true");
    story.model([follows(0), Line::says("Well.")]).passes("20s");
    assert!(
        story.told().contains("`minutes_from_now` must be a whole number of minutes, at least 1"),
        "{}",
        story.told()
    );
    assert_eq!(story.files("reminders"), Vec::<String>::new());
}

/// A11, A8: a check whose parent fails afterwards still runs, and once for all tries of the parent.
#[test]
fn a_check_comes_though_its_parent_fails() {
    let breaks = || Line::fails(Failure::Broken("500".to_owned()));
    let mut story = story(1, "background: true");
    story.model([follows(20), breaks(), follows(20), breaks(), follows(20), breaks(), Line::says("Sent.")]);
    story.passes("40m");
    expect![[r#"
        mon 09:00:00 reminder:c1 try 3 failed: the model failed on its side (500).
        mon 09:26:15 reminder:8144c24f try 1 done"#]]
    .assert_eq(&story.occurrences());
}

/// A11, CH-7: a retried check may move the next one, so the next one waits for it, and there is
/// only one.
#[test]
fn the_next_check_waits_for_one_that_is_tried_again() {
    let breaks = || Line::fails(Failure::Broken("500".to_owned()));
    let mut story = story(1, "background: true");
    story.model([follows(1), breaks(), breaks(), follows(1), Line::says("Not yet."), Line::says("Sent.")]);
    story.passes("20m");
    expect![[r#"
        mon 09:00:00 reminder:c1 try 3 done
        mon 09:01:00 reminder:8144c24f try 0 cancelled: its time was changed
        mon 09:07:29 reminder:8144c24f try 1 done"#]]
    .assert_eq(&story.occurrences());
    assert_eq!(story.files("reminders"), Vec::<String>::new());
}

/// A11: for a crash at any write between a check and the next, there is exactly one next check, and
/// it runs once.
#[test]
fn there_is_one_next_check_wherever_the_program_dies() {
    for nth in 1..=9 {
        for trouble in [Trouble::DiesBefore, Trouble::DiesAfter] {
            let puppet = Puppet::answering(|context| match context.said.last().map(|said| words(said)) {
                Some(said) if said.contains("check 1 of 2") => follows(2),
                _ => Line::says("Not yet."),
            });
            let mut story = Story::played_by("2026-11-16T08:59:50[Europe/Madrid]", puppet);
            story.file("reminders/report.md", &chain(1, "background: true")).passes("1s");
            story.trouble(nth, trouble).passes("30s").crash().passes("4m").crash().passes("5s");
            let tree = story.tree();
            let ended = story.occurrences();
            let told = format!("{nth} {trouble:?}:\n{ended}\n{tree}");
            let asked = tree.contains("one more check comes");
            let children = ended.lines().count() - 1;
            assert!(children == 1 || children == 0 && !asked, "{told}");
            assert!(ended.lines().all(|line| line.ends_with("try 1 done")), "{told}");
            assert_eq!(story.files("reminders"), Vec::<String>::new(), "{told}");
            story.die();
            assert_eq!(examine(story.paths().root()), Vec::<String>::new(), "{told}");
        }
    }
}
