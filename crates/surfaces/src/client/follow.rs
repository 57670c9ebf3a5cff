//! Follows the event stream and reconnects when the connection is lost.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::{Client, Events, Shown, Unanswered};

/// Delay before the next connection attempt.
const AGAIN: Duration = Duration::from_secs(1);

/// An item of [`Follower`].
#[derive(Debug)]
pub enum Followed {
    Shown(Shown),
    /// The connection was closed.
    Gone,
    /// The daemon is running but silent.
    Still,
    /// A new connection is open; its event stream starts from the beginning.
    Back,
}

/// Event stream that survives restarts of the assistant.
pub struct Following {
    client: Client,
    line: Line,
}

enum Line {
    Open(Events),
    /// No connection; holds the time of the next attempt.
    Closed(Instant),
}

impl Following {
    pub async fn begin(client: &Client) -> Result<Self, Unanswered> {
        Ok(Self { client: client.clone(), line: Line::Open(client.events().await?) })
    }

    /// Returns the next event. Cancel safe.
    pub async fn next(&mut self) -> Followed {
        loop {
            match &mut self.line {
                Line::Open(events) => {
                    let lost = match events.next().await {
                        Ok(Some(shown)) => return Followed::Shown(shown),
                        Ok(None) => Followed::Gone,
                        Err(_) => Followed::Still,
                    };
                    self.line = Line::Closed(Instant::now() + AGAIN);
                    return lost;
                }
                Line::Closed(again) => {
                    sleep_until(*again).await;
                    self.line = match self.client.events().await {
                        Ok(events) => Line::Open(events),
                        Err(_) => Line::Closed(Instant::now() + AGAIN),
                    };
                    if let Line::Open(_) = self.line {
                        return Followed::Back;
                    }
                }
            }
        }
    }
}
