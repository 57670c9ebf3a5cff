//! The prompts of jobs, and the conversation in which they run.

use domain::conversation::Branch;
use expect_test::expect;
use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use testkit::story::Story;

use crate::{dentist_reminder, mail_routine, ping_call, read_in_request, story_at, text_of, watch_routine};

/// Starts a story at nine with these job files, and runs what is due.
fn story_at_nine(files: &[(&str, &str)]) -> Story {
    let mut story = story_at("16T08:59:50");
    for (name, text) in files {
        story.write_file(name, text);
    }
    story.advance_time("20s");
    story
}

/// SC-21, SC-23, SC-24, SC-25: each of the four kinds of jobs has its own tag; on main the prompt
/// has no other preface.
#[test]
fn each_kind_of_job_has_its_tag() {
    let walk = "---\nid: walk\ncron: 0 9 * * *\n---\nTime for a walk.\n";
    let stamp = "[2026-11-16 Mon 09:00 AM CET] ";
    let story = story_at_nine(&[("routines/walk.md", walk)]);
    assert_eq!(read_in_request(&story, 0), format!("{stamp}[routine:walk] Time for a walk."));
    let story = story_at_nine(&[("reminders/call.md", &dentist_reminder("16T09:00", ""))]);
    assert_eq!(read_in_request(&story, 0), format!("{stamp}[reminder:d1]\n\ncall the dentist"));
    let story = story_at_nine(&[("routines/mail.md", &mail_routine("cron: 0 9 * * *"))]);
    let told = read_in_request(&story, 0);
    assert!(
        told.starts_with(&format!("{stamp}[routine-bg:mail] ")) && told.ends_with("\n\nTriage my mail."),
        "{told}"
    );
    let story = story_at_nine(&[("reminders/call.md", &dentist_reminder("16T09:00", "background: true"))]);
    let told = read_in_request(&story, 0);
    assert!(
        told.starts_with(&format!("{stamp}[reminder-bg:d1]\n")) && told.ends_with("\n\ncall the dentist"),
        "{told}"
    );
}

