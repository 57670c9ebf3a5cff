//! The mail backend: an IMAP mailbox if one is configured, or else Google.

use accounts::Secret;
use accounts::mail::imap::ImapServer;
use journal::Paths;

use super::{Environment, secrets};

/// The mail backend.
#[derive(Clone, Debug)]
pub enum MailBackend {
    Google,
    Imap {
        server: ImapServer,
        user: String,
        password: Secret,
    },
    /// The configuration is invalid; everything else still works.
    Invalid(String),
}

/// Reads the backend. A mailbox needs an address, a user name and a password.
pub fn read(environment: &Environment, paths: &Paths) -> MailBackend {
    match environment.get("OLLIM_IMAP_URL") {
        Some(address) => imap(environment, paths, address).unwrap_or_else(MailBackend::Invalid),
        None => MailBackend::Google,
    }
}

fn imap(environment: &Environment, paths: &Paths, address: &str) -> Result<MailBackend, String> {
    let server = ImapServer::parse(address).map_err(|bad| format!("OLLIM_IMAP_URL: {bad}"))?;
    let unset = |what: &str| format!("OLLIM_IMAP_URL names a mailbox, but {what}");
    let user = environment.get("OLLIM_IMAP_USER");
    let user =
        user.ok_or_else(|| unset("OLLIM_IMAP_USER is not set. set it to your name there."))?.to_owned();
    let password =
        secrets::secret_reader(environment, paths, secrets::IMAP).map_err(|failed| failed.to_string())?;
    let password = password.map(|source| Secret::new(source())).ok_or_else(|| {
        unset("there is no password. write it into a file of yours alone and set OLLIM_IMAP_PASSWORD_FILE to its path.")
    })?;
    Ok(MailBackend::Imap { server, user, password })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend_or_error(variables: &[(&str, &str)]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let look_up = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        match read(&Environment::new(look_up), &Paths::new(dir.path())) {
            MailBackend::Google => "google".to_owned(),
            MailBackend::Imap { .. } => "imap".to_owned(),
            MailBackend::Invalid(what) => what,
        }
    }

    #[test]
    fn missing_variable_is_named() {
        let url = ("OLLIM_IMAP_URL", "imaps://mail.example.org");
        let user = ("OLLIM_IMAP_USER", "ann");
        let password = ("OLLIM_IMAP_PASSWORD", "hunter2");
        assert_eq!(backend_or_error(&[user, password]), "google");
        assert_eq!(backend_or_error(&[url, user, password]), "imap");
        assert!(backend_or_error(&[url, password]).contains("OLLIM_IMAP_USER is not set"));
        assert!(backend_or_error(&[url, user]).contains("OLLIM_IMAP_PASSWORD_FILE"));
        let no_mailbox = ("OLLIM_IMAP_URL", "https://mail.example.org");
        assert!(backend_or_error(&[no_mailbox, user, password]).starts_with("OLLIM_IMAP_URL: `https://"));
    }
}
