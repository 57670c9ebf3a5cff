//! JSON types of the API shared by the page and the command line.

mod approval;
mod card;
mod devices;
mod embed;
mod update;

use domain::conversation::{Block, Completeness, Entry, EntryContent, Text};
use domain::cost::CostSource;
use domain::tool::{Outcome, ShownContent, ToolResult};
use serde::{Deserialize, Serialize};

use self::embed::EmbedDto;
use super::health::Health;
pub use card::CardDto;
pub use devices::{DeviceDto, DeviceList, DeviceRequest};
pub use update::{SnapshotDto, UpdateDto};

/// The usage of the context window.
#[derive(Serialize)]
pub struct ContextDto {
    /// Tokens of the last call; null before the first one.
    pub tokens: Option<u64>,
    /// Size of the context window in tokens.
    pub limit: u64,
    /// Number of tokens at which the conversation is compacted.
    pub compacts: u64,
}

/// Maximum length of a tool's input or result in characters.
const MAX_TOOL_CHARS: usize = 4_000;

/// Maximum length of one text in a list of entries in characters.
const MAX_LISTED_CHARS: usize = 100_000;

/// Error response.
#[derive(Serialize)]
pub struct ErrorResponse {
    pub ok: bool,
    pub error: ErrorBody,
}

#[derive(Serialize)]
pub struct ErrorBody {
    pub kind: &'static str,
    pub message: String,
}

#[derive(Serialize)]
pub struct OkResponse {
    pub ok: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairRequest {
    pub code: String,
}

#[derive(Serialize)]
pub struct PairLinkResponse {
    pub ok: bool,
    pub link: String,
}

/// Request to send a message.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SayRequest {
    #[serde(default)]
    pub text: String,
    /// Base64.
    #[serde(default)]
    pub images: Vec<String>,
    /// Number of the message this one replies to.
    #[serde(default)]
    pub reply_to: Option<u64>,
}

/// Request to press a button.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PressRequest {
    /// Number of the message with the button, or 0.
    #[serde(default)]
    pub message: u64,
    pub button: String,
    /// The time, for a button that moves an item.
    #[serde(default)]
    pub words: String,
}

/// The reply text, or the number of a stored message.
#[derive(Serialize)]
pub struct PressResponse {
    pub ok: bool,
    pub text: Option<String>,
    pub message: Option<u64>,
}

/// The message was stored.
#[derive(Serialize)]
pub struct MessageStored {
    pub ok: bool,
    pub message: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRequest {
    pub text: String,
}

/// The reply text, or the turn of the started work.
#[derive(Serialize)]
pub struct CommandResponse {
    pub ok: bool,
    pub text: Option<String>,
    pub turn: Option<u64>,
}

/// A request without content.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmptyRequest {}

/// Query for a part of the conversation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessagesQuery {
    pub before: Option<u64>,
    /// The last entry of the part, on any branch.
    pub to: Option<u64>,
    pub limit: Option<usize>,
}

/// A part of the conversation, oldest first.
#[derive(Serialize)]
pub struct MessagesResponse {
    pub messages: Vec<EntryDto>,
    pub more: bool,
}

#[derive(Serialize)]
pub struct EntryDto {
    pub id: u64,
    pub parent: Option<u64>,
    pub at: String,
    /// The background run that sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(flatten)]
    pub said: ContentDto,
}

/// Content with its author.
#[derive(Serialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum ContentDto {
    Human { text: String, images: usize },
    Assistant { text: String, whole: bool, calls: Vec<ToolCallDto> },
    Tools { results: Vec<ToolResultDto> },
    Summary { text: String },
    Recalled { summary: u64 },
}

#[derive(Serialize)]
pub struct ToolCallDto {
    pub id: String,
    pub tool: String,
    pub input: String,
}

#[derive(Serialize)]
pub struct ToolResultDto {
    pub call: String,
    /// `done`, `failed` or `denied`.
    pub outcome: &'static str,
    pub text: String,
    pub embed: Option<EmbedDto>,
    pub words: Option<String>,
}

impl From<&Entry> for EntryDto {
    fn from(entry: &Entry) -> Self {
        let said = ContentDto::from(&entry.content);
        let (id, parent, at) = (entry.id.0, entry.parent.map(|id| id.0), entry.at.to_string());
        Self { id, parent, at, from: None, said }
    }
}

