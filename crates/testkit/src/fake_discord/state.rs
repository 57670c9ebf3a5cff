//! The complete state of a fake Discord, and operations shared by REST and gateway.

use serde_json::{Map, Value, json};

use super::activity_log::ActivityLog;
use super::chat::{ChatStore, Message, User, UserKind, Visibility, timestamp};
use super::faults::{DiscordFault, FaultState};
use super::gateway::{DM_MESSAGES, DM_REACTIONS, DM_TYPING, Gateway};
use super::id::{Id, IdGenerator, MessageId};
use super::interactions::AppState;
use super::rate_limits::RateLimiter;
use super::setup::{Moment, Setup};

#[derive(Debug)]
pub(super) struct DiscordState {
    pub setup: Setup,
    pub now: Moment,
    pub id_generator: IdGenerator,
    pub chat: ChatStore,
    pub app: AppState,
    pub gateway: Gateway,
    pub rate_limiter: RateLimiter,
    pub faults: FaultState,
    pub log: ActivityLog,
    /// The address where it is served: host and port.
    pub address: String,
}

impl DiscordState {
    /// Creates a state in which the owner and the bot share a channel without messages.
    pub fn new(setup: Setup, now: Moment) -> Self {
        let mut ids = IdGenerator::default();
        let application = ids.next(now.wall);
        let bot = User { id: ids.next(now.wall), name: setup.bot.clone(), kind: UserKind::Bot };
        let chat = ChatStore {
            application,
            bot,
            users: Default::default(),
            messages: Default::default(),
            files: Default::default(),
            typing: Default::default(),
            nonces: Default::default(),
        };
        let mut state = Self {
            now,
            id_generator: ids,
            chat,
            app: AppState::default(),
            gateway: Gateway::default(),
            rate_limiter: RateLimiter::default(),
            faults: FaultState::default(),
            log: ActivityLog::default(),
            address: "127.0.0.1:9".into(),
            setup,
        };
        let owner = state.setup.owner.clone();
        state.add_user(&owner);
        state
    }

    /// Returns the id of the user called `name`, who is created if necessary.
    pub fn add_user(&mut self, name: &str) -> Id {
        if let Some(known) =
            self.chat.users.values().find(|user| user.name == name && name != self.setup.owner)
        {
            return known.id;
        }
        let id = self.next_id();
        let channel = self.next_id();
        self.chat.users.insert(channel, User { id, name: name.into(), kind: UserKind::Person });
        id
    }

    /// Returns the owner of the application.
    pub fn owner(&self) -> User {
        let owner = |user: &&User| user.name == self.setup.owner;
        self.chat.users.values().find(owner).cloned().unwrap_or_else(|| self.chat.bot.clone())
    }

    pub fn next_id(&mut self) -> Id {
        self.id_generator.next(self.now.wall)
    }

    /// Applies the effects of elapsed time.
    pub fn tick(&mut self) {
        if self.faults.is_down(self.now.boot) {
            self.gateway.drop_all(self.now.boot);
        }
        let closed = self.gateway.close_timed_out(&self.setup.gateway, self.now.boot);
        self.log.closes.extend(closed);
    }

    /// Injects a fault.
    pub fn inject_fault(&mut self, fault: DiscordFault) {
        match fault {
            DiscordFault::Request(filter, request_fault) => {
                self.faults.add_request_fault(filter, request_fault)
            }
            DiscordFault::Gateway(gateway_fault) => {
                let closed = self.gateway.apply_fault(gateway_fault, self.now.boot);
                self.log.closes.extend(closed);
            }
            DiscordFault::Down { after, lasts } => {
                let from = self.now.boot + after;
                self.faults.add_outage(from, from + lasts);
                self.tick();
            }
            DiscordFault::NoAccess => self.faults.no_access = true,
            DiscordFault::TokenRevoked => {
                self.faults.revoked = true;
                let closed = self.gateway.close_all(4004, self.now.boot);
                self.log.closes.extend(closed);
            }
        }
    }

    /// Returns the JSON of a new message with `content`.
    pub fn new_message_json(&self, content: &str) -> Map<String, Value> {
        let json = json!({
            "type": 0, "content": content, "timestamp": timestamp(self.now.wall), "edited_timestamp": null,
            "tts": false, "mention_everyone": false, "mentions": [], "mention_roles": [], "attachments": [],
            "embeds": [], "components": [], "pinned": false, "flags": 0,
        });
        json.as_object().cloned().unwrap_or_default()
    }

    /// Adds a message to its channel and sends an event.
    pub fn post(&mut self, message: Message) -> MessageId {
        let id = message.id;
        self.chat.messages.insert(id, message);
        self.emit_message("MESSAGE_CREATE", id);
        id
    }

    /// Sends an event about a message, unless it is ephemeral.
    pub fn emit_message(&mut self, event: &str, id: MessageId) {
        let Some(message) = self.chat.messages.get(&id) else { return };
        if message.is_ephemeral() {
            return;
        }
        let mut json = self.chat.message_json(message);
        json["channel_type"] = json!(1);
        self.emit(event, DM_MESSAGES, json);
    }

    /// Deletes a message.
    pub fn delete(&mut self, id: MessageId) {
        let Some(message) = self.chat.messages.get_mut(&id) else { return };
        message.visibility = Visibility::Deleted;
        let channel = message.channel;
        let is_public = !message.is_ephemeral();
        if is_public {
            let gone = json!({"id": id.to_string(), "channel_id": channel.to_string()});
            self.emit("MESSAGE_DELETE", DM_MESSAGES, gone);
        }
    }

    /// Sends an event about a reaction.
    pub fn emit_reaction(&mut self, event: &str, id: MessageId, user: Id, emoji: &str) {
        let Some(message) = self.chat.messages.get(&id) else { return };
        let mut json = json!({
            "user_id": user.to_string(), "channel_id": message.channel.to_string(),
            "message_id": id.to_string(), "emoji": {"id": null, "name": emoji}, "burst": false, "type": 0,
        });
        if event == "MESSAGE_REACTION_ADD" {
            json["message_author_id"] = json!(message.author.to_string());
        }
        self.emit(event, DM_REACTIONS, json);
    }

    /// Sends an event about a typing user.
    pub fn emit_typing(&mut self, channel: Id, user: Id) {
        let json = json!({
            "channel_id": channel.to_string(), "user_id": user.to_string(),
            "timestamp": self.now.wall.as_second(),
        });
        self.emit("TYPING_START", DM_TYPING, json);
    }

    /// Sends an event to every session with this intent.
    pub fn emit(&mut self, name: &str, intent: u64, data: Value) {
        let replay_limit = self.setup.gateway.replay_limit;
        self.gateway.emit((name, intent), &data, replay_limit);
    }
}
