//! Request and event types of the Responses API.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The body of `POST /responses`. `input` comes last, so that two requests of a conversation share every byte before
/// the newest items.
#[derive(Debug, Serialize)]
pub struct Request<'a> {
    pub model: &'a str,
    pub stream: bool,
    pub store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub include: &'static [&'static str],
    pub max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool<'a>>,
    pub input: Vec<Item<'a>>,
}

#[derive(Debug, Serialize)]
pub struct Reasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<&'static str>,
}

/// A function tool. The API checks schemas strictly by default; ours have optional fields.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "function")]
pub struct Tool<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub parameters: &'a RawValue,
    pub strict: bool,
}

/// One item of the conversation.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Item<'a> {
    Message(Message<'a>),
    Tool(ToolItem<'a>),
    /// An output item of the model, unchanged.
    Verbatim(&'a RawValue),
    /// An output item of the model, rebuilt.
    Rebuilt(Map<String, Value>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message<'a> {
    User { content: Vec<Part<'a>> },
    Assistant { content: &'a str },
    Developer { content: &'a str },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { image_url: String, detail: &'static str },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolItem<'a> {
    FunctionCall { call_id: &'a str, name: &'a str, arguments: &'a str },
    FunctionCallOutput { call_id: &'a str, output: &'a str },
}

/// The type tag of an event or item.
#[derive(Debug, Deserialize)]
pub struct TypeTag<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
}

/// `response.output_item.added` and `.done`.
#[derive(Debug, Deserialize)]
pub struct ItemEvent<'a> {
    pub output_index: u64,
    #[serde(borrow)]
    pub item: &'a RawValue,
}

/// An event with more text.
#[derive(Debug, Deserialize)]
pub struct DeltaEvent {
    pub output_index: u64,
    #[serde(default)]
    pub delta: String,
}

/// The event that ends a response.
#[derive(Debug, Deserialize)]
pub struct EndEvent<'a> {
    #[serde(borrow)]
    pub response: &'a RawValue,
}

#[derive(Debug, Deserialize)]
pub struct Response<'a> {
    pub status: Option<String>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    pub incomplete_details: Option<Incomplete>,
    pub usage: Option<Tokens>,
    #[serde(borrow, default)]
    pub output: Vec<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub struct Incomplete {
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Tokens {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub input_tokens_details: Option<TokensDetails>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct TokensDetails {
    pub cached_tokens: Option<u64>,
}

/// An output item, as far as it is used.
#[derive(Debug, Deserialize)]
pub struct OutputItem {
    #[serde(rename = "type")]
    pub kind: String,
    pub phase: Option<String>,
    #[serde(default)]
    pub content: Option<Vec<OutputPart>>,
    pub call_id: Option<String>,
    pub name: Option<String>,
    pub arguments: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct OutputPart {
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default)]
    pub refusal: Option<String>,
}
