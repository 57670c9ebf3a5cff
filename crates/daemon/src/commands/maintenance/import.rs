//! `ollim-bot import`: replaces the data directory by an archive, completely or not at all.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use engine::ports::Clock;
use journal::archive::{
    ExcludedFile, Manifest, PlaceError, Placement, StagingDir, UnpackError, UnpackLimits, unpack,
};
use journal::disk::Disk;
use serde_json::json;

use super::super::print_result;
use super::progress_line::ProgressLine;
use super::sensitive_settings::sensitive_settings;
use super::{file_count, format_size};
use crate::cli::Output;
use crate::clock::SystemClock;
use crate::exit::CommandError;
use crate::settings::Settings;

/// Free space that must be left over.
const RESERVED_BYTES: u64 = 64 * 1024 * 1024;

/// Unpacks the archive next to the data directory and moves it into place.
pub fn import(
    settings: &Settings,
    disk: &dyn Disk,
    file: &Path,
    replace: bool,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let archive: Box<dyn Read> = match file.to_str() {
        Some("-") => Box::new(std::io::stdin()),
        _ => Box::new(
            File::open(file).map_err(|error| CommandError::Usage(format!("{}: {error}.", file.display())))?,
        ),
    };
    let stage =
        StagingDir::prepare(&settings.paths, disk, replace, std::process::id()).map_err(placement_error)?;
    // Remove what another import left. One that still runs notices that its directory is gone and
    // reports it.
    for leftover in stage.leftovers(disk) {
        remove_unpacked(&leftover);
    }
    let now = SystemClock::new(settings.zone.value.clone()).now().timestamp();
    let replaced = stage.name_replaced(disk, now).map_err(|error| leftover_error(stage.path(), &error))?;
    let manifest = {
        let mut line = ProgressLine::new("unpacking", output);
        let bounds = UnpackLimits::for_free_space(free_bytes(stage.path()));
        unpack(archive, (disk, stage.path()), bounds, &mut |progress| line.update(progress, Instant::now()))
    };
    let manifest = manifest.map_err(|refused| {
        remove_unpacked(stage.path());
        unpack_error(&refused)
    })?;
    let laid = stage.path().to_owned();
    let placed = stage.put_in_place(disk, now).map_err(|error| {
        remove_unpacked(&laid);
        placement_error(error)
    })?;
    let deciding = sensitive_settings(&placed.root, disk);
    let value = json!({
        "ok": true, "data_dir": placed.root, "kept": placed.replaced, "files": manifest.inside.len(),
        "bytes": manifest.bytes(), "left_out": manifest.left_out, "kept_before": replaced, "look_at": deciding,
    });
    let text = summary(&manifest, &placed, &replaced, &deciding) + &start_hint(settings);
    print_result(output, &value, &text);
    Ok(ExitCode::SUCCESS)
}

fn summary(manifest: &Manifest, placed: &Placement, replaced: &[PathBuf], deciding: &[String]) -> String {
    let count = file_count(manifest.inside.len() as u64);
    let mut text = format!(
        "{}: {count}, {}, as of {}.",
        placed.root.display(),
        format_size(manifest.bytes()),
        manifest.made
    );
    if let Some(kept) = &placed.replaced {
        text += &format!("\nwhat was there before is kept: {}", kept.display());
    }
    for kept in replaced {
        text += &format!("\nwhat an import that was cut short had replaced is kept: {}", kept.display());
    }
    let secrets: Vec<&ExcludedFile> = manifest.excluded_secrets().collect();
    if !secrets.is_empty() {
        let names: Vec<&str> = secrets.iter().map(|secret| secret.path.as_str()).collect();
        text += &format!("\nnot in the archive, set again here: {}", names.join(", "));
    }
    if !deciding.is_empty() {
        text += &format!(
            "\nlook at these before you start it, they say which programs run or where keys go: {}",
            deciding.join(", ")
        );
    }
    text + "\nrun only one of the two: both would ring for the same things."
}

/// Returns the command that starts it, with `--data-dir` unless the default directory is used.
fn start_hint(settings: &Settings) -> String {
    let root = settings.paths.root();
    let is_usual = settings.home.as_ref().is_some_and(|home| root == Path::new(home).join(".ollim-bot"));
    let named = if is_usual { String::new() } else { format!(" --data-dir {}", root.display()) };
    format!(" start it here: ollim-bot{named}")
}

/// Returns the free space where `target` will be created.
fn free_bytes(target: &Path) -> u64 {
    let place = target.ancestors().find(|path| path.exists());
    let found = place.and_then(|path| rustix::fs::statvfs(path).ok());
    found.map(|found| found.f_bavail * found.f_frsize).unwrap_or_default().saturating_sub(RESERVED_BYTES)
}

/// Removes an unpacked archive that is not used.
fn remove_unpacked(path: &Path) {
    if let Err(error) = std::fs::remove_dir_all(path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, path = %path.display(), "What was unpacked could not be removed.");
    }
}

fn placement_error(error: PlaceError) -> CommandError {
    match error {
        PlaceError::Running(text) => CommandError::AlreadyRunning(text),
        PlaceError::NotEmpty(_) => CommandError::Usage(error.to_string()),
        PlaceError::Unusable(text) => CommandError::Configuration(text),
    }
}

fn leftover_error(stage: &Path, error: &std::io::Error) -> CommandError {
    CommandError::Failed(format!(
        "an import that was cut short left something beside {}, which cannot be renamed: {error}. nothing was changed.",
        stage.display()
    ))
}

fn unpack_error(refused: &UnpackError) -> CommandError {
    CommandError::Failed(refused.to_string())
}
