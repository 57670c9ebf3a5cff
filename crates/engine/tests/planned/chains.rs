//! Chains: a reminder schedules follow-up checks of itself, up to its limit.

use domain::failure::Failure;
use expect_test::expect;
use testkit::oracle::find_violations;
use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use testkit::story::{JournalFault, Story};

use crate::{dentist_reminder, read_in_request, story_at, text_of};

/// A reminder with the id `c1`, due at nine, that allows `max` follow-up checks.
fn chain(max: u32, head: &str) -> String {
    let max = if max == 0 { String::new() } else { format!("max-chain: {max}\n") };
    format!("---\nid: c1\nrun-at: 2026-11-16T09:00:00+01:00\n{max}{head}\n---\nwas the report sent?\n")
}

fn follow_up(minutes: u32) -> ModelOutcome {
    ModelOutcome::tool_call("follow_up_chain", &format!(r#"{{"minutes_from_now":{minutes}}}"#))
}

fn story(max: u32, head: &str) -> Story {
    let mut story = story_at("16T08:59:50");
    story.write_file("reminders/report.md", &chain(max, head)).advance_time("1s");
    story
}

/// CH-1, CH-4, CH-5, CH-7, CH-9: a chain has at most its maximum of checks, each knows its number,
/// and the last cannot continue it.
#[test]
fn chain_stops_at_its_maximum() {
    let mut story = story(2, "background: true");
    story.script([
        follow_up(5),
        ModelOutcome::text("Not yet."),
        follow_up(6),
        ModelOutcome::text("Not yet."),
    ]);
    story.script([follow_up(7), ModelOutcome::text("Sent.")]).advance_time("30m");
    let told: Vec<String> = [0, 2, 4].iter().map(|nth| read_in_request(&story, *nth)).collect();
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
    "#]].assert_eq(&story.transcript());
    expect![[r#"
        mon 09:00:00 reminder:c1 try 1 done
        mon 09:05:00 reminder:8144c24f try 1 done
        mon 09:11:00 reminder:8144c2ba try 1 done"#]]
    .assert_eq(&story.occurrences());
    assert_eq!(story.list_files("reminders"), Vec::<String>::new());
}

/// CH-2, CH-7: a follow-up check inherits the text and all settings of its parent.
#[test]
fn check_inherits_the_settings_of_its_parent() {
    let head = "background: true\nisolated: true\nmodel: haiku\nthinking: false\nallow-ping: false\n\
                update-main-session: freely\nallowed-tools:\n- WebFetch\ndescription: the report";
    let mut story = story(2, head);
    story.script([follow_up(5), ModelOutcome::text("Not yet.")]).advance_time("20s");
    let files = story.list_files("reminders");
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
    .assert_eq(&story.read_file(&format!("reminders/{}", files[0])));
}

/// CH-7: a check is due the requested minutes after the request, also if the parent itself was
/// late.
#[test]
fn check_is_due_after_the_requested_minutes() {
    let mut story = story(1, "background: true");
    story
        .script([follow_up(5), ModelOutcome::text("Not yet."), ModelOutcome::text("Sent.")])
        .stop_for("1h")
        .advance_time("10m");
    expect![[r#"
        mon 09:00:00 reminder:c1 try 1 done
        mon 10:04:51 reminder:8144c24f try 1 done"#]]
    .assert_eq(&story.occurrences());
}

/// CH-8: a check starts without the conversation of the one before.
#[test]
fn check_starts_without_the_previous_conversation() {
    let mut story = story(1, "background: true");
    story
        .script([follow_up(1), ModelOutcome::text("The secret is 42."), ModelOutcome::text("Sent.")])
        .advance_time("2m");
    assert_eq!(story.contexts().len(), 3);
    let said: Vec<String> = story.contexts()[2].entries.iter().map(|said| text_of(said)).collect();
    assert!(said.iter().all(|said| !said.contains("42")), "{said:?}");
}

/// CH-6, CH-9: a reminder without a chain has no chain text and cannot be followed up.
#[test]
fn reminder_without_a_chain_is_not_followed_up() {
    let mut story = story(0, "background: true");
    story.script([follow_up(5), ModelOutcome::text("Well.")]).advance_time("20s");
    assert!(!read_in_request(&story, 0).contains("CHAIN"), "{}", read_in_request(&story, 0));
    assert!(
        story.transcript().contains("Error: there is no active reminder context"),
        "{}",
        story.transcript()
    );
    assert_eq!(story.list_files("reminders"), Vec::<String>::new());
}

/// CH-3, MC-20: on main the chain applies to the reminder's own turn, and not to the next message
/// of the user.
#[test]
fn chain_on_main_applies_to_its_own_turn() {
    let mut story = story(2, "");
    story.script([follow_up(5), ModelOutcome::text("Was the report sent?")]).advance_time("20s");
    assert!(read_in_request(&story, 0).contains("check 1 of 3"), "{}", read_in_request(&story, 0));
    story.script([follow_up(5), ModelOutcome::text("Well.")]).user("ask me again later");
    assert!(
        story.transcript().contains("follow_up_chain: Error: there is no active reminder context"),
        "{}",
        story.transcript()
    );
    assert_eq!(story.list_files("reminders").len(), 1);
    story.script([ModelOutcome::text("And now?")]).advance_time("5m");
    assert!(read_in_request(&story, 4).contains("check 2 of 3"), "{}", read_in_request(&story, 4));
}

/// CH-3: another reminder that ends meanwhile does not end the chain.
#[test]
fn chain_is_independent_of_other_reminders() {
    let mut story = story(1, "background: true");
    story.script([ModelOutcome::hang("Hm"), ModelOutcome::text("Ring ring.")]);
    story
        .write_file("reminders/call.md", &dentist_reminder("16T09:01", "background: true"))
        .advance_time("90s");
    assert!(story.occurrences().contains("reminder:d1 try 1 done"), "{}", story.occurrences());
    story.script([follow_up(5), ModelOutcome::text("Not yet.")]).crash().advance_time("10s");
    assert_eq!(story.list_files("reminders").len(), 1, "{}", story.transcript());
}

/// CH-7, A11: a check that is requested twice is scheduled once, at the time of the last request.
#[test]
fn check_requested_twice_is_scheduled_once() {
    let mut story = story(1, "background: true");
    story.script([follow_up(5), follow_up(8), ModelOutcome::text("Not yet.")]).advance_time("20s");
    assert_eq!(story.list_files("reminders").len(), 1, "{:?}", story.list_files("reminders"));
    story.advance_time("10m");
    expect![[r#"
        mon 09:00:00 reminder:c1 try 1 done
        mon 09:08:00 reminder:8144c24f try 1 done"#]]
    .assert_eq(&story.occurrences());
}

/// CH-7: an invalid number of minutes is refused.
#[test]
fn check_needs_at_least_one_minute() {
    let mut story = story(1, "background: true");
    story.script([follow_up(0), ModelOutcome::text("Well.")]).advance_time("20s");
    assert!(
        story.transcript().contains("`minutes_from_now` must be a whole number of minutes, at least 1"),
        "{}",
        story.transcript()
    );
    assert_eq!(story.list_files("reminders"), Vec::<String>::new());
}

/// A11, A8: a check whose parent fails afterwards still runs, and once for all tries of the parent.
#[test]
fn check_runs_even_if_its_parent_fails() {
    let breaks = || ModelOutcome::fail(Failure::VendorError("500".to_owned()));
    let mut story = story(1, "background: true");
    story.script([
        follow_up(20),
        breaks(),
        follow_up(20),
        breaks(),
        follow_up(20),
        breaks(),
        ModelOutcome::text("Sent."),
    ]);
    story.advance_time("40m");
    expect![[r#"
        mon 09:00:00 reminder:c1 try 3 failed: the model failed on its side (500).
        mon 09:26:15 reminder:8144c24f try 1 done"#]]
    .assert_eq(&story.occurrences());
}

/// A11, CH-7: a retried check may move the next one, so the next one waits for it, and there is
/// only one.
#[test]
fn next_check_waits_for_a_retried_one() {
    let breaks = || ModelOutcome::fail(Failure::VendorError("500".to_owned()));
    let mut story = story(1, "background: true");
    story.script([
        follow_up(1),
        breaks(),
        breaks(),
        follow_up(1),
        ModelOutcome::text("Not yet."),
        ModelOutcome::text("Sent."),
    ]);
    story.advance_time("20m");
    expect![[r#"
        mon 09:00:00 reminder:c1 try 3 done
        mon 09:01:00 reminder:8144c24f try 0 cancelled: its time was changed
        mon 09:07:29 reminder:8144c24f try 1 done"#]]
    .assert_eq(&story.occurrences());
    assert_eq!(story.list_files("reminders"), Vec::<String>::new());
}

/// A11: for a crash at any write between a check and the next, there is exactly one next check, and
/// it runs once.
#[test]
fn there_is_one_next_check_wherever_the_program_crashes() {
    for nth in 1..=9 {
        for trouble in [JournalFault::CrashBefore, JournalFault::CrashAfter] {
            let model =
                ScriptedModel::answering(|context| match context.entries.last().map(|said| text_of(said)) {
                    Some(said) if said.contains("check 1 of 2") => follow_up(2),
                    _ => ModelOutcome::text("Not yet."),
                });
            let mut story = Story::with_model("2026-11-16T08:59:50[Europe/Madrid]", model);
            story.write_file("reminders/report.md", &chain(1, "background: true")).advance_time("1s");
            story
                .inject_journal_fault(nth, trouble)
                .advance_time("30s")
                .crash()
                .advance_time("4m")
                .crash()
                .advance_time("5s");
            let tree = story.tree();
            let ended = story.occurrences();
            let told = format!("{nth} {trouble:?}:\n{ended}\n{tree}");
            let asked = tree.contains("one more check comes");
            let children = ended.lines().count() - 1;
            assert!(children == 1 || children == 0 && !asked, "{told}");
            assert!(ended.lines().all(|line| line.ends_with("try 1 done")), "{told}");
            assert_eq!(story.list_files("reminders"), Vec::<String>::new(), "{told}");
            story.stop();
            assert_eq!(find_violations(story.paths().root()), Vec::<String>::new(), "{told}");
        }
    }
}
