//! Users, messages and files of the direct channels with the bot.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::id::{Id, MessageId};

/// Flag: only the user of the interaction sees the message.
pub const EPHEMERAL: u64 = 64;
/// Flag: a deferred response that is still loading.
pub const LOADING: u64 = 128;
/// Flag: no notification.
pub const SUPPRESS_NOTIFICATIONS: u64 = 4096;
/// Flag: links are shown without previews.
pub const SUPPRESS_EMBEDS: u64 = 4;
/// Flag: the message consists of components only.
pub const COMPONENTS_V2: u64 = 32_768;

/// A user or bot.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub id: Id,
    pub name: String,
    pub kind: Kind,
}

/// The kind of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Human,
    Bot,
}

#[derive(Clone, Debug)]
pub(super) struct Message {
    pub id: MessageId,
    pub channel: Id,
    pub author: Id,
    /// The JSON fields that are not derived from the other fields.
    pub wire: Map<String, Value>,
    pub reactions: Vec<Reaction>,
    pub reply_to: Option<MessageId>,
    pub allowed_mentions: Value,
    pub edits: u32,
    pub standing: Standing,
}

/// The visibility of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Shown,
    Deleted,
}

/// An emoji on a message and its users.
#[derive(Clone, Debug)]
pub(super) struct Reaction {
    pub emoji: String,
    pub by: Vec<Id>,
}

/// A stored file.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub content_type: Option<String>,
    pub bytes: Vec<u8>,
}

/// All users, messages and files.
#[derive(Debug)]
pub(super) struct Talk {
    pub application: Id,
    pub bot: User,
    /// The users, by the channel they share with the bot.
    pub humans: BTreeMap<Id, User>,
    pub messages: BTreeMap<MessageId, Message>,
    pub files: BTreeMap<Id, File>,
    /// The end of the bot's typing indicator, by channel.
    pub typing: BTreeMap<Id, Duration>,
    /// Messages by nonce, with the time of sending.
    pub nonces: BTreeMap<String, (MessageId, Duration)>,
}

/// Formats a time like Discord.
pub(super) fn timestamp(wall: Timestamp) -> String {
    wall.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

impl User {
    /// Returns the user in Discord's JSON format.
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
    pub fn flags(&self) -> u64 {
        self.wire.get("flags").and_then(Value::as_u64).unwrap_or(0)
    }

    /// Returns true if only the user of the interaction sees it.
    pub fn is_ephemeral(&self) -> bool {
        self.flags() & EPHEMERAL != 0
    }

    pub fn content(&self) -> &str {
        self.wire.get("content").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns a list field: embeds, components or attachments.
    pub fn list(&self, name: &str) -> &[Value] {
        self.wire.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Talk {
    /// Returns the user of a channel.
    pub fn human(&self, channel: Id) -> Option<&User> {
        self.humans.get(&channel)
    }

    /// Returns the channel of a user.
    pub fn channel_of(&self, user: Id) -> Option<Id> {
        self.humans.iter().find(|(_, human)| human.id == user).map(|(channel, _)| *channel)
    }

    /// Returns a user by id.
    pub fn user(&self, id: Id) -> Option<&User> {
        if id == self.bot.id { Some(&self.bot) } else { self.humans.values().find(|human| human.id == id) }
    }

    /// Returns a message of a channel that is not deleted.
    pub fn message(&self, channel: Id, id: MessageId) -> Option<&Message> {
        let shown = |message: &&Message| message.channel == channel && message.standing == Standing::Shown;
        self.messages.get(&id).filter(shown)
    }

    /// Returns a channel in Discord's JSON format, as the bot sees it.
    pub fn channel_wire(&self, channel: Id) -> Value {
        let last = self.messages.values().rev().find(|message| message.channel == channel);
        let recipients: Vec<_> = self.human(channel).map(User::wire).into_iter().collect();
        json!({
            "id": channel.to_string(), "type": 1, "flags": 0, "recipients": recipients,
            "last_message_id": last.map(|message| message.id.to_string()),
        })
    }

    /// Returns a message in Discord's JSON format.
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
