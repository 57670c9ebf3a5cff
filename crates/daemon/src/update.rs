//! Updates of the program from its git checkout, with automatic rollback.
//!
//! The new version is pulled, built and placed next to the running program. It must open a copy of
//! all data and report that it is ready. Then it replaces the old program, which is kept. A new
//! version that does not start, or does not run for a minute, is replaced by the old one again.

mod apply;
mod checkout;
mod handler;
mod mark;
mod probation;
mod process;
mod restart;
mod rollback;
mod trial;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use apply::{UpdateTrigger, Updater};
pub use checkout::{AvailableUpdate, Checkout};
pub use handler::{UpdateHandler, run_update_handler};
pub use probation::{UpdateStatus, check_update, end_probation, startup_notice, uncount_start};
pub use restart::exec_program;
pub use rollback::roll_back;

use crate::settings::Upgrade;

/// Time limit for a new version to become ready.
pub const READY_WITHIN: Duration = Duration::from_secs(60);

/// The error if the program does not run from a checkout.
pub const UNAVAILABLE: &str = "i do not run from a git checkout of my source, so i can't renew myself. install the new \
                               version the way you installed this one, or name a checkout under [update] in settings.toml.";

/// Returns the file to replace: the configured one, or else the running program.
pub fn program(upgrade: &Upgrade) -> std::io::Result<PathBuf> {
    match &upgrade.program {
        Some(program) => Ok(program.clone()),
        None => std::env::current_exe(),
    }
}

/// Returns `path` with `suffix` appended.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
