//! `ollim-bot pings`: shows the ping budget, deferred items and today's pings.

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::Value;

use super::DailyCommands;
use crate::commands::print_result;
use crate::connection::Connection;
use crate::exit::CommandError;

/// The most pings that are listed.
const MAX_PINGS: usize = 10;

impl DailyCommands<'_> {
    /// Shows budget, quiet hours, focus and pings.
    pub(super) async fn pings(&self) -> Result<ExitCode, CommandError> {
        let reached = Connection::new(self.settings, Arc::clone(&self.disk)).await?;
        let pings = reached.client.get("/api/pings?days=1").await;
        reached.close().await;
        let pings = pings?;
        print_result(self.output, &pings, &to_text(&pings));
        Ok(ExitCode::SUCCESS)
    }
}

fn to_text(pings: &Value) -> String {
    let attention = &pings["attention"];
    let mut lines = vec![str_field(&pings["budget"], "words").to_owned()];
    lines.push(match attention["quiet_until"]["words"].as_str() {
        Some(until) => format!("quiet until {until}"),
        None => format!("quiet hours: {}", str_field(attention, "quiet")),
    });
    if let Some(until) = attention["focus"]["until"]["words"].as_str() {
        lines.push(format!("focus until {until}"));
    }
    let held = |it: &Value| format!("held:{}", it["id"]);
    lines.extend(section("held", &attention["held"], held));
    lines.extend(section("today", &pings["pings"], |it| str_field(it, "why").to_owned()));
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
        let at = str_field(it, "at");
        let why = it["outcome"].as_str().or(it["why"].as_str()).unwrap_or_default();
        let clock = at.get(11..16).unwrap_or_default().to_owned();
        format!("  {clock}  {}  {}  ({why})", key(it), str_field(it, "words").replace('\n', " "))
    };
    let head = (!all.is_empty()).then(|| format!("{name}: {}", all.len()));
    head.into_iter().chain(all.iter().take(MAX_PINGS).map(line)).collect()
}

fn str_field<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
