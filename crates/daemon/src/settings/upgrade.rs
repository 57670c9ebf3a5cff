//! How the program renews itself: where its source is, what builds it, and which file is replaced.

use std::path::PathBuf;

use super::file::File;

/// How the program renews itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// The checkout, if one is named.
    pub checkout: Option<PathBuf>,
    /// Whether one is looked for otherwise.
    pub looks: bool,
    /// What builds it.
    pub build: String,
    /// What it builds, from the checkout on.
    pub binary: PathBuf,
    /// The file that is replaced, if it is not the program that runs.
    pub program: Option<PathBuf>,
    /// The keys of whoever may sign a version, if that is asked for.
    pub signers: Option<PathBuf>,
}

/// Reads it.
pub fn read(file: &File) -> Upgrade {
    let named = |word: &str| (!["auto", "none"].contains(&word)).then(|| PathBuf::from(word));
    let update = &file.update;
    Upgrade {
        checkout: named(&update.checkout),
        looks: update.checkout == "auto",
        build: update.build.clone(),
        binary: PathBuf::from(&update.binary),
        program: named(&update.program),
        signers: named(&update.signers),
    }
}
