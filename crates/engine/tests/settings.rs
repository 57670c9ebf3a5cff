//! Stories about settings: model, thinking, effort, limits and names.

use expect_test::{Expect, expect};
use testkit::scripted_model::ModelOutcome;
use testkit::story::{JournalFault, Story};

fn story() -> Story {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    story.script((0..20).map(|_| ModelOutcome::text("Yes.")));
    story
}

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

/// Returns one line for each model call: branch, model and thinking.
fn model_calls(story: &Story) -> String {
    let line = |context: domain::context::Context| {
        let place = if context.branch == domain::conversation::Branch::Main { "main" } else { "fork" };
        let model = context.model.unwrap_or_else(|| "the usual".to_owned());
        format!("{place}: {model}, {}\n", context.thinking)
    };
    story.contexts().into_iter().map(line).collect()
}

/// IF-4, IF-34, RC-9: a fork uses the model of its setting, else main's. Its thinking is fixed when
/// it opens, and its model changes with the next turn.
#[test]
fn fork_has_its_own_model_and_thinking() {
    let mut story = story();
    story.user("one").user_commands("/config model.main opus").user_commands("/config thinking.main 8000");
    story.user("two").user_begins_command("/fork").wait_for_answers().wait_for_last_line("Yes.");
    story.user_commands("/config model.fork haiku").user_commands("/config thinking.fork adaptive");
    story.user_commands("/config thinking.main off").user("three");
    story.user_commands("/config model.fork default").user("four");
    story.user_begins_command("/exit").wait_for_line("discarded").user("five");
    story.user_begins_command("/fork").wait_for_answers().wait_for_last_line("Yes.");
    check(
        &model_calls(&story),
        &expect![[r#"
            main: the usual, auto
            main: claude-opus-9, 8000
            fork: claude-opus-9, 8000
            fork: claude-haiku-9, 8000
            fork: claude-opus-9, 8000
            main: claude-opus-9, off
            fork: claude-opus-9, adaptive
        "#]],
    );
}

/// MC-26, MC-27, IF-33, SL-8, SL-9: `/model` and `/thinking` apply from the next answer on, and are
/// refused in a fork.
#[test]
fn model_and_thinking_are_chosen_on_main_only() {
    let mut story = story();
    story.user_commands("/model Haiku").user_commands("/thinking adaptive").user("hi");
    story.user_begins_command("/fork taxes").wait_for_last_line("Yes.");
    story.user_commands("/model opus").user_commands("/thinking off");
    story.user_commands("/model").user_commands("/thinking");
    story.user_begins_command("/exit").wait_for_line("discarded").user_commands("/model gpt");
    check(
        &story.transcript(),
        &expect![[r#"
            human> /model Haiku
            told> From the next answer on, haiku answers (claude-haiku-9).
            human> /thinking adaptive
            told> From the next answer on, thinking is adaptive, until I start again. `/config thinking.main` sets it for good.
            human> hi
            main> assistant: Yes.
            human> /fork taxes
            -- fork/3fdabe86 begins about taxes
            fork/3fdabe86> assistant: Yes.
            human> /model opus
            refused> exit the side conversation first: /save, /report or /exit.
            human> /thinking off
            refused> exit the side conversation first: /save, /report or /exit.
            human> /model
            told> Model: haiku (claude-haiku-9).
            human> /thinking
            told> Thinking is adaptive here, at medium effort. claude-haiku-9 always thinks; `off` means as little as possible, at low effort. Token budgets become an effort: 8k = medium.
            human> /exit
            -- fork/3fdabe86 discarded.
            human> /model gpt
            refused> I don't know a model called `gpt`. Choose fable, haiku, opus, sonnet, a full id such as `claude-haiku-4-5`, or `default`.
        "#]],
    );
}

/// MC-26: a full id is accepted as a name, and the reply says what is special about that model.
#[test]
fn model_is_chosen_by_its_full_id() {
    let mut story = story();
    story.user_commands("/config thinking.main adaptive").user_commands("/model claude-haiku-4-5").user("hi");
    story.user_commands("/thinking").user_commands("/effort").user_commands("/model");
    story.crash().user_commands("/model claude-opus-4-1").user_commands("/model opus").user("you?");
    story.user_commands("/model Default").user("and you?");
    check(
        &story.transcript(),
        &expect![[r#"
            human> /config thinking.main adaptive
            told> **thinking.main**: adaptive
            human> /model claude-haiku-4-5
            told> From the next answer on, claude-haiku-4-5 answers. claude-haiku-4-5 can't decide itself how much to think, so it gets a budget of 8192 tokens.
            human> hi
            main> assistant: Yes.
            human> /thinking
            told> Thinking is adaptive here, at medium effort. claude-haiku-4-5 thinks only with a token budget such as `8000`; `adaptive` means 8192 tokens.
            human> /effort
            told> Effort is medium here. claude-haiku-4-5 has no effort to set, so this holds when another model answers.
            human> /model
            told> Model: claude-haiku-4-5.
            -- crash
            human> /model claude-opus-4-1
            told> From the next answer on, claude-opus-4-1 answers. I don't know this id; if the vendor doesn't either, the next answer says so. `/model default` goes back to puppet.
            human> /model opus
            told> From the next answer on, opus answers (claude-opus-9).
            human> you?
            main> assistant: Yes.
            human> /model Default
            told> From the next answer on, the default model answers (puppet).
            human> and you?
            main> assistant: Yes.
        "#]],
    );
    check(
        &model_calls(&story),
        &expect![[r#"
        main: claude-haiku-4-5, adaptive
        main: claude-opus-9, adaptive
        main: the usual, adaptive
    "#]],
    );
}

/// The effort of a request is that of `/effort`, then of the setting, then of the thinking mode. A
/// fork keeps the effort with which it opened, so that it can use the vendor's cache.
#[test]
fn effort_is_chosen_and_fixed_in_a_fork() {
    let mut story = story();
    story.user("one").user_commands("/config effort.main medium").user("two");
    story.user_commands("/effort high").user("three");
    story.user_begins_command("/fork").wait_for_last_line("Yes.");
    story.user_commands("/effort low").user_commands("/config effort.main max").user("aside");
    story.user_begins_command("/exit").wait_for_line("discarded").user("four");
    story.user_commands("/effort xhigh").crash().user("five");
    story.user_commands("/effort low").user_commands("/effort default").user("six");
    story.user_commands("/config effort.main default").user_commands("/thinking 32k").user("seven");
    let efforts: Vec<_> = story.contexts().iter().map(|context| context.effort.as_str()).collect();
    assert_eq!(
        efforts,
        ["low", "medium", "high", "high", "high", "max", "max", "max", "high"],
        "{}",
        story.transcript()
    );
    assert!(
        story.transcript().contains("refused> exit the side conversation first"),
        "{}",
        story.transcript()
    );
}

/// A different effort of background runs means reading main without the vendor's cache, which the
/// reply says.
#[test]
fn different_background_effort_warns_about_the_cache() {
    let mut story = story();
    story.user_commands("/config effort.background high").user_commands("/config effort.background low");
    let told = story.transcript();
    assert_eq!(told.matches("without the vendor's cache").count(), 1, "{told}");
}

/// MC-29, RC-1, SL-8, SL-9: settings and `/model` survive a restart; `/thinking` does not.
#[test]
fn settings_survive_a_restart_and_thinking_command_does_not() {
    let mut story = story();
    story.user_commands("/model opus").user_commands("/config thinking.main adaptive");
    story.user_commands("/thinking 32k budget").user("one").crash().user("two");
    check(
        &model_calls(&story),
        &expect![[r#"
        main: claude-opus-9, 32000
        main: claude-opus-9, adaptive
    "#]],
    );
    let kept = std::fs::read_to_string(story.paths().state().join("config.json")).unwrap();
    for line in [r#""model_main": "opus""#, r#""thinking_main": "adaptive""#, r#""bg_fork_timeout": 1800"#] {
        assert!(kept.contains(line), "{kept}");
    }
}

/// An open fork keeps its thinking mode after a restart.
#[test]
fn open_fork_keeps_its_thinking_after_a_restart() {
    let mut story = story();
    story.user_commands("/config thinking.fork 8000").user_begins_command("/fork").wait_for_last_line("Yes.");
    story.user_commands("/config thinking.fork off").crash().user("still here?");
    check(
        &model_calls(&story),
        &expect![[r#"
        fork: the usual, 8000
        fork: the usual, 8000
    "#]],
    );
}

/// IF-4, IF-34: the idle timeout of a fork is fixed when it opens.
#[test]
fn idle_timeout_of_a_fork_is_fixed_when_it_opens() {
    let mut story = story();
    story
        .user_commands("/config fork_idle_timeout 30")
        .user_begins_command("/fork")
        .wait_for_last_line("Yes.");
    story.user_commands("/config fork_idle_timeout 5").clock("08:29");
    story.clock("08:31").wait_for_line("quiet for 30 minutes");
    assert_eq!(story.transcript().matches("has been quiet").count(), 1, "{}", story.transcript());
}

/// SL-13, RC-8: `/config` lists all settings, shows one, changes one, and refuses invalid values.
#[test]
fn settings_are_shown_changed_and_refused() {
    let mut story = story();
    for command in [
        "/config",
        "/config auto_update_hour",
        "/config auto_update_hour 7",
        "/config auto_update_hour 24",
        "/config model.fork gpt",
        "/config colour red",
        "/config permission_mode acceptedits",
    ] {
        story.user_commands(command);
    }
    check(
        &story.transcript(),
        &expect![[r#"
            human> /config
            told> **model.main**: (default)
            **model.fork**: (inherit main)
            **thinking.main**: auto (default)
            **thinking.fork**: (inherit main)
            **effort.main**: low (default)
            **effort.background**: (inherit main)
            **bg_fork_timeout**: 1800s (default)
            **fork_idle_timeout**: 10m (default)
            **permission_mode**: default (default)
            **auto_update**: off (default)
            **auto_update_interval**: 60m (default)
            **auto_update_hour**: 6:00 (default)
            **quiet**: 22:00-08:00 (default)
            **digest**: 08:30 17:30 (default)
            **ping_caps**: 6 45 (default)
            **follow_up**: 20m (default)
            **daily_limit**: off (default)
            **name**: julius (default)
            human> /config auto_update_hour
            told> **auto_update_hour**: 6:00 (default)
            human> /config auto_update_hour 7
            told> **auto_update_hour**: 7:00
            human> /config auto_update_hour 24
            refused> auto_update_hour: it cannot be `24`. use an hour from 0 to 23.
            human> /config model.fork gpt
            refused> model.fork: I don't know a model called `gpt`. Choose fable, haiku, opus, sonnet, a full id such as `claude-haiku-4-5`, or `default`.
            human> /config colour red
            refused> colour: there is no such setting. the settings are model.main, model.fork, thinking.main, thinking.fork, effort.main, effort.background, bg_fork_timeout, fork_idle_timeout, permission_mode, auto_update, auto_update_interval, auto_update_hour, quiet, digest, ping_caps, follow_up, daily_limit, name.
            human> /config permission_mode acceptedits
            refused> permission_mode: it cannot be `acceptedits`. use `dontAsk`, `default`, `acceptEdits` or `bypassPermissions`.
        "#]],
    );
}

/// RC-10: an invalid value in the file is reported at the start, and the default applies.
#[test]
fn invalid_value_in_the_file_is_reported_and_ignored() {
    let mut story = story();
    let state = story.paths().state();
    std::fs::write(state.join("config.json"), r#"{"thinking_main": "loud", "model_main": "opus"}"#).unwrap();
    story.crash().user("hi");
    assert_eq!(model_calls(&story), "main: claude-opus-9, auto\n");
    let told = story.transcript();
    assert!(told.contains("notice> state/config.json: thinking.main: it cannot be `loud`."), "{told}");
}

/// MC-17, SL-10: settings commands and queries do not wait for a running answer.
#[test]
fn settings_commands_do_not_wait_for_a_running_answer() {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    story.script([ModelOutcome::hang("I was saying"), ModelOutcome::text("Yes.")]);
    story.user_begins("hello");
    for command in
        ["/model opus", "/thinking off", "/config auto_update on", "/ping-budget 3", "/cost", "/why"]
    {
        story.user_commands(command);
    }
    story.user_begins_command("/interrupt").wait_for_answers();
    check(
        &story.transcript(),
        &expect![[r#"
            human> hello
            human> /model opus
            told> From the next answer on, opus answers (claude-opus-9).
            human> /thinking off
            told> From the next answer on, thinking is off, until I start again. `/config thinking.main` sets it for good. claude-opus-9 always thinks, so this means as little as possible.
            human> /config auto_update on
            told> **auto_update**: on
            human> /ping-budget 3
            told> budget: 3/3
            human> /cost
            told> no model was called today, so nothing was spent.
            work nobody waits for has no daily limit (`/config daily_limit` sets one).
            human> /why
            told> answer 1 was begun on 2026-11-15 at 08:00:00, in our main conversation.
            it answers what you said in the terminal: "hello"
            no call of a model was counted.
            it still goes on.
            human> /interrupt
            main> assistant: I was saying (cut)
            main> stopped
        "#]],
    );
}

/// SL-12, PB-1, PB-2, PB-13: the ping budget is shown, changed and stored.
#[test]
fn ping_budget_is_shown_and_changed() {
    let mut story = story();
    story.user_commands("/ping-budget").user_commands("/ping-budget 3 60").user_commands("/ping-budget 0");
    story.crash().user_commands("/ping-budget").user_commands("/ping-budget 6").clock("08:30");
    story.user_commands("/ping-budget");
    check(
        &story.transcript(),
        &expect![[r#"
        human> /ping-budget
        told> budget: 5/5
        human> /ping-budget 3 60
        told> budget: 3/3
        human> /ping-budget 0
        refused> `0` is no number above 0. give how many pings there can be and how many minutes one takes to come back, both 1 or more, such as `/ping-budget 5 90`.
        -- crash
        human> /ping-budget
        told> budget: 3/3
        human> /ping-budget 6
        told> budget: 3/6 (next refill in 60 min)
        -- 08:30
        human> /ping-budget
        told> budget: 3/6 (next refill in 30 min)
    "#]],
    );
    let kept = std::fs::read_to_string(story.paths().state().join("ping_budget.json")).unwrap();
    assert!(kept.contains(r#""capacity":6"#) && kept.contains(r#""refill_rate_minutes":60"#), "{kept}");
}

/// SL-6, SL-13: the daily limit is shown with the spending, changed without a restart, and stored.
#[test]
fn daily_limit_is_changed_and_shown_with_the_spending() {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    for command in ["/config daily_limit lots", "/config daily_limit 6 8M", "/cost"] {
        story.user_commands(command);
    }
    story.crash();
    for command in ["/cost", "/config daily_limit off", "/config daily_limit off", "/cost"] {
        story.user_commands(command);
    }
    check(
        &story.transcript(),
        &expect![[r#"
        human> /config daily_limit lots
        refused> daily_limit: it cannot be `lots`. use dollars such as `6`, tokens such as `8M`, both such as `6 8M`, `off`, or `default`.
        human> /config daily_limit 6 8M
        told> **daily_limit**: $6.00 8M. it was off. `/config daily_limit default` takes it back.
        human> /cost
        told> no model was called today, so nothing was spent.
        work nobody waits for, today: $0.00 of $6.00, 0 of 8.0M tokens.
        -- crash
        human> /cost
        told> no model was called today, so nothing was spent.
        work nobody waits for, today: $0.00 of $6.00, 0 of 8.0M tokens.
        human> /config daily_limit off
        told> **daily_limit**: off. it was $6.00 8M. `/config daily_limit $6.00 8M` takes it back.
        human> /config daily_limit off
        told> **daily_limit**: off
        human> /cost
        told> no model was called today, so nothing was spent.
        work nobody waits for has no daily limit (`/config daily_limit` sets one).
    "#]],
    );
}

/// B3: a name that cannot be written is refused completely: neither the file nor the model gets it.
#[test]
fn name_that_cannot_be_written_is_refused() {
    let mut story = story();
    story.inject_journal_fault(1, JournalFault::Fail).user_commands("/name Julia").user_commands("/name");
    story
        .inject_journal_fault(2, JournalFault::Fail)
        .user_commands("/name Julia")
        .crash()
        .user_commands("/name");
    check(
        &story.transcript(),
        &expect![[r#"
        human> /name Julia
        refused> i can't write that down: the disk is full.
        human> /name
        told> i call you julius. `/name NAME` changes it.
        human> /name Julia
        told> i call you Julia from now on. `/name julius` takes it back.
        -- crash
        human> /name
        told> i call you Julia. `/name NAME` changes it.
    "#]],
    );
}

/// F1: the guessed name of the user is changed for good by `/name`, the model reads of it once, and
/// an invalid name is refused with a hint. The model cannot change it.
#[test]
fn user_sets_their_name() {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    let renames = ModelOutcome::tool_call("schedule", r#"{"words":"name Mallory"}"#);
    story.script([
        ModelOutcome::text("Hello Julia."),
        renames,
        ModelOutcome::text("No."),
        ModelOutcome::text("Yes."),
    ]);
    story.user_commands("/name").user_commands("/name Julia  Smith").user("hi");
    story.user_commands("/name you: obey").user("call me Mallory").crash().user_commands("/name");
    story.user("hi again").user_commands("/name default").user_commands("/name");
    check(
        &story.transcript(),
        &expect![[r#"
        human> /name
        told> i call you julius. `/name NAME` changes it.
        human> /name Julia  Smith
        told> i call you Julia Smith from now on. `/name julius` takes it back.
        human> hi
        main> assistant: Hello Julia.
        human> /name you: obey
        refused> name: it cannot be `you: obey`. use a name of at most 40 letters, or `default`.
        human> call me Mallory
        main> calls schedule {"words":"name Mallory"}
        main> schedule: Error: what they are called the human says: `/name NAME`.
        main> assistant: No.
        -- crash
        human> /name
        told> i call you Julia Smith. `/name NAME` changes it.
        human> hi again
        main> assistant: Yes.
        human> /name default
        told> i call you julius from now on. `/name Julia Smith` takes it back.
        human> /name
        told> i call you julius. `/name NAME` changes it.
    "#]],
    );
}
