//! Stories about the user's attention: pings that can wait are deferred in quiet times and shown
//! once, later.
#![expect(clippy::unwrap_used, reason = "fixtures set up by a test exist")]

mod cards;
mod digests;
mod ease;
mod limits;
mod quiet;
mod seeds;
mod why;
mod words;

use testkit::puppet::{Line, Puppet};
use testkit::story::Story;

/// Starts a story at a time of November 2026 in Madrid, such as `16T08:59`. The 16th is a Monday.
/// `puppet` scripts the runs of the routine `mail`.
fn at(time: &str, puppet: Puppet) -> Story {
    Story::played_by(&format!("2026-11-{time}[Europe/Madrid]"), puppet)
}

/// A model whose background runs each send one numbered ping.
fn pinging() -> Puppet {
    let mut pings = 0;
    Puppet::answering(move |context| {
        let last = context.said.last().map(|said| words(said)).unwrap_or_default();
        if last.contains("[routine-bg:") {
            pings += 1;
            Line::calls("ping_user", &format!(r#"{{"message":"ping {pings}"}}"#))
        } else {
            Line::says("Done.")
        }
    })
}

/// Returns the file of the routine `mail`, which runs in the background at these minutes and hours.
fn mail(times: &str) -> String {
    format!(
        "---\nid: mail\nbackground: true\ndescription: my mail\ncron: {times} * * *\nupdate-main-session: freely\n---\n\
         Triage my mail.\n"
    )
}

fn words(said: &domain::conversation::Said) -> String {
    use domain::conversation::{Said, Text};
    match said {
        Said::Human(heard) => domain::context::heard(heard),
        Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => said.text(),
    }
}

/// Returns how often `words` occurs in the transcript.
fn count(story: &Story, words: &str) -> usize {
    story.told().matches(words).count()
}
