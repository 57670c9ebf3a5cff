//! `ollim-bot updates`: what waits to be read by main. Read from the disk, so it works whether or not it runs.

use std::process::ExitCode;
use std::sync::Arc;

use domain::report::Report;
use jiff::tz::TimeZone;
use journal::disk::Disk;
use surfaces::web::reports::UpdatesWire;

use super::answer;
use crate::cli::Output;
use crate::exit::Failed;
use crate::settings::Settings;

/// Shows all of them.
pub fn show(settings: &Settings, disk: Arc<dyn Disk>, output: &Output) -> Result<ExitCode, Failed> {
    let failed = |error: &dyn std::fmt::Display| Failed::NotDone(error.to_string());
    let reports = journal::reports(&settings.paths, disk).map_err(|error| failed(&error))?;
    let value =
        serde_json::to_value(UpdatesWire::from(reports.as_slice())).map_err(|error| failed(&error))?;
    answer(output, &value, &tell(&reports, &settings.zone.value));
    Ok(ExitCode::SUCCESS)
}

fn tell(reports: &[Report], zone: &TimeZone) -> String {
    let line = |report: &Report| {
        let at = report.at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M");
        format!("{at}  {}\n  {}", report.from, report.text.trim().replace('\n', "\n  "))
    };
    match reports {
        [] => "nothing waits to be told.".to_owned(),
        _ => reports.iter().map(line).collect::<Vec<_>>().join("\n"),
    }
}
