//! Request and response types of the chat-completions API.
//!
//! Many servers implement it with small differences. Input is accepted in every shape seen in
//! practice; output uses only what all of them accept.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The body of `POST /chat/completions`. `messages` comes last, so that two requests on a branch
/// share every byte before the newest message.
#[derive(Debug, Serialize)]
pub struct Request<'a> {
    pub model: &'a str,
    pub stream: bool,
    pub stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool<'a>>,
    pub messages: Vec<Message<'a>>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct StreamOptions {
    pub include_usage: bool,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", content = "function", rename_all = "snake_case")]
pub enum Tool<'a> {
    Function(Function<'a>),
}

#[derive(Debug, Serialize)]
pub struct Function<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub parameters: &'a RawValue,
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
        /// Server-specific reasoning fields.
        #[serde(flatten)]
        reasoning: Map<String, Value>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

/// Every server accepts plain text; parts need a model with vision.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Content<'a> {
    Text(String),
    Parts(Vec<Part<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Debug, Serialize)]
pub struct ImageUrl {
    pub url: String,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "function")]
pub struct Call<'a> {
    pub id: &'a str,
    pub function: CalledFunction<'a>,
    /// Gemini: holds the thought signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_content: Option<Value>,
}

#[derive(Debug, Serialize)]
pub struct CalledFunction<'a> {
    pub name: &'a str,
    pub arguments: &'a str,
}

/// A chunk of a stream, a complete reply, or an error in place of either.
#[derive(Debug, Deserialize)]
pub struct Chunk<'a> {
    #[serde(borrow)]
    pub choices: Option<Vec<Choice<'a>>>,
    pub usage: Option<Tokens>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub object: Option<Cow<'a, str>>,
}

/// A stream sends deltas, a complete reply one message; they have the same fields.
#[derive(Debug, Deserialize)]
pub struct Choice<'a> {
    #[serde(borrow)]
    pub delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub message: Option<Delta<'a>>,
    pub finish_reason: Option<String>,
}

impl Choice<'_> {
    /// Returns whether it adds nothing to the reply. Some servers send such chunks as keep-alives.
    pub fn is_empty(&self) -> bool {
        let said = self.delta.as_ref().or(self.message.as_ref());
        self.finish_reason.as_deref().unwrap_or_default().is_empty() && said.is_none_or(Delta::is_empty)
    }
}

/// A part of a reply. The reasoning fields are not shown to the user; some servers require them in
/// a tool loop.
#[derive(Debug, Deserialize)]
pub struct Delta<'a> {
    /// DeepSeek and older vLLM.
    #[serde(default)]
    pub reasoning_content: Value,
    /// OpenRouter and vLLM.
    #[serde(default)]
    pub reasoning: Value,
    /// OpenRouter.
    #[serde(default)]
    pub reasoning_details: Value,
    /// Gemini.
    #[serde(default)]
    pub extra_content: Value,
    pub content: Option<DeltaContent>,
    pub refusal: Option<String>,
    #[serde(borrow)]
    pub tool_calls: Option<Vec<CallDelta<'a>>>,
    #[serde(borrow)]
    pub function_call: Option<FunctionDelta<'a>>,
}

impl Delta<'_> {
    fn is_empty(&self) -> bool {
        let Self { reasoning_content, reasoning, reasoning_details, extra_content, .. } = self;
        let values = [reasoning_content, reasoning, reasoning_details, extra_content];
        let content = match &self.content {
            None => true,
            Some(DeltaContent::Text(text)) => text.is_empty(),
            Some(DeltaContent::Parts(parts)) => parts.iter().all(|part| part.text.is_empty()),
        };
        let says_nothing = content && self.refusal.as_deref().unwrap_or_default().is_empty();
        let calls_nothing =
            self.tool_calls.as_ref().is_none_or(Vec::is_empty) && self.function_call.is_none();
        says_nothing && calls_nothing && values.iter().all(|value| value.is_null() || *value == "")
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum DeltaContent {
    Text(String),
    Parts(Vec<DeltaContentPart>),
}

#[derive(Debug, Deserialize)]
pub struct DeltaContentPart {
    #[serde(default)]
    pub text: String,
}

#[derive(Debug, Deserialize)]
pub struct CallDelta<'a> {
    pub index: Option<u64>,
    pub id: Option<String>,
    #[serde(borrow)]
    pub function: Option<FunctionDelta<'a>>,
    #[serde(default)]
    pub extra_content: Value,
}

#[derive(Debug, Deserialize)]
pub struct FunctionDelta<'a> {
    pub name: Option<String>,
    /// A JSON string according to the specification; some servers send an object.
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Tokens {
    pub prompt_tokens: Option<u64>,
    pub completion_tokens: Option<u64>,
    pub prompt_tokens_details: Option<TokensDetails>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct TokensDetails {
    pub cached_tokens: Option<u64>,
}

/// An error. Its code is a string, a number or absent, depending on the server.
#[derive(Debug, Default, Deserialize)]
pub struct ErrorInfo {
    #[serde(default, deserialize_with = "or_empty")]
    pub message: String,
    #[serde(rename = "type", default, deserialize_with = "or_empty")]
    pub kind: String,
    #[serde(default)]
    pub code: Value,
    /// The field of the request that the error is about.
    #[serde(default)]
    pub param: Value,
}

/// The object in which most servers wrap an error.
#[derive(Debug, Deserialize)]
pub struct ErrorBody<'a> {
    #[serde(borrow)]
    pub error: &'a RawValue,
}

fn or_empty<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}
