//! The Google account of this program: its files in `state/`, and connecting it from other
//! surfaces.

mod connector;

use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use accounts::AccountError;
use accounts::google::{Endpoints, Google, GoogleFile, GoogleFileStore};
use engine::ports::Clock;
use journal::Paths;
use journal::disk::{self, Disk};
use surfaces::account_connector::AccountConnector;

use connector::Connector;

use crate::settings::Settings;

/// The most bytes that are read of an account file.
const MAX_FILE_BYTES: usize = 64 * 1024;

/// Returns the account whose files are in the data directory. Sends no request.
pub fn account(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    clock: &Arc<dyn Clock>,
) -> Result<Google, AccountError> {
    let addresses = match &settings.integrations.accounts.fake_google {
        Some(base) => Endpoints::fake_at(base),
        None => Endpoints::production(),
    };
    let addresses =
        addresses.map_err(|bad| AccountError::NotConnected(format!("OLLIM_GOOGLE_BASE: {bad}")))?;
    let keep = Arc::new(AccountFiles { paths: settings.paths.clone(), disk });
    Google::new(addresses, keep, Arc::clone(clock))
}

/// Returns the connector for surfaces other than the terminal.
pub fn connector(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    clock: &Arc<dyn Clock>,
) -> Arc<dyn AccountConnector> {
    let usual = settings.integrations.accounts.google_services.clone();
    Arc::new(Connector::new(account(settings, disk, clock), usual))
}

/// The files of the account.
struct AccountFiles {
    paths: Paths,
    disk: Arc<dyn Disk>,
}

impl GoogleFileStore for AccountFiles {
    fn read(&self, file: GoogleFile) -> io::Result<Option<Vec<u8>>> {
        let place = self.display_path(file);
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
        self.disk.read_part(&place, 0, MAX_FILE_BYTES).map(Some)
    }

    fn replace(&self, file: GoogleFile, bytes: &[u8]) -> io::Result<()> {
        disk::replace(&*self.disk, &self.display_path(file), bytes)
    }

    fn remove(&self, file: GoogleFile) -> io::Result<()> {
        disk::remove(&*self.disk, &self.display_path(file)).map(|_| ())
    }

    fn display_path(&self, file: GoogleFile) -> PathBuf {
        self.paths.state().join(file.name())
    }
}
