//! Builds chat-completions requests from a context.
//!
//! Each entry becomes the same bytes whatever follows it, so that a longer conversation begins with
//! the shorter one and a server's cache can be read. Opaque parts are sent back only to the server
//! and model that wrote them.

use domain::context::{self, Context, SystemNote, UNKNOWN_OUTCOME};
use domain::conversation::{Block, Heard, Said, Text, calls};
use domain::failure::Failure;
use domain::tool::{ToolCall, ToolResult, ToolSpec};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::beginnings::{Beginnings, Body, Made, before, opening};

use super::dialect;
use super::profile::{LimitField, NoteStyle, Profile};
use super::wire::{Call, Called, Content, Function, ImageUrl, Message, Part, Request, StreamOptions, Tool};

/// The input of a call that came without one.
const NOTHING: &str = "{}";

/// The schema of a tool that came without one.
const ANYTHING: &str = r#"{"type":"object"}"#;

/// The parameters of a request to one model of one server.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub model: &'a str,
    pub max_tokens: u32,
    pub profile: &'a Profile,
    /// The origin of opaque parts that this server and model can read.
    pub origin: &'a str,
}

/// States whether the model can call tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tools {
    Offered,
    /// The model cannot call tools; earlier tool results are sent as plain text.
    Unknown,
}

/// Returns the request for the reply to `context`. It reuses the bytes of earlier requests.
pub fn body(asked: Asked<'_>, context: &Context, beginnings: &Beginnings) -> Result<Body, Failure> {
    let opening = opening(&request(asked, context, Vec::new()))?;
    beginnings.write(opening, context, |from| messages(asked, context, from))
}

/// Returns the request for the reply to `context` with these messages.
pub fn request<'a>(asked: Asked<'a>, context: &'a Context, said: Vec<Message<'a>>) -> Request<'a> {
    let system = Message::System { content: &context.instructions };
    let system = (!context.instructions.trim().is_empty()).then_some(system);
    let profile = asked.profile;
    let (max_tokens, max_completion_tokens) = match profile.limit {
        LimitField::MaxTokens => (Some(asked.max_tokens), None),
        LimitField::MaxCompletionTokens => (None, Some(asked.max_tokens)),
    };
    let tools = match profile.tools {
        Tools::Offered => context.tools.iter().map(tool).collect(),
        Tools::Unknown => Vec::new(),
    };
    Request {
        model: asked.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_tokens,
        max_completion_tokens,
        reasoning_effort: profile.effort.value(context.effort),
        tools,
        messages: system.into_iter().chain(said).collect(),
    }
}

/// Returns the messages for the entries of `context` from the index `from` on.
pub fn messages<'a>(asked: Asked<'a>, context: &'a Context, from: usize) -> Vec<Made<Message<'a>>> {
    let open = before(&context.said, from).map(open).unwrap_or_default();
    let tools = asked.profile.tools;
    let mut letters = Letters { messages: Vec::new(), open, tools, asked, at: from };
    for said in &context.said[from..] {
        letters.add(said);
        letters.notes(&context.notes);
        letters.at += 1;
    }
    letters.at = letters.at.saturating_sub(1);
    letters.settle(&[]);
    letters.messages
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let parameters = object(spec.schema).or_else(|| object(ANYTHING)).unwrap_or(RawValue::NULL);
    Tool::Function(Function { name: spec.name, description: &spec.description, parameters })
}

/// Builds the messages from the entries, tracking the calls of the last message that still need
/// results.
struct Letters<'a> {
    messages: Vec<Made<Message<'a>>>,
    open: Vec<&'a ToolCall>,
    tools: Tools,
    asked: Asked<'a>,
    /// The index of the entry that is being added.
    at: usize,
}

impl<'a> Letters<'a> {
    fn add(&mut self, said: &'a Said) {
        match said {
            Said::Tools(results) => self.settle(results),
            Said::Human(heard) => {
                self.settle(&[]);
                self.human(heard);
            }
            Said::Summary(text) => {
                self.settle(&[]);
                self.hear(Content::Text(context::summary(text)));
            }
            Said::Recalled(_) => {}
            Said::Assistant(blocks, _) => {
                self.settle(&[]);
                self.open = open(said);
                self.assistant(blocks);
            }
        }
    }

