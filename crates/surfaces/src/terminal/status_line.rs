//! One line about the current state, shown before the first prompt.

use jiff::Zoned;
use serde_json::Value;

use crate::client::{Client, CommandReply};

/// The current state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusLine {
    /// Response of `/api/today`.
    pub today: Value,
    /// Cost of today in dollars.
    pub spent: f64,
    /// Pings left, such as `2/3`.
    pub pings: Option<String>,
    /// Notice that today's limit is near or reached.
    pub limit: Option<String>,
}

impl StatusLine {
    /// Fetches the state. What cannot be fetched is omitted.
    pub async fn fetch(client: &Client) -> Self {
        let today = client.get("/api/today").await.unwrap_or_default();
        let cost = client.get("/api/cost?days=1").await.unwrap_or_default();
        let pings = match client.execute("/ping-budget").await {
            Ok(CommandReply::Text(text)) => ping_count(&text),
            Ok(CommandReply::Started(_)) | Err(_) => None,
        };
        Self::from_values(today, &cost, pings)
    }

    fn from_values(today: Value, cost: &Value, pings: Option<String>) -> Self {
        let limit = cost["unattended"]["standing"].as_str().map(str::to_owned);
        Self { today, spent: cost["today"]["dollars"].as_f64().unwrap_or_default(), pings, limit }
    }

    /// Returns the line and the notice about the limit.
    pub fn greeting(&self, name: &str, now: &Zoned, width: usize) -> Vec<String> {
        [self.line(name, now, width)].into_iter().chain(self.limit.clone()).collect()
    }

    /// Returns one line of at most `width` characters for a user called `name`.
    pub fn line(&self, name: &str, now: &Zoned, width: usize) -> String {
        let mut line = format!("{name} · {}", now.strftime("%a %H:%M").to_string().to_lowercase());
        let pings = self.pings.as_ref().map(|pings| format!("pings {pings}"));
        let spent = (self.spent > 0.0).then(|| format!("${:.2}", self.spent));
        for part in [self.next(), pings, spent].into_iter().flatten() {
            if line.chars().count() + part.chars().count() + 3 <= width {
                line = format!("{line} · {part}");
            }
        }
        line
    }

    fn next(&self) -> Option<String> {
        let next = &self.today["next"];
        let name = next["name"].as_str()?;
        let words = next["words"].as_str()?;
        let (at, distance) = words.split_once(" · ")?;
        let at = at.strip_prefix("today ").unwrap_or(at);
        Some(format!("next {at} {name} ({distance})"))
    }
}

/// Finds the first text such as `2/3`.
fn ping_count(text: &str) -> Option<String> {
    let mut words = text.split(|letter: char| !(letter.is_ascii_digit() || letter == '/'));
    words.find(|word| word.split('/').filter(|number| !number.is_empty()).count() == 2).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_status_fits_into_one_line() {
        let now: Zoned = "2026-11-15T14:33[Europe/Berlin]".parse().unwrap();
        let today = json!({ "next": { "name": "dentist", "words": "today 15:00 · in 27 min" } });
        let cost = json!({ "today": { "dollars": 0.314 }, "unattended": { "standing": null } });
        let glance = StatusLine::from_values(today, &cost, ping_count("budget: 2/3 (next in 12 min)"));
        assert_eq!(glance.greeting("ollim", &now, 80), [glance.line("ollim", &now, 80)]);
        assert_eq!(
            glance.line("ollim", &now, 80),
            "ollim · sun 14:33 · next 15:00 dentist (in 27 min) · pings 2/3 · $0.31"
        );
        assert_eq!(glance.line("ollim", &now, 36), "ollim · sun 14:33 · pings 2/3");
        assert_eq!(StatusLine::default().line("ollim", &now, 80), "ollim · sun 14:33");
    }

    /// E4: the greeting shows that the limit was reached.
    #[test]
    fn the_greeting_shows_a_reached_limit() {
        let now: Zoned = "2026-11-15T14:33[Europe/Berlin]".parse().unwrap();
        let cost = json!({ "unattended": { "standing": "today's $1.00 is used up." } });
        let glance = StatusLine::from_values(Value::Null, &cost, None);
        assert_eq!(glance.greeting("ollim", &now, 80), ["ollim · sun 14:33", "today's $1.00 is used up."]);
    }
}
