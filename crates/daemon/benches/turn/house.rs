//! The house that is measured, and where its directory lies.

use std::path::Path;
use std::sync::Arc;

use daemon::house::{Doors, House};
use daemon::settings::{Environment, Settings};
use journal::disk::RealDisk;
use tempfile::TempDir;

/// Opens the house in `dir` with these doors, which knows `variables` and nothing else.
pub async fn open(dir: &TempDir, variables: &[(&str, &str)], doors: Doors) -> House {
    let mut environment = Environment::new(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    });
    environment.set_data_dir(dir.path().to_owned());
    let Ok(settings) = Settings::read(&environment) else { panic!("the settings cannot be read") };
    let Ok(house) = House::open(&settings, Arc::new(RealDisk), doors).await else {
        panic!("the house cannot be opened")
    };
    house
}

/// A directory that costs no flushing, where there is one.
pub fn in_memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// A directory on the disk that people have.
pub fn on_disk() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}
