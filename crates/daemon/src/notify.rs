//! Telling systemd how we are: datagrams to the socket that it names.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use crate::settings::Environment;

/// The way to whoever started us and wants to hear from us.
#[derive(Clone, Debug)]
pub struct Notifier {
    address: SocketAddr,
    watched: Option<Duration>,
}

impl Notifier {
    /// The way that `environment` names, if it names one.
    pub fn read(environment: &Environment) -> Option<Self> {
        let name = environment.get("NOTIFY_SOCKET")?;
        let address = match name.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name),
            None => SocketAddr::from_pathname(name),
        };
        let address = address.ok()?;
        let for_us = environment.get("WATCHDOG_PID").is_none_or(|pid| pid == std::process::id().to_string());
        let micros = environment.get("WATCHDOG_USEC").and_then(|micros| micros.parse().ok());
        let watched = micros.filter(|micros| *micros > 0 && for_us).map(Duration::from_micros);
        Some(Self { address, watched })
    }

    /// How long it waits for a sign of life, if it does.
    pub fn watched(&self) -> Option<Duration> {
        self.watched
    }

    /// Says that we are ready.
    pub fn ready(&self) {
        self.say("READY=1\nSTATUS=ready");
    }

    /// Says that we live.
    pub fn alive(&self) {
        self.say("WATCHDOG=1");
    }

    /// Says that we are about to end for good: whoever hears it ends us if we do not.
    pub fn stopping(&self) {
        self.say("STOPPING=1\nSTATUS=stopping");
    }

    fn say(&self, text: &str) {
        // Whoever does not listen any more will not miss it.
        let _ =
            UnixDatagram::unbound().and_then(|socket| socket.send_to_addr(text.as_bytes(), &self.address));
    }
}
