//! Pings, reports and their limits: how a background run reaches the user and main, and when it may
//! end.

use expect_test::expect;
use testkit::oracle::examine;
use testkit::puppet::{Line, Puppet};
use testkit::story::{Story, Trouble};

use crate::{at, mail, pings, reports, words};

const FREELY: &str = "cron: 0 9 * * *\nupdate-main-session: freely";

fn critical(words: &str) -> Line {
    Line::calls("ping_user", &format!(r#"{{"message":"{words}","critical":true}}"#))
}

/// Starts a story with the routine `mail` and these extra front matter lines. Only the ping budget
/// limits pings.
fn with(head: &str) -> Story {
    let mut story = at("16T10:00");
    story.human_commands("/config ping_caps off").file("routines/mail.md", &mail(head)).passes("1s");
    story
}

/// Runs the routine with these lines of the model. Returns the results of its pings and embeds.
fn run(story: &mut Story, lines: impl IntoIterator<Item = Line>) -> Vec<String> {
    let before = story.told().lines().count();
    story.model(lines).model([Line::says("Done.")]).runs_now("routine:mail");
    let told = story.told();
    let results =
        told.lines().skip(before).filter(|line| line.contains("> ping_user: ") || line.contains("embed: "));
    results
        .map(|line| line.split_once(": ").map(|(_, result)| result.to_owned()).unwrap_or_default())
        .collect()
}

/// Returns the available, used and critical pings from the budget file.
fn budget(story: &Story) -> (f64, u64, u64) {
    let text = story.reads_file("state/ping_budget.json");
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
fn a_run_has_one_ping_and_it_is_charged() {
    let mut story = with(FREELY);
    let embed = Line::calls("discord_embed", r#"{"title":"Mail"}"#);
    let told = run(&mut story, [pings("two mails"), pings("and one more"), embed.clone()]);
    assert_eq!(told[0], "Message sent.");
    assert!(told[1].contains("Already sent 1 ping") && told[1].contains("report_updates"), "{told:?}");
    assert!(told[2].contains("Already sent 1 ping"), "{told:?}");
    assert_eq!(budget(&story), (4.0, 1, 0));
    // An embed counts as a ping, and the next run has its own.
    let told = run(&mut story, [embed, pings("two mails")]);
    assert!(told[1].contains("Already sent 1 ping"), "{told:?}");
    assert_eq!(budget(&story), (3.0, 2, 0));
    assert_eq!(story.told().matches("to the human>").count(), 2, "{}", story.told());
}

/// BF-5, BF-21: a run without permission to ping cannot ping, not even critically.
#[test]
fn who_may_not_ping_does_not() {
    let mut story = with(&format!("{FREELY}\nallow-ping: false"));
    let told =
        run(&mut story, [pings("up"), critical("up"), Line::calls("discord_embed", r#"{"title":"Mail"}"#)]);
    assert_eq!(told.len(), 3);
    assert!(told.iter().all(|told| told.contains("disabled")), "{told:?}");
    assert!(!story.told().contains("to the human>"));
}

/// BF-21, MC-19, PB-8: during a conversation only critical pings are sent, and they use none of the
/// budget.
#[test]
fn nobody_is_pinged_in_the_middle_of_talking() {
    let mut story = with(FREELY);
    story.model([Line::holds("Let me think")]).human_begins("tell me a story");
    let told = run(&mut story, [pings("two mails"), critical("it burns")]);
    assert!(told[0].contains("mid-conversation") && told[0].contains("critical=True"), "{told:?}");
    assert!(told[0].contains("report_updates"), "{told:?}");
    assert_eq!(told[1], "Message sent.");
    assert_eq!(budget(&story), (5.0, 0, 1));
}

/// MC-19: whether the user is in a conversation is determined when the run starts, for the whole
/// run.
#[test]
fn a_run_that_began_in_silence_may_ping_though_the_human_talks_by_now() {
    let mut asked = 0;
    let puppet = Puppet::answering(move |context| {
        let aside = context.said.iter().any(|said| words(said).contains("[routine-bg:"));
        asked += usize::from(aside);
        match (aside, asked) {
            (false, _) => Line::holds("Once upon"),
            (true, 1) => Line::holds("Reading"),
            (true, 2) => pings("two mails"),
            (true, _) => Line::says("Done."),
        }
    });
    let mut story = Story::played_by("2026-11-16T08:59:50[Europe/Madrid]", puppet);
    story.file("routines/mail.md", &mail(FREELY)).passes("20s").human_begins("tell me a story");
    story.crash().passes("5s");
    assert!(story.told().contains("to the human> two mails"), "{}", story.told());
}

/// BF-21, PB-2, PB-7: a used-up budget refills with time.
#[test]
fn a_budget_that_is_used_up_comes_back_with_time() {
    let mut story = with(FREELY);
    story.human_commands("/ping-budget 1 90");
    assert_eq!(run(&mut story, [pings("one")]), ["Message sent."]);
    let told = run(&mut story, [pings("two"), critical("three")]);
    assert!(told[0].contains("Budget exhausted") && told[0].contains("critical=True"), "{told:?}");
    assert_eq!(told[1], "Message sent.");
    let (available, used, critical) = budget(&story);
    assert!(available < 0.1 && (used, critical) == (1, 1), "{:?}", budget(&story));
    story.sleeps("89m");
    assert!(run(&mut story, [pings("four")])[0].contains("Budget exhausted"));
    story.sleeps("2m");
    assert_eq!(run(&mut story, [pings("five")]), ["Message sent."]);
}

/// PB-4, PB-8: a critical ping is allowed once in a run, and three times a day.
#[test]
fn what_is_critical_is_rare() {
    let mut story = with(FREELY);
    let told = run(&mut story, [critical("one"), critical("again")]);
    assert_eq!(told[0], "Message sent.");
    assert!(told[1].contains("already sent a critical ping"), "{told:?}");
    assert_eq!(run(&mut story, [pings("first"), critical("two")]), ["Message sent.", "Message sent."]);
    assert_eq!(run(&mut story, [critical("three")]), ["Message sent."]);
    assert!(run(&mut story, [critical("four")])[0].contains("used up"));
    assert_eq!(budget(&story).2, 3);
    story.crash();
    assert!(run(&mut story, [critical("four")])[0].contains("used up"));
    story.sleeps("15h").passes("10s");
    assert_eq!(run(&mut story, [critical("five")]), ["Message sent."]);
    assert_eq!(budget(&story).2, 1);
}

/// BF-21, PB-9: the limits also apply to calls of one reply and to concurrent runs.
#[test]
fn calls_made_at_once_do_not_pass_the_limits() {
    let one = ("ping_user", r#"{"message":"one"}"#);
    let mut story = with(FREELY);
    let told = run(&mut story, [Line::calls_all(&[one, ("ping_user", r#"{"message":"two"}"#)])]);
    assert_eq!(told.iter().filter(|told| *told == "Message sent.").count(), 1, "{told:?}");
    assert_eq!(budget(&story), (4.0, 1, 0));
    let grave = ("ping_user", r#"{"message":"two","critical":true}"#);
    let told = run(&mut story, [Line::calls_all(&[one, grave, grave])]);
    assert_eq!(told.iter().filter(|told| *told == "Message sent.").count(), 2, "{told:?}");
    assert_eq!(budget(&story), (3.0, 2, 1));

    let puppet = Puppet::answering(|context| match context.said.last().map(|said| words(said)) {
        Some(said) if said.contains("[routine-bg:") => pings("up"),
        _ => Line::says("Done."),
    });
    let mut story = Story::played_by("2026-11-16T08:59:50[Europe/Madrid]", puppet);
    story.human_commands("/ping-budget 2 90").human_commands("/config ping_caps off");
    for id in ["a", "b", "c", "d"] {
        let text = format!("---\nid: {id}\nbackground: true\n{FREELY}\n---\nPing.\n");
        story.file(&format!("routines/{id}.md"), &text);
    }
    story.passes("30s");
    assert_eq!(story.told().matches("to the human> up").count(), 2, "{}", story.told());
    assert_eq!(story.told().matches("Budget exhausted").count(), 2, "{}", story.told());
    assert!(budget(&story).0 < 1.0 && budget(&story).1 == 2);
}

/// BF-22, PB-7, A9: for a crash or failed write at any point, exactly the shown pings are charged.
#[test]
fn what_was_charged_was_shown_wherever_the_program_dies() {
    for nth in 1..=6 {
        for trouble in [Trouble::DiesBefore, Trouble::DiesAfter, Trouble::Fails] {
            let mut story = with("cron: 2 10 * * *\nupdate-main-session: freely");
            story.human_commands("/ping-budget 5 90");
            story.model([pings("two mails"), Line::says("Done."), Line::says("Done."), Line::says("Done.")]);
            story.trouble(nth, trouble).passes("3m").crash().passes("2m");
            let shown = story.tree().matches("tools: Message sent.").count();
            let (available, used, _) = budget(&story);
            assert_eq!(used as usize, shown, "{nth} {trouble:?}: {}", story.told());
            assert!((available + shown as f64 - 5.0).abs() < 0.1, "{nth} {trouble:?}: {available}");
            story.die();
            assert_eq!(examine(story.paths().root()), Vec::<String>::new(), "{nth} {trouble:?}");
        }
    }
}

/// BF-24, BF-29, PB-6: main and interactive forks are neither charged nor limited.
#[test]
fn main_and_forks_are_never_charged() {
    let embed = || Line::calls("discord_embed", r#"{"title":"Plan"}"#);
    let mut story = at("16T10:00");
    story.human_commands("/ping-budget 5 90");
    story.model([embed(), embed(), Line::says("Shown."), Line::says("Aside.")]);
    story.human("show me").human_commands("/fork plans").hears("Aside.").rest();
    story.model([embed(), embed(), Line::says("Shown.")]).human("and here");
    assert_eq!(story.told().matches("> shows: Plan").count(), 4, "{}", story.told());
    assert_eq!(budget(&story), (5.0, 0, 0));
}

/// BF-25: a run whose reports are blocked cannot report.
#[test]
fn a_run_whose_reports_are_blocked_reports_nothing() {
    let mut story = with("cron: 0 9 * * *\nupdate-main-session: blocked");
    run(&mut story, [reports("two mails")]);
    assert!(
        story.told().contains("report_updates: Error: Reporting to the main conversation is disabled"),
        "{}",
        story.told()
    );
    assert_eq!(story.state("pending_updates.json"), "");
    story.model([Line::says("Hello.")]).human("hello");
    assert!(!story.told().contains("update from the background"), "{}", story.told());
}

/// BF-25, PU-1, RP-18: the report of a run is left for main, and read once.
#[test]
fn what_a_run_reports_is_read_by_main_once() {
    let mut story = with(FREELY);
    run(&mut story, [reports("two mails"), reports("and a bill")]);
    assert_eq!(story.state("pending_updates.json").lines().count(), 2);
    story.model([Line::says("I see."), Line::says("Well.")]).human("hello").human("and?");
    let contexts = story.contexts();
    let read = |nth: usize| words(contexts[contexts.len() - nth].said.last().unwrap());
    assert!(read(2).contains("two mails") && read(2).contains("and a bill"), "{}", read(2));
    assert!(!read(1).contains("two mails"), "{}", read(1));
}

/// BF-26, BF-27, BF-28: a run that must report is reminded three times before it may end; other
/// runs are not.
#[test]
fn a_run_that_must_tell_main_is_asked_to_three_times() {
    let calls = |mode: &str, lines: Vec<Line>| {
        let mut story = with(&format!("cron: 0 9 * * *\nupdate-main-session: {mode}"));
        story.model(lines).model(["1", "2", "3", "4", "5", "6"].map(Line::says)).runs_now("routine:mail");
        story.passes("10s");
        assert!(story.occurrences().ends_with("try 1 done"), "{mode}: {}", story.occurrences());
        let refused = story.tree().matches("[system]").count();
        let told = story.told().matches("my mail ended without telling me what it found.").count();
        (story.contexts().len(), refused, told)
    };
    let report = || reports("two mails");
    assert_eq!(calls("always", vec![]), (4, 3, 1));
    assert_eq!(calls("always", vec![report()]), (2, 0, 0));
    assert_eq!(calls("always", vec![Line::says("Done."), report()]), (3, 1, 0));
    assert_eq!(calls("on_ping", vec![]), (1, 0, 0));
    assert_eq!(calls("on_ping", vec![pings("up")]), (5, 3, 1));
    assert_eq!(calls("on_ping", vec![pings("up"), report()]), (3, 0, 0));
    assert_eq!(calls("on_ping", vec![report(), pings("up")]), (6, 3, 1), "it was told before, not since");
    assert_eq!(calls("freely", vec![pings("up")]), (2, 0, 0));
    assert_eq!(calls("blocked", vec![pings("up")]), (2, 0, 0));
}

/// BF-26: by default a run must report if it pinged.
#[test]
fn a_run_must_tell_main_if_it_pinged() {
    let mut story = with("cron: 0 9 * * *");
    story.model([
        pings("up"),
        Line::says("Done."),
        reports("i pinged"),
        Line::says("Now."),
        Line::says("Never."),
    ]);
    story.runs_now("routine:mail").passes("5s");
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
    .assert_eq(&story.told());
}

/// BF-28, BF-30: the number of reminders to report and the sent pings survive a crash.
#[test]
fn what_a_run_has_done_outlives_a_crash() {
    let mut story = with("cron: 1 10 * * *");
    story.model([pings("up"), Line::says("1"), Line::says("2"), Line::holds("3")]).passes("1m 10s");
    story.model([pings("again"), Line::says("3"), Line::says("4"), Line::says("5")]).crash().passes("10s");
    let told = story.told();
    assert_eq!(told.matches("to the human>").count(), 1, "{told}");
    assert!(told.contains("Already sent 1 ping"), "{told}");
    assert_eq!(story.tree().matches("[system]").count(), 3, "{}", story.tree());
    assert!(story.occurrences().ends_with("done"), "{}", story.occurrences());
}
