//! Background runs as stories: beside main, tracked, replied to, and pressed.

mod beside;
mod buttons;
mod crashes;
mod pressed;
mod replies;

use domain::context;
use domain::conversation::Said;
use expect_test::Expect;
use testkit::puppet::Line;
use testkit::story::Story;

fn story() -> Story {
    Story::new("2026-11-15T08:00[Europe/Madrid]")
}

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

/// A ping with these words.
fn pings(words: &str) -> Line {
    Line::calls("ping_user", &format!(r#"{{"message":"{words}"}}"#))
}

/// A report with these words.
fn reports(words: &str) -> Line {
    Line::calls("report_updates", &format!(r#"{{"message":"{words}"}}"#))
}

/// What the model read last in the n-th request, counted from 0.
fn read(story: &Story, nth: usize) -> String {
    match story.contexts()[nth].said.last().map(|said| &**said) {
        Some(Said::Human(heard)) => context::heard(heard),
        other => panic!("{other:?} was read"),
    }
}

/// What the model read last in its newest request.
fn read_last(story: &Story) -> String {
    read(story, story.contexts().len() - 1)
}
