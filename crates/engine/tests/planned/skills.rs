//! Skills of jobs: their instructions and tools, in the background and on main.

use domain::tool::{Class, ToolSpec};
use std::borrow::Cow;
use testkit::puppet::Line;
use testkit::story::Story;

use crate::{at, mail, read};

const BACKGROUND: &str = "cron: 0 9 * * *";

fn with(name: &str, text: &str) -> Story {
    let mut story = at("16T08:59:50");
    story.lend(&[ToolSpec {
        name: "Bash",
        description: Cow::Borrowed(""),
        schema: "{}",
        class: Class::Shell,
    }]);
    story.file(name, text).passes("1s");
    story
}

fn tasks(words: &str) -> Line {
    Line::calls("Bash", &format!(r#"{{"command":"ollim-bot tasks {words}"}}"#))
}

/// SK-9, SK-10, SK-11, SK-12, BF-4: a background routine reads its skills before its task, in order
/// and without missing ones, and may use their tools.
#[test]
fn a_routine_reads_its_skills_and_may_use_their_tools() {
    let head = format!("{BACKGROUND}\nskills:\n- tasks\n- missing\n- kindness");
    let mut story = with("routines/mail.md", &mail(&head));
    story.model([tasks("list"), Line::says("Nothing to do.")]).passes("30s");
    let told = read(&story, 0);
    let section = "SKILL INSTRUCTIONS:\n### tasks\nMind tasks.\n\n### kindness\nMind kindness.\n\n";
    assert!(told.contains(section), "{told}");
    assert!(told.contains("Bash(ollim-bot tasks *)"), "it is told what it may use: {told}");
    let told = story.told();
    assert!(told.contains(r#"Bash: did {"command":"ollim-bot tasks list"}"#), "{told}");
    assert_eq!(story.occurrences().lines().last(), Some("mon 09:00:00 routine:mail try 1 done"));
}

/// The same call is refused without the skill.
#[test]
fn a_routine_without_the_skill_may_not() {
    let mut story = with("routines/mail.md", &mail(BACKGROUND));
    story.model([tasks("list"), Line::says("Nothing to do.")]).passes("30s");
    let told = story.told();
    assert!(told.contains("Bash: Error: `Bash` is not available"), "{told}");
}

/// SK-11: a reminder on main reads its skills, and so does each follow-up check.
#[test]
fn reminders_read_their_skills_and_so_does_every_check() {
    let text = "---\nid: c1\nrun-at: 2026-11-16T09:00:00+01:00\nmax-chain: 2\nskills:\n- kindness\n---\nwas it sent?\n";
    let mut story = with("reminders/c1.md", text);
    let follows = Line::calls("follow_up_chain", r#"{"minutes_from_now":5}"#);
    story.model([follows, Line::says("Not yet."), Line::says("Sent.")]).passes("30s").passes("6m");
    for nth in [0, 2] {
        let told = read(&story, nth);
        assert!(told.contains("SKILL INSTRUCTIONS:\n### kindness\nMind kindness."), "{nth}: {told}");
        assert!(told.ends_with("was it sent?"), "{nth}: {told}");
    }
}

/// I4, SK-5: outside text in a skill labels the run, so its critical ping is refused.
#[test]
fn a_skill_that_tells_words_from_outside_is_known_to() {
    let head = format!("{BACKGROUND}\nskills:\n- letters");
    let mut story = with("routines/mail.md", &mail(&head));
    let pings = Line::calls("ping_user", r#"{"message":"pay now","critical":true}"#);
    story.model([pings, Line::says("Left to you.")]).passes("30s");
    let told = story.told();
    assert!(told.contains("so nothing it says is critical"), "{told}");
}

/// SK-9: a crash while skills are being loaded loses nothing: they are loaded again, and the job
/// starts once.
#[test]
fn a_job_that_waits_for_its_skills_survives_a_crash() {
    let head = format!("{BACKGROUND}\nskills:\n- slow");
    let mut story = with("routines/mail.md", &mail(&head));
    story.passes("20s");
    assert_eq!(story.occurrences(), "mon 09:00:00 routine:mail try 0 again");
    assert!(story.contexts().is_empty(), "it has not begun");
    story.crash().model([Line::says("Done.")]).passes("2m");
    assert_eq!(story.occurrences(), "mon 09:00:00 routine:mail try 1 done");
    assert_eq!(story.contexts().len(), 1, "it began once");
    assert!(read(&story, 0).contains("### slow\nMind slow."), "{}", read(&story, 0));
}
