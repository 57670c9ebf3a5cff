//! Proving: a new program that does not start gives its place back to the one before.

use std::path::Path;

use journal::Paths;
use journal::disk::Disk;
use journal::migration;

use super::beside;
use super::checkout::News;
use super::mark::{self, Mark};

/// How often a new program is started before the one before is taken back: whoever was killed in between may be well.
const STARTS: u32 = 2;

/// What a start has to do with an update.
#[derive(Debug, PartialEq, Eq)]
pub enum Proof {
    /// Nothing.
    None,
    /// This is a new program: it must become ready.
    Owed,
    /// The one before is back in its place, and is to be started.
    Back,
}

/// What this start has to do with an update of `paths`.
pub fn prove(disk: &dyn Disk, paths: &Paths) -> Proof {
    let state = paths.state();
    match mark::read(disk, &state) {
        None | Some(Mark::Pulling { .. } | Mark::WentBack { .. }) => Proof::None,
        Some(Mark::Unproven { starts, .. }) if starts >= STARTS => go_back(disk, paths, "it ended too often"),
        Some(Mark::Unproven { from, commits, program, starts, journal }) => {
            let mark = Mark::Unproven { from, commits, program, starts: starts + 1, journal };
            match mark::write(disk, &state, &mark) {
                Ok(()) => Proof::Owed,
                Err(_) => Proof::None,
            }
        }
    }
}

/// What the human hears of an update when the program starts.
pub fn told(disk: &dyn Disk, paths: &Paths) -> Option<String> {
    match mark::read(disk, &paths.state())? {
        Mark::Pulling { .. } => None,
        Mark::Unproven { commits, .. } => {
            Some(format!("i am the new version now:{}", News { commits }.tell()))
        }
        Mark::WentBack { why } => {
            mark::clear(disk, &paths.state());
            Some(format!("the new version did not start ({why}), so i went back to the one before."))
        }
    }
}

/// The new program is ready.
pub fn proven(disk: &dyn Disk, paths: &Paths) {
    if let Some(Mark::Unproven { .. }) = mark::read(disk, &paths.state()) {
        mark::clear(disk, &paths.state());
    }
}

/// Puts the program from before back in its place, with the journal that it can read.
pub fn go_back(disk: &dyn Disk, paths: &Paths, why: &str) -> Proof {
    let state = paths.state();
    let Some(Mark::Unproven { program, journal, .. }) = mark::read(disk, &state) else { return Proof::None };
    let previous = beside(&program, ".previous");
    if let Err(error) = disk.rename(&previous, &program) {
        tracing::error!(%error, "The program from before could not be put back.");
        mark::clear(disk, &state);
        return Proof::None;
    }
    put_journal_back(disk, paths, journal);
    if let Err(error) = mark::write(disk, &state, &Mark::WentBack { why: why.to_owned() }) {
        tracing::warn!(%error, "It cannot be told that the program from before is back.");
    }
    Proof::Back
}

/// The new program never was ready, so nobody heard anything from it: what it made of the journal is kept aside.
fn put_journal_back(disk: &dyn Disk, paths: &Paths, before: Option<i64>) {
    let now = migration::standing(paths, disk).ok().flatten();
    let (Some(before), Some(now)) = (before, now) else { return };
    if now.found <= before {
        return;
    }
    let listed = disk.list(&paths.before_migration()).unwrap_or_default();
    let end = format!("-format-{before}.db");
    let kept =
        listed.into_iter().map(|it| it.path).filter(|path| path.to_string_lossy().ends_with(&end)).max();
    let Some(kept) = kept else { return };
    if let Err(error) = lay_back(disk, (&kept, &paths.database())) {
        tracing::error!(%error, "The journal from before could not be put back.");
    }
}

fn lay_back(disk: &dyn Disk, (kept, journal): (&Path, &Path)) -> std::io::Result<()> {
    let bytes = disk.read(kept)?;
    for end in ["-wal", "-shm"] {
        let _ = disk.remove(&beside(journal, end));
    }
    journal::disk::replace(disk, journal, &bytes)
}
