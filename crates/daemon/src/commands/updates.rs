//! `ollim-bot updates`: shows pending updates for main. Reads from the disk, so the daemon need not
//! run.

use std::process::ExitCode;
use std::sync::Arc;

use domain::label::Label;
use domain::pending_update::PendingUpdate;
use jiff::tz::TimeZone;
use journal::disk::Disk;
use serde_json::Value;
use surfaces::web::updates::PendingUpdatesDto;

use super::print_result;
use crate::cli::Output;
use crate::exit::CommandError;
use crate::settings::Settings;

/// The most updates that are shown among those that main has read.
const MAX_READ: u32 = 200;

/// Shows the updates that wait, and with `all` those that were read too.
pub fn show(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    all: bool,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let waiting =
        journal::pending_updates(&settings.paths, disk).map_err(|error| to_command_error(&error))?;
    let mut value = to_json(&waiting)?;
    let zone = &settings.zone.value;
    let mut text = if waiting.is_empty() { EMPTY_TEXT.to_owned() } else { to_text(&waiting, zone) };
    let mut shown = waiting;
    if all {
        let read = read_updates(settings)?;
        value["read"] = to_json(&read)?["updates"].take();
        if !read.is_empty() {
            text = format!("Read by the main conversation:\n{}\n\nWaiting:\n{text}", to_text(&read, zone));
        }
        shown.extend(read);
    }
    output.voice.record_label(shown.iter().map(|report| report.label).fold(Label::PLAIN, Label::join));
    print_result(output, &value, &text);
    Ok(ExitCode::SUCCESS)
}

/// The text if there are no pending updates.
const EMPTY_TEXT: &str = "No updates wait. Results of background runs appear here until the main conversation reads them; \
    `ollim-bot updates --all` shows those that it has read.";

fn read_updates(settings: &Settings) -> Result<Vec<PendingUpdate>, CommandError> {
    let Some(database) =
        journal::open_read_only(&settings.paths).map_err(|error| to_command_error(&error))?
    else {
        return Ok(Vec::new());
    };
    database.newest_read_updates(MAX_READ).map_err(|error| to_command_error(&error))
}

fn to_json(reports: &[PendingUpdate]) -> Result<Value, CommandError> {
    serde_json::to_value(PendingUpdatesDto::from(reports)).map_err(|error| to_command_error(&error))
}

fn to_text(reports: &[PendingUpdate], zone: &TimeZone) -> String {
    let line = |report: &PendingUpdate| {
        let at = report.at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M");
        format!("{at}  {}\n  {}", report.source, report.text.trim().replace('\n', "\n  "))
    };
    reports.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn to_command_error(error: &dyn std::fmt::Display) -> CommandError {
    CommandError::Failed(error.to_string())
}
