//! Restart: this process executes the installed program with the same arguments.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use domain::schedule::Moment;
use engine::ports::Clock;
use journal::disk::Disk;
use journal::files::session_history::{EventKind, SessionEvent, SessionHistory};
use journal::files::sessions::MainSessionFile;

use crate::clock::SystemClock;
use crate::exit::CommandError;
use crate::settings::Settings;

/// UP-9: Executes `program` after everything was closed. UP-10: Open file descriptors close on
/// exec. Returns only on failure.
pub fn exec_program(settings: &Settings, disk: &Arc<dyn Disk>, program: &Path) -> CommandError {
    record_restart(settings, disk);
    let error = Command::new(program).args(std::env::args_os().skip(1)).exec();
    CommandError::Failed(format!("{} cannot be started again: {error}.", program.display()))
}

/// Adds the restart to the session history, if there is a session.
fn record_restart(settings: &Settings, disk: &Arc<dyn Disk>) {
    let now = SystemClock::new(settings.zone.value.clone()).now();
    let state = settings.paths.state();
    let session = MainSessionFile::new(Arc::clone(disk), &state).load(now.timestamp());
    let Some(session) = session.ok().and_then(|found| found.value) else { return };
    let event = SessionEvent { session, kind: EventKind::Restarting, at: Moment::of(&now), parent: None };
    let told = SessionHistory::open(Arc::clone(disk), &state, now.timestamp())
        .and_then(|mut found| found.value.append(&event).map(drop));
    if let Err(error) = told {
        tracing::warn!(%error, "The history of the sessions does not tell of this restart.");
    }
}
