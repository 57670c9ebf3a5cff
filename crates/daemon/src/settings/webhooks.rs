//! Settings of the webhook listener: its port, and the secrets, which are read again for every
//! call.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use journal::Paths;
use surfaces::webhook::HeaderName;

use super::Environment;
use super::secrets::WEBHOOK;

/// The directory in `state` with secrets of single webhooks.
const OWN_SECRETS_DIR: &str = "webhook-secrets";

/// WH-1: The settings of the listener.
#[derive(Clone, Debug)]
pub enum WebhookSettings {
    Off,
    /// The port, the secrets, and the header with the caller's address that a proxy adds.
    On(u16, WebhookSecrets, Option<HeaderName>),
    /// The configuration is invalid; the listener stays off and a notice says so.
    Invalid(String),
}

impl WebhookSettings {
    /// Returns the current secret of the webhook `id`.
    pub fn secret(&self, id: &str) -> Option<String> {
        match self {
            Self::On(_, secrets, _) => secrets.secret_for(id),
            Self::Off | Self::Invalid(_) => None,
        }
    }
}

/// The places of webhook secrets.
#[derive(Clone)]
pub struct WebhookSecrets {
    file: Option<PathBuf>,
    /// The variable of this environment.
    variable: Option<String>,
    /// The stored variable.
    stored: Option<String>,
    state: PathBuf,
}

impl fmt::Debug for WebhookSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(..)")
    }
}

impl WebhookSecrets {
    /// Returns the current secret of the webhook `id`: its own, or else the shared one. `None` if
    /// there is none, or if others can read its file.
    pub fn secret_for(&self, id: &str) -> Option<String> {
        let own = self.state.join(OWN_SECRETS_DIR).join(id);
        if is_plain_name(id) && own.symlink_metadata().is_ok() {
            return read_secret_file(&own).ok();
        }
        self.shared_secret().ok()
    }

    /// Returns the shared secret, with the precedence of `secret_reader`. A missing named file is
    /// an error, so all calls are rejected.
    fn shared_secret(&self) -> Result<String, String> {
        let usual = self.state.join(WEBHOOK.file);
        match (&self.file, &self.variable, &self.stored) {
            (Some(file), _, _) => read_secret_file(file),
            (None, Some(said), _) => Ok(said.clone()),
            (None, None, _) if usual.symlink_metadata().is_ok() => read_secret_file(&usual),
            (None, None, Some(kept)) => Ok(kept.clone()),
            (None, None, None) => {
                Err(format!("set WEBHOOK_SECRET, or write one into {} (chmod 600)", usual.display()))
            }
        }
    }
}

/// Returns whether `id` is a plain file name.
fn is_plain_name(id: &str) -> bool {
    domain::schedule::ItemId::parse(id).is_ok()
}

fn read_secret_file(file: &Path) -> Result<String, String> {
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

pub fn read(environment: &Environment, address_header: &str, paths: &Paths) -> WebhookSettings {
    let Some(port) = environment.get("WEBHOOK_PORT") else { return WebhookSettings::Off };
    let Ok(port) = port.parse::<u16>() else {
        return WebhookSettings::Invalid(format!(
            "webhooks are off: WEBHOOK_PORT `{port}` is no port. write a number like 8787."
        ));
    };
    let header = match address_header {
        "none" => None,
        name => match HeaderName::from_bytes(name.as_bytes()) {
            Ok(header) => Some(header),
            Err(_) => {
                return WebhookSettings::Invalid(format!(
                    "webhooks are off: address_header `{name}` in settings.toml is no name of a header. write one like \
                     \"X-Forwarded-For\", or \"none\"."
                ));
            }
        },
    };
    let secrets = WebhookSecrets {
        file: environment.get(WEBHOOK.file_variable).map(PathBuf::from),
        variable: environment.said(WEBHOOK.variable).map(str::to_owned),
        stored: environment.get(WEBHOOK.variable).map(str::to_owned),
        state: paths.state(),
    };
    match secrets.shared_secret() {
        Ok(_) => WebhookSettings::On(port, secrets, header),
        Err(why) => WebhookSettings::Invalid(format!("webhooks are off: there is no secret. {why}.")),
    }
}
