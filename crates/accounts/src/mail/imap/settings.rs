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
pub struct InvalidServerUrl(String);

/// The transport security.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportSecurity {
    /// TLS from the start.
    Tls,
    /// STARTTLS before authentication.
    StartTls,
    /// None; only for this machine.
    Unencrypted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImapServer {
    pub host: String,
    pub port: u16,
    pub security: TransportSecurity,
}

#[derive(Clone, Debug)]
pub struct ImapSettings {
    pub server: ImapServer,
    pub user: String,
    pub password: Secret,
    /// The trusted certificates.
    pub tls: Arc<ClientConfig>,
}

impl ImapServer {
    /// Parses a URL: `imaps://` uses TLS, `imap://` STARTTLS, or no encryption on this machine.
    pub fn parse(text: &str) -> Result<Self, InvalidServerUrl> {
        let bad = || InvalidServerUrl(wire::redact_address(text));
        let address: Url = text.trim().parse().map_err(|_| bad())?;
        let host = address.host_str().map(|host| host.trim_matches(['[', ']'])).unwrap_or_default();
        let plain = address.path().trim_matches('/').is_empty()
            && address.query().is_none()
            && address.username().is_empty()
            && address.password().is_none();
        let security = match address.scheme() {
            "imaps" => TransportSecurity::Tls,
            "imap" if wire::is_loopback(&address) => TransportSecurity::Unencrypted,
            "imap" => TransportSecurity::StartTls,
            _ => return Err(bad()),
        };
        if host.is_empty() || !plain {
            return Err(bad());
        }
        let usual = if security == TransportSecurity::Tls { 993 } else { 143 };
        Ok(Self { host: host.to_owned(), port: address.port().unwrap_or(usual), security })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_determines_the_transport_security() {
        let check = |text: &str, host: &str, port: u16, security: TransportSecurity| {
            assert_eq!(ImapServer::parse(text), Ok(ImapServer { host: host.to_owned(), port, security }));
        };
        check("imaps://mail.example.org", "mail.example.org", 993, TransportSecurity::Tls);
        check(" imaps://mail.example.org:1993/ ", "mail.example.org", 1993, TransportSecurity::Tls);
        check("imap://mail.example.org", "mail.example.org", 143, TransportSecurity::StartTls);
        check("imap://127.0.0.1:1143", "127.0.0.1", 1143, TransportSecurity::Unencrypted);
        check("imap://[::1]:1143", "::1", 1143, TransportSecurity::Unencrypted);
        check("imap://localhost", "localhost", 143, TransportSecurity::Unencrypted);
        for bad in ["mail.example.org", "https://mail.example.org", "imaps://", "imaps://host/INBOX", ""] {
            assert_eq!(ImapServer::parse(bad), Err(InvalidServerUrl(bad.to_owned())));
        }
        let told = ImapServer::parse("imaps://me:hunter2@mail.example.org").unwrap_err().to_string();
        assert!(!told.contains("hunter2") && told.contains("imaps://mail.example.org"), "{told}");
    }
}
