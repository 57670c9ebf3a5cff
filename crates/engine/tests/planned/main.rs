//! Stories about scheduled work: it runs once, on time or as late as its file allows, and its
//! outcome is visible.

mod blocked_loop;
mod chains;
mod clock_changes;
mod cues;
mod daily_limit;
mod due_times;
mod everyday;
mod natural_language;
mod original_checks;
mod outcomes;
mod persistent_routines;
mod ping_limits;
mod pings_and_reports;
mod prompts;
mod punctuality;
mod random_sweeps;
mod run_kinds;
mod simulation;
mod skills;
mod webhooks;

use domain::context;
use domain::conversation::{EntryContent, Text};
use testkit::scripted_model::ModelOutcome;
use testkit::story::Story;

/// Starts a story at a time of November 2026 in Madrid, such as `16T08:59`. The 16th is a Monday.
fn story_at(time: &str) -> Story {
    Story::new(&format!("2026-11-{time}[Europe/Madrid]"))
}

/// The background routine `mail` with these front matter lines.
fn mail_routine(head: &str) -> String {
    format!("---\nid: mail\nbackground: true\ndescription: my mail\n{head}\n---\nTriage my mail.\n")
}

/// The reminder `d1`, due at a time of November 2026 in Madrid, with these front matter lines.
fn dentist_reminder(time: &str, head: &str) -> String {
    format!("---\nid: d1\nrun-at: 2026-11-{time}:00+01:00\n{head}\n---\ncall the dentist\n")
}

/// Returns the last entry of the n-th request, counted from 0.
fn read_in_request(story: &Story, nth: usize) -> String {
    let contexts = story.contexts();
    let said = contexts.get(nth).and_then(|context| context.entries.last().cloned());
    said.map(|said| text_of(&said)).unwrap_or_else(|| panic!("there are {} requests", contexts.len()))
}

/// Returns the text of an entry, including its preface.
fn text_of(said: &EntryContent) -> String {
    match said {
        EntryContent::User(heard) => context::user_text(heard),
        EntryContent::Assistant(..)
        | EntryContent::Tools(_)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => said.text(),
    }
}

fn ping_call(words: &str) -> ModelOutcome {
    ModelOutcome::tool_call("ping_user", &format!(r#"{{"message":"{words}"}}"#))
}

fn report_call(words: &str) -> ModelOutcome {
    ModelOutcome::tool_call("report_updates", &format!(r#"{{"message":"{words}"}}"#))
}

/// The persistent routine `watch` with these front matter lines.
fn watch_routine(head: &str) -> String {
    format!("---\nid: watch\nbackground: true\nsession: persistent\n{head}\n---\nWatch the price.\n")
}

/// Returns the session id in the file of `watch`.
fn session_id(story: &Story) -> String {
    story.read_file("state/routine_sessions/watch")
}

/// A request to compact the session with these instructions.
fn compaction_call(words: &str) -> ModelOutcome {
    ModelOutcome::tool_call("compact_session", &format!(r#"{{"instructions":"{words}"}}"#))
}

/// A summary that passes the checks.
fn summary_reply() -> ModelOutcome {
    ModelOutcome::text("[2026-11-16 10:00] I watch the price for julius. Bread costs 3.")
}
