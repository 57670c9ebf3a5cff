//! The instructions and tools at the start of a conversation stay byte-identical; changes are
//! appended.

use std::borrow::Cow;

use domain::context::Context;
use domain::conversation::EntryContent;
use domain::tool::{ToolClass, ToolSpec};
use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;

fn story() -> Story {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    story.script((0..20).map(|n| ModelOutcome::text(&format!("Answer {n}."))));
    story
}

fn notes(context: &Context) -> Vec<&str> {
    context.notes.iter().map(|note| &*note.text).collect()
}

/// Asserts that each note follows a user message and precedes a reply; otherwise the vendor refuses
/// the request.
fn assert_note_positions(context: &Context) {
    for note in &context.notes {
        assert!(
            matches!(*context.entries[note.after], EntryContent::User(_) | EntryContent::Tools(_)),
            "{context:?}"
        );
        let next = context.entries.get(note.after + 1);
        assert!(next.is_none_or(|said| matches!(**said, EntryContent::Assistant(..))), "{context:?}");
    }
}

#[test]
fn new_name_is_appended_and_survives_a_restart() {
    let mut story = story();
    story.user("one").user_commands("/name Julia").user("two").user("three").crash().user("four");

    let contexts = story.contexts();
    assert_eq!(contexts.len(), 4);
    assert!(contexts[0].instructions.contains("julius"));
    for context in &contexts {
        assert_eq!(context.instructions, contexts[0].instructions);
        assert_note_positions(context);
    }
    assert_eq!(notes(&contexts[0]), [""; 0]);
    let told = notes(&contexts[1]);
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("Julia"), "{told:?}");
    assert_eq!(contexts[1].notes, contexts[2].notes);
    assert_eq!(contexts[1].notes, contexts[3].notes);
}

#[test]
fn newer_version_appends_its_instructions() {
    let mut story = story();
    story.user("one").restart_with_instructions("Answer in French.\n").user("two").user("three");

    let contexts = story.contexts();
    assert_eq!(contexts[0].instructions, contexts[2].instructions);
    let added = "Your instructions have changed.\nThese lines hold from now on:\nAnswer in French.\n";
    assert_eq!(notes(&contexts[1]), [added]);
    assert_eq!(contexts[1].notes, contexts[2].notes);
    assert_eq!(contexts[1].notes[0].after, contexts[1].entries.len() - 1);
}

#[test]
fn summary_has_the_newest_instructions_and_its_undo_the_old_ones() {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    let summary = "They booked flight LH4711 to Lisbon, and like tea.";
    story.script(["Noted.", "Yes.", summary, "LH4711.", "Tea."].map(ModelOutcome::text));
    story.user("my booking to Lisbon is LH4711").user_commands("/name Julia").user("i like tea");
    story.user_commands("/compact").user("four").user_commands("/undo").user("five");

    let contexts = story.contexts();
    let [.., before, compaction, after, undone] = contexts.as_slice() else { panic!("{contexts:?}") };
    assert_eq!(compaction.instructions, before.instructions, "the summary is written with the cache");
    assert_eq!(compaction.notes, before.notes);
    assert!(matches!(*after.entries[0], EntryContent::Summary(_)), "{after:?}");
    assert!(after.instructions.contains("Julia") && !after.instructions.contains("julius"));
    assert_eq!(notes(after), [""; 0]);
    assert_eq!(undone.instructions, before.instructions);
    assert_eq!(undone.notes, before.notes);
    assert_note_positions(undone);
}

#[test]
fn note_of_a_fork_is_not_read_on_main() {
    let mut story = story();
    story.user("one").user_commands("/fork").user_commands("/name Julia").user("aside");
    story.user_commands("/exit").user("two");

    let contexts = story.contexts();
    let last = contexts.last().expect("a request");
    let forked = &contexts[contexts.len() - 2];
    assert_eq!(forked.instructions, contexts[0].instructions, "{forked:?}");
    assert_eq!((forked.notes.len(), last.notes.len()), (1, 1), "{forked:?} {last:?}");
    assert_ne!(forked.notes[0].after, last.notes[0].after);
    assert_note_positions(last);
}

#[test]
fn descriptions_of_tools_stay_and_a_new_tool_is_offered_at_once() {
    let tool = |name, description| ToolSpec {
        name,
        description: Cow::Borrowed(description),
        schema: "{}",
        class: ToolClass::Own,
    };
    let mut story = story();
    story.with_extra_tools(&[tool("weather", "Tells the weather.")]).user("one");
    story.with_extra_tools(&[tool("weather", "Tells the weather of a place.")]).user("two");
    story.with_extra_tools(&[tool("weather", "Tells it."), tool("tides", "Tells the tides.")]).user("three");

    let contexts = story.contexts();
    assert_eq!(contexts[0].tools, contexts[1].tools);
    let names: Vec<_> = contexts[2].tools.iter().map(|tool| tool.name).collect();
    assert!(names.contains(&"tides"), "{names:?}");
}
