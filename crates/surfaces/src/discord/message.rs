//! What we send: a message, its cards and buttons, a form. As values, and as Discord wants them.

use serde_json::{Map, Value, json};

use crate::discord::Snowflake;
use crate::discord::wire::{Body, File};

pub mod embed;
pub mod form;
pub mod row;

pub use embed::{Embed, Field};
pub use form::{Form, FormField, Lines};
pub use row::{Button, Choice, Press, Row, Select, Style};

/// A message to be sent, or what one is to become.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    /// Its words.
    pub content: String,
    /// Its cards.
    pub embeds: Vec<Embed>,
    /// Its buttons and menus.
    pub rows: Vec<Row>,
    /// How it arrives.
    pub flags: Flags,
    /// The message it answers.
    pub reply_to: Option<Snowflake>,
    /// What goes with it.
    pub files: Vec<File>,
}

/// How a message arrives. Only what is new can be silent or for one person alone: an edit changes none of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u64);

impl Flags {
    /// It makes no sound.
    pub const SILENT: Self = Self(1 << 12);
    /// Links in it show no preview.
    pub const NO_EMBEDS: Self = Self(1 << 2);
    /// Only the one who asked sees it.
    pub const EPHEMERAL: Self = Self(1 << 6);

    /// Both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it has all of `other`.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Outgoing {
    /// A message of words alone.
    pub fn words(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// It as a new message.
    pub(crate) fn creation(&self, nonce: Option<&str>) -> Body {
        let mut value = self.shown();
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

    /// It as what a message is to become. Whether links show a preview is all that can change of how it arrived.
    pub(crate) fn edit(&self) -> Body {
        let mut value = self.shown();
        let preview = if self.flags.has(Flags::NO_EMBEDS) { Flags::NO_EMBEDS.0 } else { 0 };
        value.insert("flags".to_owned(), preview.into());
        self.with_files(Value::Object(value))
    }

    /// It as a part of something else: the data of a callback.
    pub(crate) fn data(&self) -> Value {
        let mut value = self.shown();
        if self.flags != Flags::default() {
            value.insert("flags".to_owned(), self.flags.0.into());
        }
        Value::Object(value)
    }

    fn shown(&self) -> Map<String, Value> {
        let mut value = Map::new();
        value.insert("content".to_owned(), self.content.as_str().into());
        value.insert("embeds".to_owned(), self.embeds.iter().map(Embed::value).collect());
        value.insert("components".to_owned(), self.rows.iter().map(Row::value).collect());
        // Nobody is ever mentioned, whatever the words say.
        value.insert("allowed_mentions".to_owned(), json!({ "parse": [] }));
        if !self.files.is_empty() {
            value.insert("attachments".to_owned(), attachments(&self.files));
        }
        value
    }

    /// `payload` with the files, if there are any.
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

/// The first answer to an interaction.
#[derive(Clone, Debug)]
pub enum Callback {
    /// A message.
    Message(Outgoing),
    /// A message will follow; how it will arrive.
    Later(Flags),
    /// Heard, and what was pressed stays as it is for now.
    Heard,
    /// What was pressed becomes this.
    Update(Outgoing),
    /// What the human may mean, as they type: what they read, and what we get.
    Choices(Vec<(String, String)>),
    /// A form to fill in.
    Form(Form),
}

impl Callback {
    /// It as Discord wants it.
    pub(crate) fn body(&self) -> Body {
        match self {
            Self::Message(message) => message.with_files(json!({ "type": 4, "data": message.data() })),
            Self::Later(flags) => Body::Json(json!({ "type": 5, "data": { "flags": flags.0 } })),
            Self::Heard => Body::Json(json!({ "type": 6 })),
            Self::Update(message) => message.with_files(json!({ "type": 7, "data": message.data() })),
            Self::Choices(choices) => {
                let one = |(name, value): &(String, String)| json!({ "name": name, "value": value });
                let choices: Value = choices.iter().take(25).map(one).collect();
                Body::Json(json!({ "type": 8, "data": { "choices": choices } }))
            }
            Self::Form(form) => Body::Json(json!({ "type": 9, "data": form.value() })),
        }
    }
}
