//! What the tests share: a client, a context, and somebody who listens.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::context::Context;
use domain::conversation::{Block, Heard, Json, Reach, Said};
use domain::failure::Failure;
use domain::tool::{Outcome, ToolCall, ToolResult, ToolSpec};
use domain::turn::Reply;
use engine::ports::Model;
use models::openai::{Key, OpenAi, Settings};
use testkit::chat_server::{ChatServer, Style};
use testkit::play::Act;

pub const KEY: &str = "sk-test-0123456789";

const TOOL: ToolSpec = ToolSpec {
    name: "note",
    description: "Writes a note.",
    schema: r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#,
};

pub fn settings(url: &str) -> Settings {
    Settings {
        base_url: url.to_owned(),
        key: Key::new(KEY),
        model: "test-1".to_owned(),
        max_tokens: 1024,
        connect: Duration::from_secs(10),
        stall: Duration::from_secs(60),
    }
}

pub fn model(url: &str) -> OpenAi {
    OpenAi::new(settings(url)).unwrap()
}

pub fn context(said: Vec<Said>) -> Context {
    Context {
        branch: domain::conversation::Branch::Main,
        model: None,
        tools: Arc::from([TOOL]),
        instructions: Arc::from("You are a friend."),
        said: said.into_iter().map(Arc::new).collect(),
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
    ToolResult { call: call.to_owned(), text: text.to_owned(), outcome }
}

/// The words that were heard, and what came of asking.
pub async fn ask(model: &dyn Model, context: &Context) -> (String, Result<Reply, Failure>) {
    let heard = Mutex::new(String::new());
    let listener = |words: &str| heard.lock().unwrap().push_str(words);
    let reply = model.reply(context, &listener).await;
    (heard.into_inner().unwrap(), reply)
}

/// What comes of asking a server of this style that plays `act`.
pub async fn play_in(style: Style, act: Act) -> (String, Result<Reply, Failure>) {
    let server = ChatServer::start(style).await.unwrap();
    server.script([act]);
    ask(&model(&server.url()), &context(vec![human("hi")])).await
}

/// What comes of asking the usual server when it plays `act`.
pub async fn play(act: Act) -> (String, Result<Reply, Failure>) {
    play_in(Style::OpenAi, act).await
}

/// The calls in a reply.
pub fn calls(reply: &Reply) -> Vec<ToolCall> {
    let calls = reply.blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call.clone()),
        Block::Text(_) | Block::Opaque(_) => None,
    });
    calls.collect()
}
