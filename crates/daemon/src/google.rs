//! The Google account of this program: its files in `state/`, and connecting it from other
//! surfaces.

mod connector;

use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use accounts::Trouble;
use accounts::google::{Addresses, File, Google, Keep};
use engine::ports::Clock;
use journal::Paths;
use journal::disk::{self, Disk};
use surfaces::connecting::Connecting;

use connector::Connector;

use crate::settings::Settings;

/// The most bytes that are read of an account file.
const FILE: usize = 64 * 1024;

/// Returns the account whose files are in the data directory. Sends no request.
pub fn account(settings: &Settings, disk: Arc<dyn Disk>, clock: &Arc<dyn Clock>) -> Result<Google, Trouble> {
    let addresses = match &settings.places.accounts.played_google {
        Some(base) => Addresses::played_at(base),
        None => Addresses::real(),
    };
    let addresses = addresses.map_err(|bad| Trouble::Unconnected(format!("OLLIM_GOOGLE_BASE: {bad}")))?;
    let keep = Arc::new(Files { paths: settings.paths.clone(), disk });
    Google::new(addresses, keep, Arc::clone(clock))
}

/// Returns the connector for surfaces other than the terminal.
pub fn connector(settings: &Settings, disk: Arc<dyn Disk>, clock: &Arc<dyn Clock>) -> Arc<dyn Connecting> {
    let usual = settings.places.accounts.at_google.clone();
    Arc::new(Connector::new(account(settings, disk, clock), usual))
}

/// The files of the account.
struct Files {
    paths: Paths,
    disk: Arc<dyn Disk>,
}

impl Keep for Files {
    fn read(&self, file: File) -> io::Result<Option<Vec<u8>>> {
        let place = self.place(file);
        match std::fs::metadata(&place) {
            Ok(found) if found.permissions().mode() & 0o077 != 0 => {
                return Err(io::Error::other("others can read this file. make it yours alone: chmod 600"));
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        self.disk.read_part(&place, 0, FILE).map(Some)
    }

    fn replace(&self, file: File, bytes: &[u8]) -> io::Result<()> {
        disk::replace(&*self.disk, &self.place(file), bytes)
    }

    fn remove(&self, file: File) -> io::Result<()> {
        disk::remove(&*self.disk, &self.place(file)).map(|_| ())
    }

    fn place(&self, file: File) -> PathBuf {
        self.paths.state().join(file.name())
    }
}
