//! Kinds of runs (forked, isolated and persistent): their contexts and their common rules.

use domain::failure::Failure;
use domain::schedule::{PingPermission, ReportMode, RunOptions, ToolRule};
use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;

use crate::{
    compaction_call, mail_routine, ping_call, read_in_request, session_id, story_at, summary_reply, text_of,
    watch_routine,
};

const NINE: &str = "cron: 0 9 * * *\nupdate-main-session: freely";

/// BF-1: a file with only a time and a prompt has the default terms: it may ping, reports after a
/// ping, has no list of tools and no model of its own. Its prompt is tagged.
#[test]
fn minimal_file_has_the_default_terms() {
    let RunOptions { model, tools, report_policy: voice, .. } = RunOptions::default();
    assert_eq!((voice.reporting, voice.pings), (ReportMode::OnPing, PingPermission::Allowed));
    assert_eq!((model, tools), (None, ToolRule::SameAsMain));
    let mut story = story_at("16T08:59:50");
    story.script([ping_call("two mails"), ModelOutcome::text("Done.")]);
    story.write_file("routines/mail.md", &mail_routine("cron: 0 9 * * *")).advance_time("20s");
    assert!(read_in_request(&story, 0).contains("[routine-bg:mail]"), "{}", read_in_request(&story, 0));
    assert!(story.transcript().contains("two mails"), "{}", story.transcript());
    // It pinged, so it is sent back to report.
    assert!(read_in_request(&story, 2).contains("report_updates"), "{}", read_in_request(&story, 2));
}

/// BF-13: a forked run starts with the context of main, the others only with their own prompt; all
/// have the instructions and tools of main.
#[test]
fn each_kind_starts_with_its_own_context() {
    let kinds = [
        (mail_routine(NINE), "routine:mail", 3),
        (mail_routine(&format!("{NINE}\nisolated: true")), "routine:mail", 1),
        (watch_routine(NINE), "routine:watch", 1),
    ];
    for (text, source, said) in kinds {
        let mut story = story_at("16T10:00");
        story.script([ModelOutcome::text("Morning."), ModelOutcome::text("Done.")]).user("good morning");
        story.write_file("routines/job.md", &text).advance_time("1s").run_now(source);
        let contexts = story.contexts();
        let [main, run] = contexts.as_slice() else { panic!("{} requests", contexts.len()) };
        assert_eq!(run.entries.len(), said, "{text}");
        assert_eq!(run.instructions, main.instructions, "{text}");
        assert_eq!(run.tools, main.tools, "{text}");
    }
}

/// BF-16: a run without a complete answer is not done, whatever its kind.
#[test]
fn run_without_a_complete_answer_is_not_done() {
    let endings = [
        Failure::CutOff("the line broke".to_owned()),
        Failure::InvalidResponse("no answer".to_owned()),
        Failure::Rejected("400".to_owned()),
        Failure::Stopped("it broke".to_owned()),
    ];
    for (failure, text) in endings.into_iter().flat_map(|failure| {
        [mail_routine(NINE), watch_routine(NINE)]
            .map(|text| (failure.clone(), text.replace("0 9 *", "0 9 16")))
    }) {
        let mut story = story_at("16T08:59:50");
        let tries: Vec<_> = (0..9).map(|_| ModelOutcome::fail(failure.clone())).collect();
        story.script(tries).write_file("routines/job.md", &text).advance_time("40m");
        assert!(story.occurrences().contains(" failed: "), "{failure:?}: {}", story.occurrences());
    }
}

/// RP-10: a session is continued however long it was unused: it never expires.
#[test]
fn session_is_continued_after_a_year() {
    let mut story = story_at("16T08:59:50");
    let yearly = "cron: 0 9 16 11 *\nupdate-main-session: freely";
    story.write_file("routines/watch.md", &watch_routine(yearly));
    story.script([ModelOutcome::text("Bread costs 2.")]).advance_time("1m");
    let before = session_id(&story);
    story.script([ModelOutcome::text("Bread costs 9.")]).stop_for("8759h").advance_time("61m");
    assert_eq!(session_id(&story), before);
    let contexts = story.contexts();
    let last: Vec<_> = contexts[1].entries.iter().map(|said| text_of(said)).collect();
    assert_eq!((contexts.len(), last.len()), (2, 3), "{last:?}");
    assert_eq!(last[1], "Bread costs 2.");
}

/// RP-19: a persistent run has one ping, which is charged, three tries and a time limit; a failure
/// is reported with its display name.
#[test]
fn persistent_run_has_the_usual_limits() {
    let mut story = story_at("16T10:00");
    story.user_commands("/config ping_caps off").user_commands("/config bg_fork_timeout 120");
    story.write_file("routines/watch.md", &watch_routine(NINE)).advance_time("1s");
    story
        .script([ping_call("bread costs 3"), ping_call("and milk 2"), ModelOutcome::text("Done.")])
        .run_now("routine:watch");
    assert!(story.transcript().contains("Already sent 1 ping"), "{}", story.transcript());
    assert!(story.read_file("state/ping_budget.json").contains("\"daily_used\":1"));
    story.script((0..3).map(|_| ModelOutcome::fail(Failure::VendorError("500".to_owned()))));
    story.advance_time("23h").advance_time("30m");
    assert!(story.occurrences().contains("try 3 failed: "), "{}", story.occurrences());
    assert_eq!(story.transcript().matches("could not be finished").count(), 1, "{}", story.transcript());
    let mut slow = story_at("16T08:58");
    slow.user_commands("/config bg_fork_timeout 120").script([ModelOutcome::hang("Reading")]);
    slow.write_file("routines/watch.md", &watch_routine(NINE)).advance_time("10m");
    assert!(slow.occurrences().contains("it timed out after 2 minutes"), "{}", slow.occurrences());
}

/// RP-3: instructions for the compaction of a session are part of the body: the model reads them
/// with every run, and passes them to the summary.
#[test]
fn compaction_instructions_come_from_the_body() {
    let text = watch_routine(NINE).replace("Watch the price.", "Watch the price. Keep prices, drop shops.");
    let mut story = Story::new("2026-11-16T10:00[Europe/Madrid]");
    story.write_file("routines/watch.md", &text).advance_time("1s");
    story.script([compaction_call("keep prices, drop shops"), ModelOutcome::text("Done."), summary_reply()]);
    story.run_now("routine:watch").advance_time("5s");
    assert!(
        read_in_request(&story, 0).ends_with("Keep prices, drop shops."),
        "{}",
        read_in_request(&story, 0)
    );
    assert!(read_in_request(&story, 2).contains("keep prices, drop shops"), "{}", read_in_request(&story, 2));
}
