//! The client's end of a gateway connection.

use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::Discord;
use super::gateway::{ALWAYS, Incoming};
use super::route::pairs;

/// The gateway could not be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nobody answers at Discord's gateway")]
pub struct Refused;

/// A client's end of a gateway connection. Dropping it breaks the connection; the session can be
/// resumed.
#[derive(Debug)]
pub struct Socket {
    discord: Discord,
    line: u64,
    incoming: UnboundedReceiver<Incoming>,
}

impl Discord {
    /// Opens a connection with the query of a gateway URL (`v=10&encoding=json`).
    pub fn connect(&self, url_query: &str) -> Result<Socket, Refused> {
        let (out, incoming) = unbounded_channel();
        let query = pairs(url_query.rsplit('?').next().unwrap_or_default());
        let value = |name| query.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str());
        let line = self.within(|world| {
            if world.troubles.is_down(world.now.boot) {
                return Err(Refused);
            }
            world.ledger.connects.push(world.now.boot);
            let line = world.gateway.open(out, &world.setup.gateway, world.now.boot);
            if value("v").is_some_and(|version| version != "10" && version != "9") {
                world.close(line, 4012);
            } else if value("encoding").is_some_and(|encoding| encoding != "json") {
                world.close(line, 4002);
            }
            Ok(line)
        })?;
        Ok(Socket { discord: self.clone(), line, incoming })
    }

    /// Sends an event with arbitrary data that no action caused.
    pub fn forges_event(&self, name: &str, data: serde_json::Value) {
        self.within(|world| world.emit(name, ALWAYS, data));
    }
}

impl Socket {
    /// Sends a frame as the client.
    pub fn say(&self, text: &str) {
        self.discord.within(|world| world.said(self.line, text));
    }

    /// Closes the connection as the client. Code 1000 or 1001 ends the session; otherwise it can be
    /// resumed.
    pub fn close(&self, code: u16) {
        self.discord.within(|world| world.hung_up(self.line, Some(code)));
    }

    /// Waits for the next event. After the end of the connection, it is always
    /// [`SocketEvent::Dropped`].
    pub async fn next(&mut self) -> Incoming {
        loop {
            let wakes = self.discord.look(|world| {
                let line = world.gateway.lines.get(&self.line)?;
                let deadline = line.deadline(&world.setup.gateway);
                let outage = world.troubles.next_outage(world.now.boot);
                let first = deadline.into_iter().chain(outage).min()?;
                Some(first.saturating_sub(world.now.boot))
            });
            // One millisecond more than needed, for clocks that round down.
            let wait = wakes.map(|wait| wait + Duration::from_millis(1));
            tokio::select! {
                biased;
                incoming = self.incoming.recv() => return incoming.unwrap_or(Incoming::Dropped),
                () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => self.discord.tick(),
            }
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.discord.within(|world| world.hung_up(self.line, None));
    }
}
