//! A fake Discord: its REST API, its gateway, simulated users, and injected faults.
//!
//! [`FakeDiscord`] has no socket of its own, so everything in it happens in the time of the test.
//! [`serve`] exposes it to real clients on loopback. It shares no code with our adapter, so that
//! each can catch mistakes of the other.

mod activity_log;
mod api;
mod api_error;
mod channels;
mod chat;
mod client_frames;
mod commands;
mod components;
mod console;
mod fake_user;
mod faults;
mod followups;
mod gateway;
mod http;
mod id;
mod interactions;
mod message_rules;
mod messages;
mod multipart;
mod rate_limits;
mod rest;
mod route;
mod setup;
mod socket;
mod state;
#[cfg(test)]
mod tests;
mod transcript;
mod views;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::ports::Clock;
use tokio::sync::watch;

pub use activity_log::{ActivityLog, LimitScope, LoggedRequest};
pub use api::{ApiReply, ApiRequest, ApiResponse, Body, DelayedReply};
pub use chat::{COMPONENTS_V2, EPHEMERAL, LOADING, SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS};
pub use console::{CONSOLE_HELP, Console};
pub use fake_user::{ActionError, Choice, FakeUser, Upload};
pub use faults::{DiscordFault, GatewayFault, RequestFault, RequestFilter, Resumable};
pub use gateway::SocketEvent;
pub use http::{Server, serve};
pub use id::{Id, InteractionId, MessageId};
pub use setup::{GatewaySetup, Installation, Ownership, Rate, Rates, Setup};
pub use socket::{ConnectError, GatewaySocket};
pub use views::{Button, InteractionView, Menu, MessageView};

use setup::Moment;
use state::DiscordState;

/// A fake Discord. Clones share the same state.
#[derive(Clone)]
pub struct FakeDiscord {
    state: Arc<Mutex<DiscordState>>,
    clock: Arc<dyn Clock>,
    /// Counts changes, for tasks that wait for one.
    changes: Arc<watch::Sender<u64>>,
}

impl fmt::Debug for FakeDiscord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Discord")
    }
}

impl FakeDiscord {
    /// Creates a Discord in which the owner and the bot share a channel without messages.
    pub fn new(setup: Setup, clock: Arc<dyn Clock>) -> Self {
        let state = DiscordState::new(setup, Moment::now(&*clock));
        let (changes, _) = watch::channel(0);
        Self { state: Arc::new(Mutex::new(state)), clock, changes: Arc::new(changes) }
    }

    /// Answers a request.
    pub fn request(&self, call: ApiRequest) -> DelayedReply {
        self.update(|state| state.handle_request(&call))
    }

    /// Injects a fault.
    pub fn inject_fault(&self, fault: DiscordFault) {
        self.update(|state| state.inject_fault(fault));
    }

    /// Clears all faults. Connections that are already lost stay lost.
    pub fn clear_faults(&self) {
        self.update(|state| state.faults.clear());
    }

    /// Applies the effects of elapsed time.
    pub fn tick(&self) {
        self.update(|_| ());
    }

    /// Returns the log of the bot's actions.
    pub fn log(&self) -> ActivityLog {
        self.with_state(|state| state.log.clone())
    }

    /// Returns how many requests of the last ten minutes count towards a ban.
    pub fn invalid_request_count(&self) -> usize {
        self.with_state(|state| state.log.invalid_request_count(state.now.boot))
    }

    /// Returns the valid token.
    pub fn token(&self) -> String {
        self.with_state(|state| state.setup.token.clone())
    }

    /// Returns the id of the application, which differs from that of the bot's user.
    pub fn application_id(&self) -> Id {
        self.with_state(|state| state.chat.application)
    }

    /// Returns the id of the bot's user.
    pub fn bot_id(&self) -> Id {
        self.with_state(|state| state.chat.bot.id)
    }

    /// Returns the registered commands in Discord's JSON format.
    pub fn registered_commands(&self) -> Vec<serde_json::Value> {
        self.with_state(|state| state.app.commands.clone())
    }

    /// Waits until `found` returns a value, at most for `limit`.
    pub async fn wait_for<T>(&self, limit: Duration, mut found: impl FnMut(&Self) -> Option<T>) -> Option<T> {
        let mut changes = self.changes.subscribe();
        let until = tokio::time::Instant::now() + limit;
        loop {
            changes.mark_unchanged();
            if let Some(found) = found(self) {
                return Some(found);
            }
            match tokio::time::timeout_at(until, changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return found(self),
            }
        }
    }

    /// Runs `act` on the state, after advancing it to the current time, and wakes waiting tasks.
    fn update<T>(&self, act: impl FnOnce(&mut DiscordState) -> T) -> T {
        let result = self.with_state(act);
        self.changes.send_modify(|count| *count += 1);
        result
    }

    /// Runs `act` on the state, after advancing it to the current time, without waking waiting
    /// tasks.
    fn with_state<T>(&self, act: impl FnOnce(&mut DiscordState) -> T) -> T {
        let now = Moment::now(&*self.clock);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.now = now;
        state.tick();
        act(&mut state)
    }
}
