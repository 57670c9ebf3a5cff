//! Connections to a vendor: its address, transport checks and the HTTP client.

use std::time::Duration;

use domain::failure::Failure;
use reqwest::{Client, Url};
use wire::{error_chain, host_and_port, root_cause};

/// The names that error messages use for a vendor's settings.
#[derive(Clone, Copy, Debug)]
pub struct VendorNames {
    /// An example address.
    pub example_url: &'static str,
    /// The environment variable of the key.
    pub key_variable: &'static str,
}

/// Invalid settings, which the user must correct.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The address is not a URL of a server.
    #[error("`{0}` is not the address of a model; it looks like {1}")]
    InvalidAddress(String, &'static str),
    /// The address contains a user name or password, which would be shown with the address.
    #[error("the address of the model holds a password; put the key into {0} instead")]
    PasswordInAddress(&'static str),
    /// The key contains characters that are invalid in a header.
    #[error("the model's key has a line break or another character that no key has; copy it once more")]
    InvalidKey,
    /// The key would be sent unencrypted. Contains the message with alternatives.
    #[error("{0}")]
    UnencryptedKey(String),
    /// The TLS setup of this machine failed.
    #[error("this machine cannot make a secure connection: {0}")]
    TlsSetup(String),
}

impl VendorNames {
    /// Parses the address of a server.
    pub fn parse_base_url(self, base_url: &str) -> Result<Url, SettingsError> {
        let bad = || SettingsError::InvalidAddress(wire::redact_address(base_url), self.example_url);
        let url: Url = base_url.trim().parse().map_err(|_| bad())?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(SettingsError::PasswordInAddress(self.key_variable));
        }
        let plain = matches!(url.scheme(), "http" | "https") && url.has_host();
        if !plain || url.query().is_some() || url.fragment().is_some() {
            return Err(bad());
        }
        Ok(url)
    }
}

/// Returns `base` with `path` appended.
pub fn join_path(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url
}

/// Checks that a key sent to `address` cannot be read on the way.
pub fn check_transport(address: &Url) -> Result<(), SettingsError> {
    wire::check_key_transport(address).map_err(SettingsError::UnencryptedKey)
}

/// Creates a client for `address`.
pub fn build_client(address: &Url, connect: Duration) -> Result<Client, SettingsError> {
    wire::build_client(address, |builder| builder.connect_timeout(connect)).map_err(SettingsError::TlsSetup)
}

/// Returns the failure of a request that `address` did not answer.
pub fn connection_failure(error: reqwest::Error, address: &Url) -> Failure {
    if error.is_connect() || error.is_timeout() {
        return Failure::Unreachable(format!("{}: {}", host_and_port(address), root_cause(&error)));
    }
    match hyper_error(&error) {
        Some(error) if error.is_parse() => {
            Failure::InvalidResponse(format!("it does not speak HTTP: {error}"))
        }
        Some(_) | None => Failure::VendorError(root_cause(&error)),
    }
}

fn hyper_error(error: &reqwest::Error) -> Option<&hyper::Error> {
    error_chain(error).find_map(|cause| cause.downcast_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_address_is_explained() {
        let check = |base: &str, expected: &str| {
            let vendor = VendorNames { example_url: "https://a.b", key_variable: "A_KEY" };
            let url = vendor.parse_base_url(base).map(|base| join_path(&base, "/v1/messages"));
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
