//! Updating: the program becomes the newest version of itself, or stays what it is.
//!
//! The source is brought up to date and built beside the program that runs. What was built is laid beside it, opens a
//! copy of everything, and must say that it is ready. Then it takes the place of the old one by its name, and the old
//! one is kept: a new one that does not start, or does not go on for a minute, gives its place back.

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

/// How long a new program may take until it is ready.
pub const READY_WITHIN: Duration = Duration::from_secs(60);

/// What whoever does not run from a checkout is told.
pub const UNAVAILABLE: &str = "i do not run from a git checkout of my source, so i can't renew myself. install the new \
                               version the way you installed this one, or name a checkout under [update] in settings.toml.";

/// The file that is replaced: the one that the settings name, or else the program that runs.
pub fn program(upgrade: &Upgrade) -> std::io::Result<PathBuf> {
    match &upgrade.program {
        Some(program) => Ok(program.clone()),
        None => std::env::current_exe(),
    }
}

/// `path` with another end.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
