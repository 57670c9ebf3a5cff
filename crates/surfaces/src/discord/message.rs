//! Outgoing messages with embeds, buttons and forms, and their JSON for Discord.

use serde_json::{Map, Value, json};

use crate::discord::Snowflake;
use crate::discord::transport::{Body, File};

pub mod embed;
pub mod form;
pub mod row;

pub use embed::{Embed, Field};
pub use form::{Form, FormField, TextSize};
pub use row::{Button, ButtonKind, Choice, Row, Select, Style};

/// The content of a new or edited message.
#[derive(Clone, Debug, Default)]
pub struct OutgoingMessage {
    pub content: String,
    pub embeds: Vec<Embed>,
    /// Buttons and menus.
    pub rows: Vec<Row>,
    /// Delivery options.
    pub flags: Flags,
    /// The message it replies to.
    pub reply_to: Option<Snowflake>,
    pub files: Vec<File>,
}

/// Delivery options. An edit cannot change whether a message is silent or ephemeral.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u64);

impl Flags {
    /// No notification sound.
    pub const SILENT: Self = Self(1 << 12);
    /// No link previews.
    pub const NO_EMBEDS: Self = Self(1 << 2);
    /// Visible only to the user of the interaction.
    pub const EPHEMERAL: Self = Self(1 << 6);

    /// Returns the union of both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if all of `other` are set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl OutgoingMessage {
    /// Creates a message with text only.
    pub fn text(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// Returns the request body for a new message.
    pub(crate) fn create_body(&self, nonce: Option<&str>) -> Body {
        let mut value = self.common_fields();
        if self.flags != Flags::default() {
            value.insert("flags".to_owned(), self.flags.0.into());
        }
        if let Some(id) = self.reply_to {
            let reference = json!({ "message_id": id, "fail_if_not_exists": false });
            value.insert("message_reference".to_owned(), reference);
        }
        if let Some(nonce) = nonce {
            value.insert("nonce".to_owned(), nonce.into());
            value.insert("enforce_nonce".to_owned(), true.into());
        }
        self.with_files(Value::Object(value))
    }

    /// Returns the request body for an edit. Link previews are the only flag that can be changed.
    pub(crate) fn edit_body(&self) -> Body {
        let mut value = self.common_fields();
        let preview = if self.flags.contains(Flags::NO_EMBEDS) { Flags::NO_EMBEDS.0 } else { 0 };
        value.insert("flags".to_owned(), preview.into());
        self.with_files(Value::Object(value))
    }

    /// Returns the data of a callback.
    pub(crate) fn callback_data(&self) -> Value {
        let mut value = self.common_fields();
        if self.flags != Flags::default() {
            value.insert("flags".to_owned(), self.flags.0.into());
        }
        Value::Object(value)
    }

    fn common_fields(&self) -> Map<String, Value> {
        let mut value = Map::new();
        value.insert("content".to_owned(), self.content.as_str().into());
        value.insert("embeds".to_owned(), self.embeds.iter().map(Embed::to_json).collect());
        value.insert("components".to_owned(), self.rows.iter().map(Row::to_json).collect());
        // Mentions are disabled, whatever the content.
        value.insert("allowed_mentions".to_owned(), json!({ "parse": [] }));
        if !self.files.is_empty() {
            value.insert("attachments".to_owned(), attachments(&self.files));
        }
        value
    }

    /// Adds the files to `payload`, if there are any.
    pub(crate) fn with_files(&self, payload: Value) -> Body {
        if self.files.is_empty() {
            return Body::Json(payload);
        }
        Body::Multipart { payload, files: self.files.clone() }
    }
}

fn attachments(files: &[File]) -> Value {
    let one = |(id, file): (usize, &File)| json!({ "id": id.to_string(), "filename": file.name, "description": file.description });
    files.iter().enumerate().map(one).collect()
}

/// First response to an interaction.
#[derive(Clone, Debug)]
pub enum Callback {
    Message(OutgoingMessage),
    /// A message will follow, with these flags.
    Deferred(Flags),
    /// Acknowledges a component without changing its message yet.
    Acknowledge,
    /// Changes the message of the component.
    Update(OutgoingMessage),
    /// Autocompletion: pairs of label and value.
    Choices(Vec<(String, String)>),
    Form(Form),
}

impl Callback {
    /// Returns the request body.
    pub(crate) fn to_body(&self) -> Body {
        match self {
            Self::Message(message) => {
                message.with_files(json!({ "type": 4, "data": message.callback_data() }))
            }
            Self::Deferred(flags) => Body::Json(json!({ "type": 5, "data": { "flags": flags.0 } })),
            Self::Acknowledge => Body::Json(json!({ "type": 6 })),
            Self::Update(message) => {
                message.with_files(json!({ "type": 7, "data": message.callback_data() }))
            }
            Self::Choices(choices) => {
                let one = |(name, value): &(String, String)| json!({ "name": name, "value": value });
                let choices: Value = choices.iter().take(25).map(one).collect();
                Body::Json(json!({ "type": 8, "data": { "choices": choices } }))
            }
            Self::Form(form) => Body::Json(json!({ "type": 9, "data": form.to_json() })),
        }
    }
}
