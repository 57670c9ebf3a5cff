//! The guard: which machines can be reached at all.
//!
//! A name is looked up here and nowhere else, and a connection is made to exactly the addresses that were looked at. So
//! a name that leads to another place when it is looked up again leads to the guard again.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::is_public;

/// Looks names up.
pub trait Resolver: Send + Sync {
    /// The addresses of `name`.
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Looks names up as this machine does.
#[derive(Clone, Copy, Debug)]
pub struct System;

impl Resolver for System {
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Which addresses can be reached, and where that leads.
pub trait Reach: Send + Sync {
    /// The address to connect to for `address`: nothing, if it must not be reached.
    fn dial(&self, address: IpAddr) -> Option<IpAddr>;
}

/// Every address of the public net, and no other.
#[derive(Clone, Copy, Debug)]
pub struct Public;

impl Reach for Public {
    fn dial(&self, address: IpAddr) -> Option<IpAddr> {
        is_public(address).then_some(address)
    }
}

/// Looks names up, and lets no connection be made to what must not be reached.
#[derive(Clone)]
pub struct Guard {
    /// Looks names up.
    pub resolver: Arc<dyn Resolver>,
    /// Says what may be reached.
    pub reach: Arc<dyn Reach>,
}

impl Guard {
    /// That `url` may be asked for: what can be said before its name is looked up.
    pub fn admits(&self, url: &Url) -> Result<(), String> {
        if !["http", "https"].contains(&url.scheme()) {
            return Err(format!("`{url}` is no address of a page. it must begin with http:// or https://."));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("that address has a name or a password in it. leave them out.".to_owned());
        }
        let host = url.host_str().unwrap_or_default();
        match host.trim_start_matches('[').trim_end_matches(']').parse() {
            // An address that is written out is not looked up, so it must lead where it says.
            Ok(address) if self.reach.dial(address) != Some(address) => Err(unreachable(host)),
            Ok(_) => Ok(()),
            Err(_) if host.is_empty() => Err(format!("`{url}` names no machine.")),
            Err(_) => Ok(()),
        }
    }

    async fn look_up(self, name: String) -> Result<Addrs, Box<dyn std::error::Error + Send + Sync>> {
        let found = self.resolver.addresses(&name).await?;
        // One address that must not be reached spoils the name.
        let reached: Option<Vec<SocketAddr>> =
            found.into_iter().map(|address| Some(SocketAddr::new(self.reach.dial(address)?, 0))).collect();
        match reached {
            Some(reached) if reached.is_empty() => Err(format!("`{name}` has no address").into()),
            Some(reached) => Ok(Box::new(reached.into_iter())),
            None => Err(unreachable(&name).into()),
        }
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(self.clone().look_up(name.as_str().to_owned()))
    }
}

/// How the sentence about a machine ends that must not be reached.
pub const NOT_PUBLIC: &str = "is not on the public net, and only that is read";

fn unreachable(host: &str) -> String {
    format!("`{host}` {NOT_PUBLIC}")
}
