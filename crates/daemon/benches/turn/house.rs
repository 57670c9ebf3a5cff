//! Opens the measured application, and creates its data directory.

use std::path::Path;
use std::sync::Arc;

use daemon::house::{Doors, House};
use daemon::settings::{Environment, Settings};
use journal::disk::RealDisk;
use tempfile::TempDir;

/// Opens the application in `dir`, with `variables` as its only environment.
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

/// Creates a directory in memory, where flushing is free, if the machine has one.
pub fn in_memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// Creates a directory on the disk.
pub fn on_disk() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}
