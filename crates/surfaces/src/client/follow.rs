//! Following: what is shown, over one connection after the other, for as long as somebody looks.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::{Client, Events, Shown, Unanswered};

/// How long to wait before the assistant is looked for again.
const AGAIN: Duration = Duration::from_secs(1);

/// Something that is followed.
#[derive(Debug)]
pub enum Followed {
    /// Something was shown.
    Shown(Shown),
    /// The assistant has gone.
    Gone,
    /// It is there, and nothing comes from it.
    Still,
    /// It is back; what it shows begins anew.
    Back,
}

/// What is shown, also by an assistant that was started again.
pub struct Following {
    client: Client,
    line: Line,
}

enum Line {
    Open(Events),
    /// Nobody is there; this is when to look again.
    Closed(Instant),
}

impl Following {
    /// Follows what is shown from now on.
    pub async fn begin(client: &Client) -> Result<Self, Unanswered> {
        Ok(Self { client: client.clone(), line: Line::Open(client.events().await?) })
    }

    /// The next thing. Who waits for something else meanwhile may drop this and call it again.
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
