//! Test support: a context and its entries.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use domain::context::Context;
use domain::conversation::{Block, Branch, Heard, Json, Reach, Said};
use domain::effort::Effort;
use domain::failure::Failure;
use domain::thinking::Thinking;
use domain::tool::{Class, Outcome, ToolCall, ToolResult, ToolSpec};
use domain::turn::Reply;
use engine::ports::Model;

pub const KEY: &str = "sk-test-0123456789";

const TOOL: ToolSpec = ToolSpec {
    name: "note",
    description: Cow::Borrowed("Writes a note."),
    schema: r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#,
    class: Class::Own,
};

pub fn context(said: Vec<Said>) -> Context {
    Context {
        branch: Branch::Main,
        model: None,
        thinking: Thinking::Off,
        effort: Effort::Low,
        interactive: true,
        tools: Arc::from([TOOL]),
        instructions: Arc::from("You are a friend."),
        said: said.into_iter().map(Arc::new).collect(),
        notes: Vec::new(),
        aside: 0,
    }
}

pub fn human(text: &str) -> Said {
    Said::Human(Heard { preface: String::new(), text: text.to_owned(), images: Vec::new() })
}

pub fn answer(text: &str) -> Said {
    Said::Assistant(vec![Block::Text(text.to_owned())], Reach::Whole)
}

pub fn call(id: &str, input: &str) -> Block {
    Block::Call(ToolCall { id: id.to_owned(), name: "note".to_owned(), input: Json(input.to_owned()) })
}

pub fn result(call: &str, text: &str, outcome: Outcome) -> ToolResult {
    ToolResult { call: call.to_owned(), text: text.to_owned(), outcome, label: domain::label::Label::PLAIN }
}

/// Returns the calls in a reply.
pub fn calls(reply: &Reply) -> Vec<ToolCall> {
    domain::conversation::calls(&reply.blocks).cloned().collect()
}

/// Returns the streamed text and the result of the call.
pub async fn ask(model: &dyn Model, context: &Context) -> (String, Result<Reply, Failure>) {
    let heard = Mutex::new(String::new());
    let listener = |words: &str| heard.lock().unwrap().push_str(words);
    let reply = model.reply(context, &listener).await;
    (heard.into_inner().unwrap(), reply)
}
