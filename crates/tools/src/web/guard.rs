//! Decides which hosts can be reached.
//!
//! Names are resolved only here, and connections go to exactly the addresses that were checked, so
//! DNS rebinding cannot bypass the check.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::is_public;

/// Resolves host names.
pub trait Resolver: Send + Sync {
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
#[derive(Clone, Copy, Debug)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Decides which addresses may be reached, and where to connect.
pub trait AddressPolicy: Send + Sync {
    /// Returns the address to connect to for `address`, or `None` if it is forbidden.
    fn connect_address(&self, address: IpAddr) -> Option<IpAddr>;
}

/// Permits all public addresses and no others.
#[derive(Clone, Copy, Debug)]
pub struct PublicAddresses;

impl AddressPolicy for PublicAddresses {
    fn connect_address(&self, address: IpAddr) -> Option<IpAddr> {
        is_public(address).then_some(address)
    }
}

/// Resolves names and refuses connections to forbidden addresses.
#[derive(Clone)]
pub struct AddressGuard {
    pub resolver: Arc<dyn Resolver>,
    pub policy: Arc<dyn AddressPolicy>,
}

impl AddressGuard {
    /// Checks `url` as far as possible before its name is resolved.
    pub fn check_url(&self, url: &Url) -> Result<(), String> {
        if !["http", "https"].contains(&url.scheme()) {
            return Err(format!("`{url}` is no address of a page. it must begin with http:// or https://."));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("that address has a name or a password in it. leave them out.".to_owned());
        }
        let host = url.host_str().unwrap_or_default();
        match host.trim_start_matches('[').trim_end_matches(']').parse() {
            // A literal address is not resolved, so it cannot be redirected by the policy.
            Ok(address) if self.policy.connect_address(address) != Some(address) => {
                Err(not_public_text(host))
            }
            Ok(_) => Ok(()),
            Err(_) if host.is_empty() => Err(format!("`{url}` names no machine.")),
            Err(_) => Ok(()),
        }
    }

    async fn resolve_checked(self, name: String) -> Result<Addrs, Box<dyn std::error::Error + Send + Sync>> {
        let found = self.resolver.addresses(&name).await?;
        // A single forbidden address makes the whole name forbidden.
        let reached: Option<Vec<SocketAddr>> = found
            .into_iter()
            .map(|address| Some(SocketAddr::new(self.policy.connect_address(address)?, 0)))
            .collect();
        match reached {
            Some(reached) if reached.is_empty() => Err(format!("`{name}` has no address").into()),
            Some(reached) => Ok(Box::new(reached.into_iter())),
            None => Err(not_public_text(&name).into()),
        }
    }
}

impl Resolve for AddressGuard {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(self.clone().resolve_checked(name.as_str().to_owned()))
    }
}

/// The end of the error sentence about a forbidden host.
pub const NOT_PUBLIC: &str = "is not on the public net, and only that is read";

fn not_public_text(host: &str) -> String {
    format!("`{host}` {NOT_PUBLIC}")
}