    fn notes(&mut self, notes: &'a [SystemNote]) {
        let at = self.at;
        for note in notes.iter().filter(|note| note.after == at) {
            match self.asked.profile.notes {
                NoteStyle::System => self.push(Message::System { content: &note.text }),
                NoteStyle::User => self.hear(Content::Text(format!("[system note]\n{}", note.text))),
            }
        }
    }

    /// Adds a result for every open call, in the order of the calls. No server accepts a call
    /// without a result or a result without a call, and each would refuse the conversation from
    /// then on.
    fn settle(&mut self, results: &'a [ToolResult]) {
        for call in std::mem::take(&mut self.open) {
            let result = results.iter().find(|result| result.call == call.id);
            let content = result.map_or(UNKNOWN_OUTCOME, |result| result.text.as_str());
            match self.tools {
                Tools::Offered => self.push(Message::Tool { tool_call_id: &call.id, content }),
                Tools::Unknown => self.hear(Content::Text(format!("[result of {}]\n{content}", call.name))),
            }
        }
    }

    /// EN-8: the images in their order, then the text.
    fn human(&mut self, heard: &'a Heard) {
        let text = context::heard(heard);
        if heard.images.is_empty() {
            return self.hear(Content::Text(text));
        }
        let images = heard.images.iter().map(|image| {
            let url = format!("data:{};base64,{}", image.media_type, image.data);
            Part::ImageUrl { image_url: ImageUrl { url } }
        });
        self.hear(Content::Parts(images.chain(words(text)).collect()));
    }

    /// Adds user content. Adjacent messages are joined: the templates of many models refuse two
    /// messages of one role in a row.
    fn hear(&mut self, content: Content<'a>) {
        if content.is_blank() {
            return;
        }
        match self.messages.last_mut() {
            Some(Made { message: Message::User { content: before }, last, .. }) => {
                before.join(content);
                *last = self.at;
            }
            Some(_) | None => self.push(Message::User { content }),
        }
    }

    fn push(&mut self, message: Message<'a>) {
        self.messages.push(Made { message, first: self.at, last: self.at });
    }

    fn assistant(&mut self, blocks: &'a [Block]) {
        let text = blocks.text().trim_end().to_owned();
        let text = (!text.trim().is_empty()).then_some(text);
        let profile = self.asked.profile;
        let mut replayed = dialect::replayed(blocks, self.asked.origin, profile.reasoning);
        let calls: Vec<_> = match self.tools {
            Tools::Offered => self
                .open
                .iter()
                .enumerate()
                .map(|(at, call)| {
                    let extra = replayed.call_extra(&call.id, profile.placeholder_signatures && at == 0);
                    wire_call(call, extra)
                })
                .collect(),
            Tools::Unknown => Vec::new(),
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
            Self::Text(text) => words(text).into_iter().collect(),
            Self::Parts(parts) => parts,
        }
    }
}

fn words<'a>(text: String) -> Option<Part<'a>> {
    (!text.trim().is_empty()).then_some(Part::Text { text: text.into() })
}

/// Returns the calls in `entry`, which need results.
fn open(said: &Said) -> Vec<&ToolCall> {
    match said {
        Said::Assistant(blocks, _) => calls(blocks).collect(),
        Said::Human(_) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => Vec::new(),
    }
}

fn wire_call(call: &ToolCall, extra_content: Option<Value>) -> Call<'_> {
    let arguments = object(&call.input.0).map_or(NOTHING, RawValue::get);
    Call { id: &call.id, function: Called { name: &call.name, arguments }, extra_content }
}

/// Returns `json` unchanged if it is an object.
pub fn object(json: &str) -> Option<&RawValue> {
    let raw: &RawValue = serde_json::from_str(json).ok()?;
    raw.get().starts_with('{').then_some(raw)
}
