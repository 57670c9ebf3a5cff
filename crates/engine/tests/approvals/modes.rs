//! Permission modes: which calls need an approval, where a mode applies, and what no mode allows.

use domain::tool::{ToolClass, ToolSpec};
use expect_test::expect;
use std::borrow::Cow;
use testkit::scripted_model::ModelOutcome;

use super::{FIRST_ITEM, check, remove, set_startup_mode, story};

/// PM-1, PM-3, SL-11, MC-28: the mode is shown, chosen by its exact name, and applies to a fork
/// alone if chosen there.
#[test]
fn mode_applies_to_the_current_conversation() {
    let mut story = story();
    story.script([
        ModelOutcome::text("I am here."),
        remove(FIRST_ITEM),
        ModelOutcome::text("Gone."),
        remove(r#"{"number":2}"#),
    ]);
    story
        .user_commands("/permissions")
        .user_commands("/permissions DEFAULT")
        .user_begins_command("/fork")
        .wait_for_line("I am here.");
    story.user_commands("/permissions bypassPermissions").user("drop the milk").user_commands("/exit");
    story.user_sends("and the tea").wait_for_line("asks 1>").user_stops();
    story
        .script([ModelOutcome::text("Here again.")])
        .user_begins_command("/fork")
        .wait_for_line("Here again.");
    story.user_commands("/permissions");
    check(
        story,
        &expect![[r#"
            human> /permissions
            told> the mode is `default`: i ask you before i do something that can't be taken back. the modes are `dontAsk`, `default`, `acceptEdits`, `bypassPermissions`.
            human> /permissions DEFAULT
            refused> `DEFAULT` is no mode. the modes are `dontAsk`, `default`, `acceptEdits`, `bypassPermissions`.
            human> /fork
            -- fork/3fdabe86 begins
            fork/3fdabe86> assistant: I am here.
            human> /permissions bypassPermissions
            told> in this side conversation the mode is `bypassPermissions`: i ask for nothing; only `state/` stays protected, and nothing changes in the background.
            human> drop the milk
            fork/3fdabe86> calls inbox_remove {"number":1}
            fork/3fdabe86> inbox_remove: removed 1: milk
            fork/3fdabe86> assistant: Gone.
            human> /exit
            -- fork/3fdabe86 discarded.
            human> and the tea
            main> calls inbox_remove {"number":2}
            asks 1> inbox_remove {"number":2}
            asks 1> cancelled (house)
            main> inbox_remove: Error: cancelled, not run. something else came before the human said yes or no to `inbox_remove`.
            main> stopped
            human> /fork
            -- fork/f5ba4eb7 begins
            fork/f5ba4eb7> assistant: Here again.
            human> /permissions
            told> the mode is `default`: i ask you before i do something that can't be taken back. the modes are `dontAsk`, `default`, `acceptEdits`, `bypassPermissions`.
        "#]],
    );
}

/// PM-1, PM-2, PM-5: in `dontAsk` calls are refused without asking, and the model reads which mode
/// would help.
#[test]
fn dont_ask_mode_refuses_without_asking() {
    let mut story = story();
    story.script([remove(FIRST_ITEM), ModelOutcome::text("I may not.")]);
    story.user_commands("/permissions dontAsk").user("drop the milk");
    check(
        story,
        &expect![[r#"
        human> /permissions dontAsk
        told> from now on the mode is `dontAsk`: i don't ask; what would need your yes is refused.
        human> drop the milk
        main> calls inbox_remove {"number":1}
        main> inbox_remove: Error: `inbox_remove` requires permission, and the human does not want to be asked now. it was not run. tell them what you wanted to do: with `/permissions default` they are asked, and you can try again.
        main> assistant: I may not.
    "#]],
    );
}

/// PM-4, MC-29, RC-7: the mode at the start is the one in the settings, and a change is not stored.
#[test]
fn startup_mode_comes_from_the_settings() {
    let mut story = story();
    set_startup_mode(&mut story, "acceptEdits");
    story
        .crash()
        .user_commands("/permissions")
        .user_commands("/permissions dontAsk")
        .crash()
        .user_commands("/permissions");
    check(
        story,
        &expect![[r#"
        -- crash
        human> /permissions
        told> the mode is `acceptEdits`: i edit files without asking, and ask for the rest. the modes are `dontAsk`, `default`, `acceptEdits`, `bypassPermissions`.
        human> /permissions dontAsk
        told> from now on the mode is `dontAsk`: i don't ask; what would need your yes is refused.
        -- crash
        human> /permissions
        told> the mode is `acceptEdits`: i edit files without asking, and ask for the rest. the modes are `dontAsk`, `default`, `acceptEdits`, `bypassPermissions`.
    "#]],
    );
}

/// PM-5, PM-6, TP-17: `state/` is write-protected in every mode, and edits are accepted only
/// outside it.
#[test]
fn state_directory_is_write_protected_in_every_mode() {
    let mut story = story();
    story.with_extra_tools(&[ToolSpec {
        name: "Write",
        description: Cow::Borrowed("Writes a file."),
        schema: "{}",
        class: ToolClass::Edits,
    }]);
    for mode in ["dontAsk", "default", "acceptEdits", "bypassPermissions"] {
        story.script([
            ModelOutcome::tool_calls(&[("Write", r#"{"file_path":"state/config.json"}"#), ("Write", "{}")]),
            ModelOutcome::text("I may not."),
        ]);
        story.user_commands(&format!("/permissions {mode}")).user("change the settings");
    }
    story.script([
        ModelOutcome::tool_call("Write", r#"{"file_path":"notes/day.md"}"#),
        ModelOutcome::text("Written."),
    ]);
    story.user_commands("/permissions acceptEdits").user("write it down");
    check(
        story,
        &expect![[r#"
        human> /permissions dontAsk
        told> from now on the mode is `dontAsk`: i don't ask; what would need your yes is refused.
        human> change the settings
        main> calls Write {"file_path":"state/config.json"}
        main> calls Write {}
        main> Write: Error: `state/` is write-protected: only the program itself writes there, in every mode. write somewhere else, or tell the human what you wanted to change.
        main> Write: Error: `Write` was called without a `file_path`, so nobody can say whether it may write there. call it again with one.
        main> assistant: I may not.
        human> /permissions default
        told> from now on the mode is `default`: i ask you before i do something that can't be taken back.
        human> change the settings
        main> calls Write {"file_path":"state/config.json"}
        main> calls Write {}
        main> Write: Error: `state/` is write-protected: only the program itself writes there, in every mode. write somewhere else, or tell the human what you wanted to change.
        main> Write: Error: `Write` was called without a `file_path`, so nobody can say whether it may write there. call it again with one.
        main> assistant: I may not.
        human> /permissions acceptEdits
        told> from now on the mode is `acceptEdits`: i edit files without asking, and ask for the rest.
        human> change the settings
        main> calls Write {"file_path":"state/config.json"}
        main> calls Write {}
        main> Write: Error: `state/` is write-protected: only the program itself writes there, in every mode. write somewhere else, or tell the human what you wanted to change.
        main> Write: Error: `Write` was called without a `file_path`, so nobody can say whether it may write there. call it again with one.
        main> assistant: I may not.
        human> /permissions bypassPermissions
        told> from now on the mode is `bypassPermissions`: i ask for nothing; only `state/` stays protected, and nothing changes in the background.
        human> change the settings
        main> calls Write {"file_path":"state/config.json"}
        main> calls Write {}
        main> Write: Error: `state/` is write-protected: only the program itself writes there, in every mode. write somewhere else, or tell the human what you wanted to change.
        main> Write: Error: `Write` was called without a `file_path`, so nobody can say whether it may write there. call it again with one.
        main> assistant: I may not.
        human> /permissions acceptEdits
        told> from now on the mode is `acceptEdits`: i edit files without asking, and ask for the rest.
        human> write it down
        main> calls Write {"file_path":"notes/day.md"}
        main> Write: did {"file_path":"notes/day.md"}
        main> assistant: Written.
    "#]],
    );
}
