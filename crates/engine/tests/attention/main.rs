//! Stories about the user's attention: pings that can wait are deferred in quiet times and shown
//! once, later.
#![expect(clippy::unwrap_used, reason = "fixtures set up by a test exist")]

mod cards;
mod digests;
mod focus;
mod limits;
mod pressing_words;
mod quiet;
mod seeds;
mod why;

use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use testkit::story::Story;

/// Starts a story at a time of November 2026 in Madrid, such as `16T08:59`. The 16th is a Monday.
/// `model` scripts the runs of the routine `mail`.
fn story_at(time: &str, model: ScriptedModel) -> Story {
    Story::with_model(&format!("2026-11-{time}[Europe/Madrid]"), model)
}

/// A model whose background runs each send one numbered ping.
fn pinging_model() -> ScriptedModel {
    let mut pings = 0;
    ScriptedModel::answering(move |context| {
        let last = context.entries.last().map(|said| text_of(said)).unwrap_or_default();
        if last.contains("[routine-bg:") {
            pings += 1;
            ModelOutcome::tool_call("ping_user", &format!(r#"{{"message":"ping {pings}"}}"#))
        } else {
            ModelOutcome::text("Done.")
        }
    })
}

/// Returns the file of the routine `mail`, which runs in the background at these minutes and hours.
fn mail_routine(times: &str) -> String {
    format!(
        "---\nid: mail\nbackground: true\ndescription: my mail\ncron: {times} * * *\nupdate-main-session: freely\n---\n\
         Triage my mail.\n"
    )
}

fn text_of(said: &domain::conversation::EntryContent) -> String {
    use domain::conversation::{EntryContent, Text};
    match said {
        EntryContent::User(heard) => domain::context::user_text(heard),
        EntryContent::Assistant(..)
        | EntryContent::Tools(_)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => said.text(),
    }
}

/// Returns how often `words` occurs in the transcript.
fn count(story: &Story, words: &str) -> usize {
    story.transcript().matches(words).count()
}
