//! The bot's messages: creating, editing and listing them.

use serde_json::{Map, Value, json};

use super::components::numbered;
use super::form;
use super::id::{Id, MessageId};
use super::refusal::{Form, Refusal};
use super::route::Route;
use super::talk::{File, Message, SUPPRESS_EMBEDS, Standing, timestamp};
use super::world::World;

/// A message or an edit as the bot sent it.
#[derive(Clone, Copy)]
pub(super) struct Draft<'a> {
    pub payload: &'a Value,
    pub files: &'a [(String, Vec<u8>)],
    /// The flags that may be set.
    pub flags: u64,
}

/// Returns a list of the payload, if it is given; null is an empty list.
fn given(payload: &Value, name: &str) -> Option<Vec<Value>> {
    payload.get(name).map(|value| value.as_array().cloned().unwrap_or_default())
}

impl World {
    /// Creates a message of the bot without posting it.
    pub fn compose(&mut self, channel: Id, draft: Draft) -> Result<Message, Refusal> {
        form::check(draft.payload, draft.files)?;
        let content = draft.payload["content"].as_str().unwrap_or_default().trim();
        let mut wire = self.plain(content);
        let id = self.next_id();
        wire.insert("embeds".into(), rich(&draft.payload["embeds"]));
        wire.insert("components".into(), numbered(&draft.payload["components"]));
        wire.insert("flags".into(), json!(form::flags(draft.payload, draft.flags)));
        wire.insert("attachments".into(), self.keep_files(channel, draft));
        wire.insert("mentions".into(), self.mentioned(content, &draft.payload["allowed_mentions"]));
        if !draft.payload["nonce"].is_null() {
            wire.insert("nonce".into(), draft.payload["nonce"].clone());
        }
        if form::is_empty(&wire) {
            return Err(Refusal::code(50006));
        }
        let reply_to = self.answered(channel, &draft.payload["message_reference"])?;
        if reply_to.is_some() {
            wire.insert("type".into(), json!(19));
        }
        Ok(Message {
            id,
            channel,
            author: self.talk.bot.id,
            wire,
            reactions: Vec::new(),
            reply_to,
            allowed_mentions: draft.payload["allowed_mentions"].clone(),
            edits: 0,
            standing: Standing::Shown,
        })
    }

    fn answered(&self, channel: Id, reference: &Value) -> Result<Option<MessageId>, Refusal> {
        let Some(id) = Id::read(&reference["message_id"]) else { return Ok(None) };
        let found = Some(id).filter(|id| self.talk.message(channel, *id).is_some());
        match (found, reference["fail_if_not_exists"] == false) {
            (None, false) => {
                Err(Form::refusal("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message"))
            }
            (found, _) => Ok(found),
        }
    }

    fn mentioned(&self, content: &str, allowed: &Value) -> Value {
        let silent = allowed.is_object() && allowed["parse"].as_array().is_none_or(|kinds| kinds.is_empty());
        let named = |id: Id| content.contains(&format!("<@{id}>"));
        let allowed = |id: Id| {
            let users = allowed["users"].as_array().map(Vec::as_slice).unwrap_or_default();
            let listed = users.iter().any(|user| Id::read(user) == Some(id));
            !silent || listed
        };
        let named = self.talk.humans.values().filter(|human| named(human.id) && allowed(human.id));
        named.map(super::talk::User::wire).collect()
    }

    /// Stores the files of a draft and returns the attachments of the message.
    fn keep_files(&mut self, channel: Id, draft: Draft) -> Value {
        let told = given(draft.payload, "attachments").unwrap_or_default();
        let mut attachments = Vec::new();
        for (at, (filename, bytes)) in draft.files.iter().enumerate() {
            let number = at.to_string();
            let about = told.iter().find(|about| about["id"] == at || about["id"] == *number);
            let about = about.cloned().unwrap_or_default();
            let filename = about["filename"].as_str().unwrap_or(filename);
            let file = File { content_type: guessed(filename).map(str::to_owned), bytes: bytes.clone() };
            let mut wire = self.keep_file(channel, filename, file);
            if !about["description"].is_null() {
                wire["description"] = about["description"].clone();
            }
            attachments.push(wire);
        }
        Value::Array(attachments)
    }

    /// Stores a file and returns its attachment.
    pub fn keep_file(&mut self, channel: Id, filename: &str, file: File) -> Value {
        let id = self.next_id();
        let url = format!("http://{}/attachments/{channel}/{id}/{filename}", self.place);
        let mut wire = json!({
            "id": id.to_string(), "filename": filename, "size": file.bytes.len(), "url": url, "proxy_url": url,
        });
        if let Some(content_type) = &file.content_type {
            wire["content_type"] = json!(content_type);
        }
        self.talk.files.insert(id, file);
        wire
    }

