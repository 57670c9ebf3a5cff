//! One thing said, and what it was said after.

use std::fmt;

use jiff::Timestamp;

use super::Image;
use crate::label::{Label, Realm};
use crate::tool::{ToolCall, ToolResult};

/// The number of an entry. Numbers grow, so a parent is always smaller than its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(pub u64);

impl EntryId {
    /// The number after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The name of a lineage: a plain string without white space at its ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

impl SessionId {
    /// Reads an id as it is kept on disk: nothing, if it is blank or a leftover of an older format.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty() && !text.starts_with('{')).then(|| Self(text.to_owned()))
    }

    pub(crate) fn minted(text: String) -> Self {
        Self(text)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first eight characters, for people.
    pub fn short(&self) -> &str {
        self.0.char_indices().nth(8).map_or(&self.0, |(end, _)| &self.0[..end])
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One thing said, and what it was said after.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its number.
    pub id: EntryId,
    /// What it was said after: nothing, for the first.
    pub parent: Option<EntryId>,
    /// When it was said.
    pub at: Timestamp,
    /// What was said.
    pub said: Said,
    /// What is known of these words.
    pub own: Label,
    /// What is known of all words on the way here, these among them.
    pub label: Label,
}

/// What can be said.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// By the human.
    Human(Heard),
    /// By the model: words and calls for tools.
    Assistant(Vec<Block>, Reach),
    /// By the tools it called.
    Tools(Vec<ToolResult>),
    /// What stands for everything before it.
    Summary(String),
    /// That the summary at this entry no longer does. Nobody reads this out: it changes what is read.
    Recalled(EntryId),
}

impl Said {
    /// What is known of these words by themselves. A summary knows no more than what it stands for.
    pub fn label(&self) -> Label {
        match self {
            Self::Human(heard) => heard.label(),
            Self::Tools(results) => results.iter().fold(Label::PLAIN, |all, one| all.join(one.label)),
            Self::Assistant(..) | Self::Summary(_) | Self::Recalled(_) => Label::PLAIN,
        }
    }
}

/// A message of the human, as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// What we put before it: the time, and what background runs left.
    pub preface: String,
    /// What the human wrote.
    pub text: String,
    /// What the human showed.
    pub images: Vec<Image>,
}

impl Heard {
    /// A note of ours, with nothing of the human in it.
    pub fn note(preface: String) -> Self {
        Self { preface, text: String::new(), images: Vec::new() }
    }

    /// What the human says is private, and what they show may hold words of anybody.
    fn label(&self) -> Label {
        let words = if self.is_note() { Label::PLAIN } else { Label::private(Realm::Chat) };
        let pictures = if self.images.is_empty() { Label::PLAIN } else { Label::outside(Realm::Picture) };
        words.join(pictures)
    }

    /// Whether it is one.
    pub fn is_note(&self) -> bool {
        self.text.is_empty() && self.images.is_empty()
    }
}

/// Whether an answer is all that was meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It was said to its end.
    Whole,
    /// It was cut off: by the human, or by a failure.
    Cut,
}

/// A part of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Words for the human.
    Text(String),
    /// A tool to run.
    Call(ToolCall),
    /// A part that only the service that wrote it can read, such as signed thinking.
    Opaque(Opaque),
}

/// A part of a reply that only the service that wrote it can read. It is sent back there unchanged, and nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// The service that wrote it: `anthropic`, or a name that another client gives itself and its model.
    pub origin: String,
    /// The part as it came.
    pub json: Json,
}

impl Opaque {
    /// The origin of blocks that the Messages API wrote.
    pub const ANTHROPIC: &str = "anthropic";

    /// A block that the Messages API wrote.
    pub fn anthropic(json: impl Into<String>) -> Self {
        Self { origin: Self::ANTHROPIC.to_owned(), json: Json(json.into()) }
    }
}

/// A JSON text, kept byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(pub String);

/// The calls in a reply, in order.
pub fn calls(blocks: &[Block]) -> impl Iterator<Item = &ToolCall> {
    blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call),
        Block::Text(_) | Block::Opaque(_) => None,
    })
}

/// What a model call used, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read in full.
    pub input: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache, whatever the lifetime of the cache entry.
    pub cache_write: u64,
    /// The part of `cache_write` that was written with a lifetime of one hour. It is already contained in
    /// `cache_write`, so sums such as `read` do not add it again.
    pub cache_write_1h: u64,
    /// Produced.
    pub output: u64,
}

impl Usage {
    /// All that was read.
    pub fn read(&self) -> u64 {
        self.input.saturating_add(self.cache_write).saturating_add(self.cache_read)
    }

    /// All that the model held in mind: what it read, and what it said.
    pub fn held(&self) -> u64 {
        self.read().saturating_add(self.output)
    }

    /// What was not read from the cache.
    pub fn fresh(&self) -> u64 {
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

/// Words a person can read in something that was said.
pub trait Text {
    /// The words, without what only machines read.
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

impl Text for Said {
    fn text(&self) -> String {
        match self {
            Self::Human(heard) => heard.text.clone(),
            Self::Assistant(blocks, _) => blocks.text(),
            Self::Tools(results) => {
                results.iter().map(|result| result.text.as_str()).collect::<Vec<_>>().join("\n")
            }
            Self::Summary(text) => text.clone(),
            Self::Recalled(_) => String::new(),
        }
    }
}
