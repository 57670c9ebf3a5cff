//! Kinds of runs (forked, isolated and persistent): their contexts and their common rules.

use domain::failure::Failure;
use domain::schedule::{Pings, Reporting, Terms, ToolRule};
use testkit::puppet::Line;
use testkit::story::Story;

use crate::{at, compacts, mail, persistent, pings, read, session, summary, words};

const NINE: &str = "cron: 0 9 * * *\nupdate-main-session: freely";

/// BF-1: a file with only a time and a prompt has the default terms: it may ping, reports after a
/// ping, has no list of tools and no model of its own. Its prompt is tagged.
#[test]
fn a_file_that_says_the_least_has_the_usual_terms() {
    let Terms { model, tools, voice, .. } = Terms::default();
    assert_eq!((voice.reporting, voice.pings), (Reporting::OnPing, Pings::Allowed));
    assert_eq!((model, tools), (None, ToolRule::Usual));
    let mut story = at("16T08:59:50");
    story.model([pings("two mails"), Line::says("Done.")]);
    story.file("routines/mail.md", &mail("cron: 0 9 * * *")).passes("20s");
    assert!(read(&story, 0).contains("[routine-bg:mail]"), "{}", read(&story, 0));
    assert!(story.told().contains("two mails"), "{}", story.told());
    // It pinged, so it is sent back to report.
    assert!(read(&story, 2).contains("report_updates"), "{}", read(&story, 2));
}

/// BF-13: a forked run starts with the context of main, the others only with their own prompt; all
/// have the instructions and tools of main.
#[test]
fn each_kind_begins_with_what_it_may_know() {
    let kinds = [
        (mail(NINE), "routine:mail", 3),
        (mail(&format!("{NINE}\nisolated: true")), "routine:mail", 1),
        (persistent(NINE), "routine:watch", 1),
    ];
    for (text, source, said) in kinds {
        let mut story = at("16T10:00");
        story.model([Line::says("Morning."), Line::says("Done.")]).human("good morning");
        story.file("routines/job.md", &text).passes("1s").runs_now(source);
        let contexts = story.contexts();
        let [main, run] = contexts.as_slice() else { panic!("{} requests", contexts.len()) };
        assert_eq!(run.said.len(), said, "{text}");
        assert_eq!(run.instructions, main.instructions, "{text}");
        assert_eq!(run.tools, main.tools, "{text}");
    }
}

/// BF-16: a run without a complete answer is not done, whatever its kind.
#[test]
fn a_run_without_an_answer_is_not_done() {
    let endings = [
        Failure::CutOff("the line broke".to_owned()),
        Failure::Garbled("no answer".to_owned()),
        Failure::Rejected("400".to_owned()),
        Failure::Stopped("it broke".to_owned()),
    ];
    for (failure, text) in endings.into_iter().flat_map(|failure| {
        [mail(NINE), persistent(NINE)].map(|text| (failure.clone(), text.replace("0 9 *", "0 9 16")))
    }) {
        let mut story = at("16T08:59:50");
        let tries: Vec<_> = (0..9).map(|_| Line::fails(failure.clone())).collect();
        story.model(tries).file("routines/job.md", &text).passes("40m");
        assert!(story.occurrences().contains(" failed: "), "{failure:?}: {}", story.occurrences());
    }
}

/// RP-10: a session is continued however long it was unused: it never expires.
#[test]
fn a_session_is_gone_on_with_after_a_year() {
    let mut story = at("16T08:59:50");
    let yearly = "cron: 0 9 16 11 *\nupdate-main-session: freely";
    story.file("routines/watch.md", &persistent(yearly));
    story.model([Line::says("Bread costs 2.")]).passes("1m");
    let before = session(&story);
    story.model([Line::says("Bread costs 9.")]).away("8759h").passes("61m");
    assert_eq!(session(&story), before);
    let contexts = story.contexts();
    let last: Vec<_> = contexts[1].said.iter().map(|said| words(said)).collect();
    assert_eq!((contexts.len(), last.len()), (2, 3), "{last:?}");
    assert_eq!(last[1], "Bread costs 2.");
}

/// RP-19: a persistent run has one ping, which is charged, three tries and a time limit; a failure
/// is reported with its display name.
#[test]
fn a_persistent_run_has_the_limits_of_any_other() {
    let mut story = at("16T10:00");
    story.human_commands("/config ping_caps off").human_commands("/config bg_fork_timeout 120");
    story.file("routines/watch.md", &persistent(NINE)).passes("1s");
    story.model([pings("bread costs 3"), pings("and milk 2"), Line::says("Done.")]).runs_now("routine:watch");
    assert!(story.told().contains("Already sent 1 ping"), "{}", story.told());
    assert!(story.reads_file("state/ping_budget.json").contains("\"daily_used\":1"));
    story.model((0..3).map(|_| Line::fails(Failure::Broken("500".to_owned()))));
    story.passes("23h").passes("30m");
    assert!(story.occurrences().contains("try 3 failed: "), "{}", story.occurrences());
    assert_eq!(story.told().matches("could not be finished").count(), 1, "{}", story.told());
    let mut slow = at("16T08:58");
    slow.human_commands("/config bg_fork_timeout 120").model([Line::holds("Reading")]);
    slow.file("routines/watch.md", &persistent(NINE)).passes("10m");
    assert!(slow.occurrences().contains("it timed out after 2 minutes"), "{}", slow.occurrences());
}

/// RP-3: instructions for the compaction of a session are part of the body: the model reads them
/// with every run, and passes them to the summary.
#[test]
fn what_to_keep_stands_in_the_body() {
    let text = persistent(NINE).replace("Watch the price.", "Watch the price. Keep prices, drop shops.");
    let mut story = Story::new("2026-11-16T10:00[Europe/Madrid]");
    story.file("routines/watch.md", &text).passes("1s");
    story.model([compacts("keep prices, drop shops"), Line::says("Done."), summary()]);
    story.runs_now("routine:watch").passes("5s");
    assert!(read(&story, 0).ends_with("Keep prices, drop shops."), "{}", read(&story, 0));
    assert!(read(&story, 2).contains("keep prices, drop shops"), "{}", read(&story, 2));
}
