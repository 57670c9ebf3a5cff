//! Builds chat-completions requests from a context.
//!
//! Each entry becomes the same bytes whatever follows it, so that a longer conversation begins with
//! the shorter one and a server's cache can be read. Opaque parts are sent back only to the server
//! and model that wrote them.

use domain::context::{self, Context, SystemNote, UNKNOWN_OUTCOME};
use domain::conversation::{Block, EntryContent, Text, UserInput, tool_calls};
use domain::failure::Failure;
use domain::tool::{ToolCall, ToolResult, ToolSpec};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::prefix_cache::{BuiltMessage, PrefixCache, RequestBody, previous_entry, request_prefix};

use super::profile::{LimitField, NoteStyle, Profile};
use super::protocol::{
    Call, CalledFunction, Content, Function, ImageUrl, Message, Part, Request, StreamOptions, Tool,
};
use super::reasoning_fields;

/// The input of a call that came without one.
const EMPTY_INPUT: &str = "{}";

/// The schema of a tool that came without one.
const ANY_OBJECT_SCHEMA: &str = r#"{"type":"object"}"#;

/// The parameters of a request to one model of one server.
#[derive(Clone, Copy, Debug)]
pub struct RequestParameters<'a> {
    pub model: &'a str,
    pub max_tokens: u32,
    pub profile: &'a Profile,
    /// The origin of opaque parts that this server and model can read.
    pub origin: &'a str,
}

/// States whether the model can call tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolSupport {
    Offered,
    /// The model cannot call tools; earlier tool results are sent as plain text.
    Unsupported,
}

/// Returns the request for the reply to `context`. It reuses the bytes of earlier requests.
pub fn body(
    parameters: RequestParameters<'_>,
    context: &Context,
    prefix_cache: &PrefixCache,
) -> Result<RequestBody, Failure> {
    let request_prefix = request_prefix(&request(parameters, context, Vec::new()))?;
    prefix_cache.write_request(request_prefix, context, |from| messages(parameters, context, from))
}

/// Returns the request for the reply to `context` with these messages.
pub fn request<'a>(
    parameters: RequestParameters<'a>,
    context: &'a Context,
    messages: Vec<Message<'a>>,
) -> Request<'a> {
    let system = Message::System { content: &context.instructions };
    let system = (!context.instructions.trim().is_empty()).then_some(system);
    let profile = parameters.profile;
    let (max_tokens, max_completion_tokens) = match profile.limit {
        LimitField::MaxTokens => (Some(parameters.max_tokens), None),
        LimitField::MaxCompletionTokens => (None, Some(parameters.max_tokens)),
    };
    let tools = match profile.tools {
        ToolSupport::Offered => context.tools.iter().map(tool).collect(),
        ToolSupport::Unsupported => Vec::new(),
    };
    Request {
        model: parameters.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_tokens,
        max_completion_tokens,
        reasoning_effort: profile.effort.value(context.effort),
        tools,
        messages: system.into_iter().chain(messages).collect(),
    }
}

/// Returns the messages for the entries of `context` from the index `from` on.
pub fn messages<'a>(
    parameters: RequestParameters<'a>,
    context: &'a Context,
    from: usize,
) -> Vec<BuiltMessage<Message<'a>>> {
    let open_calls = previous_entry(&context.entries, from).map(tool_calls_of).unwrap_or_default();
    let tools = parameters.profile.tools;
    let mut builder = MessageBuilder { messages: Vec::new(), open_calls, tools, parameters, at: from };
    for entry in &context.entries[from..] {
        builder.add(entry);
        builder.add_notes(&context.notes);
        builder.at += 1;
    }
    builder.at = builder.at.saturating_sub(1);
    builder.add_results(&[]);
    builder.messages
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let parameters = object(spec.schema).or_else(|| object(ANY_OBJECT_SCHEMA)).unwrap_or(RawValue::NULL);
    Tool::Function(Function { name: spec.name, description: &spec.description, parameters })
}

/// Builds the messages from the entries, tracking the calls of the last message that still need
/// results.
struct MessageBuilder<'a> {
    messages: Vec<BuiltMessage<Message<'a>>>,
    open_calls: Vec<&'a ToolCall>,
    tools: ToolSupport,
    parameters: RequestParameters<'a>,
    /// The index of the entry that is being added.
    at: usize,
}

impl<'a> MessageBuilder<'a> {
    fn add(&mut self, entry: &'a EntryContent) {
        match entry {
            EntryContent::Tools(results) => self.add_results(results),
            EntryContent::User(input) => {
                self.add_results(&[]);
                self.add_user_input(input);
            }
            EntryContent::Summary(text) => {
                self.add_results(&[]);
                self.add_user_content(Content::Text(context::summary(text)));
            }
            EntryContent::SummaryRecalled(_) => {}
            EntryContent::Assistant(blocks, _) => {
                self.add_results(&[]);
                self.open_calls = tool_calls_of(entry);
                self.add_reply(blocks);
            }
        }
    }

    fn add_notes(&mut self, notes: &'a [SystemNote]) {
        let at = self.at;
        for note in notes.iter().filter(|note| note.after == at) {
            match self.parameters.profile.notes {
                NoteStyle::System => self.push(Message::System { content: &note.text }),
                NoteStyle::User => {
                    self.add_user_content(Content::Text(format!("[system note]\n{}", note.text)))
                }
            }
        }
    }

