//! The settings of an IMAP account: server, user and transport security.

use std::sync::Arc;

use reqwest::Url;
use rustls::ClientConfig;

use crate::Secret;

/// An invalid server URL. The user must correct it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not the address of a mailbox. write it like imaps://mail.example.org; imap:// takes STARTTLS."
)]
pub struct BadAddress(String);

/// The transport security.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// TLS from the start.
    Tls,
    /// STARTTLS before authentication.
    StartTls,
    /// None; only for this machine.
    Plain,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub host: String,
    pub port: u16,
    pub security: Security,
}

#[derive(Clone, Debug)]
pub struct Settings {
    pub server: Server,
    pub user: String,
    pub password: Secret,
    /// The trusted certificates.
    pub tls: Arc<ClientConfig>,
}

impl Server {
    /// Parses a URL: `imaps://` uses TLS, `imap://` STARTTLS, or no encryption on this machine.
    pub fn read(text: &str) -> Result<Self, BadAddress> {
        let bad = || BadAddress(wire::without_secrets(text));
        let address: Url = text.trim().parse().map_err(|_| bad())?;
        let host = address.host_str().map(|host| host.trim_matches(['[', ']'])).unwrap_or_default();
        let plain = address.path().trim_matches('/').is_empty()
            && address.query().is_none()
            && address.username().is_empty()
            && address.password().is_none();
        let security = match address.scheme() {
            "imaps" => Security::Tls,
            "imap" if wire::is_loopback(&address) => Security::Plain,
            "imap" => Security::StartTls,
            _ => return Err(bad()),
        };
        if host.is_empty() || !plain {
            return Err(bad());
        }
        let usual = if security == Security::Tls { 993 } else { 143 };
        Ok(Self { host: host.to_owned(), port: address.port().unwrap_or(usual), security })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_how_the_line_is_made_secret() {
        let check = |text: &str, host: &str, port: u16, security: Security| {
            assert_eq!(Server::read(text), Ok(Server { host: host.to_owned(), port, security }));
        };
        check("imaps://mail.example.org", "mail.example.org", 993, Security::Tls);
        check(" imaps://mail.example.org:1993/ ", "mail.example.org", 1993, Security::Tls);
        check("imap://mail.example.org", "mail.example.org", 143, Security::StartTls);
        check("imap://127.0.0.1:1143", "127.0.0.1", 1143, Security::Plain);
        check("imap://[::1]:1143", "::1", 1143, Security::Plain);
        check("imap://localhost", "localhost", 143, Security::Plain);
        for bad in ["mail.example.org", "https://mail.example.org", "imaps://", "imaps://host/INBOX", ""] {
            assert_eq!(Server::read(bad), Err(BadAddress(bad.to_owned())));
        }
        let told = Server::read("imaps://me:hunter2@mail.example.org").unwrap_err().to_string();
        assert!(!told.contains("hunter2") && told.contains("imaps://mail.example.org"), "{told}");
    }
}
