//! Test fixture: a fake Discord and the client, in simulated time.

use std::sync::Arc;
use std::time::Duration;

use surfaces::discord::events::{Event, Message};
use surfaces::discord::gateway::{Gateway, GatewayConfig, GatewayExit, GatewayUpdate, Session};
use surfaces::discord::rest::Rest;
use surfaces::discord::transport::DiscordTransport;
use surfaces::discord::{Snowflake, Token};
use testkit::clock::VirtualClock;
use testkit::fake_discord::{FakeDiscord, Id, Setup};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::bridge::FakeTransport;

/// A fake Discord with a client.
pub struct Fixture {
    pub discord: FakeDiscord,
    pub clock: Arc<VirtualClock>,
    pub transport: FakeTransport,
    pub rest: Rest,
}

impl Fixture {
    pub fn new(setup: Setup) -> Self {
        let clock = Arc::new(VirtualClock::new("2026-11-16T09:00[Europe/Madrid]".parse().unwrap()));
        let discord = FakeDiscord::new(setup, clock.clone());
        let bridge = FakeTransport::new(&discord);
        let rest = Rest::new(Arc::new(bridge.clone()));
        Self { discord, clock, transport: bridge, rest }
    }

    /// Returns the DM of the owner and the bot.
    pub fn channel(&self) -> Snowflake {
        snowflake(self.discord.owner().channel())
    }

    /// Starts a process with `session`.
    pub fn process(&self, session: Option<Session>, seed: u64) -> Process {
        self.process_over(Arc::new(self.transport.clone()), session, seed)
    }

    /// Starts a process with another transport.
    pub fn process_over(
        &self,
        transport: Arc<dyn DiscordTransport>,
        session: Option<Session>,
        seed: u64,
    ) -> Process {
        let token = Token::parse(&self.discord.token()).unwrap();
        let gateway = Gateway::new(transport, self.rest.clone(), GatewayConfig { token, session, seed });
        let (listener, told) = channel(16);
        let stop = CancellationToken::new();
        let mut task = JoinSet::new();
        task.spawn(gateway.run(listener, stop.clone()));
        Process { updates: told, stop, task }
    }
}

/// The gateway of one process. Dropping it simulates a crash.
pub struct Process {
    pub updates: Receiver<GatewayUpdate>,
    stop: CancellationToken,
    task: JoinSet<GatewayExit>,
}

impl Process {
    /// Stops the process. Returns how it ended and its last updates.
    pub async fn stop(mut self) -> (GatewayExit, Vec<GatewayUpdate>) {
        self.stop.cancel();
        let mut last = Vec::new();
        let updates = &mut self.updates;
        let drain = async {
            while let Some(updates) = updates.recv().await {
                last.push(updates);
            }
        };
        let (ended, ()) = tokio::join!(self.task.join_next(), drain);
        (ended.unwrap().unwrap(), last)
    }

    /// Waits up to a day for the end.
    pub async fn ended(&mut self) -> GatewayExit {
        let ended = tokio::time::timeout(seconds(86_400), self.task.join_next()).await;
        ended.unwrap().unwrap().unwrap()
    }

    /// Returns the next update, within a day.
    async fn next(&mut self) -> GatewayUpdate {
        tokio::time::timeout(seconds(86_400), self.updates.recv()).await.unwrap().unwrap()
    }

    pub async fn event(&mut self) -> Event {
        let tomorrow = Instant::now() + seconds(86_400);
        while Instant::now() < tomorrow {
            if let GatewayUpdate::Event(event) = self.next().await {
                return event;
            }
        }
        panic!("no event for a day")
    }

    pub async fn message(&mut self) -> Message {
        loop {
            if let Event::Message(message) = self.event().await {
                return message;
            }
        }
    }

    /// Returns the next session to be saved.
    pub async fn session(&mut self) -> Session {
        loop {
            if let GatewayUpdate::SaveSession(session) = self.next().await {
                return session;
            }
        }
    }
}

pub fn snowflake(id: Id) -> Snowflake {
    Snowflake(id.0)
}

pub fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}
