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
    pub kind: UserKind,
}

/// The kind of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UserKind {
    Person,
    Bot,
}

#[derive(Clone, Debug)]
pub(super) struct Message {
    pub id: MessageId,
    pub channel: Id,
    pub author: Id,
    /// The JSON fields that are not derived from the other fields.
    pub json: Map<String, Value>,
    pub reactions: Vec<Reaction>,
    pub reply_to: Option<MessageId>,
    pub allowed_mentions: Value,
    pub edits: u32,
    pub visibility: Visibility,
}

/// The visibility of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visibility {
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
pub(super) struct ChatStore {
    pub application: Id,
    pub bot: User,
    /// The users, by the channel they share with the bot.
    pub users: BTreeMap<Id, User>,
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
    pub fn to_json(&self) -> Value {
        let mut json = json!({
            "id": self.id.to_string(), "username": self.name, "discriminator": "0",
            "global_name": self.name, "avatar": null, "public_flags": 0,
        });
        if self.kind == UserKind::Bot {
            json["bot"] = json!(true);
        }
        json
    }
}

impl Message {
    pub fn flags(&self) -> u64 {
        self.json.get("flags").and_then(Value::as_u64).unwrap_or(0)
    }

    /// Returns true if only the user of the interaction sees it.
    pub fn is_ephemeral(&self) -> bool {
        self.flags() & EPHEMERAL != 0
    }

    pub fn content(&self) -> &str {
        self.json.get("content").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns a list field: embeds, components or attachments.
    pub fn list(&self, name: &str) -> &[Value] {
        self.json.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}

impl ChatStore {
    /// Returns the user of a channel.
    pub fn user_of_channel(&self, channel: Id) -> Option<&User> {
        self.users.get(&channel)
    }

    /// Returns the channel of a user.
    pub fn channel_of(&self, user: Id) -> Option<Id> {
        self.users.iter().find(|(_, candidate)| candidate.id == user).map(|(channel, _)| *channel)
    }

    /// Returns a user by id.
    pub fn user(&self, id: Id) -> Option<&User> {
        if id == self.bot.id { Some(&self.bot) } else { self.users.values().find(|user| user.id == id) }
    }

    /// Returns a message of a channel that is not deleted.
    pub fn message(&self, channel: Id, id: MessageId) -> Option<&Message> {
        let is_visible =
            |message: &&Message| message.channel == channel && message.visibility == Visibility::Shown;
        self.messages.get(&id).filter(is_visible)
    }

    /// Returns a channel in Discord's JSON format, as the bot sees it.
    pub fn channel_json(&self, channel: Id) -> Value {
        let last = self.messages.values().rev().find(|message| message.channel == channel);
        let recipients: Vec<_> = self.user_of_channel(channel).map(User::to_json).into_iter().collect();
        json!({
            "id": channel.to_string(), "type": 1, "flags": 0, "recipients": recipients,
            "last_message_id": last.map(|message| message.id.to_string()),
        })
    }

    /// Returns a message in Discord's JSON format.
    pub fn message_json(&self, message: &Message) -> Value {
        let mut json = self.without_reference(message);
        if let Some(replied_to) = message.reply_to {
            let reference = json!({
                "type": 0, "message_id": replied_to.to_string(), "channel_id": message.channel.to_string(),
            });
            json["message_reference"] = reference;
            json["referenced_message"] = match self.message(message.channel, replied_to) {
                Some(replied_to) => self.without_reference(replied_to),
                None => Value::Null,
            };
        }
        json
    }

    fn without_reference(&self, message: &Message) -> Value {
        let mut json = Value::Object(message.json.clone());
        json["id"] = json!(message.id.to_string());
        json["channel_id"] = json!(message.channel.to_string());
        json["author"] = self.user(message.author).map(User::to_json).unwrap_or_default();
        if !message.reactions.is_empty() {
            json["reactions"] =
                message.reactions.iter().map(|reaction| self.reaction_json(reaction)).collect();
        }
        json
    }

    fn reaction_json(&self, reaction: &Reaction) -> Value {
        json!({
            "emoji": {"id": null, "name": reaction.emoji}, "count": reaction.by.len(),
            "count_details": {"burst": 0, "normal": reaction.by.len()},
            "me": reaction.by.contains(&self.bot.id), "me_burst": false, "burst_colors": [],
        })
    }
}
