//! A simulated user and their actions in the direct messages with the bot.

mod commands;
mod pressing;

use serde_json::{Map, Value, json};

use super::Discord;
use super::id::{Id, InteractionId, MessageId};
use super::interactions::Did;
use super::messages::guessed;
use super::talk::{File, Message, Standing, timestamp};
use super::world::World;

/// A user on Discord.
#[derive(Clone, Debug)]
pub struct Person {
    pub(super) discord: Discord,
    id: Id,
    channel: Id,
}

/// An action that is impossible for the user: no such button, command, or message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(pub String);

impl Unfit {
    fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// A file that a user sends.
#[derive(Clone, Debug)]
pub struct Attached {
    pub filename: String,
    pub bytes: Vec<u8>,
    /// The claimed content type; guessed from the name if `None`.
    pub content_type: Option<String>,
    /// The claimed size; the real size if `None`.
    pub claimed_size: Option<u64>,
}

/// An autocomplete choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The text shown.
    pub name: String,
    /// The value sent when it is chosen.
    pub value: Value,
}

impl Attached {
    /// Creates a file without false claims.
    pub fn new(filename: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { filename: filename.into(), bytes: bytes.into(), content_type: None, claimed_size: None }
    }
}

impl Discord {
    /// Returns the owner of the application.
    pub fn owner(&self) -> Person {
        let id = self.look(|world| world.owner().id);
        self.person(id)
    }

    /// Adds another user who shares a channel with the bot.
    pub fn stranger(&self, name: &str) -> Person {
        let id = self.within(|world| world.meet(name));
        self.person(id)
    }

    fn person(&self, id: Id) -> Person {
        let channel = self.look(|world| world.talk.channel_of(id).unwrap_or(id));
        Person { discord: self.clone(), id, channel }
    }
}

impl Person {
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns the channel shared with the bot.
    pub fn channel(&self) -> Id {
        self.channel
    }

    /// Sends a message.
    pub fn types(&self, text: &str) -> MessageId {
        self.types_with(text, Vec::new())
    }

    /// Sends a message with files.
    pub fn types_with(&self, text: &str, files: Vec<Attached>) -> MessageId {
        self.discord.within(|world| self.send(world, text, None, files))
    }

    /// Sends a voice message recorded in the app.
    pub fn sends_voice(&self) -> MessageId {
        self.discord.within(|world| {
            let file = Attached::new("voice-message.ogg", *b"OggS");
            let (id, mut wire) = self.wire(world, "", vec![file]);
            wire.insert("flags".into(), json!(1 << 13));
            if let Some(attachment) = wire.get_mut("attachments").and_then(|list| list.get_mut(0)) {
                attachment["content_type"] = json!("audio/ogg");
                attachment["duration_secs"] = json!(2.5);
                attachment["waveform"] = json!("AAAA");
            }
            self.post(world, id, wire, None)
        })
    }

    /// Replies to `to`, which may be deleted by now.
    pub fn replies(&self, to: MessageId, text: &str) -> MessageId {
        self.replies_with(to, text, Vec::new())
    }

    /// Replies to `to` with files.
    pub fn replies_with(&self, to: MessageId, text: &str, files: Vec<Attached>) -> MessageId {
        self.discord.within(|world| self.send(world, text, Some(to), files))
    }

    /// Edits one of the user's own messages.
    pub fn edits(&self, own: MessageId, text: &str) -> Result<(), Unfit> {
        self.discord.within(|world| {
            let edited = timestamp(world.now.wall);
            let message = self.own(world, own)?;
            message.wire.insert("content".into(), json!(text.trim()));
            message.wire.insert("edited_timestamp".into(), json!(edited));
            message.edits += 1;
            world.tell_message("MESSAGE_UPDATE", own);
            Ok(())
        })
    }

    /// Deletes one of the user's own messages.
    pub fn deletes(&self, own: MessageId) -> Result<(), Unfit> {
        self.discord.within(|world| {
            self.own(world, own)?;
            world.delete(own);
            Ok(())
        })
    }

    /// Adds a reaction to a message.
    pub fn reacts(&self, to: MessageId, emoji: &str) -> Result<(), Unfit> {
        self.discord.within(|world| {
            self.seen(world, to)?;
            world.react(to, self.id, emoji).map_err(|refusal| Unfit(refusal.message))
        })
    }

    /// Removes a reaction from a message.
    pub fn unreacts(&self, to: MessageId, emoji: &str) -> Result<(), Unfit> {
        self.discord.within(|world| {
            self.seen(world, to)?;
            world.unreact(to, self.id, emoji);
            Ok(())
        })
    }

    /// Starts typing.
    pub fn starts_typing(&self) {
        self.discord.within(|world| world.tell_typing(self.channel, self.id));
    }

    /// Sends an interaction without a button or command: `data` is sent unchanged, with type 2
    /// (command), 3 (component), 4 (completion) or 5 (modal).
    pub fn forged(&self, kind: u8, data: Value, source: Option<MessageId>) -> InteractionId {
        let did = match kind {
            2 => Did::Command,
            4 => Did::Completion,
            5 => Did::Modal,
            _ => Did::Component,
        };
        self.discord.within(|world| world.interact(self.id, did, data, source))
    }

    fn send(
        &self,
        world: &mut World,
        text: &str,
        reply_to: Option<MessageId>,
        files: Vec<Attached>,
    ) -> MessageId {
        let (id, mut wire) = self.wire(world, text, files);
        if reply_to.is_some() {
            wire.insert("type".into(), json!(19));
        }
        self.post(world, id, wire, reply_to)
    }

    fn wire(&self, world: &mut World, text: &str, files: Vec<Attached>) -> (MessageId, Map<String, Value>) {
        let mut wire = world.plain(text.trim());
        let id = world.next_id();
        let attachments: Vec<_> = files.into_iter().map(|file| self.attach(world, file)).collect();
        wire.insert("attachments".into(), Value::Array(attachments));
        // The app generates a nonce for every message.
        wire.insert("nonce".into(), json!(id.to_string()));
        (id, wire)
    }

    fn post(
        &self,
        world: &mut World,
        id: MessageId,
        wire: Map<String, Value>,
        reply_to: Option<MessageId>,
    ) -> MessageId {
        world.post(Message {
            id,
            channel: self.channel,
            author: self.id,
            wire,
            reactions: Vec::new(),
            reply_to,
            allowed_mentions: Value::Null,
            edits: 0,
            standing: Standing::Shown,
        })
    }

    fn attach(&self, world: &mut World, file: Attached) -> Value {
        let honest = guessed(&file.filename).map(str::to_owned);
        let kept = File { content_type: file.content_type.or(honest), bytes: file.bytes };
        let mut wire = world.keep_file(self.channel, &file.filename, kept);
        if let Some(size) = file.claimed_size {
            wire["size"] = json!(size);
        }
        wire
    }

    fn own<'a>(&self, world: &'a mut World, id: MessageId) -> Result<&'a mut Message, Unfit> {
        self.seen(world, id)?;
        let message = world.talk.messages.get_mut(&id).filter(|message| message.author == self.id);
        message.ok_or_else(|| Unfit::new("somebody else wrote that message"))
    }

    fn seen<'a>(&self, world: &'a World, id: MessageId) -> Result<&'a Message, Unfit> {
        world.talk.message(self.channel, id).ok_or_else(|| Unfit::new("they see no such message"))
    }
}
