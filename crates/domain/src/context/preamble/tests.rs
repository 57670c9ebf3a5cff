//! Tests of the preamble in every combination of its inputs.

use expect_test::{Expect, expect, expect_file};
use jiff::SignedDuration;

use super::*;
use crate::attention::NotificationSettings;
use crate::ping_budget::PingBudget;
use crate::schedule::Tag;

fn now() -> Zoned {
    "2026-11-16T13:02[America/Los_Angeles]".parse().unwrap()
}

fn plain() -> Preamble {
    Preamble {
        session: RunMode::Forked,
        report_policy: ReportPolicy::default(),
        busy: UserActivity::Idle,
        limits: PingLimits {
            budget: PingBudget { available: 3.5, ..PingBudget::full(&now()) },
            reserved: (0, 0),
            settings: NotificationSettings::default(),
            quiet_until: None,
            focus_until: None,
            rung_today: 0,
            last_rung: None,
        },
        tainted: false,
        upcoming: Vec::new(),
        tools: ToolRule::SameAsMain,
    }
}

fn fire(minutes: i64, tag: Option<Tag>) -> UpcomingFire {
    UpcomingFire {
        id: "review".to_owned(),
        at: now().timestamp() + SignedDuration::from_mins(minutes),
        label: "Review".to_owned(),
        description: "look at the day".to_owned(),
        file: "routines/review.md".to_owned(),
        pings: PingPermission::Allowed,
        tag,
    }
}

/// Returns every combination of session, reporting, pings and busy.
fn all_combinations() -> Vec<(String, Preamble)> {
    let mut all = Vec::new();
    for session in [RunMode::Forked, RunMode::Isolated, RunMode::Persistent] {
        for reporting in ReportMode::ALL {
            for (pings, may) in [(PingPermission::Allowed, "ping"), (PingPermission::Never, "silent")] {
                for (busy, is) in [(UserActivity::Idle, "free"), (UserActivity::Talking, "busy")] {
                    let name = format!("{} {} {may} {is}", session.as_str(), reporting.as_str());
                    let voice = ReportPolicy { reporting, pings };
                    all.push((name, Preamble { session, report_policy: voice, busy, ..plain() }));
                }
            }
        }
    }
    all
}

fn check(preamble: &Preamble, expected: &Expect) {
    expected.assert_eq(&preamble.render(&now()));
}

/// PR-1 to PR-11, PR-13, RP-35: The sections of every run, and every section once.
#[test]
fn every_combination_has_its_sections() {
    let mut sections: Vec<String> = Vec::new();
    let mut told = String::new();
    for (name, preamble) in all_combinations() {
        let text = preamble.render(&now());
        let text = text.strip_suffix("\n\n").unwrap();
        let numbers = text.split("\n\n").map(|section| {
            let known = sections.iter().position(|known| known == section);
            let number = known.unwrap_or(sections.len());
            if known.is_none() {
                sections.push(section.to_owned());
            }
            (number + 1).to_string()
        });
        let numbers: Vec<String> = numbers.collect();
        told += &format!("{name}: {}\n", numbers.join(" "));
    }
    for (number, section) in (1..).zip(sections) {
        told += &format!("\n{number}. {section}\n");
    }
    expect_file!["./sections.txt"].assert_eq(&told);
}

/// PR-8, PR-9, PR-10: A run whose reports are blocked never reads the name of the report tool.
#[test]
fn blocked_run_never_reads_about_reports() {
    let lists = [
        ToolRule::SameAsMain,
        ToolRule::Only(vec!["mcp__discord__report_updates".to_owned(), "Task".to_owned()]),
        ToolRule::Except(vec!["mcp__discord__report_updates".to_owned()]),
    ];
    for (name, preamble) in all_combinations() {
        for tools in lists.clone() {
            let text = Preamble { tools, upcoming: vec![fire(60, None)], ..preamble.clone() }.render(&now());
            let blocked = preamble.report_policy.reporting == ReportMode::Blocked;
            assert_eq!(text.contains("report_updates"), !blocked, "{name}: {text}");
        }
    }
}

