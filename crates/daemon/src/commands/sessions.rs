//! `ollim-bot sessions`: how the conversation went. Read from the disk, so it works whether or not it runs.

use std::process::ExitCode;

use domain::conversation::{Line, Lineage, SessionId, draw};
use jiff::tz::TimeZone;

use super::answer;
use crate::cli::{Output, SessionsShape};
use crate::exit::Failed;
use crate::settings::Settings;

/// Shows it.
pub fn show(settings: &Settings, shape: SessionsShape, output: Output) -> Result<ExitCode, Failed> {
    let failed = |error: &dyn std::fmt::Display| Failed::NotDone(error.to_string());
    let found = journal::peek(&settings.paths).map_err(|error| failed(&error))?;
    let lineage = match found {
        Some(database) => database.lineage().map_err(|error| failed(&error))?,
        None => Lineage::default(),
    };
    let zone = &settings.zone.value;
    let text = match shape {
        SessionsShape::Tree => draw(&lineage, zone),
        SessionsShape::List => list(&lineage, zone),
    };
    answer(output, &json(&lineage, zone), &text);
    Ok(ExitCode::SUCCESS)
}

fn list(lineage: &Lineage, zone: &TimeZone) -> String {
    if lineage.lines.is_empty() {
        return "nothing was said yet.".to_owned();
    }
    let rows = lineage.lines.iter().map(|line| {
        let session = line.to.as_ref().or(line.from.as_ref()).map(|(session, _)| session.to_string());
        let time = line.at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M");
        format!(
            "  {time}  {:<10}  {:<20}  {}",
            word(line),
            line.branch.to_string(),
            session.unwrap_or_default()
        )
    });
    rows.collect::<Vec<_>>().join("\n")
}

fn json(lineage: &Lineage, zone: &TimeZone) -> serde_json::Value {
    let place = |place: &Option<(SessionId, u64)>| {
        place
            .as_ref()
            .map(|(session, depth)| serde_json::json!({ "session": session.as_str(), "depth": depth }))
    };
    let lines = lineage.lines.iter().map(|line| {
        serde_json::json!({
            "at": line.at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%.f%:z").to_string(),
            "branch": line.branch.to_string(),
            "why": word(line),
            "from": place(&line.from),
            "to": place(&line.to),
        })
    });
    let open = lineage.open.iter().map(|(branch, session, depth)| {
        serde_json::json!({ "branch": branch.to_string(), "session": session.as_str(), "depth": depth })
    });
    serde_json::json!({ "lines": lines.collect::<Vec<_>>(), "open": open.collect::<Vec<_>>() })
}

fn word(line: &Line) -> &'static str {
    line.why.as_str()
}
