//! The mail backend: an IMAP mailbox if one is configured, or else Google.

use accounts::Secret;
use accounts::mail::imap::Server;
use journal::Paths;

use super::{Environment, key};

/// The mail backend.
#[derive(Clone, Debug)]
pub enum Mail {
    Google,
    Imap {
        server: Server,
        user: String,
        password: Secret,
    },
    /// The configuration is invalid; everything else still works.
    Wrong(String),
}

/// Reads the backend. A mailbox needs an address, a user name and a password.
pub fn read(environment: &Environment, paths: &Paths) -> Mail {
    match environment.get("OLLIM_IMAP_URL") {
        Some(address) => imap(environment, paths, address).unwrap_or_else(Mail::Wrong),
        None => Mail::Google,
    }
}

fn imap(environment: &Environment, paths: &Paths, address: &str) -> Result<Mail, String> {
    let server = Server::read(address).map_err(|bad| format!("OLLIM_IMAP_URL: {bad}"))?;
    let unset = |what: &str| format!("OLLIM_IMAP_URL names a mailbox, but {what}");
    let user = environment.get("OLLIM_IMAP_USER");
    let user =
        user.ok_or_else(|| unset("OLLIM_IMAP_USER is not set. set it to your name there."))?.to_owned();
    let password = key::source(environment, paths, key::IMAP).map_err(|failed| failed.to_string())?;
    let password = password.map(|source| Secret::new(source())).ok_or_else(|| {
        unset("there is no password. write it into a file of yours alone and set OLLIM_IMAP_PASSWORD_FILE to its path.")
    })?;
    Ok(Mail::Imap { server, user, password })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(variables: &[(&str, &str)]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let look_up = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        match read(&Environment::new(look_up), &Paths::new(dir.path())) {
            Mail::Google => "google".to_owned(),
            Mail::Imap { .. } => "imap".to_owned(),
            Mail::Wrong(what) => what,
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let url = ("OLLIM_IMAP_URL", "imaps://mail.example.org");
        let user = ("OLLIM_IMAP_USER", "ann");
        let password = ("OLLIM_IMAP_PASSWORD", "hunter2");
        assert_eq!(wrong(&[user, password]), "google");
        assert_eq!(wrong(&[url, user, password]), "imap");
        assert!(wrong(&[url, password]).contains("OLLIM_IMAP_USER is not set"));
        assert!(wrong(&[url, user]).contains("OLLIM_IMAP_PASSWORD_FILE"));
        let no_mailbox = ("OLLIM_IMAP_URL", "https://mail.example.org");
        assert!(wrong(&[no_mailbox, user, password]).starts_with("OLLIM_IMAP_URL: `https://"));
    }
}