    /// Edits a message of the bot: absent fields stay, null fields are cleared.
    pub fn revise(&mut self, id: MessageId, draft: Draft) -> Result<(), Refusal> {
        let Some(before) = self.talk.messages.get(&id).cloned() else { return Err(Refusal::code(10008)) };
        let flags = before.flags() & super::talk::COMPONENTS_V2 | form::flags(draft.payload, draft.flags);
        let mut asked = draft.payload.clone();
        if asked.is_object() {
            asked["flags"] = json!(flags);
        }
        form::check(&asked, draft.files)?;
        let mut wire = before.wire.clone();
        self.rewrite(&mut wire, before.channel, draft);
        let kept = if draft.payload.get("flags").is_some() { !SUPPRESS_EMBEDS } else { u64::MAX };
        wire.insert("flags".into(), json!(before.flags() & kept | flags));
        if form::is_empty(&wire) {
            return Err(Refusal::code(50006));
        }
        wire.insert("edited_timestamp".into(), json!(timestamp(self.now.wall)));
        if let Some(message) = self.talk.messages.get_mut(&id) {
            message.wire = wire;
            message.edits += 1;
            if let Some(allowed) = draft.payload.get("allowed_mentions") {
                message.allowed_mentions = allowed.clone();
            }
        }
        self.tell_message("MESSAGE_UPDATE", id);
        Ok(())
    }

    fn rewrite(&mut self, wire: &mut Map<String, Value>, channel: Id, draft: Draft) {
        if let Some(content) = draft.payload.get("content") {
            wire.insert("content".into(), json!(content.as_str().unwrap_or_default().trim()));
        }
        if let Some(embeds) = draft.payload.get("embeds") {
            wire.insert("embeds".into(), rich(embeds));
        }
        if let Some(components) = draft.payload.get("components") {
            wire.insert("components".into(), numbered(components));
        }
        let kept = given(draft.payload, "attachments");
        let before = wire.get("attachments").and_then(Value::as_array).cloned().unwrap_or_default();
        let stays =
            |old: &Value| kept.as_ref().is_none_or(|kept| kept.iter().any(|one| one["id"] == old["id"]));
        let mut attachments: Vec<_> = before.into_iter().filter(stays).collect();
        attachments.extend(self.keep_files(channel, draft).as_array().cloned().unwrap_or_default());
        wire.insert("attachments".into(), Value::Array(attachments));
    }

    /// Returns the messages of a channel that match the query, newest first.
    pub fn listed(&self, channel: Id, route: &Route) -> Result<Value, Refusal> {
        let asked = |name: &str| route.query(name).and_then(|id| id.parse::<Id>().ok());
        let limit = route.query("limit").map_or(Ok(50), str::parse::<usize>);
        let Some(limit) = limit.ok().filter(|limit| (1..=100).contains(limit)) else {
            let message = "int value should be greater than or equal to 1 and less than or equal to 100.";
            return Err(Form::refusal("limit", "NUMBER_TYPE_MAX", message));
        };
        let shown = |message: &&Message| {
            message.channel == channel && message.standing == Standing::Shown && !message.is_ephemeral()
        };
        let all: Vec<&Message> = self.talk.messages.values().filter(shown).collect();
        let mut chosen: Vec<&Message> = if let Some(after) = asked("after") {
            all.into_iter().filter(|message| message.id > after).take(limit).collect()
        } else if let Some(middle) = asked("around") {
            let at = all.partition_point(|message| message.id < middle);
            let from = at.saturating_sub(limit / 2);
            all.into_iter().skip(from).take(limit).collect()
        } else {
            let before = asked("before").unwrap_or(Id(u64::MAX));
            let older: Vec<_> = all.into_iter().filter(|message| message.id < before).collect();
            let from = older.len().saturating_sub(limit);
            older.into_iter().skip(from).collect()
        };
        chosen.reverse();
        Ok(chosen.into_iter().map(|message| self.talk.message_wire(message)).collect())
    }
}

/// Adds the type that every embed of a bot has.
fn rich(value: &Value) -> Value {
    let mut embeds = value.as_array().cloned().unwrap_or_default();
    for embed in embeds.iter_mut().filter(|embed| embed.is_object()) {
        embed["type"] = json!("rich");
    }
    Value::Array(embeds)
}

/// Guesses the content type from the file name.
pub(super) fn guessed(filename: &str) -> Option<&'static str> {
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
