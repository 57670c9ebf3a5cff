//! Settings of program updates: source, build command and target.

use std::path::PathBuf;

use super::file::SettingsFile;

/// Settings of program updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// The configured checkout.
    pub checkout: Option<PathBuf>,
    /// Searches for a checkout if none is configured.
    pub searches: bool,
    /// The build command.
    pub build: String,
    /// The built file, relative to the checkout.
    pub binary: PathBuf,
    /// The file to replace, if it is not the running program.
    pub program: Option<PathBuf>,
    /// The file with the keys of permitted signers, if signatures are required.
    pub signers: Option<PathBuf>,
}

pub fn read(file: &SettingsFile) -> Upgrade {
    let named = |word: &str| (!["auto", "none"].contains(&word)).then(|| PathBuf::from(word));
    let update = &file.update;
    Upgrade {
        checkout: named(&update.checkout),
        searches: update.checkout == "auto",
        build: update.build.clone(),
        binary: PathBuf::from(&update.binary),
        program: named(&update.program),
        signers: named(&update.signers),
    }
}
