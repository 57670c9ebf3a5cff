//! The bot's messages: creating, editing and listing them.

use serde_json::{Map, Value, json};

use super::api_error::{ApiError, FormErrors};
use super::chat::{File, Message, SUPPRESS_EMBEDS, Visibility, timestamp};
use super::components::with_ids;
use super::id::{Id, MessageId};
use super::message_rules;
use super::route::Route;
use super::state::DiscordState;

/// A message or an edit as the bot sent it.
#[derive(Clone, Copy)]
pub(super) struct Draft<'a> {
    pub payload: &'a Value,
    pub files: &'a [(String, Vec<u8>)],
    /// The flags that may be set.
    pub flags: u64,
}

/// Returns a list of the payload, if it is given; null is an empty list.
fn given_list(payload: &Value, name: &str) -> Option<Vec<Value>> {
    payload.get(name).map(|value| value.as_array().cloned().unwrap_or_default())
}

impl DiscordState {
    /// Creates a message of the bot without posting it.
    pub fn compose(&mut self, channel: Id, draft: Draft) -> Result<Message, ApiError> {
        message_rules::check_message(draft.payload, draft.files)?;
        let content = draft.payload["content"].as_str().unwrap_or_default().trim();
        let mut json = self.new_message_json(content);
        let id = self.next_id();
        json.insert("embeds".into(), as_rich_embeds(&draft.payload["embeds"]));
        json.insert("components".into(), with_ids(&draft.payload["components"]));
        json.insert("flags".into(), json!(message_rules::settable_flags(draft.payload, draft.flags)));
        json.insert("attachments".into(), self.store_files(channel, draft));
        json.insert("mentions".into(), self.mentioned_users(content, &draft.payload["allowed_mentions"]));
        if !draft.payload["nonce"].is_null() {
            json.insert("nonce".into(), draft.payload["nonce"].clone());
        }
        if message_rules::is_empty(&json) {
            return Err(ApiError::code(50006));
        }
        let reply_to = self.resolve_reply(channel, &draft.payload["message_reference"])?;
        if reply_to.is_some() {
            json.insert("type".into(), json!(19));
        }
        Ok(Message {
            id,
            channel,
            author: self.chat.bot.id,
            json,
            reactions: Vec::new(),
            reply_to,
            allowed_mentions: draft.payload["allowed_mentions"].clone(),
            edits: 0,
            visibility: Visibility::Shown,
        })
    }

    fn resolve_reply(&self, channel: Id, reference: &Value) -> Result<Option<MessageId>, ApiError> {
        let Some(id) = Id::from_json(&reference["message_id"]) else { return Ok(None) };
        let found = Some(id).filter(|id| self.chat.message(channel, *id).is_some());
        match (found, reference["fail_if_not_exists"] == false) {
            (None, false) => {
                Err(FormErrors::single("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message"))
            }
            (found, _) => Ok(found),
        }
    }

    fn mentioned_users(&self, content: &str, allowed: &Value) -> Value {
        let explicit_only =
            allowed.is_object() && allowed["parse"].as_array().is_none_or(|kinds| kinds.is_empty());
        let named = |id: Id| content.contains(&format!("<@{id}>"));
        let allowed = |id: Id| {
            let users = allowed["users"].as_array().map(Vec::as_slice).unwrap_or_default();
            let listed = users.iter().any(|user| Id::from_json(user) == Some(id));
            !explicit_only || listed
        };
        let named = self.chat.users.values().filter(|human| named(human.id) && allowed(human.id));
        named.map(super::chat::User::to_json).collect()
    }

    /// Stores the files of a draft and returns the attachments of the message.
    fn store_files(&mut self, channel: Id, draft: Draft) -> Value {
        let listed = given_list(draft.payload, "attachments").unwrap_or_default();
        let mut attachments = Vec::new();
        for (at, (filename, bytes)) in draft.files.iter().enumerate() {
            let number = at.to_string();
            let metadata = listed.iter().find(|metadata| metadata["id"] == at || metadata["id"] == *number);
            let metadata = metadata.cloned().unwrap_or_default();
            let filename = metadata["filename"].as_str().unwrap_or(filename);
            let file =
                File { content_type: guess_content_type(filename).map(str::to_owned), bytes: bytes.clone() };
            let mut attachment = self.store_file(channel, filename, file);
            if !metadata["description"].is_null() {
                attachment["description"] = metadata["description"].clone();
            }
            attachments.push(attachment);
        }
        Value::Array(attachments)
    }

    /// Stores a file and returns its attachment.
    pub fn store_file(&mut self, channel: Id, filename: &str, file: File) -> Value {
        let id = self.next_id();
        let url = format!("http://{}/attachments/{channel}/{id}/{filename}", self.address);
        let mut attachment = json!({
            "id": id.to_string(), "filename": filename, "size": file.bytes.len(), "url": url, "proxy_url": url,
        });
        if let Some(content_type) = &file.content_type {
            attachment["content_type"] = json!(content_type);
        }
        self.chat.files.insert(id, file);
        attachment
    }

