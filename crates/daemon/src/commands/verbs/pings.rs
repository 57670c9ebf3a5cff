//! `ollim-bot pings`: shows the ping budget, deferred items and today's pings.

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::Value;

use super::Speaker;
use crate::commands::answer;
use crate::exit::Failed;
use crate::reach::Reached;

/// The most pings that are listed.
const TOLD: usize = 10;

impl Speaker<'_> {
    /// Shows budget, quiet hours, focus and pings.
    pub(super) async fn pings(&self) -> Result<ExitCode, Failed> {
        let reached = Reached::new(self.settings, Arc::clone(&self.disk)).await?;
        let pings = reached.client.get("/api/pings?days=1").await;
        reached.leave().await;
        let pings = pings?;
        answer(self.output, &pings, &told(&pings));
        Ok(ExitCode::SUCCESS)
    }
}

fn told(pings: &Value) -> String {
    let attention = &pings["attention"];
    let mut lines = vec![word(&pings["budget"], "words").to_owned()];
    lines.push(match attention["quiet_until"]["words"].as_str() {
        Some(until) => format!("quiet until {until}"),
        None => format!("quiet hours: {}", word(attention, "quiet")),
    });
    if let Some(until) = attention["focus"]["until"]["words"].as_str() {
        lines.push(format!("focus until {until}"));
    }
    let held = |it: &Value| format!("held:{}", it["id"]);
    lines.extend(section("held", &attention["held"], held));
    lines.extend(section("today", &pings["pings"], |it| word(it, "why").to_owned()));
    if lines.iter().any(|line| line.starts_with("  ")) {
        lines.push("how each came about: ollim-bot why, and the name before its words".to_owned());
    }
    lines.join("\n")
}

/// Formats a list with a heading; empty if it has no items. Each line has the argument for
/// `ollim-bot why`.
fn section(name: &str, list: &Value, key: fn(&Value) -> String) -> Vec<String> {
    let all = list.as_array().map_or(&[][..], Vec::as_slice);
    let line = |it: &Value| {
        let at = word(it, "at");
        let why = it["outcome"].as_str().or(it["why"].as_str()).unwrap_or_default();
        let clock = at.get(11..16).unwrap_or_default().to_owned();
        format!("  {clock}  {}  {}  ({why})", key(it), word(it, "words").replace('\n', " "))
    };
    let head = (!all.is_empty()).then(|| format!("{name}: {}", all.len()));
    head.into_iter().chain(all.iter().take(TOLD).map(line)).collect()
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
