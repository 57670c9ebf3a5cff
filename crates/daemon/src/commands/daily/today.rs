//! `ollim-bot today`: shows the rest of the day, or the plan of another day.

use std::process::ExitCode;
use std::sync::Arc;

use domain::intent::{Intent, ListRange, parse};
use domain::phrase::Habits;
use engine::ports::Clock;
use jiff::civil::Date;
use jiff::{ToSpan, Zoned};
use serde_json::Value;

use super::{DailyCommands, reply_text};
use crate::clock::SystemClock;
use crate::commands::print_result;
use crate::connection::Connection;
use crate::exit::CommandError;

impl DailyCommands<'_> {
    /// Shows the rest of today, missed reminders and the inbox.
    pub(super) async fn today(&self) -> Result<ExitCode, CommandError> {
        let reached = Connection::new(self.settings, Arc::clone(&self.disk)).await?;
        // `today` alone could be taken for the answer to an earlier question.
        let seen = async {
            let listed = reached.ask("agenda for today").await?;
            Ok::<_, CommandError>((listed, reached.client.get("/api/today").await?))
        };
        let seen = seen.await;
        reached.close().await;
        let (listed, today) = seen?;
        print_result(self.output, &today, &with_hints(reply_text(&listed), &today));
        Ok(ExitCode::SUCCESS)
    }

    /// Shows the plan of the day or week that `words` name.
    pub(super) async fn day(&self, words: &str) -> Result<ExitCode, CommandError> {
        let now = SystemClock::new(self.settings.zone.value.clone()).now();
        let habits = journal::settings(&self.settings.paths, Arc::clone(&self.disk)).0.habits();
        let (from, to) = date_range(words, &now, &habits).ok_or_else(|| {
            let like = "say one like `tomorrow`, `friday`, `24.12.` or `week`.";
            CommandError::Usage(format!("`{words}` is no day that i know. {like}"))
        })?;
        let reached = Connection::new(self.settings, Arc::clone(&self.disk)).await?;
        let (listed, window) = if self.output.json {
            (Ok(Value::Null), reached.client.get(&format!("/api/schedule?from={from}&to={to}")).await)
        } else {
            (reached.ask(&format!("agenda for {words}")).await, Ok(Value::Null))
        };
        reached.close().await;
        print_result(self.output, &window?, reply_text(&listed?));
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the first day that `words` name, and the day after the last.
fn date_range(words: &str, now: &Zoned, habits: &Habits) -> Option<(Date, Date)> {
    let Intent::List(span) = parse(&format!("agenda for {words}"), now, habits) else {
        return None;
    };
    let (first, days) = match span {
        ListRange::Today => (now.date(), 1),
        ListRange::Tomorrow => (now.date().tomorrow().ok()?, 1),
        ListRange::Day(day) => (day, 1),
        ListRange::Week => (now.date(), 7),
        ListRange::Next | ListRange::Inbox | ListRange::Changes | ListRange::About(_) => return None,
    };
    Some((first, first.checked_add(days.days()).ok()?))
}

/// Appends hints about missed reminders and the inbox.
fn with_hints(listed: &str, today: &Value) -> String {
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
