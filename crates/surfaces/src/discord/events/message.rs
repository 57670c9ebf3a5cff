//! Messages as received from Discord.

use serde_json::Value;

use super::{id, list, maybe_id, maybe_text};
use crate::discord::Snowflake;

const IS_VOICE_MESSAGE: u64 = 1 << 13;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub id: Snowflake,
    pub channel: Snowflake,
    /// The server; `None` for a direct message.
    pub guild: Option<Snowflake>,
    pub author: Author,
    pub content: String,
    /// The text of the first embed.
    pub embed: String,
    pub message_type: MessageType,
    pub reply_to: Option<ReplyTo>,
    pub attachments: Vec<Attachment>,
    /// True for a voice message: one recorded audio file without text.
    pub is_voice: bool,
    /// The nonce set by the sender, if Discord still sends it.
    pub nonce: Option<String>,
}

impl Message {
    /// Returns true for a direct message.
    pub fn in_dm(&self) -> bool {
        self.guild.is_none()
    }
}

/// Author of a message. Names are ignored, because they do not identify anyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    Person(Snowflake),
    Bot(Snowflake),
    /// A webhook, which can use any name.
    Webhook(Snowflake),
}

impl Author {
    pub fn id(self) -> Snowflake {
        match self {
            Self::Person(id) | Self::Bot(id) | Self::Webhook(id) => id,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageType {
    /// Text of an author.
    Plain,
    /// Text in reply to a message.
    Reply,
    /// The response to a command.
    Command,
    /// A system message, such as that a message was pinned.
    System,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyTo {
    pub message: Snowflake,
    /// The content, if it still exists and Discord sent it.
    pub quoted: Option<QuotedMessage>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotedMessage {
    pub author: Author,
    pub content: String,
    /// The text of the first embed.
    pub embed: String,
}

/// Attachment of a message. Size and type are claims of the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    pub name: String,
    /// MIME type such as `image/png`, or empty.
    pub kind: String,
    /// Claimed size in bytes.
    pub size: u64,
    pub url: String,
}

pub fn parse(data: &Value) -> Result<Message, String> {
    Ok(Message {
        id: id(data, "id")?,
        channel: id(data, "channel_id")?,
        guild: maybe_id(data, "guild_id"),
        author: author(data)?,
        content: maybe_text(data, "content"),
        embed: embed_text(data),
        message_type: message_type(data["type"].as_u64().unwrap_or_default()),
        reply_to: reply_to(data),
        attachments: list(data, "attachments").iter().filter_map(attachment).collect(),
        is_voice: data["flags"].as_u64().unwrap_or_default() & IS_VOICE_MESSAGE != 0,
        nonce: nonce(&data["nonce"]),
    })
}

fn author(data: &Value) -> Result<Author, String> {
    if let Some(webhook) = maybe_id(data, "webhook_id") {
        return Ok(Author::Webhook(webhook));
    }
    let who = &data["author"];
    let id = id(who, "id").map_err(|_| "no author".to_owned())?;
    Ok(if who["bot"].as_bool().unwrap_or_default() { Author::Bot(id) } else { Author::Person(id) })
}

fn message_type(number: u64) -> MessageType {
    match number {
        0 => MessageType::Plain,
        19 => MessageType::Reply,
        20 | 23 => MessageType::Command,
        _ => MessageType::System,
    }
}

fn reply_to(data: &Value) -> Option<ReplyTo> {
    let reference = &data["message_reference"];
    // A forwarded message has a reference too, but is not a reply.
    if reference["type"].as_u64().unwrap_or_default() != 0 {
        return None;
    }
    let message = maybe_id(reference, "message_id")?;
    let referenced = &data["referenced_message"];
    let quoted = author(referenced).ok().map(|author| QuotedMessage {
        author,
        content: maybe_text(referenced, "content"),
        embed: embed_text(referenced),
    });
    Some(ReplyTo { message, quoted })
}

fn embed_text(data: &Value) -> String {
    let Some(embed) = list(data, "embeds").first() else { return String::new() };
    let mut texts = vec![maybe_text(embed, "title"), maybe_text(embed, "description")];
    for field in list(embed, "fields") {
        texts.push(maybe_text(field, "name"));
        texts.push(maybe_text(field, "value"));
    }
    texts.retain(|text| !text.is_empty());
    texts.join("\n")
}

fn attachment(data: &Value) -> Option<Attachment> {
    Some(Attachment {
        name: maybe_text(data, "filename"),
        kind: maybe_text(data, "content_type"),
        size: data["size"].as_u64().unwrap_or_default(),
        url: data["url"].as_str()?.to_owned(),
    })
}

fn nonce(data: &Value) -> Option<String> {
    data.as_str().map(ToOwned::to_owned).or_else(|| data.as_u64().map(|number| number.to_string()))
}
