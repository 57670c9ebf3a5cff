//! The mailbox that speaks IMAP, if one is set.

use accounts::mail::imap::{Imap, Server, Settings};
use journal::Paths;

use super::{Environment, key};
use crate::exit::Failed;

/// Reads it. Whoever names a mailbox must also say who they are there.
pub fn imap(environment: &Environment, paths: &Paths) -> Result<Option<Imap>, Failed> {
    let Some(address) = environment.get("OLLIM_IMAP_URL") else { return Ok(None) };
    let server =
        Server::read(address).map_err(|bad| Failed::Configuration(format!("OLLIM_IMAP_URL: {bad}")))?;
    let unset = |what: &str| Failed::Configuration(format!("OLLIM_IMAP_URL names a mailbox, but {what}"));
    let user = environment.get("OLLIM_IMAP_USER");
    let user = user.ok_or_else(|| unset("OLLIM_IMAP_USER is not set. set it to your name there."))?;
    let password = key::password(environment, paths, key::IMAP)?.ok_or_else(|| {
        unset("there is no password. write it into a file of yours alone and set OLLIM_IMAP_PASSWORD_FILE to its path.")
    })?;
    Ok(Some(Imap::new(Settings { server, user: user.to_owned(), password, tls: wire::tls() })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<bool, String> {
        let dir = tempfile::tempdir().unwrap();
        let look_up = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let imap = imap(&Environment::new(look_up), &Paths::new(dir.path()));
        imap.map(|imap| imap.is_some()).map_err(|failed| failed.to_string())
    }

    #[test]
    fn what_is_missing_is_named() {
        let (url, user) = (("OLLIM_IMAP_URL", "imaps://mail.example.org"), ("OLLIM_IMAP_USER", "ann"));
        let password = ("OLLIM_IMAP_PASSWORD", "hunter2");
        assert_eq!(read(&[user, password]), Ok(false));
        assert_eq!(read(&[url, user, password]), Ok(true));
        assert!(read(&[url, password]).unwrap_err().contains("OLLIM_IMAP_USER is not set"));
        assert!(read(&[url, user]).unwrap_err().contains("OLLIM_IMAP_PASSWORD_FILE"));
        let wrong = ("OLLIM_IMAP_URL", "https://mail.example.org");
        assert!(read(&[wrong, user, password]).unwrap_err().starts_with("OLLIM_IMAP_URL: `https://"));
    }
}
