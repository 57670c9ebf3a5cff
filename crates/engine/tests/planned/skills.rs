//! Skills of jobs: their instructions and tools, in the background and on main.

use domain::tool::{ToolClass, ToolSpec};
use std::borrow::Cow;
use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;

use crate::{mail_routine, read_in_request, story_at};

const BACKGROUND: &str = "cron: 0 9 * * *";

fn story_with(name: &str, text: &str) -> Story {
    let mut story = story_at("16T08:59:50");
    story.with_extra_tools(&[ToolSpec {
        name: "Bash",
        description: Cow::Borrowed(""),
        schema: "{}",
        class: ToolClass::Shell,
    }]);
    story.write_file(name, text).advance_time("1s");
    story
}

fn tasks_call(words: &str) -> ModelOutcome {
    ModelOutcome::tool_call("Bash", &format!(r#"{{"command":"ollim-bot tasks {words}"}}"#))
}

/// SK-9, SK-10, SK-11, SK-12, BF-4: a background routine reads its skills before its task, in order
/// and without missing ones, and may use their tools.
#[test]
fn routine_reads_its_skills_and_may_use_their_tools() {
    let head = format!("{BACKGROUND}\nskills:\n- tasks\n- missing\n- kindness");
    let mut story = story_with("routines/mail.md", &mail_routine(&head));
    story.script([tasks_call("list"), ModelOutcome::text("Nothing to do.")]).advance_time("30s");
    let told = read_in_request(&story, 0);
    let section = "SKILL INSTRUCTIONS:\n### tasks\nMind tasks.\n\n### kindness\nMind kindness.\n\n";
    assert!(told.contains(section), "{told}");
    assert!(told.contains("Bash(ollim-bot tasks *)"), "it is told what it may use: {told}");
    let told = story.transcript();
    assert!(told.contains(r#"Bash: did {"command":"ollim-bot tasks list"}"#), "{told}");
    assert_eq!(story.occurrences().lines().last(), Some("mon 09:00:00 routine:mail try 1 done"));
}

/// Without the skill, a call of its tool is refused.
#[test]
fn routine_without_the_skill_may_not_use_its_tools() {
    let mut story = story_with("routines/mail.md", &mail_routine(BACKGROUND));
    story.script([tasks_call("list"), ModelOutcome::text("Nothing to do.")]).advance_time("30s");
    let told = story.transcript();
    assert!(told.contains("Bash: Error: `Bash` is not available"), "{told}");
}

/// SK-11: a reminder on main reads its skills, and so does each follow-up check.
#[test]
fn reminders_and_their_checks_read_their_skills() {
    let text = "---\nid: c1\nrun-at: 2026-11-16T09:00:00+01:00\nmax-chain: 2\nskills:\n- kindness\n---\nwas it sent?\n";
    let mut story = story_with("reminders/c1.md", text);
    let follows = ModelOutcome::tool_call("follow_up_chain", r#"{"minutes_from_now":5}"#);
    story
        .script([follows, ModelOutcome::text("Not yet."), ModelOutcome::text("Sent.")])
        .advance_time("30s")
        .advance_time("6m");
    for nth in [0, 2] {
        let told = read_in_request(&story, nth);
        assert!(told.contains("SKILL INSTRUCTIONS:\n### kindness\nMind kindness."), "{nth}: {told}");
        assert!(told.ends_with("was it sent?"), "{nth}: {told}");
    }
}

/// I4, SK-5: outside text in a skill labels the run, so its critical ping is refused.
#[test]
fn outside_text_in_a_skill_refuses_critical_pings() {
    let head = format!("{BACKGROUND}\nskills:\n- letters");
    let mut story = story_with("routines/mail.md", &mail_routine(&head));
    let pings = ModelOutcome::tool_call("ping_user", r#"{"message":"pay now","critical":true}"#);
    story.script([pings, ModelOutcome::text("Left to you.")]).advance_time("30s");
    let told = story.transcript();
    assert!(told.contains("so nothing it says is critical"), "{told}");
}

/// SK-9: a crash while skills are being loaded loses nothing: they are loaded again, and the job
/// starts once.
#[test]
fn job_waiting_for_its_skills_survives_a_crash() {
    let head = format!("{BACKGROUND}\nskills:\n- slow");
    let mut story = story_with("routines/mail.md", &mail_routine(&head));
    story.advance_time("20s");
    assert_eq!(story.occurrences(), "mon 09:00:00 routine:mail try 0 again");
    assert!(story.contexts().is_empty(), "it has not begun");
    story.crash().script([ModelOutcome::text("Done.")]).advance_time("2m");
    assert_eq!(story.occurrences(), "mon 09:00:00 routine:mail try 1 done");
    assert_eq!(story.contexts().len(), 1, "it began once");
    assert!(read_in_request(&story, 0).contains("### slow\nMind slow."), "{}", read_in_request(&story, 0));
}