impl EntryDto {
    /// Creates the entry of a message sent by a background run.
    pub fn from_run(source: &CostSource, entry: &Entry) -> Self {
        Self { from: Some(source.to_string()), ..Self::from(entry) }
    }

    /// Truncates very long text for a list, with a note about the missing part.
    #[must_use]
    pub fn truncated_for_list(mut self) -> Self {
        match &mut self.said {
            ContentDto::Human { text, .. }
            | ContentDto::Assistant { text, .. }
            | ContentDto::Summary { text } => {
                truncate_for_list(text);
            }
            ContentDto::Tools { results } => {
                results.iter_mut().filter_map(|result| result.words.as_mut()).for_each(truncate_for_list);
            }
            ContentDto::Recalled { .. } => {}
        }
        self
    }

    /// Removes the shown content of a message that the user dismissed.
    #[must_use]
    pub fn without_shown(mut self) -> Self {
        if let ContentDto::Tools { results } = &mut self.said {
            results.iter_mut().for_each(|result| (result.embed, result.words) = (None, None));
        }
        self
    }
}

impl From<&EntryContent> for ContentDto {
    fn from(said: &EntryContent) -> Self {
        match said {
            EntryContent::User(heard) => Self::Human { text: heard.text.clone(), images: heard.images.len() },
            EntryContent::Assistant(blocks, reach) => Self::Assistant {
                text: blocks.text(),
                whole: match reach {
                    Completeness::Complete => true,
                    Completeness::Interrupted => false,
                },
                calls: blocks.iter().filter_map(call).collect(),
            },
            EntryContent::Tools(results) => Self::Tools { results: results.iter().map(result).collect() },
            EntryContent::Summary(text) => Self::Summary { text: text.clone() },
            EntryContent::SummaryRecalled(summary) => Self::Recalled { summary: summary.0 },
        }
    }
}

fn call(block: &Block) -> Option<ToolCallDto> {
    match block {
        Block::Call(call) => {
            Some(ToolCallDto { id: call.id.clone(), tool: call.name.clone(), input: shorten(&call.input.0) })
        }
        Block::Text(_) | Block::Opaque(_) => None,
    }
}

fn result(result: &ToolResult) -> ToolResultDto {
    let (outcome, embed, words) = match &result.outcome {
        Outcome::Done => ("done", None, None),
        Outcome::Shown(ShownContent::Embed(embed)) => ("done", Some(embed.into()), None),
        Outcome::Shown(ShownContent::Text(words)) => ("done", None, Some(words.clone())),
        Outcome::Failed => ("failed", None, None),
        Outcome::Denied => ("denied", None, None),
    };
    ToolResultDto { call: result.call.clone(), outcome, text: shorten(&result.text), embed, words }
}

fn truncate_for_list(text: &mut String) {
    let Some((end, _)) = text.char_indices().nth(MAX_LISTED_CHARS) else { return };
    let all = text.chars().count();
    text.truncate(end);
    text.push_str(&format!(
        "\n\n(Only the first {MAX_LISTED_CHARS} of {all} characters are shown here. `ollim-bot history export main` writes all of it.)"
    ));
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_TOOL_CHARS) {
        Some((end, _)) => format!("{}… ({} characters in all)", &text[..end], text.chars().count()),
        None => text.to_owned(),
    }
}

#[derive(Serialize)]
pub struct HealthDto {
    pub ok: bool,
    pub version: String,
    pub pid: u32,
    pub brain: String,
    pub zone: String,
    pub data_dir: String,
    pub page: String,
    pub surfaces: Vec<String>,
    pub discord: Option<String>,
    pub session: Option<String>,
    pub notices: Vec<String>,
}

impl From<Health> for HealthDto {
    fn from(health: Health) -> Self {
        Self {
            ok: true,
            version: health.version,
            pid: health.pid,
            brain: health.model,
            zone: health.zone,
            data_dir: health.data_dir,
            page: health.page,
            surfaces: health.surfaces,
            discord: health.discord,
            session: health.session,
            notices: health.notices,
        }
    }
}
