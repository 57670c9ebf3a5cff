//! Pings, reports and their limits: how a background run reaches the user and main, and when it may
//! end.

use expect_test::expect;
use testkit::oracle::find_violations;
use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use testkit::story::{JournalFault, Story};

use crate::{mail_routine, ping_call, report_call, story_at, text_of};

const FREELY: &str = "cron: 0 9 * * *\nupdate-main-session: freely";

fn critical_ping(words: &str) -> ModelOutcome {
    ModelOutcome::tool_call("ping_user", &format!(r#"{{"message":"{words}","critical":true}}"#))
}

/// Starts a story with the routine `mail` and these extra front matter lines. Only the ping budget
/// limits pings.
fn story_with(head: &str) -> Story {
    let mut story = story_at("16T10:00");
    story
        .user_commands("/config ping_caps off")
        .write_file("routines/mail.md", &mail_routine(head))
        .advance_time("1s");
    story
}

/// Runs the routine with these lines of the model. Returns the results of its pings and embeds.
fn run_mail(story: &mut Story, lines: impl IntoIterator<Item = ModelOutcome>) -> Vec<String> {
    let before = story.transcript().lines().count();
    story.script(lines).script([ModelOutcome::text("Done.")]).run_now("routine:mail");
    let told = story.transcript();
    let results =
        told.lines().skip(before).filter(|line| line.contains("> ping_user: ") || line.contains("embed: "));
    results
        .map(|line| line.split_once(": ").map(|(_, result)| result.to_owned()).unwrap_or_default())
        .collect()
}

/// Returns the available, used and critical pings from the budget file.
fn budget(story: &Story) -> (f64, u64, u64) {
    let text = story.read_file("state/ping_budget.json");
    let number = |key: &str| {
        let (_, rest) =
            text.split_once(&format!("\"{key}\":")).unwrap_or_else(|| panic!("no {key} in {text}"));
        let number: String =
            rest.trim().chars().take_while(|one| one.is_ascii_digit() || *one == '.').collect();
        number.parse::<f64>().unwrap_or(-1.0)
    };
    (number("available"), number("daily_used") as u64, number("critical_used") as u64)
}

/// BF-21, BF-22, PB-1, PB-7: a run has one ping or embed, and it is charged.
#[test]
fn run_has_one_ping_and_it_is_charged() {
    let mut story = story_with(FREELY);
    let embed = ModelOutcome::tool_call("discord_embed", r#"{"title":"Mail"}"#);
    let told = run_mail(&mut story, [ping_call("two mails"), ping_call("and one more"), embed.clone()]);
    assert_eq!(told[0], "Message sent.");
    assert!(told[1].contains("Already sent 1 ping") && told[1].contains("report_updates"), "{told:?}");
    assert!(told[2].contains("Already sent 1 ping"), "{told:?}");
    assert_eq!(budget(&story), (4.0, 1, 0));
    // An embed counts as a ping, and the next run has its own.
    let told = run_mail(&mut story, [embed, ping_call("two mails")]);
    assert!(told[1].contains("Already sent 1 ping"), "{told:?}");
    assert_eq!(budget(&story), (3.0, 2, 0));
    assert_eq!(story.transcript().matches("to the human>").count(), 2, "{}", story.transcript());
}

/// BF-5, BF-21: a run without permission to ping cannot ping, not even critically.
#[test]
fn run_without_permission_cannot_ping() {
    let mut story = story_with(&format!("{FREELY}\nallow-ping: false"));
    let told = run_mail(
        &mut story,
        [
            ping_call("up"),
            critical_ping("up"),
            ModelOutcome::tool_call("discord_embed", r#"{"title":"Mail"}"#),
        ],
    );
    assert_eq!(told.len(), 3);
    assert!(told.iter().all(|told| told.contains("disabled")), "{told:?}");
    assert!(!story.transcript().contains("to the human>"));
}

/// BF-21, MC-19, PB-8: during a conversation only critical pings are sent, and they use none of the
/// budget.
#[test]
fn only_critical_pings_are_sent_during_a_conversation() {
    let mut story = story_with(FREELY);
    story.script([ModelOutcome::hang("Let me think")]).user_begins("tell me a story");
    let told = run_mail(&mut story, [ping_call("two mails"), critical_ping("it burns")]);
    assert!(told[0].contains("mid-conversation") && told[0].contains("critical=True"), "{told:?}");
    assert!(told[0].contains("report_updates"), "{told:?}");
    assert_eq!(told[1], "Message sent.");
    assert_eq!(budget(&story), (5.0, 0, 1));
}

/// MC-19: whether the user is in a conversation is determined when the run starts, for the whole
/// run.
#[test]
fn run_started_before_a_conversation_may_ping_during_it() {
    let mut asked = 0;
    let model = ScriptedModel::answering(move |context| {
        let is_run = context.entries.iter().any(|said| text_of(said).contains("[routine-bg:"));
        asked += usize::from(is_run);
        match (is_run, asked) {
            (false, _) => ModelOutcome::hang("Once upon"),
            (true, 1) => ModelOutcome::hang("Reading"),
            (true, 2) => ping_call("two mails"),
            (true, _) => ModelOutcome::text("Done."),
        }
    });
    let mut story = Story::with_model("2026-11-16T08:59:50[Europe/Madrid]", model);
    story
        .write_file("routines/mail.md", &mail_routine(FREELY))
        .advance_time("20s")
        .user_begins("tell me a story");
    story.crash().advance_time("5s");
    assert!(story.transcript().contains("to the human> two mails"), "{}", story.transcript());
}

/// BF-21, PB-2, PB-7: a used-up budget refills with time.
#[test]
fn used_up_budget_refills_with_time() {
    let mut story = story_with(FREELY);
    story.user_commands("/ping-budget 1 90");
    assert_eq!(run_mail(&mut story, [ping_call("one")]), ["Message sent."]);
    let told = run_mail(&mut story, [ping_call("two"), critical_ping("three")]);
    assert!(told[0].contains("Budget exhausted") && told[0].contains("critical=True"), "{told:?}");
    assert_eq!(told[1], "Message sent.");
    let (available, used, critical) = budget(&story);
    assert!(available < 0.1 && (used, critical) == (1, 1), "{:?}", budget(&story));
    story.machine_sleeps("89m");
    assert!(run_mail(&mut story, [ping_call("four")])[0].contains("Budget exhausted"));
    story.machine_sleeps("2m");
    assert_eq!(run_mail(&mut story, [ping_call("five")]), ["Message sent."]);
}

/// PB-4, PB-8: a critical ping is allowed once in a run, and three times a day.
#[test]
fn critical_pings_are_limited() {
    let mut story = story_with(FREELY);
    let told = run_mail(&mut story, [critical_ping("one"), critical_ping("again")]);
    assert_eq!(told[0], "Message sent.");
    assert!(told[1].contains("already sent a critical ping"), "{told:?}");
    assert_eq!(
        run_mail(&mut story, [ping_call("first"), critical_ping("two")]),
        ["Message sent.", "Message sent."]
    );
    assert_eq!(run_mail(&mut story, [critical_ping("three")]), ["Message sent."]);
    assert!(run_mail(&mut story, [critical_ping("four")])[0].contains("used up"));
    assert_eq!(budget(&story).2, 3);
    story.crash();
    assert!(run_mail(&mut story, [critical_ping("four")])[0].contains("used up"));
    story.machine_sleeps("15h").advance_time("10s");
    assert_eq!(run_mail(&mut story, [critical_ping("five")]), ["Message sent."]);
    assert_eq!(budget(&story).2, 1);
}

/// BF-21, PB-9: the limits also apply to calls of one reply and to concurrent runs.
#[test]
fn concurrent_pings_do_not_exceed_the_limits() {
    let one = ("ping_user", r#"{"message":"one"}"#);
    let mut story = story_with(FREELY);
    let told =
        run_mail(&mut story, [ModelOutcome::tool_calls(&[one, ("ping_user", r#"{"message":"two"}"#)])]);
    assert_eq!(told.iter().filter(|told| *told == "Message sent.").count(), 1, "{told:?}");
    assert_eq!(budget(&story), (4.0, 1, 0));
    let grave = ("ping_user", r#"{"message":"two","critical":true}"#);
    let told = run_mail(&mut story, [ModelOutcome::tool_calls(&[one, grave, grave])]);
    assert_eq!(told.iter().filter(|told| *told == "Message sent.").count(), 2, "{told:?}");
    assert_eq!(budget(&story), (3.0, 2, 1));

    let model = ScriptedModel::answering(|context| match context.entries.last().map(|said| text_of(said)) {
        Some(said) if said.contains("[routine-bg:") => ping_call("up"),
        _ => ModelOutcome::text("Done."),
    });
    let mut story = Story::with_model("2026-11-16T08:59:50[Europe/Madrid]", model);
    story.user_commands("/ping-budget 2 90").user_commands("/config ping_caps off");
    for id in ["a", "b", "c", "d"] {
        let text = format!("---\nid: {id}\nbackground: true\n{FREELY}\n---\nPing.\n");
        story.write_file(&format!("routines/{id}.md"), &text);
    }
    story.advance_time("30s");
    assert_eq!(story.transcript().matches("to the human> up").count(), 2, "{}", story.transcript());
    assert_eq!(story.transcript().matches("Budget exhausted").count(), 2, "{}", story.transcript());
    assert!(budget(&story).0 < 1.0 && budget(&story).1 == 2);
}

/// BF-22, PB-7, A9: for a crash or failed write at any point, exactly the shown pings are charged.
#[test]
fn charged_pings_were_shown_wherever_the_program_crashes() {
    for nth in 1..=6 {
        for trouble in [JournalFault::CrashBefore, JournalFault::CrashAfter, JournalFault::Fail] {
            let mut story = story_with("cron: 2 10 * * *\nupdate-main-session: freely");
            story.user_commands("/ping-budget 5 90");
            story.script([
                ping_call("two mails"),
                ModelOutcome::text("Done."),
                ModelOutcome::text("Done."),
                ModelOutcome::text("Done."),
            ]);
            story.inject_journal_fault(nth, trouble).advance_time("3m").crash().advance_time("2m");
            let shown = story.tree().matches("tools: Message sent.").count();
            let (available, used, _) = budget(&story);
            assert_eq!(used as usize, shown, "{nth} {trouble:?}: {}", story.transcript());
            assert!((available + shown as f64 - 5.0).abs() < 0.1, "{nth} {trouble:?}: {available}");
            story.stop();
            assert_eq!(find_violations(story.paths().root()), Vec::<String>::new(), "{nth} {trouble:?}");
        }
    }
}

/// BF-24, BF-29, PB-6: main and interactive forks are neither charged nor limited.
#[test]
fn main_and_forks_are_never_charged() {
    let embed = || ModelOutcome::tool_call("discord_embed", r#"{"title":"Plan"}"#);
    let mut story = story_at("16T10:00");
    story.user_commands("/ping-budget 5 90");
    story.script([embed(), embed(), ModelOutcome::text("Shown."), ModelOutcome::text("Aside.")]);
    story.user("show me").user_commands("/fork plans").wait_for_line("Aside.").wait_until_idle();
    story.script([embed(), embed(), ModelOutcome::text("Shown.")]).user("and here");
    assert_eq!(story.transcript().matches("> shows: Plan").count(), 4, "{}", story.transcript());
    assert_eq!(budget(&story), (5.0, 0, 0));
}

/// BF-25: a run whose reports are blocked cannot report.
#[test]
fn run_with_blocked_reports_reports_nothing() {
    let mut story = story_with("cron: 0 9 * * *\nupdate-main-session: blocked");
    run_mail(&mut story, [report_call("two mails")]);
    assert!(
        story.transcript().contains("report_updates: Error: Reporting to the main conversation is disabled"),
        "{}",
        story.transcript()
    );
    assert_eq!(story.state_file("pending_updates.json"), "");
    story.script([ModelOutcome::text("Hello.")]).user("hello");
    assert!(!story.transcript().contains("update from the background"), "{}", story.transcript());
}

/// BF-25, PU-1, RP-18: the report of a run is left for main, and read once.
#[test]
fn report_of_a_run_is_read_by_main_once() {
    let mut story = story_with(FREELY);
    run_mail(&mut story, [report_call("two mails"), report_call("and a bill")]);
    assert_eq!(story.state_file("pending_updates.json").lines().count(), 2);
    story.script([ModelOutcome::text("I see."), ModelOutcome::text("Well.")]).user("hello").user("and?");
    let contexts = story.contexts();
    let read = |nth: usize| text_of(contexts[contexts.len() - nth].entries.last().unwrap());
    assert!(read(2).contains("two mails") && read(2).contains("and a bill"), "{}", read(2));
    assert!(!read(1).contains("two mails"), "{}", read(1));
}

/// BF-26, BF-27, BF-28: a run that must report is reminded three times before it may end; other
/// runs are not.
#[test]
fn run_that_must_report_is_reminded_three_times() {
    let calls = |mode: &str, lines: Vec<ModelOutcome>| {
        let mut story = story_with(&format!("cron: 0 9 * * *\nupdate-main-session: {mode}"));
        story
            .script(lines)
            .script(["1", "2", "3", "4", "5", "6"].map(ModelOutcome::text))
            .run_now("routine:mail");
        story.advance_time("10s");
        assert!(story.occurrences().ends_with("try 1 done"), "{mode}: {}", story.occurrences());
        let refused = story.tree().matches("[system]").count();
        let told = story.transcript().matches("my mail ended without telling me what it found.").count();
        (story.contexts().len(), refused, told)
    };
    let report = || report_call("two mails");
    assert_eq!(calls("always", vec![]), (4, 3, 1));
    assert_eq!(calls("always", vec![report()]), (2, 0, 0));
    assert_eq!(calls("always", vec![ModelOutcome::text("Done."), report()]), (3, 1, 0));
    assert_eq!(calls("on_ping", vec![]), (1, 0, 0));
    assert_eq!(calls("on_ping", vec![ping_call("up")]), (5, 3, 1));
    assert_eq!(calls("on_ping", vec![ping_call("up"), report()]), (3, 0, 0));
    assert_eq!(calls("on_ping", vec![report(), ping_call("up")]), (6, 3, 1), "it was told before, not since");
    assert_eq!(calls("freely", vec![ping_call("up")]), (2, 0, 0));
    assert_eq!(calls("blocked", vec![ping_call("up")]), (2, 0, 0));
}

/// BF-26: by default a run must report if it pinged.
#[test]
fn run_must_report_if_it_pinged() {
    let mut story = story_with("cron: 0 9 * * *");
    story.script([
        ping_call("up"),
        ModelOutcome::text("Done."),
        report_call("i pinged"),
        ModelOutcome::text("Now."),
        ModelOutcome::text("Never."),
    ]);
    story.run_now("routine:mail").advance_time("5s");
    expect![[r#"
        human> /config ping_caps off
        told> **ping_caps**: off
        -- mon 10:00
        fork/e6984080> calls ping_user {"message":"up"}
        fork/e6984080> ping_user: Message sent.
        routine:mail (3) to the human> up
        fork/e6984080> assistant: Done.
        fork/e6984080> calls report_updates {"message":"i pinged"}
        fork/e6984080> report_updates: the main conversation will read it. go on, or stop.
        fork/e6984080> assistant: Now.
        -- mon 10:00
    "#]]
    .assert_eq(&story.transcript());
}

/// BF-28, BF-30: the number of reminders to report and the sent pings survive a crash.
#[test]
fn progress_of_a_run_survives_a_crash() {
    let mut story = story_with("cron: 1 10 * * *");
    story
        .script([ping_call("up"), ModelOutcome::text("1"), ModelOutcome::text("2"), ModelOutcome::hang("3")])
        .advance_time("1m 10s");
    story
        .script([
            ping_call("again"),
            ModelOutcome::text("3"),
            ModelOutcome::text("4"),
            ModelOutcome::text("5"),
        ])
        .crash()
        .advance_time("10s");
    let told = story.transcript();
    assert_eq!(told.matches("to the human>").count(), 1, "{told}");
    assert!(told.contains("Already sent 1 ping"), "{told}");
    assert_eq!(story.tree().matches("[system]").count(), 3, "{}", story.tree());
    assert!(story.occurrences().ends_with("done"), "{}", story.occurrences());
}