/// SC-23, PR-1, PR-3, PR-6, PR-11, PR-12, PR-14, FS-1, FS-4, FS-6, FS-7, FS-9, FS-11: the complete
/// prompt of a background run.
#[test]
fn background_run_reads_its_terms_and_the_schedule() {
    let at_nine = |id: &str, more: &str| format!("---\nid: {id}\nbackground: true\n{more}\n---\nDo {id}.\n");
    let story = story_at_nine(&[
        ("routines/mail.md", &mail_routine("cron: 0 9 * * *")),
        (
            "routines/quiet.md",
            &at_nine("quiet", "cron: 30 9 * * *\nallow-ping: false\ndescription: a quiet look"),
        ),
        ("routines/far.md", &at_nine("far", "cron: 0 22 * * *")),
        ("routines/main.md", "---\nid: main\ncron: 15 9 * * *\n---\nOn main.\n"),
        ("reminders/call.md", &dentist_reminder("16T11:00", "background: true\nmax-chain: 2")),
        (
            "reminders/soon.md",
            "---\nid: d2\nrun-at: 2026-11-16T11:30:00+01:00\nbackground: true\n---\nwater\nthe plants\n",
        ),
    ]);
    expect![[r#"
        [2026-11-16 Mon 09:00 AM CET] [routine-bg:mail] Nobody reads along: your text output is discarded. To reach the human, call `ping_user` for a plain alert or `discord_embed` for structured data.

        You run on a forked session: by default everything in it is discarded, and the main conversation never hears of it. You may call `report_updates` to leave it a short summary, and you MUST call it if you sent a ping or an embed. If nothing useful happened, call nothing.

        Ping budget: 5/5
        An ordinary ping now would ring.
        A critical ping now would ring: 3 of 3 are left today. `critical=True` bypasses the budget and all other limits, but is refused once text from outside (mail, pages, the calendar) is in this run. It is meant only for the gravest cases.
        At least 45 minutes lie between two ordinary pings, and at most 6 ring in a day: 0 so far.
        Quiet hours: 10:00 PM to 8:00 AM.
        Upcoming bg tasks (next 3h):
        - 9:00 AM: my mail — "my mail" (routines/mail.md) [this task]
        - 9:30 AM: a quiet look (silent) — "a quiet look" (routines/quiet.md)
        - 11:00 AM: Chain reminder (1/3) — "call the dentist" (reminders/call.md)
        - 11:30 AM: Reminder — "water the plants" (reminders/soon.md)
        ~1 refill before last task.
        This run may send at most 1 ping or embed.
        Before you ping, ask yourself whether the human would be sorry not to have been told now. What is low-stakes or merely good to know goes into `report_updates`. What is time-critical, what they want to be held to, and what concerns their health deserves a ping.
        When the budget is low, keep what is left for tasks of that kind.

        TOOLS: the file of this task lists none, so these are available:
          - mcp__discord__report_updates
          - mcp__discord__ping_user
          - mcp__discord__discord_embed
          - mcp__discord__follow_up_chain
          - Bash(ollim-bot help)

        Triage my mail."#]].assert_eq(&read_in_request(&story, 0));
}

/// PR-5, PR-7, PR-8, PR-9, PR-4: the prompt states how the run may reach the user and main,
/// according to its file.
#[test]
fn run_reads_the_terms_of_its_file() {
    let told = |head: &str| {
        read_in_request(
            &story_at_nine(&[("routines/mail.md", &mail_routine(&format!("cron: 0 9 * * *\n{head}")))]),
            0,
        )
    };
    let always = told("update-main-session: always");
    assert!(always.contains("You MUST call `report_updates`"), "{always}");
    let freely = told("update-main-session: freely");
    assert!(freely.contains("optionally"), "{freely}");
    let blocked = told("update-main-session: blocked");
    assert!(!blocked.contains("report_updates") && !blocked.contains("follow_up_chain"), "{blocked}");
    let silent = told("update-main-session: blocked\nallow-ping: false");
    assert!(!silent.contains("report_updates") && silent.contains("silently"), "{silent}");
    assert!(
        silent.contains("disabled") && silent.contains("not available") && !silent.contains("Ping budget"),
        "{silent}"
    );
    let some = told("allowed-tools: [WebFetch]");
    assert!(some.contains("TOOL RESTRICTIONS") && some.contains("\n  - WebFetch"), "{some}");
    let not = told("disallowed-tools: [WebFetch]");
    let (without, with) = not.split_once("Of the others, only these tools are available:").unwrap();
    assert!(without.contains("these tools are not available:\n  - WebFetch\n"), "{not}");
    assert!(with.contains("  - mcp__discord__ping_user") && !with.contains("  - WebFetch"), "{not}");
}

/// MC-19, PR-10: the prompt states whether the user is in a conversation when the run starts.
#[test]
fn run_reads_that_the_user_is_in_a_conversation() {
    let mut story = story_at("16T08:59:50");
    story
        .script([ModelOutcome::hang("Once upon"), ModelOutcome::text("Done.")])
        .user_begins("tell me a story");
    story.write_file("routines/mail.md", &mail_routine("cron: 0,1 9 * * *")).advance_time("20s");
    assert!(read_in_request(&story, 1).contains("mid-conversation"), "{}", read_in_request(&story, 1));
    story.user_stops().advance_time("1m");
    assert!(!read_in_request(&story, 2).contains("mid-conversation"), "{}", read_in_request(&story, 2));
}

/// PR-11, PB-11: the prompt states how many pings are left.
#[test]
fn a_run_reads_how_many_pings_are_left() {
    let mut story = story_at("16T08:59:50");
    story.script([ping_call("up"), ModelOutcome::text("Done.")]);
    story
        .write_file("routines/mail.md", &mail_routine("cron: 0,1 9 * * *\nupdate-main-session: freely"))
        .advance_time("80s");
    assert!(
        read_in_request(&story, 0).contains(
            "
Ping budget: 5/5
"
        ) || read_in_request(&story, 0).contains("Ping budget: 5/5"),
        "{}",
        read_in_request(&story, 0)
    );
    assert!(
        read_in_request(&story, 2).contains("Ping budget: 4/5 (next refill in 89 min)"),
        "{}",
        read_in_request(&story, 2)
    );
}

/// FS-3, FS-11, FS-12: the schedule marks jobs that have just run, and the running one.
#[test]
fn run_reads_which_jobs_have_just_run() {
    let other =
        mail_routine("cron: 55 8 * * *").replace("id: mail", "id: other").replace("my mail", "the other");
    let mut story = story_at("16T08:54:50");
    story
        .write_file("routines/other.md", &other)
        .write_file("routines/mail.md", &mail_routine("cron: 0 9,10 * * *"))
        .advance_time("6m");
    let told = read_in_request(&story, 1);
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("- ")).collect();
    expect![[r#"
        - 8:55 AM: the other — "the other" (routines/other.md) [just fired]
        - 9:00 AM: my mail — "my mail" (routines/mail.md) [this task]
        - 10:00 AM: my mail — "my mail" (routines/mail.md)"#]]
    .assert_eq(&lines.join("\n"));
}

/// SC-22: a late run or reminder says so after its tag.
#[test]
fn late_job_says_so_after_its_tag() {
    let mut story = story_at("16T08:59:50");
    story.write_file("routines/mail.md", &mail_routine("cron: 0 9 * * *"));
    story
        .write_file("reminders/call.md", &dentist_reminder("16T09:05", "background: true"))
        .advance_time("1s")
        .stop_for("1h")
        .advance_time("20s");
    assert!(
        read_in_request(&story, 0)
            .contains("[routine-bg:mail] [late: was scheduled for 9:00 AM, running now] "),
        "{}",
        read_in_request(&story, 0)
    );
    assert!(
        read_in_request(&story, 1)
            .contains("[reminder-bg:d1]\n[late: was scheduled for 9:05 AM, running now]\n"),
        "{}",
        read_in_request(&story, 1)
    );
}

/// MC-18: the turn of a job on main waits for the user's answer and interrupts nothing. The text of
/// a reminder is shown at once.
#[test]
fn job_on_main_waits_for_the_running_turn() {
    let mut story = story_at("16T08:59:50");
    story
        .script([ModelOutcome::hang("Once upon"), ModelOutcome::text("Call the dentist.")])
        .user_begins("tell me a story");
    story.write_file("reminders/call.md", &dentist_reminder("16T09:00", "")).advance_time("40s");
    assert_eq!(story.contexts().len(), 1, "{}", story.transcript());
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 asked");
    assert!(story.transcript().contains("notice> ⏰ call the dentist"), "{}", story.transcript());
    story.user_stops().advance_time("5s");
    expect![[r#"
        human> tell me a story
        notice> ⏰ call the dentist
        -- mon 09:00
        main> assistant: Once upon (cut)
        main> stopped
        main> assistant: Call the dentist.
        -- mon 09:00
    "#]]
    .assert_eq(&story.transcript());
}

/// MC-20: a job on main runs there while a fork is open; the fork stays open and does not see it.
#[test]
fn job_on_main_runs_there_while_a_fork_is_open() {
    let mut story = story_at("16T08:58");
    story.script([ModelOutcome::text("Morning."), ModelOutcome::text("Aside.")]).user("good morning");
    story.user_commands("/fork taxes").wait_for_line("Aside.").wait_until_idle();
    let enter = ModelOutcome::tool_call("enter_fork", r#"{"topic":"dentists"}"#);
    story.script([enter, ModelOutcome::text("Call the dentist."), ModelOutcome::text("Taxes, then.")]);
    story
        .write_file("reminders/call.md", &dentist_reminder("16T09:00", ""))
        .advance_time("3m")
        .user("where were we?");
    let branches: Vec<bool> = story.contexts().iter().map(|context| context.branch == Branch::Main).collect();
    assert_eq!(branches, [true, false, true, true, false]);
    let said: Vec<String> = story.contexts()[4].entries.iter().map(|said| text_of(said)).collect();
    assert!(said.iter().all(|said| !said.contains("dentist")), "{said:?}");
    expect![[r#"
        human> good morning
        main> assistant: Morning.
        human> /fork taxes
        -- fork/3fdabe86 begins about taxes
        fork/3fdabe86> assistant: Aside.
        main> assistant: ⏰ call the dentist
        main> calls enter_fork {"topic":"dentists"}
        main> enter_fork: Error: you are already in an interactive fork, and forks are never nested. go on here, or end this one first.
        main> assistant: Call the dentist.
        -- mon 09:01
        human> where were we?
        fork/3fdabe86> assistant: Taxes, then.
    "#]].assert_eq(&story.transcript());
    assert_eq!(story.occurrences(), "mon 09:00:00 reminder:d1 try 1 done");
}

/// BF-14, PU-8: a forked run reads the pending updates of main; an isolated one does not.
#[test]
fn forked_run_reads_pending_updates() {
    for (head, sees) in [("", true), ("isolated: true", false)] {
        let mut story = story_at("16T08:59:50");
        story.leave_update("routine:x", "it rains");
        story
            .write_file("routines/mail.md", &mail_routine(&format!("cron: 0 9 * * *\n{head}")))
            .advance_time("20s");
        assert_eq!(read_in_request(&story, 0).contains("it rains"), sees, "{}", read_in_request(&story, 0));
    }
}

/// BF-8, BF-9: every kind of run uses the model and the thinking mode of its file.
#[test]
fn run_uses_the_model_of_its_file() {
    let nine_haiku = "cron: 0 9 * * *\nmodel: haiku\nthinking: false";
    let isolated = mail_routine(&format!("{nine_haiku}\nisolated: true"));
    for text in [mail_routine(nine_haiku), isolated, watch_routine(nine_haiku)] {
        let story = story_at_nine(&[("routines/a.md", &text)]);
        let context = &story.contexts()[0];
        assert!(format!("{:?}", context.model).contains("haiku"), "{:?}", context.model);
        assert_eq!(context.thinking, domain::thinking::Thinking::Off);
    }
}

/// BF-8: `thinking: true` requests thinking, `false` as little as possible; without the key a job
/// runs like the main conversation, so that the vendor's cache is shared.
#[test]
fn a_job_turns_thinking_on_or_off_or_inherits_it() {
    for (head, thinking, effort) in [
        ("thinking: true", "adaptive", "medium"),
        ("thinking: false", "off", "low"),
        ("allow-ping: false", "auto", "low"),
    ] {
        let head = format!("cron: 0 9 * * *\n{head}");
        let isolated = mail_routine(&format!("{head}\nisolated: true"));
        for text in [mail_routine(&head), isolated, watch_routine(&head)] {
            let story = story_at_nine(&[("routines/a.md", &text)]);
            let context = &story.contexts()[0];
            let ran = (context.thinking.to_string(), context.effort.as_str());
            assert_eq!(ran, (thinking.to_owned(), effort), "{text}");
        }
    }
}

/// The effort of a run comes from its file, then from the setting for background runs, then from
/// the main conversation.
#[test]
fn effort_comes_from_the_file_then_the_setting_then_main() {
    for (head, background, effort) in [
        ("effort: max", "low", "max"),
        ("allow-ping: false", "xhigh", "xhigh"),
        ("allow-ping: false", "default", "medium"),
        ("thinking: false", "high", "low"),
    ] {
        let head = format!("cron: 0 9 * * *\n{head}");
        let isolated = mail_routine(&format!("{head}\nisolated: true"));
        for text in [mail_routine(&head), isolated, watch_routine(&head)] {
            let mut story = story_at("16T08:59:50");
            story.user_commands("/config effort.main medium");
            story.user_commands(&format!("/config effort.background {background}"));
            story.write_file("routines/a.md", &text).advance_time("20s");
            assert_eq!(story.contexts()[0].effort.as_str(), effort, "{background}: {text}");
        }
    }
}

/// SC-16, SC-20: a job that is resumed after a crash reads the same prompt.
#[test]
fn prompt_is_unchanged_after_a_crash() {
    let mut lines = [ModelOutcome::hang("Reading"), ModelOutcome::text("Done.")].into_iter();
    let model =
        ScriptedModel::answering(move |_| lines.next().unwrap_or_else(|| ModelOutcome::text("Done.")));
    let mut story = Story::with_model("2026-11-16T08:59:50[Europe/Madrid]", model);
    story
        .write_file("routines/mail.md", &mail_routine("cron: 0 9 * * *"))
        .advance_time("20s")
        .crash()
        .advance_time("10s");
    assert_eq!(story.contexts().len(), 2);
    assert_eq!(read_in_request(&story, 0), read_in_request(&story, 1));
}

/// A run started by hand is part of the schedule in its prompt, also a reminder that is due much
/// later.
#[test]
fn run_started_by_hand_is_in_its_schedule() {
    let mut story = story_at("16T09:00");
    story.write_file("routines/mail.md", &mail_routine("cron: 0 22 * * *"));
    story
        .write_file("reminders/call.md", &dentist_reminder("16T20:00", "background: true"))
        .advance_time("1s");
    for source in ["routine:mail", "reminder:d1"] {
        story.run_now(source);
    }
    for nth in [0, 1] {
        assert_eq!(
            read_in_request(&story, nth).matches("[this task]").count(),
            1,
            "{}",
            read_in_request(&story, nth)
        );
    }
}

/// An isolated run reads the times of other jobs but not their texts.
#[test]
fn isolated_run_reads_only_the_times_of_other_jobs() {
    let secret = dentist_reminder("16T10:00", "background: true\ndescription: the diagnosis");
    let files = |head: &str| {
        let mine = mail_routine(&format!("cron: 0 9,11 * * *\n{head}"));
        let story = story_at_nine(&[("routines/mail.md", &mine), ("reminders/call-the-clinic.md", &secret)]);
        read_in_request(&story, 0)
    };
    let told = files("isolated: true");
    assert!(told.contains("- 9:00 AM: my mail — \"my mail\" (routines/mail.md) [this task]"), "{told}");
    assert!(told.contains("- 10:00 AM: another task\n"), "{told}");
    assert!(told.contains("- 11:00 AM: my mail"), "{told}");
    for word in ["diagnosis", "clinic", "dentist", "Reminder"] {
        assert!(!told.contains(word), "{word}: {told}");
    }
    assert!(files("").contains("the diagnosis"), "a run that knows the main conversation reads it");
}

/// A run cannot use a command that its file disallows, and its prompt says so.
#[test]
fn run_cannot_use_a_command_that_its_file_disallows() {
    use domain::tool::{ToolClass, ToolSpec};
    let bash = ToolSpec {
        name: "Bash",
        description: "Runs a command.".into(),
        schema: "{}",
        class: ToolClass::Shell,
    };
    let mut story = story_at("16T08:59:50");
    story.with_extra_tools(&[bash]);
    story.write_file(
        "routines/mail.md",
        &mail_routine("cron: 0 9 * * *\ndisallowed-tools: [\"Bash(ollim-bot cal *)\"]"),
    );
    let calls = |command: &str| ModelOutcome::tool_call("Bash", &format!("{{\"command\":{command:?}}}"));
    story.script([
        calls("ollim-bot cal today"),
        calls("ollim-bot tasks list && ollim-bot cal today"),
        calls("ollim-bot tasks list"),
        ModelOutcome::text("Done."),
    ]);
    story.advance_time("20s");
    let told = story.transcript();
    assert_eq!(told.matches("`Bash` is not available in background forks").count(), 2, "{told}");
    assert!(
        read_in_request(&story, 0).contains(
            "TOOL RESTRICTIONS: these tools are not available:\n  - Bash(ollim-bot cal *)\nOf the others, only these"
        ),
        "{}",
        read_in_request(&story, 0)
    );
}
