//! Settings of the webhook listener: its port, and the secrets, which are read again for every
//! call.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use journal::Paths;
use surfaces::hook::HeaderName;

use super::Environment;
use super::key::WEBHOOK;

/// The directory in `state` with secrets of single webhooks.
const OWN: &str = "webhook-secrets";

/// WH-1: The settings of the listener.
#[derive(Clone, Debug)]
pub enum Webhooks {
    Off,
    /// The port, the secrets, and the header with the caller's address that a proxy adds.
    On(u16, Secrets, Option<HeaderName>),
    /// The configuration is invalid; the listener stays off and a notice says so.
    Wrong(String),
}

impl Webhooks {
    /// Returns the current secret of the webhook `id`.
    pub fn secret(&self, id: &str) -> Option<String> {
        match self {
            Self::On(_, secrets, _) => secrets.of(id),
            Self::Off | Self::Wrong(_) => None,
        }
    }
}

/// The places of webhook secrets.
#[derive(Clone)]
pub struct Secrets {
    named: Option<PathBuf>,
    /// The variable of this environment.
    said: Option<String>,
    /// The stored variable.
    kept: Option<String>,
    state: PathBuf,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(..)")
    }
}

impl Secrets {
    /// Returns the current secret of the webhook `id`: its own, or else the shared one. `None` if
    /// there is none, or if others can read its file.
    pub fn of(&self, id: &str) -> Option<String> {
        let own = self.state.join(OWN).join(id);
        if is_name(id) && own.symlink_metadata().is_ok() {
            return in_file(&own).ok();
        }
        self.for_all().ok()
    }

    /// Returns the shared secret, with the precedence of `secret_reader`. A missing named file is
    /// an error, so all calls are rejected.
    fn for_all(&self) -> Result<String, String> {
        let usual = self.state.join(WEBHOOK.file);
        match (&self.named, &self.said, &self.kept) {
            (Some(file), _, _) => in_file(file),
            (None, Some(said), _) => Ok(said.clone()),
            (None, None, _) if usual.symlink_metadata().is_ok() => in_file(&usual),
            (None, None, Some(kept)) => Ok(kept.clone()),
            (None, None, None) => {
                Err(format!("set WEBHOOK_SECRET, or write one into {} (chmod 600)", usual.display()))
            }
        }
    }
}

/// Returns whether `id` is a plain file name.
fn is_name(id: &str) -> bool {
    domain::schedule::ItemId::parse(id).is_ok()
}

fn in_file(file: &Path) -> Result<String, String> {
    let wrong = |why: &dyn fmt::Display| format!("{}: {why}", file.display());
    let found = std::fs::metadata(file).map_err(|error| wrong(&error))?;
    if found.permissions().mode() & 0o077 != 0 {
        return Err(wrong(&"others can read this secret. make it yours alone: chmod 600"));
    }
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error))?;
    match text.trim() {
        "" => Err(wrong(&"it is empty. write a secret into it")),
        secret => Ok(secret.to_owned()),
    }
}

pub fn read(environment: &Environment, address_header: &str, paths: &Paths) -> Webhooks {
    let Some(port) = environment.get("WEBHOOK_PORT") else { return Webhooks::Off };
    let Ok(port) = port.parse::<u16>() else {
        return Webhooks::Wrong(format!(
            "webhooks are off: WEBHOOK_PORT `{port}` is no port. write a number like 8787."
        ));
    };
    let header = match address_header {
        "none" => None,
        name => match HeaderName::from_bytes(name.as_bytes()) {
            Ok(header) => Some(header),
            Err(_) => {
                return Webhooks::Wrong(format!(
                    "webhooks are off: address_header `{name}` in settings.toml is no name of a header. write one like \
                     \"X-Forwarded-For\", or \"none\"."
                ));
            }
        },
    };
    let secrets = Secrets {
        named: environment.get(WEBHOOK.file_variable).map(PathBuf::from),
        said: environment.said(WEBHOOK.variable).map(str::to_owned),
        kept: environment.get(WEBHOOK.variable).map(str::to_owned),
        state: paths.state(),
    };
    match secrets.for_all() {
        Ok(_) => Webhooks::On(port, secrets, header),
        Err(why) => Webhooks::Wrong(format!("webhooks are off: there is no secret. {why}.")),
    }
}