/// PR-2: Only a persistent run reads about compaction.
#[test]
fn only_persistent_run_reads_about_compaction() {
    for (name, preamble) in all_combinations() {
        let text = preamble.render(&now());
        let persistent = preamble.session == RunMode::Persistent;
        assert_eq!(text.starts_with("SESSION: Persistent"), persistent, "{name}");
        assert_eq!(text.contains("compact_session"), persistent, "{name}");
        assert_eq!(
            text.contains("everything in it is discarded"),
            !persistent && text.contains("You run on"),
            "{name}"
        );
    }
}

/// PR-11, PR-12, PB-11: The section shows the budget and the schedule.
#[test]
fn pinging_run_sees_budget_and_schedule() {
    let ahead = vec![
        UpcomingFire { pings: PingPermission::Never, ..fire(-10, Some(Tag::JustFired)) },
        fire(0, Some(Tag::ThisTask)),
        UpcomingFire { label: "Chain reminder (2/4)".to_owned(), ..fire(58, None) },
        fire(200, None),
    ];
    check(
        &Preamble { upcoming: ahead, ..plain() },
        &expect![[r#"
            Nobody reads along: your text output is discarded. To reach the human, call `ping_user` for a plain alert or `discord_embed` for structured data.

            You run on a forked session: by default everything in it is discarded, and the main conversation never hears of it. You may call `report_updates` to leave it a short summary, and you MUST call it if you sent a ping or an embed. If nothing useful happened, call nothing.

            Ping budget: 3/5 (next refill in 45 min)
            An ordinary ping now would ring.
            A critical ping now would ring: 3 of 3 are left today. `critical=True` bypasses the budget and all other limits, but is refused once text from outside (mail, pages, the calendar) is in this run. It is meant only for the gravest cases.
            At least 45 minutes lie between two ordinary pings, and at most 6 ring in a day: 0 so far.
            Quiet hours: 10:00 PM to 8:00 AM.
            Upcoming bg tasks (next 3h):
            - 12:52 PM: Review (silent) — "look at the day" (routines/review.md) [just fired]
            - 1:02 PM: Review — "look at the day" (routines/review.md) [this task]
            - 2:00 PM: Chain reminder (2/4) — "look at the day" (routines/review.md)
            - 4:22 PM: Review — "look at the day" (routines/review.md)
            ~2 refills before last task.
            This run may send at most 1 ping or embed.
            Before you ping, ask yourself whether the human would be sorry not to have been told now. What is low-stakes or merely good to know goes into `report_updates`. What is time-critical, what they want to be held to, and what concerns their health deserves a ping.
            When the budget is low, keep what is left for tasks of that kind.

            When a decision turns on what the human would prefer, spawn the `user-proxy` subagent with `Task` and ask it before you choose.

        "#]],
    );
}

/// PR-12: Hours and refills are counted until the last task; times in the past are ignored.
#[test]
fn window_is_shown_in_hours_and_refills() {
    let told = |fires: &[(i64, Option<Tag>)]| {
        let ahead = fires.iter().map(|(minutes, tag)| fire(*minutes, *tag)).collect();
        let text = Preamble { upcoming: ahead, ..plain() }.render(&now());
        let lines = text.lines().filter(|line| line.contains("bg tasks") || line.starts_with('~'));
        lines.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(told(&[]), "No more bg tasks today.");
    assert_eq!(told(&[(-5, Some(Tag::JustFired))]), "Upcoming bg tasks (recent):");
    assert_eq!(told(&[(0, Some(Tag::ThisTask))]), "Upcoming bg tasks (next 1h):");
    assert_eq!(told(&[(5, None)]), "Upcoming bg tasks (next 1h):");
    assert_eq!(told(&[(90, None)]), "Upcoming bg tasks (next 2h): ~1 refill before last task.");
    assert_eq!(
        told(&[(89, None), (719, None)]),
        "Upcoming bg tasks (next 12h): ~7 refills before last task."
    );
}

/// PR-11: A long schedule is cut and the rest counted.
#[test]
fn a_long_schedule_is_counted_beyond_twenty() {
    let was = (0..23).map(|n| fire(-n % 15, Some(Tag::JustFired)));
    let ahead = was.chain((1..=26).map(|n| fire(n, None))).collect();
    let text = Preamble { upcoming: ahead, ..plain() }.render(&now());
    assert!(text.contains("- (3 more that just fired are not listed)\n"), "{text}");
    assert!(text.contains("- (6 more after these are not listed)\n"), "{text}");
    assert_eq!(text.matches("routines/review.md").count(), 40);
}

/// PR-14, PR-15: The preamble lists the tools and names the proxy agent.
#[test]
fn preamble_lists_tools() {
    let silent = ReportPolicy { reporting: ReportMode::Blocked, pings: PingPermission::Never };
    let with = |tools| Preamble { report_policy: silent, tools, ..plain() };
    let list = |tools: &[&str]| tools.iter().map(|tool| (*tool).to_owned()).collect::<Vec<_>>();
    check(
        &with(ToolRule::Only(list(&["WebFetch", "Read(**.md)"]))),
        &expect![[r#"
        Nobody reads along: your text output is discarded. Pinging is disabled for this run: `ping_user` and `discord_embed` are not available.

        This task runs silently: nothing of it goes to the main conversation or to the human.

        TOOL RESTRICTIONS: only these tools are available:
          - WebFetch
          - Read(**.md)

    "#]],
    );
    check(
        &with(ToolRule::Only(list(&["Task"]))),
        &expect![[r#"
        Nobody reads along: your text output is discarded. Pinging is disabled for this run: `ping_user` and `discord_embed` are not available.

        This task runs silently: nothing of it goes to the main conversation or to the human.

        TOOL RESTRICTIONS: only these tools are available:
          - Task

        When a decision turns on what the human would prefer, spawn the `user-proxy` subagent with `Task` and ask it before you choose.

    "#]],
    );
    check(
        &with(ToolRule::Except(list(&["WebFetch"]))),
        &expect![[r#"
            Nobody reads along: your text output is discarded. Pinging is disabled for this run: `ping_user` and `discord_embed` are not available.

            This task runs silently: nothing of it goes to the main conversation or to the human.

            TOOL RESTRICTIONS: these tools are not available:
              - WebFetch
            Of the others, only these tools are available:
              - Bash(ollim-bot tasks *)
              - Bash(ollim-bot cal *)
              - Bash(ollim-bot reminder *)
              - Bash(ollim-bot gmail *)
              - Bash(ollim-bot help)
              - Bash(claude-history *)
              - Read(**.md)
              - Write(**.md)
              - Edit(**.md)
              - Glob(**.md)
              - Grep(**.md)
              - WebSearch
              - mcp__discord__discord_embed
              - mcp__discord__ping_user
              - mcp__discord__follow_up_chain
              - mcp__docs__*
              - Task
              - Skill
              - inbox_list
              - status

            When a decision turns on what the human would prefer, spawn the `user-proxy` subagent with `Task` and ask it before you choose.

        "#]],
    );
    check(
        &with(ToolRule::Except(list(&["Task"]))),
        &expect![[r#"
            Nobody reads along: your text output is discarded. Pinging is disabled for this run: `ping_user` and `discord_embed` are not available.

            This task runs silently: nothing of it goes to the main conversation or to the human.

            TOOL RESTRICTIONS: these tools are not available:
              - Task
            Of the others, only these tools are available:
              - Bash(ollim-bot tasks *)
              - Bash(ollim-bot cal *)
              - Bash(ollim-bot reminder *)
              - Bash(ollim-bot gmail *)
              - Bash(ollim-bot help)
              - Bash(claude-history *)
              - Read(**.md)
              - Write(**.md)
              - Edit(**.md)
              - Glob(**.md)
              - Grep(**.md)
              - WebFetch
              - WebSearch
              - mcp__discord__discord_embed
              - mcp__discord__ping_user
              - mcp__discord__follow_up_chain
              - mcp__docs__*
              - Skill
              - inbox_list
              - status

        "#]],
    );
}
