//! For tests: a hung daemon, which listens on the socket but never answers.

use std::os::unix::net::UnixListener;

use crate::app::SOCKET;
use crate::exit::CommandError;
use crate::settings::{Environment, Settings};

/// A listener on the control socket that never answers.
pub struct HungDaemon {
    /// Settings whose data directory contains the socket.
    pub settings: Settings,
    _listener: UnixListener,
    _home: tempfile::TempDir,
}

impl HungDaemon {
    /// Listens in a temporary data directory.
    pub fn open() -> Self {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().to_str().map(str::to_owned);
        let environment = Environment::new(|name| (name == "OLLIM_DATA_DIR").then(|| data.clone()).flatten());
        let settings = Settings::read(&environment).unwrap();
        std::fs::create_dir(settings.paths.state()).unwrap();
        let listener = UnixListener::bind(settings.paths.state().join(SOCKET)).unwrap();
        Self { settings, _listener: listener, _home: home }
    }

    /// Asserts that `failed` reports the hung daemon and suggests a fix.
    pub fn assert_reported(&self, failed: &CommandError) {
        let told = failed.to_string();
        assert_eq!(failed.code(), 1, "{told}");
        assert!(told.contains("it stands still") && told.contains("`ollim-bot service status`"), "{told}");
    }
}
