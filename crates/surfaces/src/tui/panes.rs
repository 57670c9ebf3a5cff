//! The panes beside the conversation: the day, what goes on aside, the pings, and the help, as lines.

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::client::{Client, Unanswered};
use crate::terminal::glance::Glance;
use crate::terminal::screen::cut;

/// A part of the full screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// The conversation.
    Chat,
    /// The day.
    Today,
    /// What goes on aside.
    Forks,
    /// Pings and what was spent.
    Pings,
    /// The keys.
    Help,
}

impl Pane {
    /// The pane of a function key.
    pub fn of_key(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Help),
            2 => Some(Self::Today),
            3 => Some(Self::Forks),
            4 => Some(Self::Pings),
            _ => None,
        }
    }
}

/// How things stand beside the conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Looked {
    /// The day, the pings and what was spent.
    pub glance: Glance,
    /// What is planned, and what is being done about it.
    pub schedule: Value,
    /// How the assistant is.
    pub health: Value,
    /// What background runs left.
    pub updates: Value,
}

impl Looked {
    /// Looks. What cannot be seen is left out, and one that stands still is not asked for more: no key is read meanwhile.
    pub async fn look(client: &Client) -> Self {
        let health = match client.get_soon("/api/health").await {
            Err(Unanswered::Still(_)) => return Self::default(),
            health => health.unwrap_or_default(),
        };
        Self {
            glance: Glance::take(client).await,
            schedule: client.get("/api/schedule").await.unwrap_or_default(),
            health,
            updates: client.get("/api/updates").await.unwrap_or_default(),
        }
    }

    /// The day, in lines of this width.
    pub fn today(&self, width: usize) -> Vec<String> {
        let today = &self.glance.today;
        let mut lines: Vec<String> =
            list(&today["rest"]).enumerate().map(|(at, due)| self::due(at, due, width)).collect();
        if lines.is_empty() {
            lines.push("nothing left today".to_owned());
            lines.extend(today["next"].is_object().then(|| due(1, &today["next"], width)));
        }
        let missed = list(&today["missed"]).count();
        lines.extend((missed > 0).then(|| format!("missed: {missed}")));
        let inbox = today["inbox"].as_str().unwrap_or_default();
        if !inbox.is_empty() && inbox != "the inbox is empty." {
            lines.push("inbox:".to_owned());
            lines.extend(inbox.lines().map(|line| cut(line, width)));
        }
        lines
    }

    /// What goes on aside, if this is the side conversation that we are in.
    pub fn forks(&self, aside: Option<&str>, width: usize) -> Vec<String> {
        let aside =
            aside.map(|topic| cut(&format!("⑂ {}", if topic.is_empty() { "aside" } else { topic }), width));
        let doing = list(&self.schedule["jobs"]).filter(|job| job["open"].is_object()).map(|job| {
            let name = text(&job["name"]);
            let state = text(&job["open"]["state"]);
            cut(&format!("⟳ {name} · {state}"), width)
        });
        let mut lines: Vec<String> = aside.into_iter().chain(doing).collect();
        let updates = list(&self.updates["updates"]).count();
        lines.extend((updates > 0).then(|| format!("{updates} left for us: /updates")));
        if lines.is_empty() {
            lines.push("nothing".to_owned());
        }
        lines
    }

    /// The pings and what was spent.
    pub fn pings(&self, width: usize) -> Vec<String> {
        let gauge = self.glance.pings.as_deref().and_then(gauge);
        let spent = (self.glance.spent > 0.0).then(|| format!("${:.2} today", self.glance.spent));
        let limit = self.glance.limit.clone();
        let brain = self.health["brain"].as_str().map(str::to_owned);
        let attention = &self.glance.today["attention"];
        let focus = attention["focus"]["until"]["words"].as_str();
        let focus = focus.map(|until| format!("focus until {}", clock(until)));
        let quiet = attention["quiet_until"]["words"].as_str();
        let quiet = quiet.map(|until| format!("quiet until {}", clock(until)));
        let held = list(&attention["held"]).count();
        let held = (held > 0).then(|| format!("held {held}"));
        [gauge, focus, quiet, held, spent, limit, brain]
            .into_iter()
            .flatten()
            .map(|line| cut(&line, width))
            .collect()
    }
}

/// The clock alone of `today 15:00 · in 2 h`.
fn clock(words: &str) -> &str {
    let clock = words.split(" · ").next().unwrap_or(words);
    clock.strip_prefix("today ").unwrap_or(clock)
}

/// `2/3` as a gauge.
fn gauge(pings: &str) -> Option<String> {
    let (left, most) = pings.split_once('/')?;
    let (left, most): (usize, usize) = (left.parse().ok()?, most.parse().ok()?);
    let full = left.min(most).min(20);
    let empty = most.saturating_sub(left).min(20);
    Some(format!("{}{} {left} of {most}", "▮".repeat(full), "▯".repeat(empty)))
}

/// Something that comes, with the clock on the left and how long it is until then on the right.
fn due(at: usize, due: &Value, width: usize) -> String {
    let words = text(&due["words"]);
    let clock = clock(words);
    let distance = words.split_once(" · ").map_or("", |(_, distance)| distance);
    let mark = if at == 0 { "▶" } else { " " };
    let distance = distance.strip_prefix("in ").unwrap_or(distance);
    let room = width.saturating_sub(distance.width() + 1);
    let left = cut(&format!("{mark}{clock} {}", text(&due["name"])), room);
    let gap = width.saturating_sub(left.width() + distance.width());
    format!("{left}{}{distance}", " ".repeat(gap))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// What the keys do.
pub const HELP: [&str; 14] = [
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

    /// The screen looks at how things stand again and again. One that stands still holds it up for a moment only.
    #[tokio::test(start_paused = true)]
    async fn one_that_stands_still_is_looked_at_once() {
        let home = tempfile::tempdir().unwrap();
        let _deaf = std::os::unix::net::UnixListener::bind(home.path().join("door")).unwrap();
        let began = tokio::time::Instant::now();
        assert_eq!(Looked::look(&Client::new(home.path(), "door")).await, Looked::default());
        assert_eq!(began.elapsed().as_secs(), 5);
    }
}
