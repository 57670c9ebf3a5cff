//! A simulated user and their actions in the direct messages with the bot.

mod commands;
mod component_actions;

use serde_json::{Map, Value, json};

use super::FakeDiscord;
use super::chat::{File, Message, Visibility, timestamp};
use super::id::{Id, InteractionId, MessageId};
use super::interactions::InteractionKind;
use super::messages::guess_content_type;
use super::state::DiscordState;

/// A user on Discord.
#[derive(Clone, Debug)]
pub struct FakeUser {
    pub(super) discord: FakeDiscord,
    id: Id,
    channel: Id,
}

/// An action that is impossible for the user: no such button, command, or message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ActionError(pub String);

impl ActionError {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// A file that a user sends.
#[derive(Clone, Debug)]
pub struct Upload {
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

impl Upload {
    /// Creates a file without false claims.
    pub fn new(filename: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { filename: filename.into(), bytes: bytes.into(), content_type: None, claimed_size: None }
    }
}

impl FakeDiscord {
    /// Returns the owner of the application.
    pub fn owner(&self) -> FakeUser {
        let id = self.with_state(|state| state.owner().id);
        self.fake_user(id)
    }

    /// Adds another user who shares a channel with the bot.
    pub fn other_user(&self, name: &str) -> FakeUser {
        let id = self.update(|state| state.add_user(name));
        self.fake_user(id)
    }

    fn fake_user(&self, id: Id) -> FakeUser {
        let channel = self.with_state(|state| state.chat.channel_of(id).unwrap_or(id));
        FakeUser { discord: self.clone(), id, channel }
    }
}

impl FakeUser {
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns the channel shared with the bot.
    pub fn channel(&self) -> Id {
        self.channel
    }

    /// Sends a message.
    pub fn send_text(&self, text: &str) -> MessageId {
        self.send_with_files(text, Vec::new())
    }

    /// Sends a message with files.
    pub fn send_with_files(&self, text: &str, files: Vec<Upload>) -> MessageId {
        self.discord.update(|state| self.post_text(state, text, None, files))
    }

    /// Sends a voice message recorded in the app.
    pub fn send_voice_message(&self) -> MessageId {
        self.discord.update(|state| {
            let file = Upload::new("voice-message.ogg", *b"OggS");
            let (id, mut json) = self.message_json(state, "", vec![file]);
            json.insert("flags".into(), json!(1 << 13));
            if let Some(attachment) = json.get_mut("attachments").and_then(|list| list.get_mut(0)) {
                attachment["content_type"] = json!("audio/ogg");
                attachment["duration_secs"] = json!(2.5);
                attachment["waveform"] = json!("AAAA");
            }
            self.post_message(state, id, json, None)
        })
    }

    /// Replies to `to`, which may be deleted by now.
    pub fn reply(&self, to: MessageId, text: &str) -> MessageId {
        self.reply_with_files(to, text, Vec::new())
    }

    /// Replies to `to` with files.
    pub fn reply_with_files(&self, to: MessageId, text: &str, files: Vec<Upload>) -> MessageId {
        self.discord.update(|state| self.post_text(state, text, Some(to), files))
    }

    /// Edits one of the user's own messages.
    pub fn edit(&self, own: MessageId, text: &str) -> Result<(), ActionError> {
        self.discord.update(|state| {
            let edited_at = timestamp(state.now.wall);
            let message = self.own_message(state, own)?;
            message.json.insert("content".into(), json!(text.trim()));
            message.json.insert("edited_timestamp".into(), json!(edited_at));
            message.edits += 1;
            state.emit_message("MESSAGE_UPDATE", own);
            Ok(())
        })
    }

    /// Deletes one of the user's own messages.
    pub fn delete(&self, own: MessageId) -> Result<(), ActionError> {
        self.discord.update(|state| {
            self.own_message(state, own)?;
            state.delete(own);
            Ok(())
        })
    }

    /// Adds a reaction to a message.
    pub fn add_reaction(&self, to: MessageId, emoji: &str) -> Result<(), ActionError> {
        self.discord.update(|state| {
            self.visible_message(state, to)?;
            state.add_reaction(to, self.id, emoji).map_err(|refusal| ActionError(refusal.message))
        })
    }

    /// Removes a reaction from a message.
    pub fn remove_reaction(&self, to: MessageId, emoji: &str) -> Result<(), ActionError> {
        self.discord.update(|state| {
            self.visible_message(state, to)?;
            state.remove_reaction(to, self.id, emoji);
            Ok(())
        })
    }

    /// Starts typing.
    pub fn start_typing(&self) {
        self.discord.update(|state| state.emit_typing(self.channel, self.id));
    }

    /// Sends an interaction without a button or command: `data` is sent unchanged, with type 2
    /// (command), 3 (component), 4 (completion) or 5 (modal).
    pub fn send_forged_interaction(&self, kind: u8, data: Value, source: Option<MessageId>) -> InteractionId {
        let interaction_kind = match kind {
            2 => InteractionKind::Command,
            4 => InteractionKind::Completion,
            5 => InteractionKind::Modal,
            _ => InteractionKind::Component,
        };
        self.discord.update(|state| state.create_interaction(self.id, interaction_kind, data, source))
    }

    fn post_text(
        &self,
        state: &mut DiscordState,
        text: &str,
        reply_to: Option<MessageId>,
        files: Vec<Upload>,
    ) -> MessageId {
        let (id, mut json) = self.message_json(state, text, files);
        if reply_to.is_some() {
            json.insert("type".into(), json!(19));
        }
        self.post_message(state, id, json, reply_to)
    }

    fn message_json(
        &self,
        state: &mut DiscordState,
        text: &str,
        files: Vec<Upload>,
    ) -> (MessageId, Map<String, Value>) {
        let mut json = state.new_message_json(text.trim());
        let id = state.next_id();
        let attachments: Vec<_> = files.into_iter().map(|file| self.upload(state, file)).collect();
        json.insert("attachments".into(), Value::Array(attachments));
        // The app generates a nonce for every message.
        json.insert("nonce".into(), json!(id.to_string()));
        (id, json)
    }

    fn post_message(
        &self,
        state: &mut DiscordState,
        id: MessageId,
        json: Map<String, Value>,
        reply_to: Option<MessageId>,
    ) -> MessageId {
        state.post(Message {
            id,
            channel: self.channel,
            author: self.id,
            json,
            reactions: Vec::new(),
            reply_to,
            allowed_mentions: Value::Null,
            edits: 0,
            visibility: Visibility::Shown,
        })
    }

    fn upload(&self, state: &mut DiscordState, file: Upload) -> Value {
        let guessed = guess_content_type(&file.filename).map(str::to_owned);
        let stored = File { content_type: file.content_type.or(guessed), bytes: file.bytes };
        let mut attachment = state.store_file(self.channel, &file.filename, stored);
        if let Some(size) = file.claimed_size {
            attachment["size"] = json!(size);
        }
        attachment
    }

    fn own_message<'a>(
        &self,
        state: &'a mut DiscordState,
        id: MessageId,
    ) -> Result<&'a mut Message, ActionError> {
        self.visible_message(state, id)?;
        let message = state.chat.messages.get_mut(&id).filter(|message| message.author == self.id);
        message.ok_or_else(|| ActionError::new("somebody else wrote that message"))
    }

    fn visible_message<'a>(
        &self,
        state: &'a DiscordState,
        id: MessageId,
    ) -> Result<&'a Message, ActionError> {
        state.chat.message(self.channel, id).ok_or_else(|| ActionError::new("they see no such message"))
    }
}
