//! Stories about scheduled work: it runs once, on time or as late as its file allows, and its
//! outcome is visible.

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

/// Starts a story at a time of November 2026 in Madrid, such as `16T08:59`. The 16th is a Monday.
fn at(time: &str) -> Story {
    Story::new(&format!("2026-11-{time}[Europe/Madrid]"))
}

/// The background routine `mail` with these front matter lines.
fn mail(head: &str) -> String {
    format!("---\nid: mail\nbackground: true\ndescription: my mail\n{head}\n---\nTriage my mail.\n")
}

/// The reminder `d1`, due at a time of November 2026 in Madrid, with these front matter lines.
fn dentist(time: &str, head: &str) -> String {
    format!("---\nid: d1\nrun-at: 2026-11-{time}:00+01:00\n{head}\n---\ncall the dentist\n")
}

/// Returns the last entry of the n-th request, counted from 0.
fn read(story: &Story, nth: usize) -> String {
    let contexts = story.contexts();
    let said = contexts.get(nth).and_then(|context| context.said.last().cloned());
    said.map(|said| words(&said)).unwrap_or_else(|| panic!("there are {} requests", contexts.len()))
}

/// Returns the text of an entry, including its preface.
fn words(said: &Said) -> String {
    match said {
        Said::Human(heard) => context::heard(heard),
        Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => said.text(),
    }
}

fn pings(words: &str) -> Line {
    Line::calls("ping_user", &format!(r#"{{"message":"{words}"}}"#))
}

fn reports(words: &str) -> Line {
    Line::calls("report_updates", &format!(r#"{{"message":"{words}"}}"#))
}

/// The persistent routine `watch` with these front matter lines.
fn persistent(head: &str) -> String {
    format!("---\nid: watch\nbackground: true\nsession: persistent\n{head}\n---\nWatch the price.\n")
}

/// Returns the session id in the file of `watch`.
fn session(story: &Story) -> String {
    story.reads_file("state/routine_sessions/watch")
}

/// A request to compact the session with these instructions.
fn compacts(words: &str) -> Line {
    Line::calls("compact_session", &format!(r#"{{"instructions":"{words}"}}"#))
}

/// A summary that passes the checks.
fn summary() -> Line {
    Line::says("[2026-11-16 10:00] I watch the price for julius. Bread costs 3.")
}
