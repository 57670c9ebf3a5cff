//! `ollim-bot migrate`: upgrades the journal of an older version.

use std::process::ExitCode;

use engine::ports::Clock;
use journal::disk::Disk;
use journal::migration::{self, FormatStatus, MigrationOutcome};
use serde_json::json;

use super::super::print_result;
use crate::cli::Output;
use crate::clock::SystemClock;
use crate::exit::CommandError;
use crate::settings::Settings;

/// Upgrades the journal, or only reports its format.
pub fn migrate(
    settings: &Settings,
    (disk, check): (&dyn Disk, bool),
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let paths = &settings.paths;
    let Some(FormatStatus { found, known }) = migration::format_status(paths, disk)? else {
        let text = "there is no journal yet, so there is nothing to bring up to date.";
        print_result(output, &json!({ "ok": true, "found": null, "up_to_date": true }), text);
        return Ok(ExitCode::SUCCESS);
    };
    if check {
        let text = if found < known {
            format!(
                "the journal has format {found}, and this version writes {known}. `ollim-bot migrate` (or the next start) brings it up to date and keeps the one from before."
            )
        } else {
            format!("the journal has format {found}, which is the newest.")
        };
        print_result(
            output,
            &json!({ "ok": true, "found": found, "known": known, "up_to_date": found == known }),
            &text,
        );
        return Ok(ExitCode::SUCCESS);
    }
    let now = SystemClock::new(settings.zone.value.clone()).now().timestamp();
    let done = migration::migrate(paths, disk, now, std::process::id())?;
    let kept = done.and_then(|MigrationOutcome { copy: kept, .. }| kept);
    let text = match &kept {
        Some(kept) => format!(
            "the journal went from format {found} to {known}. the one from before is kept: {}",
            kept.display()
        ),
        None => format!("the journal has format {found}, which is the newest. nothing was changed."),
    };
    print_result(
        output,
        &json!({ "ok": true, "found": found, "known": known, "up_to_date": true, "kept": kept }),
        &text,
    );
    Ok(ExitCode::SUCCESS)
}
