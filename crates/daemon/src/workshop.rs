//! The workshop of this house: what its tools work with, and what is off here and why.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use journal::Journal;
use tools::files::{Files, Folders, Keeper};
use tools::{Part, Workshop};

use crate::settings::Settings;

/// The folder of the data directory in which commands work. What they leave there has no history.
const WORK: &str = "work";

/// All of it.
pub fn workshop(settings: &Settings, journal: &Arc<Journal>) -> Workshop {
    Workshop { files: files(settings, journal) }
}

fn files(settings: &Settings, journal: &Arc<Journal>) -> Part<Arc<Files>> {
    let folders =
        Folders { data: settings.paths.root().to_owned(), home: settings.home.as_ref().map(PathBuf::from) };
    match Files::open(folders, vec![WORK.to_owned()], Arc::new(InHistory(Arc::clone(journal)))) {
        Ok(files) => Part::On(Arc::new(files)),
        Err(error) => Part::Off(format!("the data directory cannot be opened ({error})")),
    }
}

/// DD-14: what the tools write goes into the history of the data directory.
struct InHistory(Arc<Journal>);

impl Keeper for InHistory {
    fn written(&self, path: &Path, message: String) {
        self.0.commit(path, message);
    }
}
