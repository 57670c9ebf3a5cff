//! Test support: a context and its entries.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use domain::context::Context;
use domain::conversation::{Block, Branch, Completeness, EntryContent, Json, UserInput};
use domain::effort::Effort;
use domain::failure::Failure;
use domain::thinking::Thinking;
use domain::tool::{Outcome, ToolCall, ToolClass, ToolResult, ToolSpec};
use domain::turn::ModelReply;
use engine::ports::Model;

pub const KEY: &str = "sk-test-0123456789";

const TOOL: ToolSpec = ToolSpec {
    name: "note",
    description: Cow::Borrowed("Writes a note."),
    schema: r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#,
    class: ToolClass::Own,
};

pub fn context(said: Vec<EntryContent>) -> Context {
    Context {
        branch: Branch::Main,
        model: None,
        thinking: Thinking::Off,
        effort: Effort::Low,
        interactive: true,
        tools: Arc::from([TOOL]),
        instructions: Arc::from("You are a friend."),
        entries: said.into_iter().map(Arc::new).collect(),
        notes: Vec::new(),
        transient_count: 0,
    }
}

pub fn user(text: &str) -> EntryContent {
    EntryContent::User(UserInput { preface: String::new(), text: text.to_owned(), images: Vec::new() })
}

pub fn answer(text: &str) -> EntryContent {
    EntryContent::Assistant(vec![Block::Text(text.to_owned())], Completeness::Complete)
}

pub fn call(id: &str, input: &str) -> Block {
    Block::Call(ToolCall { id: id.to_owned(), name: "note".to_owned(), input: Json(input.to_owned()) })
}

pub fn result(call: &str, text: &str, outcome: Outcome) -> ToolResult {
    ToolResult { call: call.to_owned(), text: text.to_owned(), outcome, label: domain::label::Label::PLAIN }
}

/// Returns the calls in a reply.
pub fn calls(reply: &ModelReply) -> Vec<ToolCall> {
    domain::conversation::tool_calls(&reply.blocks).cloned().collect()
}

/// Returns the streamed text and the result of the call.
pub async fn call_model(model: &dyn Model, context: &Context) -> (String, Result<ModelReply, Failure>) {
    let streamed = Mutex::new(String::new());
    let sink = |text: &str| streamed.lock().unwrap().push_str(text);
    let reply = model.reply(context, &sink).await;
    (streamed.into_inner().unwrap(), reply)
}
