//! `ollim-bot today`: shows the rest of the day, or the plan of another day.

use std::process::ExitCode;
use std::sync::Arc;

use domain::brain::{Meant, Span, read};
use domain::phrase::Habits;
use engine::ports::Clock;
use jiff::civil::Date;
use jiff::{ToSpan, Zoned};
use serde_json::Value;

use super::{Speaker, text};
use crate::clock::SystemClock;
use crate::commands::answer;
use crate::exit::Failed;
use crate::reach::Reached;

impl Speaker<'_> {
    /// Shows the rest of today, missed reminders and the inbox.
    pub(super) async fn today(&self) -> Result<ExitCode, Failed> {
        let reached = Reached::new(self.settings, Arc::clone(&self.disk)).await?;
        // `today` alone could be taken for the answer to an earlier question.
        let seen = async {
            let listed = reached.ask("agenda for today").await?;
            Ok::<_, Failed>((listed, reached.client.get("/api/today").await?))
        };
        let seen = seen.await;
        reached.leave().await;
        let (listed, today) = seen?;
        answer(self.output, &today, &told(text(&listed), &today));
        Ok(ExitCode::SUCCESS)
    }

    /// Shows the plan of the day or week that `words` name.
    pub(super) async fn day(&self, words: &str) -> Result<ExitCode, Failed> {
        let now = SystemClock::new(self.settings.zone.value.clone()).now();
        let habits = journal::settings(&self.settings.paths, Arc::clone(&self.disk)).0.habits();
        let (from, to) = days(words, &now, &habits).ok_or_else(|| {
            let like = "say one like `tomorrow`, `friday`, `24.12.` or `week`.";
            Failed::Usage(format!("`{words}` is no day that i know. {like}"))
        })?;
        let reached = Reached::new(self.settings, Arc::clone(&self.disk)).await?;
        let (listed, window) = if self.output.json {
            (Ok(Value::Null), reached.client.get(&format!("/api/schedule?from={from}&to={to}")).await)
        } else {
            (reached.ask(&format!("agenda for {words}")).await, Ok(Value::Null))
        };
        reached.leave().await;
        answer(self.output, &window?, text(&listed?));
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the first day that `words` name, and the day after the last.
fn days(words: &str, now: &Zoned, habits: &Habits) -> Option<(Date, Date)> {
    let Meant::List(span) = read(&format!("agenda for {words}"), now, habits) else {
        return None;
    };
    let (first, days) = match span {
        Span::Today => (now.date(), 1),
        Span::Tomorrow => (now.date().tomorrow().ok()?, 1),
        Span::Day(day) => (day, 1),
        Span::Week => (now.date(), 7),
        Span::Next | Span::Inbox | Span::Changes | Span::About(_) => return None,
    };
    Some((first, first.checked_add(days.days()).ok()?))
}

/// Appends hints about missed reminders and the inbox.
fn told(listed: &str, today: &Value) -> String {
    let mut lines = vec![listed.to_owned()];
    let missed = today["missed"].as_array().map_or(0, Vec::len);
    if missed > 0 {
        lines.push(format!("missed in the last days: {missed}. `ollim-bot why reminder:ID` tells of each."));
    }
    if let Some(count) = today["kept"].as_array().map(Vec::len).filter(|count| *count > 0) {
        lines.push(format!("in the inbox: {count}. `ollim-bot inbox` lists them."));
    }
    lines.join("\n")
}
