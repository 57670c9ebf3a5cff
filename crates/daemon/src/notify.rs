//! Notifications to systemd through its datagram socket (sd_notify).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use crate::settings::Environment;

/// The socket of the service manager that started this process.
#[derive(Clone, Debug)]
pub struct Notifier {
    address: SocketAddr,
    watched: Option<Duration>,
}

impl Notifier {
    /// Reads the socket and the watchdog timeout from `environment`.
    pub fn from_environment(environment: &Environment) -> Option<Self> {
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

    /// Returns the watchdog timeout, if the watchdog is on.
    pub fn watched(&self) -> Option<Duration> {
        self.watched
    }

    pub fn ready(&self) {
        self.send("READY=1\nSTATUS=ready");
    }

    /// Resets the watchdog timeout.
    pub fn alive(&self) {
        self.send("WATCHDOG=1");
    }

    /// Announces the final exit. systemd then kills the process after a timeout.
    pub fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=stopping");
    }

    fn send(&self, text: &str) {
        // Errors are ignored: without a listener there is nothing to report.
        let _ =
            UnixDatagram::unbound().and_then(|socket| socket.send_to_addr(text.as_bytes(), &self.address));
    }
}
