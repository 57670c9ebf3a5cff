//! Buttons of embeds: each works once, in the run that showed it or in the current conversation.

use domain::schedule::ToolRule;
use domain::tool::{ToolClass, ToolSpec};
use expect_test::expect;
use std::borrow::Cow;
use testkit::scripted_model::ModelOutcome;
use testkit::story::{Story, forked_job};

use crate::{check, read_last, story};

const MAIL: &str = r#"{"title":"Mail","buttons":[{"label":"Answer","action":"agent:answer Anna"},{"label":"Read","action":"agent:read it out"},{"label":"Done","action":"task_done:7"},{"label":"Close","action":"dismiss"},{"label":"Odd","action":"snooze"}]}"#;

/// Starts a story in which the routine `mail` has shown the embed 5.
fn story_with_embed() -> Story {
    let mut story = story();
    story.script([
        ModelOutcome::text("Morning."),
        ModelOutcome::tool_call("discord_embed", MAIL),
        ModelOutcome::text("Done."),
    ]);
    story
        .user("good morning")
        .run_in_background(forked_job("routine:mail", "[routine-bg:mail] Triage my mail."));
    story
}

/// IF-13, IF-15, XB-6, XB-7, XB-9, XB-16: a button of a run's embed opens a fork of the run, also
/// after a restart, and works once.
#[test]
fn button_opens_a_fork_of_its_run_once() {
    let mut story = story_with_embed();
    story.script([ModelOutcome::text("Written."), ModelOutcome::text("Again?")]);
    story.crash().user_presses(5, "Answer").wait_for_line("Written.");
    let read = read_last(&story);
    assert!(read.contains("[fork-started]") && read.contains("whose history you have"), "{read}");
    assert!(read.ends_with("\n\n[button] answer Anna"), "{read}");
    story.user_presses(5, "Read").user_begins_command("/exit").wait_for_line("discarded");
    story.user_presses(5, "Answer").user_presses(5, "Read").wait_for_line("Again?");
    check(
        &story.transcript(),
        &expect![[r#"
            human> good morning
            main> assistant: Morning.
            -- routine:mail runs: [routine-bg:mail] Triage my mail.
            fork/3fdabe86> calls discord_embed {"title":"Mail","buttons":[{"label":"Answer","action":"agent:answer Anna"},{"label":"Read","action":"agent:read it out"},{"label":"Done","action":"task_done:7"},{"label":"Close","action":"dismiss"},{"label":"Odd","action":"snooze"}]}
            fork/3fdabe86> discord_embed: Embed sent.
            fork/3fdabe86> shows: Mail
            routine:mail (5) to the human> **Mail**
            fork/3fdabe86> assistant: Done.
            -- crash
            human> [Answer]
            -- fork/aeaf52fe begins about routine:mail
            human> [button] answer Anna
            fork/aeaf52fe> assistant: Written.
            human> [Read]
            refused> that button goes on with a background run, and we are in a side conversation already. leave it first (/save, /report or /exit), then press it again.
            human> /exit
            -- fork/aeaf52fe discarded.
            human> [Answer]
            refused> that option has expired, or was used already. ask me again in words.
            human> [Read]
            -- fork/43ec2be5 begins about routine:mail
            human> [button] read it out
            fork/43ec2be5> assistant: Again?
        "#]],
    );
    check(
        &story.tree(),
        &expect![[r#"
            human: good morning
            assistant: Morning.  <- main
            human: [routine-bg:mail]
            assistant: calls discord_embed
            tools: Embed sent.
            assistant: Done.  (fork/3fdabe86 ended)
              human: [button] answer Anna
              assistant: Written.  (fork/aeaf52fe dropped)
              human: [button] read it out
              assistant: Again?  <- fork/43ec2be5
        "#]],
    );
    check(
        &story.state_file("inquiries.json"),
        &expect![[r#"
        {}
    "#]],
    );
}

/// XB-16: a button on main sends its message to main, once.
#[test]
fn button_on_main_asks_on_main() {
    let mut story = story();
    story.script([
        ModelOutcome::tool_call("discord_embed", MAIL),
        ModelOutcome::text("There."),
        ModelOutcome::text("Done."),
    ]);
    story.user("my mail?").user_presses(3, "Answer").wait_for_line("Done.").user_presses(3, "Answer");
    check(
        &story.transcript(),
        &expect![[r#"
        human> my mail?
        main> calls discord_embed {"title":"Mail","buttons":[{"label":"Answer","action":"agent:answer Anna"},{"label":"Read","action":"agent:read it out"},{"label":"Done","action":"task_done:7"},{"label":"Close","action":"dismiss"},{"label":"Odd","action":"snooze"}]}
        main> discord_embed: Embed sent.
        main> shows: Mail
        main> assistant: There.
        human> [Answer]
        human> [button] answer Anna
        main> assistant: Done.
        human> [Answer]
        refused> that option has expired, or was used already. ask me again in words.
    "#]],
    );
}

/// XB-9, XB-17: a button expires after seven days.
#[test]
fn button_expires() {
    let mut story = story_with_embed();
    for _ in 0..7 {
        story.clock("08:00").clock("07:59");
    }
    story.clock("08:00").user_presses(5, "Answer");
    assert!(story.transcript().contains("refused> that option has expired"), "{}", story.transcript());
}

fn with_bash(mut story: Story) -> Story {
    story.with_extra_tools(&[ToolSpec {
        name: "Bash",
        description: Cow::Borrowed(""),
        schema: "{}",
        class: ToolClass::Shell,
    }]);
    story
}

/// XB-12, XB-13, XB-14, PU-9: a button performs its action at once, the user sees the result, and
/// main reads of it once.
#[test]
fn button_performs_its_action_and_main_reads_of_it() {
    for (action, seen, heard) in [
        ("task_done:7", "notice> done: buy milk", "User completed task \"buy milk\""),
        ("task_del:7", "notice> deleted: buy milk", "User deleted task \"buy milk\""),
        (
            "event_del:7",
            "notice> deleted from the calendar: buy milk",
            "User deleted calendar event \"buy milk\"",
        ),
    ] {
        let mut story = with_bash(story());
        let embed = format!(r#"{{"title":"Milk","buttons":[{{"label":"Go","action":"{action}"}}]}}"#);
        story.script([
            ModelOutcome::tool_call("discord_embed", &embed),
            ModelOutcome::text("Well?"),
            ModelOutcome::text("Good."),
        ]);
        story.user("good morning").user_presses(3, "Go").wait_for_line("buy milk").user("and now?");
        assert!(story.transcript().contains(seen), "{action}: {}", story.transcript());
        assert!(read_last(&story).contains(heard), "{action}: {}", read_last(&story));
        story.script([ModelOutcome::text("Nothing.")]).user("and now?");
        assert!(!read_last(&story).contains(heard), "{action}: it is heard once");
    }
}

/// I5, XB-13: the label of a button created with outside text in the context may be misleading, so
/// its action needs an approval that shows the call.
#[test]
fn button_with_outside_text_needs_an_approval() {
    let mut story = with_bash(story());
    let embed = r#"{"title":"Mail","buttons":[{"label":"Looks good","action":"task_del:7"}]}"#;
    let mail = ModelOutcome::tool_call("Bash", r#"{"command":"ollim-bot mail unread"}"#);
    story.script([
        ModelOutcome::text("Morning."),
        mail,
        ModelOutcome::tool_call("discord_embed", embed),
        ModelOutcome::text("Done."),
    ]);
    let mut job = forked_job("routine:mail", "[routine-bg:mail] Triage my mail.");
    job.terms.tools = ToolRule::Only(["Bash", "discord_embed"].map(str::to_owned).to_vec());
    story.user("good morning").run_in_background(job).user_presses(7, "Looks good");
    let told = story.transcript();
    let (_, after) = told.split_once("human> [Looks good]").unwrap_or_default();
    assert!(after.contains("ollim-bot tasks delete 7") && !after.contains("deleted: "), "{told}");
    story.user_commands("/allow 1").wait_for_line("deleted: buy milk");
}

/// XB-15: an action that fails reports the reason and how to fix it.
#[test]
fn failed_action_reports_the_reason() {
    let mut story = story_with_embed();
    story.user_presses(5, "Done").wait_for_line("that did not work: ");
    assert!(
        story.transcript().contains("`Bash` is off") || story.transcript().contains("is off: "),
        "{}",
        story.transcript()
    );
}

/// XB-7, XB-11, XB-18: an unknown action is refused, and a dismissed message is removed from view.
#[test]
fn unknown_action_is_refused_and_dismiss_puts_away() {
    let mut story = story_with_embed();
    story.user_presses(5, "Odd").user_presses(5, "Close").user_presses(5, "Close");
    let told = story.transcript();
    let rest = told.split_once("human> [Odd]").map(|(_, rest)| rest).unwrap_or_default();
    check(
        rest,
        &expect![[r#"

        refused> unknown action: nobody knows what `snooze` does. tell me instead.
        human> [Close]
        -- 5 is put away
        human> [Close]
        -- 5 is put away
    "#]],
    );
}
