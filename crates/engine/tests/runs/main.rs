//! Stories about background runs: beside main, tracked, replied to, and with buttons.

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

fn pings(words: &str) -> Line {
    Line::calls("ping_user", &format!(r#"{{"message":"{words}"}}"#))
}

fn reports(words: &str) -> Line {
    Line::calls("report_updates", &format!(r#"{{"message":"{words}"}}"#))
}

/// Returns the last entry of the n-th request, counted from 0.
fn read(story: &Story, nth: usize) -> String {
    match story.contexts()[nth].said.last().map(|said| &**said) {
        Some(Said::Human(heard)) => context::heard(heard),
        other => panic!("{other:?} was read"),
    }
}

/// Returns the last entry of the newest request.
fn read_last(story: &Story) -> String {
    read(story, story.contexts().len() - 1)
}
