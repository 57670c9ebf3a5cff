//! Who there is, and what was said in the direct messages between them and the bot.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::id::{Id, MessageId};

/// Only the one who used a command sees it.
pub const EPHEMERAL: u64 = 64;
/// The answer to a command that is still awaited.
pub const LOADING: u64 = 128;
/// The phone does not buzz.
pub const SUPPRESS_NOTIFICATIONS: u64 = 4096;
/// Links are shown without their pictures.
pub const SUPPRESS_EMBEDS: u64 = 4;
/// The message is made of components alone.
pub const COMPONENTS_V2: u64 = 32_768;

/// Somebody on Discord.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub id: Id,
    pub name: String,
    pub kind: Kind,
}

/// What somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Human,
    Bot,
}

/// A message.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub id: MessageId,
    pub channel: Id,
    pub author: Id,
    /// What is on the wire and follows from nothing else.
    pub wire: Map<String, Value>,
    pub reactions: Vec<Reaction>,
    pub reply_to: Option<MessageId>,
    pub allowed_mentions: Value,
    pub edits: u32,
    pub standing: Standing,
}

/// Whether a message still stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Shown,
    Deleted,
}

/// One emoji on a message, and whose it is.
#[derive(Clone, Debug)]
pub(super) struct Reaction {
    pub emoji: String,
    pub by: Vec<Id>,
}

/// A file that can be fetched.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub content_type: Option<String>,
    pub bytes: Vec<u8>,
}

/// Everything that was said.
#[derive(Debug)]
pub(super) struct Talk {
    pub application: Id,
    pub bot: User,
    /// The humans, by the channel they share with the bot.
    pub humans: BTreeMap<Id, User>,
    pub messages: BTreeMap<MessageId, Message>,
    pub files: BTreeMap<Id, File>,
    /// Until when the bot is seen typing, by channel.
    pub typing: BTreeMap<Id, Duration>,
    /// Messages by their nonce, and when they were sent.
    pub nonces: BTreeMap<String, (MessageId, Duration)>,
}

/// A time as Discord writes it.
pub(super) fn timestamp(wall: Timestamp) -> String {
    wall.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

impl User {
    /// As it is on the wire.
    pub fn wire(&self) -> Value {
        let mut wire = json!({
            "id": self.id.to_string(), "username": self.name, "discriminator": "0",
            "global_name": self.name, "avatar": null, "public_flags": 0,
        });
        if self.kind == Kind::Bot {
            wire["bot"] = json!(true);
        }
        wire
    }
}

impl Message {
    /// Its flags.
    pub fn flags(&self) -> u64 {
        self.wire.get("flags").and_then(Value::as_u64).unwrap_or(0)
    }

    /// Whether only the one who used a command sees it.
    pub fn is_ephemeral(&self) -> bool {
        self.flags() & EPHEMERAL != 0
    }

    /// What is said in it.
    pub fn content(&self) -> &str {
        self.wire.get("content").and_then(Value::as_str).unwrap_or_default()
    }

    /// A list of it: embeds, components, attachments.
    pub fn list(&self, name: &str) -> &[Value] {
        self.wire.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Talk {
    /// The person of a channel.
    pub fn human(&self, channel: Id) -> Option<&User> {
        self.humans.get(&channel)
    }

    /// The channel of a person.
    pub fn channel_of(&self, user: Id) -> Option<Id> {
        self.humans.iter().find(|(_, human)| human.id == user).map(|(channel, _)| *channel)
    }

    /// Somebody by their id.
    pub fn user(&self, id: Id) -> Option<&User> {
        if id == self.bot.id { Some(&self.bot) } else { self.humans.values().find(|human| human.id == id) }
    }

    /// A message that still stands, in its channel.
    pub fn message(&self, channel: Id, id: MessageId) -> Option<&Message> {
        let shown = |message: &&Message| message.channel == channel && message.standing == Standing::Shown;
        self.messages.get(&id).filter(shown)
    }

    /// The channel as it is on the wire, as the bot sees it.
    pub fn channel_wire(&self, channel: Id) -> Value {
        let last = self.messages.values().rev().find(|message| message.channel == channel);
        let recipients: Vec<_> = self.human(channel).map(User::wire).into_iter().collect();
        json!({
            "id": channel.to_string(), "type": 1, "flags": 0, "recipients": recipients,
            "last_message_id": last.map(|message| message.id.to_string()),
        })
    }

    /// A message as it is on the wire.
    pub fn message_wire(&self, message: &Message) -> Value {
        let mut wire = self.without_reference(message);
        if let Some(answered) = message.reply_to {
            let reference = json!({
                "type": 0, "message_id": answered.to_string(), "channel_id": message.channel.to_string(),
            });
            wire["message_reference"] = reference;
            wire["referenced_message"] = match self.message(message.channel, answered) {
                Some(answered) => self.without_reference(answered),
                None => Value::Null,
            };
        }
        wire
    }

    fn without_reference(&self, message: &Message) -> Value {
        let mut wire = Value::Object(message.wire.clone());
        wire["id"] = json!(message.id.to_string());
        wire["channel_id"] = json!(message.channel.to_string());
        wire["author"] = self.user(message.author).map(User::wire).unwrap_or_default();
        if !message.reactions.is_empty() {
            wire["reactions"] =
                message.reactions.iter().map(|reaction| self.reaction_wire(reaction)).collect();
        }
        wire
    }

    fn reaction_wire(&self, reaction: &Reaction) -> Value {
        json!({
            "emoji": {"id": null, "name": reaction.emoji}, "count": reaction.by.len(),
            "count_details": {"burst": 0, "normal": reaction.by.len()},
            "me": reaction.by.contains(&self.bot.id), "me_burst": false, "burst_colors": [],
        })
    }
}
