//! Request and event types of the Messages API.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The body of `POST /v1/messages`. `messages` comes last, so that two requests on a branch share
/// every byte before the newest message.
#[derive(Debug, Serialize)]
pub struct Request<'a> {
    pub model: &'a str,
    pub max_tokens: u32,
    pub stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<Content<'a>>,
    pub messages: Vec<Message<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ThinkingMode {
    Disabled,
    BetweenTools,
    Adaptive {
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<Display>,
        #[serde(skip_serializing_if = "Option::is_none")]
        block_binding: Option<BlockBinding>,
    },
    Enabled {
        budget_tokens: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        block_binding: Option<BlockBinding>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Display {
    /// Progress notes between tool calls come as text.
    Updates,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BlockBinding {
    prefix_mismatch_behavior: &'static str,
}

impl BlockBinding {
    /// Thinking blocks that belong to another conversation are dropped instead of refused.
    pub const DROP: Self = Self { prefix_mismatch_behavior: "drop_block" };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OutputConfig {
    pub effort: &'static str,
}

#[derive(Debug, Serialize)]
pub struct Tool<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub input_schema: &'a RawValue,
}

#[derive(Debug, Serialize)]
pub struct Message<'a> {
    pub role: Role,
    pub content: Vec<Content<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
    System,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolResult {
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    #[serde(untagged)]
    Opaque(&'a RawValue),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "base64")]
pub struct Source<'a> {
    pub media_type: &'a str,
    pub data: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CacheControl {
    Ephemeral {
        /// Unset means five minutes.
        #[serde(skip_serializing_if = "Option::is_none")]
        ttl: Option<&'static str>,
    },
}

impl CacheControl {
    pub const FIVE_MINUTES: Self = Self::Ephemeral { ttl: None };
    pub const ONE_HOUR: Self = Self::Ephemeral { ttl: Some("1h") };
}

/// The type tag of every event and block.
#[derive(Debug, Deserialize)]
pub struct TypeTag<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
pub struct MessageStart {
    pub message: StartedMessage,
}

#[derive(Debug, Deserialize)]
pub struct StartedMessage {
    pub usage: Option<Tokens>,
}

/// Token counts. An absent field leaves the value of an earlier event unchanged.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Tokens {
    pub input_tokens: Option<u64>,
    pub cache_creation_input_tokens: Option<u64>,
    pub cache_creation: Option<CacheCreation>,
    pub cache_read_input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
}

/// The tokens written to the cache, by the lifetime of the cache entry.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct CacheCreation {
    pub ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub struct BlockStart<'a> {
    pub index: u64,
    #[serde(borrow)]
    pub content_block: &'a RawValue,
}

#[derive(Debug, Deserialize)]
pub struct TextStart {
    #[serde(default)]
    pub text: String,
}

#[derive(Debug, Deserialize)]
pub struct ThinkingStart {
    #[serde(default)]
    pub thinking: String,
    #[serde(default)]
    pub signature: String,
}

#[derive(Debug, Deserialize)]
pub struct ToolUseStart<'a> {
    pub id: String,
    pub name: String,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
}

/// A complete thinking block, as it is sent back.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "thinking")]
pub struct ThinkingBlock<'a> {
    pub thinking: &'a str,
    pub signature: &'a str,
}

#[derive(Debug, Deserialize)]
pub struct BlockDelta {
    pub index: u64,
    pub delta: Delta,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    /// Citations, which are not shown, and unknown types.
    #[serde(other)]
    Other,
}

impl Delta {
    /// Returns the bytes of the content.
    pub fn len(&self) -> usize {
        match self {
            Self::Text { text } => text.len(),
            Self::InputJson { partial_json } => partial_json.len(),
            Self::Thinking { thinking } => thinking.len(),
            Self::Signature { signature } => signature.len(),
            Self::Other => 0,
        }
    }
}

#[derive(Debug, Deserialize)]
pub struct BlockStop {
    pub index: u64,
}

#[derive(Debug, Deserialize)]
pub struct MessageDelta {
    pub delta: MessageEnd,
    pub usage: Option<Tokens>,
}

#[derive(Debug, Deserialize)]
pub struct MessageEnd {
    pub stop_reason: Option<String>,
    #[serde(default)]
    pub stop_details: Option<StopDetails>,
}

#[derive(Debug, Deserialize)]
pub struct StopDetails {
    #[serde(default)]
    pub category: Option<String>,
}

/// The body of an error response, and of the event that ends a stream early.
#[derive(Debug, Deserialize)]
pub struct ErrorBody {
    pub error: ErrorInfo,
}

#[derive(Debug, Default, Deserialize)]
pub struct ErrorInfo {
    #[serde(rename = "type", default)]
    pub kind: String,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub details: Option<ErrorDetails>,
}

#[derive(Debug, Default, Deserialize)]
pub struct ErrorDetails {
    #[serde(default)]
    pub error_code: Option<String>,
}
