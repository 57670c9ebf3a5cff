//! A fake Discord: its REST API, its gateway, simulated users, and injected faults.
//!
//! [`FakeDiscord`] has no socket of its own, so everything in it happens in the time of the test.
//! [`serve`] exposes it to real clients on loopback. It shares no code with our adapter, so that
//! each can catch mistakes of the other.

mod call;
mod channels;
mod client;
mod commands;
mod components;
mod console;
mod door;
mod followups;
mod form;
mod gateway;
mod id;
mod interactions;
mod ledger;
mod limits;
mod messages;
mod multipart;
mod person;
mod refusal;
mod rest;
mod route;
mod screen;
mod setup;
mod socket;
mod talk;
#[cfg(test)]
mod tests;
mod transcript;
mod trouble;
mod world;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::ports::Clock;
use tokio::sync::watch;

pub use call::{Answer, Body, Call, Outcome, Reply};
pub use console::{Console, DEEDS};
pub use door::{Server, serve};
pub use gateway::Incoming;
pub use id::{Id, InteractionId, MessageId};
pub use ledger::{Ledger, Request, Scope};
pub use person::{Attached, Choice, Person, Unfit};
pub use screen::{Button, Menu, Seen, Shown};
pub use setup::{GatewaySetup, Installed, Ownership, Rate, Rates, Setup};
pub use socket::{Refused, Socket};
pub use talk::{COMPONENTS_V2, EPHEMERAL, LOADING, SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS};
pub use trouble::{Mishap, On, Resumable, Trouble, Upset};

use setup::Moment;
use world::World;

/// A fake Discord. Clones share the same state.
#[derive(Clone)]
pub struct Discord {
    world: Arc<Mutex<World>>,
    clock: Arc<dyn Clock>,
    /// Counts changes, for tasks that wait for one.
    happened: Arc<watch::Sender<u64>>,
}

impl fmt::Debug for Discord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Discord")
    }
}

impl Discord {
    /// Creates a Discord in which the owner and the bot share a channel without messages.
    pub fn new(setup: Setup, clock: Arc<dyn Clock>) -> Self {
        let world = World::new(setup, Moment::of(&*clock));
        let (happened, _) = watch::channel(0);
        Self { world: Arc::new(Mutex::new(world)), clock, happened: Arc::new(happened) }
    }

    /// Answers a request.
    pub fn call(&self, call: Call) -> Outcome {
        self.within(|world| world.call(&call))
    }

    /// Injects a fault.
    pub fn trouble(&self, trouble: Trouble) {
        self.within(|world| world.trouble(trouble));
    }

    /// Clears all faults. Connections that are already lost stay lost.
    pub fn calm(&self) {
        self.within(|world| world.troubles.calm());
    }

    /// Applies the effects of elapsed time.
    pub fn tick(&self) {
        self.within(|_| ());
    }

    /// Returns the log of the bot's actions.
    pub fn ledger(&self) -> Ledger {
        self.look(|world| world.ledger.clone())
    }

    /// Returns how many requests of the last ten minutes count towards a ban.
    pub fn invalid_requests(&self) -> usize {
        self.look(|world| world.ledger.invalid(world.now.boot))
    }

    /// Returns the valid token.
    pub fn token(&self) -> String {
        self.look(|world| world.setup.token.clone())
    }

    /// Returns the id of the application, which differs from that of the bot's user.
    pub fn application_id(&self) -> Id {
        self.look(|world| world.talk.application)
    }

    /// Returns the id of the bot's user.
    pub fn bot_id(&self) -> Id {
        self.look(|world| world.talk.bot.id)
    }

    /// Returns the registered commands in Discord's JSON format.
    pub fn commands(&self) -> Vec<serde_json::Value> {
        self.look(|world| world.desk.commands.clone())
    }

    /// Waits until `found` returns a value, at most for `limit`.
    pub async fn wait_for<T>(&self, limit: Duration, mut found: impl FnMut(&Self) -> Option<T>) -> Option<T> {
        let mut happened = self.happened.subscribe();
        let until = tokio::time::Instant::now() + limit;
        loop {
            happened.mark_unchanged();
            if let Some(found) = found(self) {
                return Some(found);
            }
            match tokio::time::timeout_at(until, happened.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return found(self),
            }
        }
    }

    /// Runs `act` on the state, after advancing it to the current time, and wakes waiting tasks.
    fn within<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        let done = self.look(act);
        self.happened.send_modify(|count| *count += 1);
        done
    }

    /// Runs `act` on the state, after advancing it to the current time, without waking waiting
    /// tasks.
    fn look<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        let now = Moment::of(&*self.clock);
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        world.now = now;
        world.tick();
        act(&mut world)
    }
}