    /// Edits a message of the bot: absent fields stay, null fields are cleared.
    pub fn apply_edit(&mut self, id: MessageId, draft: Draft) -> Result<(), ApiError> {
        let Some(before) = self.chat.messages.get(&id).cloned() else { return Err(ApiError::code(10008)) };
        let flags = before.flags() & super::chat::COMPONENTS_V2
            | message_rules::settable_flags(draft.payload, draft.flags);
        let mut payload = draft.payload.clone();
        if payload.is_object() {
            payload["flags"] = json!(flags);
        }
        message_rules::check_message(&payload, draft.files)?;
        let mut json = before.json.clone();
        self.apply_edit_fields(&mut json, before.channel, draft);
        let flag_mask = if draft.payload.get("flags").is_some() { !SUPPRESS_EMBEDS } else { u64::MAX };
        json.insert("flags".into(), json!(before.flags() & flag_mask | flags));
        if message_rules::is_empty(&json) {
            return Err(ApiError::code(50006));
        }
        json.insert("edited_timestamp".into(), json!(timestamp(self.now.wall)));
        if let Some(message) = self.chat.messages.get_mut(&id) {
            message.json = json;
            message.edits += 1;
            if let Some(allowed) = draft.payload.get("allowed_mentions") {
                message.allowed_mentions = allowed.clone();
            }
        }
        self.emit_message("MESSAGE_UPDATE", id);
        Ok(())
    }

    fn apply_edit_fields(&mut self, json: &mut Map<String, Value>, channel: Id, draft: Draft) {
        if let Some(content) = draft.payload.get("content") {
            json.insert("content".into(), json!(content.as_str().unwrap_or_default().trim()));
        }
        if let Some(embeds) = draft.payload.get("embeds") {
            json.insert("embeds".into(), as_rich_embeds(embeds));
        }
        if let Some(components) = draft.payload.get("components") {
            json.insert("components".into(), with_ids(components));
        }
        let kept = given_list(draft.payload, "attachments");
        let before = json.get("attachments").and_then(Value::as_array).cloned().unwrap_or_default();
        let is_kept =
            |old: &Value| kept.as_ref().is_none_or(|kept| kept.iter().any(|one| one["id"] == old["id"]));
        let mut attachments: Vec<_> = before.into_iter().filter(is_kept).collect();
        attachments.extend(self.store_files(channel, draft).as_array().cloned().unwrap_or_default());
        json.insert("attachments".into(), Value::Array(attachments));
    }

    /// Returns the messages of a channel that match the query, newest first.
    pub fn list_messages(&self, channel: Id, route: &Route) -> Result<Value, ApiError> {
        let id_parameter = |name: &str| route.query(name).and_then(|id| id.parse::<Id>().ok());
        let limit = route.query("limit").map_or(Ok(50), str::parse::<usize>);
        let Some(limit) = limit.ok().filter(|limit| (1..=100).contains(limit)) else {
            let message = "int value should be greater than or equal to 1 and less than or equal to 100.";
            return Err(FormErrors::single("limit", "NUMBER_TYPE_MAX", message));
        };
        let is_listed = |message: &&Message| {
            message.channel == channel && message.visibility == Visibility::Shown && !message.is_ephemeral()
        };
        let all: Vec<&Message> = self.chat.messages.values().filter(is_listed).collect();
        let mut chosen: Vec<&Message> = if let Some(after) = id_parameter("after") {
            all.into_iter().filter(|message| message.id > after).take(limit).collect()
        } else if let Some(middle) = id_parameter("around") {
            let at = all.partition_point(|message| message.id < middle);
            let from = at.saturating_sub(limit / 2);
            all.into_iter().skip(from).take(limit).collect()
        } else {
            let before = id_parameter("before").unwrap_or(Id(u64::MAX));
            let older: Vec<_> = all.into_iter().filter(|message| message.id < before).collect();
            let from = older.len().saturating_sub(limit);
            older.into_iter().skip(from).collect()
        };
        chosen.reverse();
        Ok(chosen.into_iter().map(|message| self.chat.message_json(message)).collect())
    }
}

/// Adds the type that every embed of a bot has.
fn as_rich_embeds(value: &Value) -> Value {
    let mut embeds = value.as_array().cloned().unwrap_or_default();
    for embed in embeds.iter_mut().filter(|embed| embed.is_object()) {
        embed["type"] = json!("rich");
    }
    Value::Array(embeds)
}

/// Guesses the content type from the file name.
pub(super) fn guess_content_type(filename: &str) -> Option<&'static str> {
    match filename.rsplit('.').next()?.to_ascii_lowercase().as_str() {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        "txt" | "md" => Some("text/plain; charset=utf-8"),
        "pdf" => Some("application/pdf"),
        "ogg" => Some("audio/ogg"),
        _ => None,
    }
}
