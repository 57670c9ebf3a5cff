//! Builds HTTP clients and TLS settings for all outgoing connections.
//!
//! A machine without certificates uses the bundled ones, redirects are never followed, because a
//! redirect would send a key to another host, and loopback addresses never use a proxy.

pub mod oauth;
mod secret;

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;

use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, Url};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::ConfigVerifierExt;

pub use secret::Secret;

/// Returns a client for `address`, configured by `configure`, or a short error text.
pub fn build_client(
    address: &Url,
    configure: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Result<Client, String> {
    install_crypto_provider();
    let build = || {
        let builder = configure(Client::builder().redirect(Policy::none()));
        if is_loopback(address) { builder.no_proxy() } else { builder }
    };
    build()
        .build()
        .or_else(|_| with_bundled_certificates(build())?.build())
        .map_err(|error| root_cause(&error))
}

/// Installs the process-wide TLS crypto provider.
pub fn install_crypto_provider() {
    // A second installation fails harmlessly: the provider is always the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Returns the bundled root certificates.
pub fn bundled_certificates() -> Result<Vec<Certificate>, reqwest::Error> {
    webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().map(|root| Certificate::from_der(root)).collect()
}

/// Returns the TLS settings for connections other than HTTP, with the certificates of the machine
/// or else the bundled ones.
pub fn tls_config() -> Arc<ClientConfig> {
    install_crypto_provider();
    Arc::new(ClientConfig::with_platform_verifier().unwrap_or_else(|_| bundled_tls_config()))
}

fn bundled_tls_config() -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
    ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}

fn with_bundled_certificates(builder: ClientBuilder) -> Result<ClientBuilder, reqwest::Error> {
    Ok(builder.tls_certs_only(bundled_certificates()?))
}

/// Returns the innermost cause, which is the only specific one.
pub fn root_cause(error: &reqwest::Error) -> String {
    error_chain(error).last().map_or_else(String::new, ToString::to_string)
}

/// Iterates over an error and its causes.
pub fn error_chain<'a>(error: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error as &'a (dyn Error + 'static)), |error| (*error).source())
}

/// Returns `address` without passwords and tokens, for error messages.
pub fn redact_address(address: &str) -> String {
    let shown = |text: &str| text.split(['?', '#']).next().unwrap_or_default().to_owned();
    match address.rsplit_once('@') {
        Some((_, host)) => format!("...@{}", shown(host)),
        None => shown(address),
    }
}

/// Returns whether `address` is on this machine.
pub fn is_loopback(address: &Url) -> bool {
    let host = address.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(ip) => ip.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Checks that a key sent to `address` cannot be read on the way. The error text names
/// alternatives.
pub fn check_key_transport(address: &Url) -> Result<(), String> {
    if address.scheme() != "http" || is_loopback(address) {
        return Ok(());
    }
    let place = host_and_port(address);
    Err(format!(
        "over http everybody on the way to {place} could read the key, so it is not sent. use https://, no key if it \
         wants none, or a tunnel (ssh -L 8099:{place} HOST, then http://127.0.0.1:8099)"
    ))
}

/// Returns the host and port of `address`.
pub fn host_and_port(address: &Url) -> String {
    let port = address.port_or_known_default().unwrap_or_default();
    format!("{}:{port}", address.host_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_addresses_are_recognized() {
        let check = |base: &str, expected: bool| assert_eq!(is_loopback(&base.parse().unwrap()), expected);
        check("http://127.0.0.1:1", true);
        check("http://127.3.2.1", true);
        check("http://[::1]:1", true);
        check("http://localhost", true);
        check("http://a.localhost", true);
        check("http://10.0.0.1", false);
        check("https://localhost.example.com", false);
    }

    /// J1: credentials are never shown, in whatever form the address contains them.
    #[test]
    fn address_is_shown_without_its_secrets() {
        let check = |address: &str, expected: &str| assert_eq!(redact_address(address), expected);
        check("https://a.b/c", "https://a.b/c");
        check("https://me:canary@a.b/c", "...@a.b/c");
        check("https://me:can?ary@a.b", "...@a.b");
        check("https://me:can@ary@a.b", "...@a.b");
        check("https://a.b/?token=canary#canary", "https://a.b/");
        check("me:canary@", "...@");
    }

    #[test]
    fn machine_without_certificates_uses_the_bundled_ones() {
        install_crypto_provider();
        assert!(with_bundled_certificates(Client::builder()).unwrap().build().is_ok());
        bundled_tls_config();
    }
}
