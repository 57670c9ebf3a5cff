//! Stories about background runs: beside main, tracked, replied to, and with buttons.

mod background;
mod button_faults;
mod buttons;
mod crashes;
mod replies;

use domain::context;
use domain::conversation::EntryContent;
use expect_test::Expect;
use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;

fn story() -> Story {
    Story::new("2026-11-15T08:00[Europe/Madrid]")
}

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

fn ping_call(words: &str) -> ModelOutcome {
    ModelOutcome::tool_call("ping_user", &format!(r#"{{"message":"{words}"}}"#))
}

fn report_call(words: &str) -> ModelOutcome {
    ModelOutcome::tool_call("report_updates", &format!(r#"{{"message":"{words}"}}"#))
}

/// Returns the last entry of the n-th request, counted from 0.
fn read_in_request(story: &Story, nth: usize) -> String {
    match story.contexts()[nth].entries.last().map(|said| &**said) {
        Some(EntryContent::User(heard)) => context::user_text(heard),
        other => panic!("{other:?} was read"),
    }
}

/// Returns the last entry of the newest request.
fn read_last(story: &Story) -> String {
    read_in_request(story, story.contexts().len() - 1)
}
