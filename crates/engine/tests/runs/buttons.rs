//! Buttons of embeds: each works once, in the run that showed it or in the current conversation.

use domain::schedule::ToolRule;
use domain::tool::{Class, ToolSpec};
use expect_test::expect;
use std::borrow::Cow;
use testkit::puppet::Line;
use testkit::story::{Story, forked};

use crate::{check, read_last, story};

const MAIL: &str = r#"{"title":"Mail","buttons":[{"label":"Answer","action":"agent:answer Anna"},{"label":"Read","action":"agent:read it out"},{"label":"Done","action":"task_done:7"},{"label":"Close","action":"dismiss"},{"label":"Odd","action":"snooze"}]}"#;

/// Starts a story in which the routine `mail` has shown the embed 5.
fn shown() -> Story {
    let mut story = story();
    story.model([Line::says("Morning."), Line::calls("discord_embed", MAIL), Line::says("Done.")]);
    story.human("good morning").background(forked("routine:mail", "[routine-bg:mail] Triage my mail."));
    story
}

/// IF-13, IF-15, XB-6, XB-7, XB-9, XB-16: a button of a run's embed opens a fork of the run, also
/// after a restart, and works once.
#[test]
fn a_button_goes_on_with_its_run_once() {
    let mut story = shown();
    story.model([Line::says("Written."), Line::says("Again?")]);
    story.crash().human_presses(5, "Answer").hears("Written.");
    let read = read_last(&story);
    assert!(read.contains("[fork-started]") && read.contains("whose history you have"), "{read}");
    assert!(read.ends_with("\n\n[button] answer Anna"), "{read}");
    story.human_presses(5, "Read").human_begins_command("/exit").hears("discarded");
    story.human_presses(5, "Answer").human_presses(5, "Read").hears("Again?");
    check(
        &story.told(),
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
        &story.state("inquiries.json"),
        &expect![[r#"
        {}
    "#]],
    );
}

/// XB-16: a button on main sends its message to main, once.
#[test]
fn a_button_on_main_asks_on_main() {
    let mut story = story();
    story.model([Line::calls("discord_embed", MAIL), Line::says("There."), Line::says("Done.")]);
    story.human("my mail?").human_presses(3, "Answer").hears("Done.").human_presses(3, "Answer");
    check(
        &story.told(),
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
fn a_button_expires() {
    let mut story = shown();
    for _ in 0..7 {
        story.clock("08:00").clock("07:59");
    }
    story.clock("08:00").human_presses(5, "Answer");
    assert!(story.told().contains("refused> that option has expired"), "{}", story.told());
}

fn lending(mut story: Story) -> Story {
    story.lend(&[ToolSpec {
        name: "Bash",
        description: Cow::Borrowed(""),
        schema: "{}",
        class: Class::Shell,
    }]);
    story
}

/// XB-12, XB-13, XB-14, PU-9: a button performs its action at once, the user sees the result, and
/// main reads of it once.
#[test]
fn a_button_does_its_chore_and_main_hears_of_it() {
    for (action, seen, heard) in [
        ("task_done:7", "notice> done: buy milk", "User completed task \"buy milk\""),
        ("task_del:7", "notice> deleted: buy milk", "User deleted task \"buy milk\""),
        (
            "event_del:7",
            "notice> deleted from the calendar: buy milk",
            "User deleted calendar event \"buy milk\"",
        ),
    ] {
        let mut story = lending(story());
        let embed = format!(r#"{{"title":"Milk","buttons":[{{"label":"Go","action":"{action}"}}]}}"#);
        story.model([Line::calls("discord_embed", &embed), Line::says("Well?"), Line::says("Good.")]);
        story.human("good morning").human_presses(3, "Go").hears("buy milk").human("and now?");
        assert!(story.told().contains(seen), "{action}: {}", story.told());
        assert!(read_last(&story).contains(heard), "{action}: {}", read_last(&story));
        story.model([Line::says("Nothing.")]).human("and now?");
        assert!(!read_last(&story).contains(heard), "{action}: it is heard once");
    }
}

/// I5, XB-13: the label of a button created with outside text in the context may be misleading, so
/// its action needs an approval that shows the call.
#[test]
fn a_button_from_outside_is_asked_about_first() {
    let mut story = lending(story());
    let embed = r#"{"title":"Mail","buttons":[{"label":"Looks good","action":"task_del:7"}]}"#;
    let mail = Line::calls("Bash", r#"{"command":"ollim-bot mail unread"}"#);
    story.model([Line::says("Morning."), mail, Line::calls("discord_embed", embed), Line::says("Done.")]);
    let mut job = forked("routine:mail", "[routine-bg:mail] Triage my mail.");
    job.terms.tools = ToolRule::Only(["Bash", "discord_embed"].map(str::to_owned).to_vec());
    story.human("good morning").background(job).human_presses(7, "Looks good");
    let told = story.told();
    let (_, after) = told.split_once("human> [Looks good]").unwrap_or_default();
    assert!(after.contains("ollim-bot tasks delete 7") && !after.contains("deleted: "), "{told}");
    story.human_commands("/allow 1").hears("deleted: buy milk");
}

/// XB-15: an action that fails reports the reason and how to fix it.
#[test]
fn a_chore_that_cannot_be_done_says_why() {
    let mut story = shown();
    story.human_presses(5, "Done").hears("that did not work: ");
    assert!(story.told().contains("`Bash` is off") || story.told().contains("is off: "), "{}", story.told());
}

/// XB-7, XB-11, XB-18: an unknown action is refused, and a dismissed message is put away.
#[test]
fn other_buttons_do_what_they_say() {
    let mut story = shown();
    story.human_presses(5, "Odd").human_presses(5, "Close").human_presses(5, "Close");
    let told = story.told();
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
