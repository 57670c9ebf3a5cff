//! The panes next to the conversation: day, forks, pings and help, rendered as lines.

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::client::{Client, ClientError};
use crate::terminal::screen::truncate;
use crate::terminal::status_line::StatusLine;

/// A pane of the full screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    Chat,
    Today,
    /// Fork, background runs and updates.
    Forks,
    /// Ping budget and cost.
    Pings,
    Help,
}

impl Pane {
    /// Returns the pane of a function key.
    pub fn for_key(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Help),
            2 => Some(Self::Today),
            3 => Some(Self::Forks),
            4 => Some(Self::Pings),
            _ => None,
        }
    }
}

/// Data of the panes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// Day, ping budget and cost.
    pub status_line: StatusLine,
    /// Plans and their running occurrences.
    pub schedule: Value,
    pub health: Value,
    /// Unread updates of background runs.
    pub updates: Value,
}

impl Overview {
    /// Fetches the data. What cannot be fetched is omitted. Stops after the health query if the
    /// daemon hangs, because no key is handled meanwhile.
    pub async fn fetch(client: &Client) -> Self {
        let health = match client.get_health("/api/health").await {
            Err(ClientError::NoAnswer(_)) => return Self::default(),
            health => health.unwrap_or_default(),
        };
        Self {
            status_line: StatusLine::fetch(client).await,
            schedule: client.get("/api/schedule").await.unwrap_or_default(),
            health,
            updates: client.get("/api/updates").await.unwrap_or_default(),
        }
    }

    /// Renders the day.
    pub fn today(&self, width: usize) -> Vec<String> {
        let today = &self.status_line.today;
        let mut lines: Vec<String> =
            list(&today["rest"]).enumerate().map(|(at, due)| self::due_line(at, due, width)).collect();
        if lines.is_empty() {
            lines.push("nothing left today".to_owned());
            lines.extend(today["next"].is_object().then(|| due_line(1, &today["next"], width)));
        }
        let missed = list(&today["missed"]).count();
        lines.extend((missed > 0).then(|| format!("missed: {missed}")));
        let inbox = today["inbox"].as_str().unwrap_or_default();
        if !inbox.is_empty() && inbox != "the inbox is empty." {
            lines.push("inbox:".to_owned());
            lines.extend(inbox.lines().map(|line| truncate(line, width)));
        }
        lines
    }

    /// Renders the open fork with topic `aside` and the running jobs.
    pub fn forks(&self, aside: Option<&str>, width: usize) -> Vec<String> {
        let aside = aside
            .map(|topic| truncate(&format!("⑂ {}", if topic.is_empty() { "aside" } else { topic }), width));
        let doing = list(&self.schedule["jobs"]).filter(|job| job["open"].is_object()).map(|job| {
            let name = text(&job["name"]);
            let state = text(&job["open"]["state"]);
            truncate(&format!("⟳ {name} · {state}"), width)
        });
        let mut lines: Vec<String> = aside.into_iter().chain(doing).collect();
        let updates = list(&self.updates["updates"]).count();
        lines.extend((updates > 0).then(|| format!("{updates} left for us: /updates")));
        if lines.is_empty() {
            lines.push("nothing".to_owned());
        }
        lines
    }

    /// Renders the ping budget and cost.
    pub fn pings(&self, width: usize) -> Vec<String> {
        let gauge = self.status_line.pings.as_deref().and_then(ping_gauge);
        let spent = (self.status_line.spent > 0.0).then(|| format!("${:.2} today", self.status_line.spent));
        let limit = self.status_line.limit.clone();
        let brain = self.health["brain"].as_str().map(str::to_owned);
        let attention = &self.status_line.today["attention"];
        let focus = attention["focus"]["until"]["words"].as_str();
        let focus = focus.map(|until| format!("focus until {}", time_part(until)));
        let quiet = attention["quiet_until"]["words"].as_str();
        let quiet = quiet.map(|until| format!("quiet until {}", time_part(until)));
        let held = list(&attention["held"]).count();
        let held = (held > 0).then(|| format!("held {held}"));
        [gauge, focus, quiet, held, spent, limit, brain]
            .into_iter()
            .flatten()
            .map(|line| truncate(&line, width))
            .collect()
    }
}

/// Extracts the time from `today 15:00 · in 2 h`.
fn time_part(words: &str) -> &str {
    let clock = words.split(" · ").next().unwrap_or(words);
    clock.strip_prefix("today ").unwrap_or(clock)
}

/// Renders `2/3` as a gauge.
fn ping_gauge(pings: &str) -> Option<String> {
    let (left, most) = pings.split_once('/')?;
    let (left, most): (usize, usize) = (left.parse().ok()?, most.parse().ok()?);
    let full = left.min(most).min(20);
    let empty = most.saturating_sub(left).min(20);
    Some(format!("{}{} {left} of {most}", "▮".repeat(full), "▯".repeat(empty)))
}

/// Renders a due item with its time on the left and the remaining time on the right.
fn due_line(at: usize, due: &Value, width: usize) -> String {
    let words = text(&due["words"]);
    let clock = time_part(words);
    let distance = words.split_once(" · ").map_or("", |(_, distance)| distance);
    let mark = if at == 0 { "▶" } else { " " };
    let distance = distance.strip_prefix("in ").unwrap_or(distance);
    let room = width.saturating_sub(distance.width() + 1);
    let left = truncate(&format!("{mark}{clock} {}", text(&due["name"])), room);
    let gap = width.saturating_sub(left.width() + distance.width());
    format!("{left}{}{distance}", " ".repeat(gap))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The help text.
pub const HELP_LINES: [&str; 14] = [
    "enter       send",
    "ctrl+j      a new line",
    "up, down    what you typed before",
    "esc         stop the answer; back",
    "pgup, pgdn  scroll",
    "F2          the day",
    "F3          what goes on aside",
    "F4          pings and cost",
    "F1          this, and away again",
    "d 1 m x     done, 10 min, move, drop:",
    "            the reminder that rang last",
    "y n         yes, no: what i asked last",
    "u           undo the last change",
    "ctrl+c      clear the line; twice: leave",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A hung daemon delays the full screen only for the timeout of one health query.
    #[tokio::test(start_paused = true)]
    async fn a_hung_daemon_is_queried_only_once() {
        let home = tempfile::tempdir().unwrap();
        let _deaf = std::os::unix::net::UnixListener::bind(home.path().join("door")).unwrap();
        let began = tokio::time::Instant::now();
        assert_eq!(Overview::fetch(&Client::new(home.path(), "door")).await, Overview::default());
        assert_eq!(began.elapsed().as_secs(), 5);
    }
}
