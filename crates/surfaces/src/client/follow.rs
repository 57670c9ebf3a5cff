//! Follows the event stream and reconnects when the connection is lost.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::{Client, ClientError, EventStream, StreamEvent};

/// Delay before the next connection attempt.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// An item of [`Follower`].
#[derive(Debug)]
pub enum FollowerEvent {
    Event(StreamEvent),
    /// The connection was closed.
    Closed,
    /// The daemon is running but silent.
    Unresponsive,
    /// A new connection is open; its event stream starts from the beginning.
    Reconnected,
}

/// Event stream that survives restarts of the assistant.
pub struct Follower {
    client: Client,
    connection: FollowerConnection,
}

enum FollowerConnection {
    Open(EventStream),
    /// No connection; holds the time of the next attempt.
    Waiting(Instant),
}

impl Follower {
    pub async fn start(client: &Client) -> Result<Self, ClientError> {
        Ok(Self { client: client.clone(), connection: FollowerConnection::Open(client.events().await?) })
    }

    /// Returns the next event. Cancel safe.
    pub async fn next(&mut self) -> FollowerEvent {
        loop {
            match &mut self.connection {
                FollowerConnection::Open(events) => {
                    let lost = match events.next().await {
                        Ok(Some(shown)) => return FollowerEvent::Event(shown),
                        Ok(None) => FollowerEvent::Closed,
                        Err(_) => FollowerEvent::Unresponsive,
                    };
                    self.connection = FollowerConnection::Waiting(Instant::now() + RETRY_DELAY);
                    return lost;
                }
                FollowerConnection::Waiting(again) => {
                    sleep_until(*again).await;
                    self.connection = match self.client.events().await {
                        Ok(events) => FollowerConnection::Open(events),
                        Err(_) => FollowerConnection::Waiting(Instant::now() + RETRY_DELAY),
                    };
                    if let FollowerConnection::Open(_) = self.connection {
                        return FollowerEvent::Reconnected;
                    }
                }
            }
        }
    }
}
