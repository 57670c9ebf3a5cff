//! Opens the measured application, and creates its data directory.

use std::path::Path;
use std::sync::Arc;

use daemon::app::{Application, Mode};
use daemon::settings::{Environment, Settings};
use journal::disk::RealDisk;
use tempfile::TempDir;

/// Opens the application in `dir`, with `variables` as its only environment.
pub async fn open_app(dir: &TempDir, variables: &[(&str, &str)], mode: Mode) -> Application {
    let mut environment = Environment::new(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    });
    environment.set_data_dir(dir.path().to_owned());
    let Ok(settings) = Settings::read(&environment) else { panic!("the settings cannot be read") };
    let Ok(app) = Application::open(&settings, Arc::new(RealDisk), mode).await else {
        panic!("the house cannot be opened")
    };
    app
}

/// Creates a directory in memory, where flushing is free, if the machine has one.
pub fn memory_dir() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// Creates a directory on the disk.
pub fn disk_dir() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}
