//! `ollim-bot sessions`: shows how sessions and forks developed. Reads from the disk, so the daemon
//! need not run.

use std::process::ExitCode;

use domain::conversation::{Lineage, draw, left_out_note};
use jiff::tz::TimeZone;
use surfaces::web::sessions::SessionsDto;

use super::print_result;
use crate::cli::{Output, SessionsShape};
use crate::exit::CommandError;
use crate::settings::Settings;

/// Shows the newest `limit` moves.
pub fn show(
    settings: &Settings,
    shape: SessionsShape,
    limit: u32,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let failed = |error: &dyn std::fmt::Display| CommandError::Failed(error.to_string());
    let found = journal::open_read_only(&settings.paths).map_err(|error| failed(&error))?;
    let lineage = match found {
        Some(database) => database.lineage(limit).map_err(|error| failed(&error))?,
        None => Lineage::default(),
    };
    let zone = &settings.zone.value;
    let value = serde_json::to_value(SessionsDto::new(&lineage, zone)).map_err(|error| failed(&error))?;
    let more = match lineage.omitted {
        0 => String::new(),
        _ => "`--limit N` shows more of them.\n".to_owned(),
    };
    let text = match shape {
        SessionsShape::Tree => draw(&lineage, zone) + &more,
        SessionsShape::List => list(&lineage, zone) + &more,
    };
    print_result(output, &value, &text);
    Ok(ExitCode::SUCCESS)
}

/// Formats the list oldest first, so that the newest is next to the shell prompt.
fn list(lineage: &Lineage, zone: &TimeZone) -> String {
    if lineage.moves.is_empty() {
        return "nothing was said yet.\n".to_owned();
    }
    let rows = lineage.moves.iter().map(|line| {
        let session = line.to.as_ref().or(line.from.as_ref()).map(|(session, _)| session.to_string());
        let time = line.at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M");
        let why = line.reason.as_str();
        let branch = line.branch.to_string();
        format!("  {time}  {why:<10}  {branch:<20}  {}\n", session.unwrap_or_default())
    });
    left_out_note(lineage.omitted).map(|left_out| left_out + "\n").into_iter().chain(rows).collect()
}
