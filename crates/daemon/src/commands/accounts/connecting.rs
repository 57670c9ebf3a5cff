//! The account at Google, as this program has it: its files in `state/`, and how the human before us connects it.

use std::io::{self, ErrorKind, IsTerminal};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use accounts::Trouble;
use accounts::google::{Addresses, Connection, Ended, File, Google, Keep, Pasted, SignIn};
use engine::ports::Clock;
use journal::Paths;
use journal::disk::{self, Disk};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::settings::Settings;
use crate::voice::note;

/// The most bytes of a file of the account that are read.
const FILE: usize = 64 * 1024;

/// The account whose files are in the data directory. Nobody is called yet.
pub fn account(settings: &Settings, disk: Arc<dyn Disk>, clock: &Arc<dyn Clock>) -> Result<Google, Trouble> {
    let addresses = match &settings.places.accounts.played_google {
        Some(base) => Addresses::played_at(base),
        None => Addresses::real(),
    };
    let addresses = addresses.map_err(|bad| Trouble::Unconnected(format!("OLLIM_GOOGLE_BASE: {bad}")))?;
    let keep = Arc::new(Files { paths: settings.paths.clone(), disk });
    Google::new(addresses, keep, Arc::clone(clock))
}

/// Sees to it that the account is connected: asks the human, if one is before us.
pub async fn ready(google: &Google) -> Result<(), Trouble> {
    match google.connection()? {
        Connection::Connected => Ok(()),
        Connection::Apart if is_attended() => connect(google).await,
        Connection::Apart | Connection::NoClient => Err(google.not_connected()),
    }
}

/// Asks the human before us to connect it.
async fn connect(google: &Google) -> Result<(), Trouble> {
    let sign_in = google.begin().await?;
    note(&format!("to connect google, open this in a browser within five minutes:\n\n{}\n", sign_in.url()));
    note(
        "is the browser on another machine? then it ends at a page that does not load. paste its address here.",
    );
    match wait(sign_in).await? {
        Ended::Connected => Ok(()),
        Ended::NobodyCame => Err(Trouble::Unconnected(
            "nobody came within five minutes. run it again when you are ready.".to_owned(),
        )),
    }
}

async fn wait(sign_in: SignIn) -> Result<Ended, Trouble> {
    let paste = sign_in.paste();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let pasting = async {
        while let Ok(Some(line)) = lines.next_line().await {
            match paste.offer(&line) {
                Pasted::Taken => break,
                Pasted::NotForUs if line.trim().is_empty() => {}
                Pasted::NotForUs | Pasted::Stranger => {
                    note(
                        "that is not the address i wait for. it begins with http://127.0.0.1: and has code= in it.",
                    );
                }
            }
        }
        std::future::pending().await
    };
    tokio::select! {
        ended = sign_in.wait() => ended,
        never = pasting => never,
    }
}

fn is_attended() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
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
