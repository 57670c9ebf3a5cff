//! `ollim-bot updates`: shows pending updates for main. Reads from the disk, so the daemon need not
//! run.

use std::process::ExitCode;
use std::sync::Arc;

use domain::label::Label;
use domain::report::Report;
use jiff::tz::TimeZone;
use journal::disk::Disk;
use serde_json::Value;
use surfaces::web::reports::UpdatesWire;

use super::answer;
use crate::cli::Output;
use crate::exit::Failed;
use crate::settings::Settings;

/// The most updates that are shown among those that main has read.
const READ: u32 = 200;

/// Shows the updates that wait, and with `all` those that were read too.
pub fn show(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    all: bool,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let waiting = journal::reports(&settings.paths, disk).map_err(|error| failed(&error))?;
    let mut value = wire(&waiting)?;
    let zone = &settings.zone.value;
    let mut text = if waiting.is_empty() { NOTHING.to_owned() } else { tell(&waiting, zone) };
    let mut shown = waiting;
    if all {
        let read = read(settings)?;
        value["read"] = wire(&read)?["updates"].take();
        if !read.is_empty() {
            text = format!("Read by the main conversation:\n{}\n\nWaiting:\n{text}", tell(&read, zone));
        }
        shown.extend(read);
    }
    output.voice.know(shown.iter().map(|report| report.label).fold(Label::PLAIN, Label::join));
    answer(output, &value, &text);
    Ok(ExitCode::SUCCESS)
}

/// The text if there are no pending updates.
const NOTHING: &str = "No updates wait. Results of background runs appear here until the main conversation reads them; \
    `ollim-bot updates --all` shows those that it has read.";

fn read(settings: &Settings) -> Result<Vec<Report>, Failed> {
    let Some(database) = journal::peek(&settings.paths).map_err(|error| failed(&error))? else {
        return Ok(Vec::new());
    };
    database.read_reports(READ).map_err(|error| failed(&error))
}

fn wire(reports: &[Report]) -> Result<Value, Failed> {
    serde_json::to_value(UpdatesWire::from(reports)).map_err(|error| failed(&error))
}

fn tell(reports: &[Report], zone: &TimeZone) -> String {
    let line = |report: &Report| {
        let at = report.at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M");
        format!("{at}  {}\n  {}", report.from, report.text.trim().replace('\n', "\n  "))
    };
    reports.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn failed(error: &dyn std::fmt::Display) -> Failed {
    Failed::NotDone(error.to_string())
}
