//! The client's end of a gateway connection.

use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::FakeDiscord;
use super::gateway::{EVERY_SESSION, SocketEvent};
use super::route::parse_query;

/// The gateway could not be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nobody answers at Discord's gateway")]
pub struct ConnectError;

/// A client's end of a gateway connection. Dropping it breaks the connection; the session can be
/// resumed.
#[derive(Debug)]
pub struct GatewaySocket {
    discord: FakeDiscord,
    connection: u64,
    incoming: UnboundedReceiver<SocketEvent>,
}

impl FakeDiscord {
    /// Opens a connection with the query of a gateway URL (`v=10&encoding=json`).
    pub fn connect(&self, url_query: &str) -> Result<GatewaySocket, ConnectError> {
        let (out, incoming) = unbounded_channel();
        let query = parse_query(url_query.rsplit('?').next().unwrap_or_default());
        let value = |name| query.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str());
        let connection = self.update(|state| {
            if state.faults.is_down(state.now.boot) {
                return Err(ConnectError);
            }
            state.log.connects.push(state.now.boot);
            let connection = state.gateway.open_connection(out, &state.setup.gateway, state.now.boot);
            if value("v").is_some_and(|version| version != "10" && version != "9") {
                state.close_connection(connection, 4012);
            } else if value("encoding").is_some_and(|encoding| encoding != "json") {
                state.close_connection(connection, 4002);
            }
            Ok(connection)
        })?;
        Ok(GatewaySocket { discord: self.clone(), connection, incoming })
    }

    /// Sends an event with arbitrary data that no action caused.
    pub fn send_forged_event(&self, name: &str, data: serde_json::Value) {
        self.update(|state| state.emit(name, EVERY_SESSION, data));
    }
}

impl GatewaySocket {
    /// Sends a frame as the client.
    pub fn send(&self, text: &str) {
        self.discord.update(|state| state.receive_frame(self.connection, text));
    }

    /// Closes the connection as the client. Code 1000 or 1001 ends the session; otherwise it can be
    /// resumed.
    pub fn close(&self, code: u16) {
        self.discord.update(|state| state.client_closed(self.connection, Some(code)));
    }

    /// Waits for the next event. After the end of the connection, it is always
    /// [`SocketEvent::Dropped`].
    pub async fn next(&mut self) -> SocketEvent {
        loop {
            let next_deadline = self.discord.with_state(|state| {
                let connection = state.gateway.connections.get(&self.connection)?;
                let deadline = connection.heartbeat_deadline(&state.setup.gateway);
                let outage = state.faults.next_outage(state.now.boot);
                let first = deadline.into_iter().chain(outage).min()?;
                Some(first.saturating_sub(state.now.boot))
            });
            // One millisecond more than needed, for clocks that round down.
            let wait = next_deadline.map(|wait| wait + Duration::from_millis(1));
            tokio::select! {
                biased;
                incoming = self.incoming.recv() => return incoming.unwrap_or(SocketEvent::Dropped),
                () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => self.discord.tick(),
            }
        }
    }
}

impl Drop for GatewaySocket {
    fn drop(&mut self) {
        self.discord.update(|state| state.client_closed(self.connection, None));
    }
}
