//! The instructions and tools at the start of a conversation stay byte-identical; changes are
//! appended.

use std::borrow::Cow;

use domain::context::Context;
use domain::conversation::Said;
use domain::tool::{Class, ToolSpec};
use testkit::puppet::Line;
use testkit::story::Story;

fn story() -> Story {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    story.model((0..20).map(|n| Line::says(&format!("Answer {n}."))));
    story
}

fn notes(context: &Context) -> Vec<&str> {
    context.notes.iter().map(|note| &*note.text).collect()
}

/// Asserts that each note follows a user message and precedes a reply; otherwise the vendor refuses
/// the request.
fn assert_places(context: &Context) {
    for note in &context.notes {
        assert!(matches!(*context.said[note.after], Said::Human(_) | Said::Tools(_)), "{context:?}");
        let next = context.said.get(note.after + 1);
        assert!(next.is_none_or(|said| matches!(**said, Said::Assistant(..))), "{context:?}");
    }
}

#[test]
fn a_new_name_is_appended_and_stays_after_a_restart() {
    let mut story = story();
    story.human("one").human_commands("/name Julia").human("two").human("three").crash().human("four");

    let contexts = story.contexts();
    assert_eq!(contexts.len(), 4);
    assert!(contexts[0].instructions.contains("julius"));
    for context in &contexts {
        assert_eq!(context.instructions, contexts[0].instructions);
        assert_places(context);
    }
    assert_eq!(notes(&contexts[0]), [""; 0]);
    let told = notes(&contexts[1]);
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("Julia"), "{told:?}");
    assert_eq!(contexts[1].notes, contexts[2].notes);
    assert_eq!(contexts[1].notes, contexts[3].notes);
}

#[test]
fn a_newer_version_appends_its_instructions() {
    let mut story = story();
    story.human("one").updated_with_instructions("Answer in French.\n").human("two").human("three");

    let contexts = story.contexts();
    assert_eq!(contexts[0].instructions, contexts[2].instructions);
    let added = "Your instructions have changed.\nThese lines hold from now on:\nAnswer in French.\n";
    assert_eq!(notes(&contexts[1]), [added]);
    assert_eq!(contexts[1].notes, contexts[2].notes);
    assert_eq!(contexts[1].notes[0].after, contexts[1].said.len() - 1);
}

#[test]
fn a_summary_begins_with_the_newest_instructions_and_its_undo_with_the_old_ones() {
    let mut story = Story::new("2026-11-15T08:00[Europe/Madrid]");
    let summary = "They booked flight LH4711 to Lisbon, and like tea.";
    story.model(["Noted.", "Yes.", summary, "LH4711.", "Tea."].map(Line::says));
    story.human("my booking to Lisbon is LH4711").human_commands("/name Julia").human("i like tea");
    story.human_commands("/compact").human("four").human_commands("/undo").human("five");

    let contexts = story.contexts();
    let [.., before, compaction, after, undone] = contexts.as_slice() else { panic!("{contexts:?}") };
    assert_eq!(compaction.instructions, before.instructions, "the summary is written with the cache");
    assert_eq!(compaction.notes, before.notes);
    assert!(matches!(*after.said[0], Said::Summary(_)), "{after:?}");
    assert!(after.instructions.contains("Julia") && !after.instructions.contains("julius"));
    assert_eq!(notes(after), [""; 0]);
    assert_eq!(undone.instructions, before.instructions);
    assert_eq!(undone.notes, before.notes);
    assert_places(undone);
}

#[test]
fn a_note_of_a_side_talk_is_not_read_on_main() {
    let mut story = story();
    story.human("one").human_commands("/fork").human_commands("/name Julia").human("aside");
    story.human_commands("/exit").human("two");

    let contexts = story.contexts();
    let last = contexts.last().expect("a request");
    let aside = &contexts[contexts.len() - 2];
    assert_eq!(aside.instructions, contexts[0].instructions, "{aside:?}");
    assert_eq!((aside.notes.len(), last.notes.len()), (1, 1), "{aside:?} {last:?}");
    assert_ne!(aside.notes[0].after, last.notes[0].after);
    assert_places(last);
}

#[test]
fn descriptions_of_tools_stay_and_a_new_tool_is_offered_at_once() {
    let tool = |name, description| ToolSpec {
        name,
        description: Cow::Borrowed(description),
        schema: "{}",
        class: Class::Own,
    };
    let mut story = story();
    story.lend(&[tool("weather", "Tells the weather.")]).human("one");
    story.lend(&[tool("weather", "Tells the weather of a place.")]).human("two");
    story.lend(&[tool("weather", "Tells it."), tool("tides", "Tells the tides.")]).human("three");

    let contexts = story.contexts();
    assert_eq!(contexts[0].tools, contexts[1].tools);
    let names: Vec<_> = contexts[2].tools.iter().map(|tool| tool.name).collect();
    assert!(names.contains(&"tides"), "{names:?}");
}
