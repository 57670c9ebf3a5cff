//! `ollim-bot import`: replaces the data directory by an archive, completely or not at all.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use engine::ports::Clock;
use journal::disk::Disk;
use journal::moving::{Bounds, LeftOut, Manifest, NotPlaced, Placed, Refused, Stage, unpack};
use serde_json::json;

use super::super::answer;
use super::deciding::deciding;
use super::ticking::Ticking;
use super::{files, size};
use crate::cli::Output;
use crate::clock::SystemClock;
use crate::exit::Failed;
use crate::settings::Settings;

/// Free space that must be left over.
const SPARED: u64 = 64 * 1024 * 1024;

/// Unpacks the archive next to the data directory and moves it into place.
pub fn import(
    settings: &Settings,
    disk: &dyn Disk,
    file: &Path,
    replace: bool,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let archive: Box<dyn Read> = match file.to_str() {
        Some("-") => Box::new(std::io::stdin()),
        _ => Box::new(
            File::open(file).map_err(|error| Failed::Usage(format!("{}: {error}.", file.display())))?,
        ),
    };
    let stage = Stage::beside(&settings.paths, disk, replace, std::process::id()).map_err(unplaced)?;
    // Remove what another import left. One that still runs notices that its directory is gone and
    // reports it.
    for leftover in stage.leftovers(disk) {
        clear(&leftover);
    }
    let now = SystemClock::new(settings.zone.value.clone()).now().timestamp();
    let replaced = stage.keep_replaced(disk, now).map_err(|error| unkept(stage.path(), &error))?;
    let manifest = {
        let mut line = Ticking::new("unpacking", output);
        let bounds = Bounds::with_room_for(room(stage.path()));
        unpack(archive, (disk, stage.path()), bounds, &mut |progress| line.tick(progress, Instant::now()))
    };
    let manifest = manifest.map_err(|refused| {
        clear(stage.path());
        unsafe_or_broken(&refused)
    })?;
    let laid = stage.path().to_owned();
    let placed = stage.put_in_place(disk, now).map_err(|error| {
        clear(&laid);
        unplaced(error)
    })?;
    let deciding = deciding(&placed.root, disk);
    let value = json!({
        "ok": true, "data_dir": placed.root, "kept": placed.kept, "files": manifest.inside.len(),
        "bytes": manifest.bytes(), "left_out": manifest.left_out, "kept_before": replaced, "look_at": deciding,
    });
    let text = told(&manifest, &placed, &replaced, &deciding) + &start(settings);
    answer(output, &value, &text);
    Ok(ExitCode::SUCCESS)
}

fn told(manifest: &Manifest, placed: &Placed, replaced: &[PathBuf], deciding: &[String]) -> String {
    let count = files(manifest.inside.len() as u64);
    let mut text =
        format!("{}: {count}, {}, as of {}.", placed.root.display(), size(manifest.bytes()), manifest.made);
    if let Some(kept) = &placed.kept {
        text += &format!("\nwhat was there before is kept: {}", kept.display());
    }
    for kept in replaced {
        text += &format!("\nwhat an import that was cut short had replaced is kept: {}", kept.display());
    }
    let secrets: Vec<&LeftOut> = manifest.secrets().collect();
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
fn start(settings: &Settings) -> String {
    let root = settings.paths.root();
    let is_usual = settings.home.as_ref().is_some_and(|home| root == Path::new(home).join(".ollim-bot"));
    let named = if is_usual { String::new() } else { format!(" --data-dir {}", root.display()) };
    format!(" start it here: ollim-bot{named}")
}

/// Returns the free space where `target` will be created.
fn room(stage: &Path) -> u64 {
    let place = stage.ancestors().find(|path| path.exists());
    let found = place.and_then(|path| rustix::fs::statvfs(path).ok());
    found.map(|found| found.f_bavail * found.f_frsize).unwrap_or_default().saturating_sub(SPARED)
}

/// Removes an unpacked archive that is not used.
fn clear(stage: &Path) {
    if let Err(error) = std::fs::remove_dir_all(stage)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, path = %stage.display(), "What was unpacked could not be removed.");
    }
}

fn unplaced(error: NotPlaced) -> Failed {
    match error {
        NotPlaced::Running(text) => Failed::Running(text),
        NotPlaced::Taken(_) => Failed::Usage(error.to_string()),
        NotPlaced::Unusable(text) => Failed::Configuration(text),
    }
}

fn unkept(stage: &Path, error: &std::io::Error) -> Failed {
    Failed::NotDone(format!(
        "an import that was cut short left something beside {}, which cannot be renamed: {error}. nothing was changed.",
        stage.display()
    ))
}

fn unsafe_or_broken(refused: &Refused) -> Failed {
    Failed::NotDone(refused.to_string())
}
