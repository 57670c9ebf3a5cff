//! Updates of the program from its git checkout, with automatic rollback.
//!
//! The new version is pulled, built and placed next to the running program. It must open a copy of
//! all data and report that it is ready. Then it replaces the old program, which is kept. A new
//! version that does not start, or does not run for a minute, is replaced by the old one again.

mod apply;
mod attending;
mod checkout;
mod going_back;
mod mark;
mod proving;
mod restart;
mod running;
mod trial;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use apply::{Renewer, Wanted};
pub use attending::{Attendant, attend};
pub use checkout::{Checkout, News};
pub use going_back::go_back;
pub use proving::{Proof, ended_well, prove, prove_well, told};
pub use restart::become_again;

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

/// Returns `path` with `end` appended.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
