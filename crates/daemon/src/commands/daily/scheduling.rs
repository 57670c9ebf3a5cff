//! Commands with a time. An unreadable time is rejected here, because the assistant would take the
//! words for an inbox item.

use std::process::ExitCode;
use std::sync::Arc;

use domain::intent::{ChangeRequest, Intent, PauseEnd, parse};
use engine::ports::Clock;

use super::DailyCommands;
use crate::clock::SystemClock;
use crate::connection::warn_if_not_running;
use crate::exit::CommandError;

impl DailyCommands<'_> {
    /// Plans or keeps `words`, unless their time is in the past.
    pub(super) async fn add(&self, words: &str) -> Result<ExitCode, CommandError> {
        let notes = match self.interpret(words) {
            Intent::Plan(reading) if reading.when.is_none() => reading.notes,
            Intent::Plan(_) => return self.plan(words).await,
            Intent::Unclear(notes) => notes,
            Intent::SmallTalk(_)
            | Intent::Status
            | Intent::List(_)
            | Intent::Keep(_)
            | Intent::Change(_)
            | Intent::Untimed
            | Intent::Quiet(_) => Vec::new(),
        };
        match notes.iter().find(|note| note.is_past()) {
            Some(note) => {
                Err(CommandError::Usage(format!("{note}. `ollim-bot inbox add` keeps words as they are.")))
            }
            None => self.change_and_print(words).await,
        }
    }

    /// Plans `words`, which have a time.
    async fn plan(&self, words: &str) -> Result<ExitCode, CommandError> {
        let code = self.change_and_print(words).await?;
        warn_if_not_running(self.settings, self.output).await;
        Ok(code)
    }

    /// Moves `which` to another time.
    pub(super) async fn move_to(&self, which: &str, when: &str) -> Result<ExitCode, CommandError> {
        let when = when.strip_prefix("to ").unwrap_or(when);
        self.reschedule(&format!("move {which} to {when}"), when).await
    }

    /// Snoozes the last reminder, or the one that `words` name.
    pub(super) async fn snooze(&self, words: &str) -> Result<ExitCode, CommandError> {
        self.reschedule(format!("snooze {words}").trim(), words).await
    }

    /// Sends `words`, which end with `when`, if they move something to a valid time.
    async fn reschedule(&self, words: &str, when: &str) -> Result<ExitCode, CommandError> {
        let Intent::Change(ChangeRequest::Move { to, .. }) = self.interpret(words) else {
            return Err(unknown_time(when));
        };
        match to {
            Ok(_) => self.change_and_print(words).await,
            Err(note) => Err(CommandError::Usage(format!("{note}."))),
        }
    }

    /// Pauses all routines; `thursday` means `until thursday`.
    pub(super) async fn pause(&self, until: &str) -> Result<ExitCode, CommandError> {
        let small = ["until ", "till ", "for "].iter().any(|small| until.starts_with(small));
        let words = if small { format!("pause {until}") } else { format!("pause until {until}") };
        let Intent::Change(ChangeRequest::Pause(end)) = self.interpret(&words) else {
            return Err(unknown_time(until));
        };
        match end {
            PauseEnd::At(_) => self.ask_and_print(&words).await,
            PauseEnd::Invalid(note) => Err(CommandError::Usage(format!("{note}."))),
            PauseEnd::Indefinite => Err(unknown_time(until)),
        }
    }

    /// Returns how the assistant would interpret `words`.
    fn interpret(&self, words: &str) -> Intent {
        let now = SystemClock::new(self.settings.zone.value.clone()).now();
        let habits = journal::settings(&self.settings.paths, Arc::clone(&self.disk)).0.habits();
        parse(words, &now, &habits)
    }
}

fn unknown_time(words: &str) -> CommandError {
    CommandError::Usage(format!(
        "`{words}` is no time that i know. say one like `thu 11` or `tomorrow evening`."
    ))
}
