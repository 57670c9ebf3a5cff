//! How we reach other machines: one way to make an HTTP client, whoever needs one.
//!
//! A machine without certificates of its own uses the ones we bring, redirects are never followed by themselves,
//! because a redirect would carry a key to wherever it points, and a proxy is never asked for this machine.

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

/// A client for `address`, made as `shape` says. What is wrong is told in a few words.
pub fn client(address: &Url, shape: impl Fn(ClientBuilder) -> ClientBuilder) -> Result<Client, String> {
    provide();
    let build = || {
        let builder = shape(Client::builder().redirect(Policy::none()));
        if is_loopback(address) { builder.no_proxy() } else { builder }
    };
    build().build().or_else(|_| with_our_certificates(build())?.build()).map_err(|error| reason(&error))
}

/// Chooses how connections are made secure, once for the whole program.
pub fn provide() {
    // A second installation changes nothing and says so; whoever was first has made the same choice.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The certificates that we bring.
pub fn our_certificates() -> Result<Vec<Certificate>, reqwest::Error> {
    webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().map(|root| Certificate::from_der(root)).collect()
}

/// Whose certificates are believed on lines that do not speak HTTP: those of the machine, or else ours.
pub fn tls() -> Arc<ClientConfig> {
    provide();
    Arc::new(ClientConfig::with_platform_verifier().unwrap_or_else(|_| tls_with_our_certificates()))
}

fn tls_with_our_certificates() -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
    ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}

fn with_our_certificates(builder: ClientBuilder) -> Result<ClientBuilder, reqwest::Error> {
    Ok(builder.tls_certs_only(our_certificates()?))
}

/// The first cause: the outer ones only say that something went wrong, and where.
pub fn reason(error: &reqwest::Error) -> String {
    chain(error).last().map_or_else(String::new, ToString::to_string)
}

/// An error and its causes.
pub fn chain<'a>(error: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error as &'a (dyn Error + 'static)), |error| (*error).source())
}

/// `address` as it may be shown: whoever writes a password or a token into it should not read it in an error.
pub fn without_secrets(address: &str) -> String {
    let shown = |text: &str| text.split(['?', '#']).next().unwrap_or_default().to_owned();
    match address.rsplit_once('@') {
        Some((_, host)) => format!("...@{}", shown(host)),
        None => shown(address),
    }
}

/// Whether `address` is on this machine.
pub fn is_loopback(address: &Url) -> bool {
    let host = address.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(ip) => ip.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Whether a key may be sent to `address`: nobody on the way may be able to read it. If one could, what else there is.
pub fn guarded(address: &Url) -> Result<(), String> {
    if address.scheme() != "http" || is_loopback(address) {
        return Ok(());
    }
    let place = place(address);
    Err(format!(
        "over http everybody on the way to {place} could read the key, so it is not sent. use https://, no key if it \
         wants none, or a tunnel (ssh -L 8099:{place} HOST, then http://127.0.0.1:8099)"
    ))
}

/// The host and the port of `address`.
pub fn place(address: &Url) -> String {
    let port = address.port_or_known_default().unwrap_or_default();
    format!("{}:{port}", address.host_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_never_asked_for_this_machine() {
        let check = |base: &str, expected: bool| assert_eq!(is_loopback(&base.parse().unwrap()), expected);
        check("http://127.0.0.1:1", true);
        check("http://127.3.2.1", true);
        check("http://[::1]:1", true);
        check("http://localhost", true);
        check("http://a.localhost", true);
        check("http://10.0.0.1", false);
        check("https://localhost.example.com", false);
    }

    /// J1: nothing that proves who we are is shown, however the address is written.
    #[test]
    fn an_address_is_shown_without_its_secrets() {
        let check = |address: &str, expected: &str| assert_eq!(without_secrets(address), expected);
        check("https://a.b/c", "https://a.b/c");
        check("https://me:canary@a.b/c", "...@a.b/c");
        check("https://me:can?ary@a.b", "...@a.b");
        check("https://me:can@ary@a.b", "...@a.b");
        check("https://a.b/?token=canary#canary", "https://a.b/");
        check("me:canary@", "...@");
    }

    #[test]
    fn a_machine_without_certificates_uses_ours() {
        provide();
        assert!(with_our_certificates(Client::builder()).unwrap().build().is_ok());
        tls_with_our_certificates();
    }
}
