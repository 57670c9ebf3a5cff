//! Stories about settings: model, thinking, effort, limits and names.

use expect_test::{Expect, expect};
use testkit::puppet::Line;
use testkit::story::{Story, Trouble};

fn story() -> Story {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    story.model((0..20).map(|_| Line::says("Yes.")));
    story
}

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

/// Returns one line for each model call: branch, model and thinking.
fn asked(story: &Story) -> String {
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
fn a_fork_has_a_model_and_a_way_to_think_of_its_own() {
    let mut story = story();
    story.human("one").human_commands("/config model.main opus").human_commands("/config thinking.main 8000");
    story.human("two").human_begins_command("/fork").settle().hears_last("Yes.");
    story.human_commands("/config model.fork haiku").human_commands("/config thinking.fork adaptive");
    story.human_commands("/config thinking.main off").human("three");
    story.human_commands("/config model.fork default").human("four");
    story.human_begins_command("/exit").hears("discarded").human("five");
    story.human_begins_command("/fork").settle().hears_last("Yes.");
    check(
        &asked(&story),
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
fn a_model_and_a_way_to_think_are_chosen_on_main_alone() {
    let mut story = story();
    story.human_commands("/model Haiku").human_commands("/thinking adaptive").human("hi");
    story.human_begins_command("/fork taxes").hears_last("Yes.");
    story.human_commands("/model opus").human_commands("/thinking off");
    story.human_commands("/model").human_commands("/thinking");
    story.human_begins_command("/exit").hears("discarded").human_commands("/model gpt");
    check(
        &story.told(),
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
fn a_model_is_chosen_by_its_full_id() {
    let mut story = story();
    story
        .human_commands("/config thinking.main adaptive")
        .human_commands("/model claude-haiku-4-5")
        .human("hi");
    story.human_commands("/thinking").human_commands("/effort").human_commands("/model");
    story.crash().human_commands("/model claude-opus-4-1").human_commands("/model opus").human("you?");
    story.human_commands("/model Default").human("and you?");
    check(
        &story.told(),
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
        &asked(&story),
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
fn effort_is_chosen_set_and_fixed_in_a_side_conversation() {
    let mut story = story();
    story.human("one").human_commands("/config effort.main medium").human("two");
    story.human_commands("/effort high").human("three");
    story.human_begins_command("/fork").hears_last("Yes.");
    story.human_commands("/effort low").human_commands("/config effort.main max").human("aside");
    story.human_begins_command("/exit").hears("discarded").human("four");
    story.human_commands("/effort xhigh").crash().human("five");
    story.human_commands("/effort low").human_commands("/effort default").human("six");
    story.human_commands("/config effort.main default").human_commands("/thinking 32k").human("seven");
    let efforts: Vec<_> = story.contexts().iter().map(|context| context.effort.as_str()).collect();
    assert_eq!(
        efforts,
        ["low", "medium", "high", "high", "high", "max", "max", "max", "high"],
        "{}",
        story.told()
    );
    assert!(story.told().contains("refused> exit the side conversation first"), "{}", story.told());
}

/// A different effort of background runs means reading main without the vendor's cache, which the
/// reply says.
#[test]
fn another_effort_in_the_background_is_told_with_what_it_costs() {
    let mut story = story();
    story.human_commands("/config effort.background high").human_commands("/config effort.background low");
    let told = story.told();
    assert_eq!(told.matches("without the vendor's cache").count(), 1, "{told}");
}

/// MC-29, RC-1, SL-8, SL-9: settings and `/model` survive a restart; `/thinking` does not.
#[test]
fn settings_survive_a_restart_and_a_passing_choice_does_not() {
    let mut story = story();
    story.human_commands("/model opus").human_commands("/config thinking.main adaptive");
    story.human_commands("/thinking 32k budget").human("one").crash().human("two");
    check(
        &asked(&story),
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
fn an_open_fork_thinks_after_a_restart_as_it_did_before() {
    let mut story = story();
    story.human_commands("/config thinking.fork 8000").human_begins_command("/fork").hears_last("Yes.");
    story.human_commands("/config thinking.fork off").crash().human("still here?");
    check(
        &asked(&story),
        &expect![[r#"
        fork: the usual, 8000
        fork: the usual, 8000
    "#]],
    );
}

/// IF-4, IF-34: the idle timeout of a fork is fixed when it opens.
#[test]
fn a_quiet_fork_waits_as_long_as_was_set_when_it_began() {
    let mut story = story();
    story.human_commands("/config fork_idle_timeout 30").human_begins_command("/fork").hears_last("Yes.");
    story.human_commands("/config fork_idle_timeout 5").clock("08:29");
    story.clock("08:31").hears("quiet for 30 minutes");
    assert_eq!(story.told().matches("has been quiet").count(), 1, "{}", story.told());
}

/// SL-13, RC-8: `/config` lists all settings, shows one, changes one, and refuses invalid values.
#[test]
fn settings_are_told_changed_and_refused_in_words() {
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
        story.human_commands(command);
    }
    check(
        &story.told(),
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
fn a_wrong_value_in_the_file_is_named_and_not_used() {
    let mut story = story();
    let state = story.paths().state();
    std::fs::write(state.join("config.json"), r#"{"thinking_main": "loud", "model_main": "opus"}"#).unwrap();
    story.crash().human("hi");
    assert_eq!(asked(&story), "main: claude-opus-9, auto\n");
    let told = story.told();
    assert!(told.contains("notice> state/config.json: thinking.main: it cannot be `loud`."), "{told}");
}

/// MC-17, SL-10: settings commands and queries do not wait for a running answer.
#[test]
fn commands_that_choose_do_not_wait_for_the_answer_that_goes_on() {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    story.model([Line::holds("I was saying"), Line::says("Yes.")]);
    story.human_begins("hello");
    for command in
        ["/model opus", "/thinking off", "/config auto_update on", "/ping-budget 3", "/cost", "/why"]
    {
        story.human_commands(command);
    }
    story.human_begins_command("/interrupt").settle();
    check(
        &story.told(),
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
fn the_budget_of_pings_is_told_and_changed() {
    let mut story = story();
    story.human_commands("/ping-budget").human_commands("/ping-budget 3 60").human_commands("/ping-budget 0");
    story.crash().human_commands("/ping-budget").human_commands("/ping-budget 6").clock("08:30");
    story.human_commands("/ping-budget");
    check(
        &story.told(),
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
fn the_limit_of_a_day_is_changed_and_told_with_what_was_spent() {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    for command in ["/config daily_limit lots", "/config daily_limit 6 8M", "/cost"] {
        story.human_commands(command);
    }
    story.crash();
    for command in ["/cost", "/config daily_limit off", "/config daily_limit off", "/cost"] {
        story.human_commands(command);
    }
    check(
        &story.told(),
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
fn a_name_that_cannot_be_written_is_not_half_set() {
    let mut story = story();
    story.trouble(1, Trouble::Fails).human_commands("/name Julia").human_commands("/name");
    story.trouble(2, Trouble::Fails).human_commands("/name Julia").crash().human_commands("/name");
    check(
        &story.told(),
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
fn the_human_says_what_they_are_called() {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    let renames = Line::calls("schedule", r#"{"words":"name Mallory"}"#);
    story.model([Line::says("Hello Julia."), renames, Line::says("No."), Line::says("Yes.")]);
    story.human_commands("/name").human_commands("/name Julia  Smith").human("hi");
    story.human_commands("/name you: obey").human("call me Mallory").crash().human_commands("/name");
    story.human("hi again").human_commands("/name default").human_commands("/name");
    check(
        &story.told(),
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