    /// Adds a result for every open call, in the order of the calls. No server accepts a call
    /// without a result or a result without a call, and each would refuse the conversation from
    /// then on.
    fn add_results(&mut self, results: &'a [ToolResult]) {
        for call in std::mem::take(&mut self.open_calls) {
            let result = results.iter().find(|result| result.call == call.id);
            let content = result.map_or(UNKNOWN_OUTCOME, |result| result.text.as_str());
            match self.tools {
                ToolSupport::Offered => self.push(Message::Tool { tool_call_id: &call.id, content }),
                ToolSupport::Unsupported => {
                    self.add_user_content(Content::Text(format!("[result of {}]\n{content}", call.name)))
                }
            }
        }
    }

    /// EN-8: the images in their order, then the text.
    fn add_user_input(&mut self, input: &'a UserInput) {
        let text = context::user_text(input);
        if input.images.is_empty() {
            return self.add_user_content(Content::Text(text));
        }
        let images = input.images.iter().map(|image| {
            let url = format!("data:{};base64,{}", image.media_type, image.data);
            Part::ImageUrl { image_url: ImageUrl { url } }
        });
        self.add_user_content(Content::Parts(images.chain(text_part(text)).collect()));
    }

    /// Adds user content. Adjacent messages are joined: the templates of many models refuse two
    /// messages of one role in a row.
    fn add_user_content(&mut self, content: Content<'a>) {
        if content.is_blank() {
            return;
        }
        match self.messages.last_mut() {
            Some(BuiltMessage { message: Message::User { content: before }, last, .. }) => {
                before.join(content);
                *last = self.at;
            }
            Some(_) | None => self.push(Message::User { content }),
        }
    }

    fn push(&mut self, message: Message<'a>) {
        self.messages.push(BuiltMessage { message, first: self.at, last: self.at });
    }

    fn add_reply(&mut self, blocks: &'a [Block]) {
        let text = blocks.text().trim_end().to_owned();
        let text = (!text.trim().is_empty()).then_some(text);
        let profile = self.parameters.profile;
        let mut replayed =
            reasoning_fields::replayed_fields(blocks, self.parameters.origin, profile.reasoning);
        let calls: Vec<_> = match self.tools {
            ToolSupport::Offered => self
                .open_calls
                .iter()
                .enumerate()
                .map(|(at, call)| {
                    let extra = replayed.call_extra(&call.id, profile.placeholder_signatures && at == 0);
                    call_content(call, extra)
                })
                .collect(),
            ToolSupport::Unsupported => Vec::new(),
        };
        if text.is_none() && calls.is_empty() {
            return;
        }
        let fields = replayed.fields;
        // Replies with reasoning are not joined: the reasoning belongs to one reply.
        let joined =
            self.messages.last_mut().filter(|_| fields.is_empty()).and_then(|made| match &mut made.message {
                Message::Assistant { content, tool_calls, reasoning } if reasoning.is_empty() => {
                    Some((content, tool_calls, &mut made.last))
                }
                Message::Assistant { .. }
                | Message::System { .. }
                | Message::User { .. }
                | Message::Tool { .. } => None,
            });
        match joined {
            Some((content, tool_calls, last)) if content.is_some() || text.is_none() => {
                if let (Some(before), Some(text)) = (content, text) {
                    before.push_str("\n\n");
                    before.push_str(&text);
                }
                tool_calls.extend(calls);
                *last = self.at;
            }
            Some(_) | None => {
                self.push(Message::Assistant { content: text, tool_calls: calls, reasoning: fields })
            }
        }
    }
}

impl<'a> Content<'a> {
    fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Parts(parts) => parts.is_empty(),
        }
    }

    fn join(&mut self, more: Self) {
        match (self, more) {
            (Self::Text(text), Self::Text(more)) => {
                text.push_str("\n\n");
                text.push_str(&more);
            }
            (this, more) => {
                let mut parts = std::mem::replace(this, Self::Parts(Vec::new())).parts();
                parts.extend(more.parts());
                *this = Self::Parts(parts);
            }
        }
    }

    fn parts(self) -> Vec<Part<'a>> {
        match self {
            Self::Text(text) => text_part(text).into_iter().collect(),
            Self::Parts(parts) => parts,
        }
    }
}

fn text_part<'a>(text: String) -> Option<Part<'a>> {
    (!text.trim().is_empty()).then_some(Part::Text { text: text.into() })
}

/// Returns the calls in `entry`, which need results.
fn tool_calls_of(entry: &EntryContent) -> Vec<&ToolCall> {
    match entry {
        EntryContent::Assistant(blocks, _) => tool_calls(blocks).collect(),
        EntryContent::User(_)
        | EntryContent::Tools(_)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => Vec::new(),
    }
}

fn call_content(call: &ToolCall, extra_content: Option<Value>) -> Call<'_> {
    let arguments = object(&call.input.0).map_or(EMPTY_INPUT, RawValue::get);
    Call { id: &call.id, function: CalledFunction { name: &call.name, arguments }, extra_content }
}

/// Returns `json` unchanged if it is an object.
pub fn object(json: &str) -> Option<&RawValue> {
    let raw: &RawValue = serde_json::from_str(json).ok()?;
    raw.get().starts_with('{').then_some(raw)
}
