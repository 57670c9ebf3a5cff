//! Commands with a time. An unreadable time is rejected here, because the assistant would take the
//! words for an inbox item.

use std::process::ExitCode;
use std::sync::Arc;

use domain::brain::{Change, Meant, Until, read};
use engine::ports::Clock;

use super::Speaker;
use crate::clock::SystemClock;
use crate::exit::Failed;
use crate::reach::note_if_nobody_rings;

impl Speaker<'_> {
    /// Plans or keeps `words`, unless their time is in the past.
    pub(super) async fn add(&self, words: &str) -> Result<ExitCode, Failed> {
        let notes = match self.meant(words) {
            Meant::Plan(reading) if reading.when.is_none() => reading.notes,
            Meant::Plan(_) => return self.plan(words).await,
            Meant::Unclear(notes) => notes,
            Meant::Talk(_)
            | Meant::Status
            | Meant::List(_)
            | Meant::Keep(_)
            | Meant::Change(_)
            | Meant::Untimed
            | Meant::Ease(_) => Vec::new(),
        };
        match notes.iter().find(|note| note.is_past()) {
            Some(note) => {
                Err(Failed::Usage(format!("{note}. `ollim-bot inbox add` keeps words as they are.")))
            }
            None => self.change(words).await,
        }
    }

    /// Plans `words`, which have a time.
    async fn plan(&self, words: &str) -> Result<ExitCode, Failed> {
        let code = self.change(words).await?;
        note_if_nobody_rings(self.settings, self.output).await;
        Ok(code)
    }

    /// Moves `which` to another time.
    pub(super) async fn move_to(&self, which: &str, when: &str) -> Result<ExitCode, Failed> {
        let when = when.strip_prefix("to ").unwrap_or(when);
        self.moves(&format!("move {which} to {when}"), when).await
    }

    /// Snoozes the last reminder, or the one that `words` name.
    pub(super) async fn snooze(&self, words: &str) -> Result<ExitCode, Failed> {
        self.moves(format!("snooze {words}").trim(), words).await
    }

    /// Sends `words`, which end with `when`, if they move something to a valid time.
    async fn moves(&self, words: &str, when: &str) -> Result<ExitCode, Failed> {
        let Meant::Change(Change::Move { to, .. }) = self.meant(words) else { return Err(no_time(when)) };
        match to {
            Ok(_) => self.change(words).await,
            Err(note) => Err(Failed::Usage(format!("{note}."))),
        }
    }

    /// Pauses all routines; `thursday` means `until thursday`.
    pub(super) async fn pause(&self, until: &str) -> Result<ExitCode, Failed> {
        let small = ["until ", "till ", "for "].iter().any(|small| until.starts_with(small));
        let words = if small { format!("pause {until}") } else { format!("pause until {until}") };
        let Meant::Change(Change::Pause(end)) = self.meant(&words) else { return Err(no_time(until)) };
        match end {
            Until::Then(_) => self.say(&words).await,
            Until::Unread(note) => Err(Failed::Usage(format!("{note}."))),
            Until::Told => Err(no_time(until)),
        }
    }

    /// Returns how the assistant would interpret `words`.
    fn meant(&self, words: &str) -> Meant {
        let now = SystemClock::new(self.settings.zone.value.clone()).now();
        let habits = journal::settings(&self.settings.paths, Arc::clone(&self.disk)).0.habits();
        read(words, &now, &habits)
    }
}

fn no_time(words: &str) -> Failed {
    Failed::Usage(format!("`{words}` is no time that i know. say one like `thu 11` or `tomorrow evening`."))
}
