//! The complete state of a fake Discord, and operations shared by REST and gateway.

use serde_json::{Map, Value, json};

use super::gateway::{DM_MESSAGES, DM_REACTIONS, DM_TYPING, Gateway};
use super::id::{Id, Ids, MessageId};
use super::interactions::Desk;
use super::ledger::Ledger;
use super::limits::Limits;
use super::setup::{Moment, Setup};
use super::talk::{Kind, Message, Standing, Talk, User, timestamp};
use super::trouble::{Trouble, Troubles};

#[derive(Debug)]
pub(super) struct World {
    pub setup: Setup,
    pub now: Moment,
    pub ids: Ids,
    pub talk: Talk,
    pub desk: Desk,
    pub gateway: Gateway,
    pub limits: Limits,
    pub troubles: Troubles,
    pub ledger: Ledger,
    /// The address where it is served: host and port.
    pub place: String,
}

impl World {
    /// Creates a state in which the owner and the bot share a channel without messages.
    pub fn new(setup: Setup, now: Moment) -> Self {
        let mut ids = Ids::default();
        let application = ids.next(now.wall);
        let bot = User { id: ids.next(now.wall), name: setup.bot.clone(), kind: Kind::Bot };
        let talk = Talk {
            application,
            bot,
            humans: Default::default(),
            messages: Default::default(),
            files: Default::default(),
            typing: Default::default(),
            nonces: Default::default(),
        };
        let mut world = Self {
            now,
            ids,
            talk,
            desk: Desk::default(),
            gateway: Gateway::default(),
            limits: Limits::default(),
            troubles: Troubles::default(),
            ledger: Ledger::default(),
            place: "127.0.0.1:9".into(),
            setup,
        };
        let owner = world.setup.owner.clone();
        world.meet(&owner);
        world
    }

    /// Returns the id of the user called `name`, who is created if necessary.
    pub fn meet(&mut self, name: &str) -> Id {
        if let Some(known) =
            self.talk.humans.values().find(|human| human.name == name && name != self.setup.owner)
        {
            return known.id;
        }
        let id = self.next_id();
        let channel = self.next_id();
        self.talk.humans.insert(channel, User { id, name: name.into(), kind: Kind::Human });
        id
    }

    /// Returns the owner of the application.
    pub fn owner(&self) -> User {
        let owner = |human: &&User| human.name == self.setup.owner;
        self.talk.humans.values().find(owner).cloned().unwrap_or_else(|| self.talk.bot.clone())
    }

    pub fn next_id(&mut self) -> Id {
        self.ids.next(self.now.wall)
    }

    /// Applies the effects of elapsed time.
    pub fn tick(&mut self) {
        if self.troubles.is_down(self.now.boot) {
            self.gateway.drop_all(self.now.boot);
        }
        let closed = self.gateway.close_silent(&self.setup.gateway, self.now.boot);
        self.ledger.closes.extend(closed);
    }

    /// Injects a fault.
    pub fn trouble(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Call(on, mishap) => self.troubles.expect(on, mishap),
            Trouble::Gateway(upset) => {
                let closed = self.gateway.upset(upset, self.now.boot);
                self.ledger.closes.extend(closed);
            }
            Trouble::Down { after, lasts } => {
                let from = self.now.boot + after;
                self.troubles.outage(from, from + lasts);
                self.tick();
            }
            Trouble::NoAccess => self.troubles.no_access = true,
            Trouble::Revoked => {
                self.troubles.revoked = true;
                let closed = self.gateway.close_all(4004, self.now.boot);
                self.ledger.closes.extend(closed);
            }
        }
    }

    /// Returns the JSON of a new message with `content`.
    pub fn plain(&self, content: &str) -> Map<String, Value> {
        let wire = json!({
            "type": 0, "content": content, "timestamp": timestamp(self.now.wall), "edited_timestamp": null,
            "tts": false, "mention_everyone": false, "mentions": [], "mention_roles": [], "attachments": [],
            "embeds": [], "components": [], "pinned": false, "flags": 0,
        });
        wire.as_object().cloned().unwrap_or_default()
    }

    /// Adds a message to its channel and sends an event.
    pub fn post(&mut self, message: Message) -> MessageId {
        let id = message.id;
        self.talk.messages.insert(id, message);
        self.tell_message("MESSAGE_CREATE", id);
        id
    }

    /// Sends an event about a message, unless it is ephemeral.
    pub fn tell_message(&mut self, event: &str, id: MessageId) {
        let Some(message) = self.talk.messages.get(&id) else { return };
        if message.is_ephemeral() {
            return;
        }
        let mut wire = self.talk.message_wire(message);
        wire["channel_type"] = json!(1);
        self.emit(event, DM_MESSAGES, wire);
    }

    /// Deletes a message.
    pub fn delete(&mut self, id: MessageId) {
        let Some(message) = self.talk.messages.get_mut(&id) else { return };
        message.standing = Standing::Deleted;
        let channel = message.channel;
        let tells = !message.is_ephemeral();
        if tells {
            let gone = json!({"id": id.to_string(), "channel_id": channel.to_string()});
            self.emit("MESSAGE_DELETE", DM_MESSAGES, gone);
        }
    }

    /// Sends an event about a reaction.
    pub fn tell_reaction(&mut self, event: &str, id: MessageId, user: Id, emoji: &str) {
        let Some(message) = self.talk.messages.get(&id) else { return };
        let mut wire = json!({
            "user_id": user.to_string(), "channel_id": message.channel.to_string(),
            "message_id": id.to_string(), "emoji": {"id": null, "name": emoji}, "burst": false, "type": 0,
        });
        if event == "MESSAGE_REACTION_ADD" {
            wire["message_author_id"] = json!(message.author.to_string());
        }
        self.emit(event, DM_REACTIONS, wire);
    }

    /// Sends an event about a typing user.
    pub fn tell_typing(&mut self, channel: Id, user: Id) {
        let wire = json!({
            "channel_id": channel.to_string(), "user_id": user.to_string(),
            "timestamp": self.now.wall.as_second(),
        });
        self.emit("TYPING_START", DM_TYPING, wire);
    }

    /// Sends an event to every session with this intent.
    pub fn emit(&mut self, name: &str, intent: u64, data: Value) {
        let kept = self.setup.gateway.kept_events;
        self.gateway.emit((name, intent), &data, kept);
    }
}
