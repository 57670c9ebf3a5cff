//! The workshop of this house: what its tools work with, and what is off here and why.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use journal::Journal;
use tools::cage::Kernel;
use tools::files::{Files, Folders, Keeper};
use tools::shell::{NetworkRule, Shell};
use tools::{Part, Workshop};

use crate::cage;
use crate::settings::Settings;

/// The folder of the data directory in which commands work. What they leave there has no history.
const WORK: &str = "work";

/// All of it. What the human should know about what is off goes into `notices`.
pub fn workshop(settings: &Settings, journal: &Arc<Journal>, notices: &mut Vec<String>) -> Workshop {
    let shell = shell(settings, Kernel::look());
    if let Part::Off(why) = &shell {
        notices.push(format!("i cannot run commands here: {why}."));
    }
    let own = Part::Off("they cannot be called from here yet".to_owned());
    Workshop { files: files(settings, journal), shell, own }
}

/// How commands are run on this `kernel`.
fn shell(settings: &Settings, kernel: Kernel) -> Part<Shell> {
    if let Some(why) = cage::missing(kernel) {
        return Part::Off(why);
    }
    let data = settings.paths.root().to_owned();
    let work = data.join(WORK);
    match DirBuilder::new().recursive(true).mode(0o700).create(&work) {
        Ok(()) => Part::On(Shell {
            cage: cage::words(),
            data,
            shut: Vec::new(),
            work,
            zone: settings.zone.value.iana_name().unwrap_or("UTC").to_owned(),
            network: NetworkRule::Never,
        }),
        Err(error) => Part::Off(format!("{} cannot be made ({error})", work.display())),
    }
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
