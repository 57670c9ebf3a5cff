//! Connections to a vendor: its address, transport checks and the HTTP client.

use std::time::Duration;

use domain::failure::Failure;
use reqwest::{Client, Url};
use wire::{chain, place, reason};

/// The names that error messages use for a vendor's settings.
#[derive(Clone, Copy, Debug)]
pub struct Vendor {
    /// An example address.
    pub example: &'static str,
    /// The environment variable of the key.
    pub variable: &'static str,
}

/// Invalid settings, which the user must correct.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSettings {
    /// The address is not a URL of a server.
    #[error("`{0}` is not the address of a model; it looks like {1}")]
    Address(String, &'static str),
    /// The address contains a user name or password, which would be shown with the address.
    #[error("the address of the model holds a password; put the key into {0} instead")]
    Password(&'static str),
    /// The key contains characters that are invalid in a header.
    #[error("the model's key has a line break or another character that no key has; copy it once more")]
    Key,
    /// The key would be sent unencrypted. Contains the message with alternatives.
    #[error("{0}")]
    Readable(String),
    /// The TLS setup of this machine failed.
    #[error("this machine cannot make a secure connection: {0}")]
    Secure(String),
}

impl Vendor {
    /// Parses the address of a server.
    pub fn base(self, base_url: &str) -> Result<Url, BadSettings> {
        let bad = || BadSettings::Address(wire::without_secrets(base_url), self.example);
        let url: Url = base_url.trim().parse().map_err(|_| bad())?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadSettings::Password(self.variable));
        }
        let plain = matches!(url.scheme(), "http" | "https") && url.has_host();
        if !plain || url.query().is_some() || url.fragment().is_some() {
            return Err(bad());
        }
        Ok(url)
    }
}

/// Returns `base` with `path` appended.
pub fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url
}

/// Checks that a key sent to `address` cannot be read on the way.
pub fn guarded(address: &Url) -> Result<(), BadSettings> {
    wire::guarded(address).map_err(BadSettings::Readable)
}

/// Creates a client for `address`.
pub fn client(address: &Url, connect: Duration) -> Result<Client, BadSettings> {
    wire::client(address, |builder| builder.connect_timeout(connect)).map_err(BadSettings::Secure)
}

/// Returns the failure of a request that `address` did not answer.
pub fn unanswered(error: reqwest::Error, address: &Url) -> Failure {
    if error.is_connect() || error.is_timeout() {
        return Failure::Unreachable(format!("{}: {}", place(address), reason(&error)));
    }
    match wire_error(&error) {
        Some(error) if error.is_parse() => Failure::Garbled(format!("it does not speak HTTP: {error}")),
        Some(_) | None => Failure::Broken(reason(&error)),
    }
}

fn wire_error(error: &reqwest::Error) -> Option<&hyper::Error> {
    chain(error).find_map(|cause| cause.downcast_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_cannot_work_is_named_in_words() {
        let check = |base: &str, expected: &str| {
            let vendor = Vendor { example: "https://a.b", variable: "A_KEY" };
            let url = vendor.base(base).map(|base| below(&base, "/v1/messages"));
            let said = url.map_or_else(|error| error.to_string(), |url| url.to_string());
            assert_eq!(said, expected);
        };
        check("https://api.anthropic.com", "https://api.anthropic.com/v1/messages");
        check(" http://[::1]:8080/proxy/ ", "http://[::1]:8080/proxy/v1/messages");
        let hint = "is not the address of a model; it looks like https://a.b";
        for bad in ["", "api.anthropic.com", "localhost:80", "ftp://a.b"] {
            check(bad, &format!("`{bad}` {hint}"));
        }
        // J1: possible secrets are not shown.
        for bad in ["http://a/?key=canary", "http://a/#canary"] {
            check(bad, &format!("`http://a/` {hint}"));
        }
        check(
            "https://me:secret@a.b",
            "the address of the model holds a password; put the key into A_KEY instead",
        );
    }
}
