//! A message as it came.

use serde_json::Value;

use super::{id, list, maybe_id, maybe_text};
use crate::discord::Snowflake;

/// The flag of voice messages.
const IS_VOICE_MESSAGE: u64 = 1 << 13;

/// A message, of anybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Which.
    pub id: Snowflake,
    /// Where.
    pub channel: Snowflake,
    /// The server it was written on: none, if it was written to us directly.
    pub guild: Option<Snowflake>,
    /// Who wrote it.
    pub author: Author,
    /// Its words.
    pub content: String,
    /// The words of its first card.
    pub embed: String,
    /// What sort of message it is.
    pub sort: Sort,
    /// What it answers.
    pub reply_to: Option<ReplyTo>,
    /// What came with it.
    pub attachments: Vec<Attachment>,
    /// Whether it is a voice message: one audio file that was recorded in the app, and no words.
    pub is_voice: bool,
    /// The mark that its sender gave it, if Discord still tells.
    pub nonce: Option<String>,
}

impl Message {
    /// Whether it was written to us directly.
    pub fn in_dm(&self) -> bool {
        self.guild.is_none()
    }
}

/// Who wrote a message. Names are not kept: they say nothing about who somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// A person.
    Person(Snowflake),
    /// A program.
    Bot(Snowflake),
    /// A webhook, which can call itself anything.
    Webhook(Snowflake),
}

impl Author {
    /// Their id.
    pub fn id(self) -> Snowflake {
        match self {
            Self::Person(id) | Self::Bot(id) | Self::Webhook(id) => id,
        }
    }
}

/// What sort of message something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Somebody's words.
    Plain,
    /// Somebody's words, in answer to a message.
    Reply,
    /// The answer to a command.
    Command,
    /// Something that Discord itself says, such as that a message was pinned.
    Notice,
}

/// What a message answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyTo {
    /// Which message.
    pub message: Snowflake,
    /// What it said, if it is still there and Discord told us.
    pub quoted: Option<Quoted>,
}

/// What an answered message said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Who wrote it.
    pub author: Author,
    /// Its words.
    pub content: String,
    /// The words of its first card.
    pub embed: String,
}

/// What came with a message. Size and kind are what Discord says, and need not be true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// What it is said to be: `image/png`, or nothing.
    pub kind: String,
    /// How many bytes it is said to have.
    pub size: u64,
    /// Where it is.
    pub url: String,
}

/// Reads a message.
pub fn read(data: &Value) -> Result<Message, String> {
    Ok(Message {
        id: id(data, "id")?,
        channel: id(data, "channel_id")?,
        guild: maybe_id(data, "guild_id"),
        author: author(data)?,
        content: maybe_text(data, "content"),
        embed: embed_words(data),
        sort: sort(data["type"].as_u64().unwrap_or_default()),
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

fn sort(number: u64) -> Sort {
    match number {
        0 => Sort::Plain,
        19 => Sort::Reply,
        20 | 23 => Sort::Command,
        _ => Sort::Notice,
    }
}

fn reply_to(data: &Value) -> Option<ReplyTo> {
    let reference = &data["message_reference"];
    // A forwarded message refers to one too, but answers nothing.
    if reference["type"].as_u64().unwrap_or_default() != 0 {
        return None;
    }
    let message = maybe_id(reference, "message_id")?;
    let referenced = &data["referenced_message"];
    let quoted = author(referenced).ok().map(|author| Quoted {
        author,
        content: maybe_text(referenced, "content"),
        embed: embed_words(referenced),
    });
    Some(ReplyTo { message, quoted })
}

fn embed_words(data: &Value) -> String {
    let Some(embed) = list(data, "embeds").first() else { return String::new() };
    let mut words = vec![maybe_text(embed, "title"), maybe_text(embed, "description")];
    for field in list(embed, "fields") {
        words.push(maybe_text(field, "name"));
        words.push(maybe_text(field, "value"));
    }
    words.retain(|text| !text.is_empty());
    words.join("\n")
}

fn attachment(data: &Value) -> Option<Attachment> {
    Some(Attachment {
        name: maybe_text(data, "filename"),
        kind: maybe_text(data, "content_type"),
        size: data["size"].as_u64().unwrap_or_default(),
        url: data["url"].as_str()?.to_owned(),
    })
}

/// A nonce is a text or a number.
fn nonce(data: &Value) -> Option<String> {
    data.as_str().map(ToOwned::to_owned).or_else(|| data.as_u64().map(|number| number.to_string()))
}
