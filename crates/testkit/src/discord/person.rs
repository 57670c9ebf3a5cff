//! A person with a phone: what they do in their direct messages with the bot.

mod commands;
mod pressing;

use serde_json::{Map, Value, json};

use super::Discord;
use super::id::{Id, InteractionId, MessageId};
use super::interactions::Did;
use super::messages::guessed;
use super::talk::{File, Message, Standing, timestamp};
use super::world::World;

/// A person on Discord.
#[derive(Clone, Debug)]
pub struct Person {
    pub(super) discord: Discord,
    id: Id,
    channel: Id,
}

/// A person cannot do this: there is no such button, command, or message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(pub String);

impl Unfit {
    fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// A file that a person sends.
#[derive(Clone, Debug)]
pub struct Attached {
    /// Its name.
    pub filename: String,
    /// What is in it.
    pub bytes: Vec<u8>,
    /// What it claims to be. By its name, if nothing is claimed.
    pub content_type: Option<String>,
    /// How big it claims to be. As big as it is, if nothing is claimed.
    pub claimed_size: Option<u64>,
}

/// One of the things that could be typed next.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// What is shown.
    pub name: String,
    /// What is sent when it is taken.
    pub value: Value,
}

impl Attached {
    /// An honest file.
    pub fn new(filename: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { filename: filename.into(), bytes: bytes.into(), content_type: None, claimed_size: None }
    }
}

impl Discord {
    /// The human who owns the application.
    pub fn owner(&self) -> Person {
        let id = self.look(|world| world.owner().id);
        self.person(id)
    }

    /// Somebody else who found the bot.
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
    /// Their id.
    pub fn id(&self) -> Id {
        self.id
    }

    /// The channel they share with the bot.
    pub fn channel(&self) -> Id {
        self.channel
    }

    /// They type `text` and send it.
    pub fn types(&self, text: &str) -> MessageId {
        self.types_with(text, Vec::new())
    }

    /// They send `text` with files.
    pub fn types_with(&self, text: &str, files: Vec<Attached>) -> MessageId {
        self.discord.within(|world| self.send(world, text, None, files))
    }

    /// They send a voice message that they recorded in the app.
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

    /// They answer `to`, which may be gone by now.
    pub fn replies(&self, to: MessageId, text: &str) -> MessageId {
        self.replies_with(to, text, Vec::new())
    }

    /// They answer `to` with files.
    pub fn replies_with(&self, to: MessageId, text: &str, files: Vec<Attached>) -> MessageId {
        self.discord.within(|world| self.send(world, text, Some(to), files))
    }

    /// They change what they said.
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

    /// They take back what they said.
    pub fn deletes(&self, own: MessageId) -> Result<(), Unfit> {
        self.discord.within(|world| {
            self.own(world, own)?;
            world.delete(own);
            Ok(())
        })
    }

    /// They put an emoji on a message.
    pub fn reacts(&self, to: MessageId, emoji: &str) -> Result<(), Unfit> {
        self.discord.within(|world| {
            self.seen(world, to)?;
            world.react(to, self.id, emoji).map_err(|refusal| Unfit(refusal.message))
        })
    }

    /// They take an emoji away again.
    pub fn unreacts(&self, to: MessageId, emoji: &str) -> Result<(), Unfit> {
        self.discord.within(|world| {
            self.seen(world, to)?;
            world.unreact(to, self.id, emoji);
            Ok(())
        })
    }

    /// They are typing.
    pub fn starts_typing(&self) {
        self.discord.within(|world| world.tell_typing(self.channel, self.id));
    }

    /// An interaction of theirs that no button or command brought about: `data` is sent as it is, of type 2
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
        // The app makes up a nonce of its own for every message.
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
