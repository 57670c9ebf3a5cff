//! Entries of the conversation tree and their content.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::Image;
use crate::label::{Label, Realm};
use crate::tool::{ToolCall, ToolResult};

/// The number of an entry. Numbers grow, so a parent is always smaller than its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(pub u64);

impl EntryId {
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The session id of a branch: a plain string without white space at its ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

impl SessionId {
    /// Parses a stored id; `None` if it is blank or a leftover of an older format.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty() && !text.starts_with('{')).then(|| Self(text.to_owned()))
    }

    pub(crate) fn from_generated(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first eight characters, for display.
    pub fn short(&self) -> &str {
        self.0.char_indices().nth(8).map_or(&self.0, |(end, _)| &self.0[..end])
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An entry on the path to the newest one, as a model reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct PathEntry {
    pub id: EntryId,
    pub content: Arc<EntryContent>,
}

/// An entry with its position in the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub id: EntryId,
    /// The previous entry; `None` for the root.
    pub parent: Option<EntryId>,
    pub at: Timestamp,
    pub content: EntryContent,
    /// The label of this entry alone.
    pub own_label: Label,
    /// The joined label of all entries on the path, including this one.
    pub label: Label,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EntryContent {
    User(UserInput),
    Assistant(Vec<Block>, Completeness),
    Tools(Vec<ToolResult>),
    /// Replaces all earlier entries.
    Summary(String),
    /// Cancels the summary at this entry. It has no text; it changes which entries are read.
    SummaryRecalled(EntryId),
}

impl EntryContent {
    /// Returns the label of the content alone. A summary is covered by the label of the path.
    pub fn label(&self) -> Label {
        match self {
            Self::User(heard) => heard.label(),
            Self::Tools(results) => results.iter().fold(Label::PLAIN, |all, one| all.join(one.label)),
            Self::Assistant(..) | Self::Summary(_) | Self::SummaryRecalled(_) => Label::PLAIN,
        }
    }
}

/// A message of the user as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserInput {
    /// The program's text before it: the time, and pending updates.
    pub preface: String,
    pub text: String,
    pub images: Vec<Image>,
}

impl UserInput {
    /// Creates a note of the program, without text of the user.
    pub fn note(preface: String) -> Self {
        Self { preface, text: String::new(), images: Vec::new() }
    }

    /// Returns the label: the user's text is private, and pictures may contain any text.
    fn label(&self) -> Label {
        let words = if self.is_note() { Label::PLAIN } else { Label::private(Realm::Chat) };
        let pictures = if self.images.is_empty() { Label::PLAIN } else { Label::outside(Realm::Picture) };
        words.join(pictures)
    }

    /// Returns whether it contains nothing of the user.
    pub fn is_note(&self) -> bool {
        self.text.is_empty() && self.images.is_empty()
    }
}

/// Whether an answer is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    Complete,
    /// It was cut off by the user or by a failure.
    Interrupted,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Text(String),
    Call(ToolCall),
    /// A part that only the service that wrote it can read, such as signed thinking.
    Opaque(Opaque),
}

/// A part of a reply that only the service that wrote it can read. It is sent back there unchanged, and nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// The service that wrote it: `anthropic`, or a name that another client gives itself and its model.
    pub origin: String,
    /// The unchanged JSON.
    pub json: Json,
}

impl Opaque {
    /// The origin of blocks that the Messages API wrote.
    pub const ANTHROPIC: &str = "anthropic";

    /// Creates a block of the Messages API.
    pub fn anthropic(json: impl Into<String>) -> Self {
        Self { origin: Self::ANTHROPIC.to_owned(), json: Json(json.into()) }
    }
}

/// A JSON text, unchanged byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(pub String);

/// Returns the tool calls in a reply, in order.
pub fn tool_calls(blocks: &[Block]) -> impl Iterator<Item = &ToolCall> {
    blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call),
        Block::Text(_) | Block::Opaque(_) => None,
    })
}

/// The token usage of a model call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read without the cache.
    pub input: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache, with any lifetime.
    pub cache_write: u64,
    /// The part of `cache_write` that was written with a lifetime of one hour. It is already
    /// contained in `cache_write`, so sums such as `total_input` do not add it again.
    pub cache_write_1h: u64,
    pub output: u64,
}

impl Usage {
    /// Returns all tokens of the prompt.
    pub fn total_input(&self) -> u64 {
        self.input.saturating_add(self.cache_write).saturating_add(self.cache_read)
    }

    /// Returns all tokens of prompt and reply.
    pub fn total(&self) -> u64 {
        self.total_input().saturating_add(self.output)
    }

    /// Returns the tokens that were not read from the cache.
    pub fn uncached(&self) -> u64 {
        self.input.saturating_add(self.cache_write).saturating_add(self.output)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_write_1h = self.cache_write_1h.saturating_add(other.cache_write_1h);
        self.output = self.output.saturating_add(other.output);
    }
}

/// Content with text for display.
pub trait Text {
    /// Returns the text without parts that only programs read.
    fn text(&self) -> String;
}

impl Text for [Block] {
    fn text(&self) -> String {
        let words = self.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            Block::Call(_) | Block::Opaque(_) => None,
        });
        words.collect::<Vec<_>>().join("\n\n")
    }
}

impl Text for EntryContent {
    fn text(&self) -> String {
        match self {
            Self::User(heard) => heard.text.clone(),
            Self::Assistant(blocks, _) => blocks.text(),
            Self::Tools(results) => {
                results.iter().map(|result| result.text.as_str()).collect::<Vec<_>>().join("\n")
            }
            Self::Summary(text) => text.clone(),
            Self::SummaryRecalled(_) => String::new(),
        }
    }
}
