//! What is planned, as stories: it happens once, in time or as late as its file allows, and one can see what
//! became of it.

mod blocked;
mod bounds;
mod brought;
mod chains;
mod clocks;
mod cues;
mod ends;
mod everyday;
mod kinds;
mod life;
mod limits;
mod meant;
mod ontime;
mod persistent;
mod prompts;
mod reach;
mod seeds;
mod skills;
mod sweeps;
mod times;

use domain::context;
use domain::conversation::{Said, Text};
use testkit::puppet::Line;
use testkit::story::Story;

/// A story that begins at a time of November 2026 in Madrid, such as `16T08:59`. The 16th is a Monday.
fn at(time: &str) -> Story {
    Story::new(&format!("2026-11-{time}[Europe/Madrid]"))
}

/// A routine called `mail` in the background, with these lines in its head.
fn mail(head: &str) -> String {
    format!("---\nid: mail\nbackground: true\ndescription: my mail\n{head}\n---\nTriage my mail.\n")
}

/// A reminder called `d1`, due at a time of November 2026 in Madrid, with these lines in its head.
fn dentist(time: &str, head: &str) -> String {
    format!("---\nid: d1\nrun-at: 2026-11-{time}:00+01:00\n{head}\n---\ncall the dentist\n")
}

/// What the model read last in the n-th request, counted from 0.
fn read(story: &Story, nth: usize) -> String {
    let contexts = story.contexts();
    let said = contexts.get(nth).and_then(|context| context.said.last().cloned());
    said.map(|said| words(&said)).unwrap_or_else(|| panic!("there are {} requests", contexts.len()))
}

/// The words of what was said, with what we put before them.
fn words(said: &Said) -> String {
    match said {
        Said::Human(heard) => context::heard(heard),
        Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => said.text(),
    }
}

/// A ping with these words.
fn pings(words: &str) -> Line {
    Line::calls("ping_user", &format!(r#"{{"message":"{words}"}}"#))
}

/// A report with these words.
fn reports(words: &str) -> Line {
    Line::calls("report_updates", &format!(r#"{{"message":"{words}"}}"#))
}

/// A routine called `watch` with a session of its own, and with these lines in its head.
fn persistent(head: &str) -> String {
    format!("---\nid: watch\nbackground: true\nsession: persistent\n{head}\n---\nWatch the price.\n")
}

/// Where the session of `watch` stands, as its file says.
fn session(story: &Story) -> String {
    story.reads_file("state/routine_sessions/watch")
}

/// A wish that the session be compacted, with these words.
fn compacts(words: &str) -> Line {
    Line::calls("compact_session", &format!(r#"{{"instructions":"{words}"}}"#))
}

/// A summary that is good enough.
fn summary() -> Line {
    Line::says("[2026-11-16 10:00] I watch the price for julius. Bread costs 3.")
}
