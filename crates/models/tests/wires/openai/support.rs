//! Clients of the chat-completions API for tests.

use std::time::Duration;

use domain::failure::Failure;
use domain::turn::ModelReply;
use models::openai::{ApiKey, OpenAi, Settings};
use testkit::chat_server::{ChatServer, Style};
use testkit::scripted_replies::ScriptedReply;

pub use crate::support::{KEY, answer, call, call_model, calls, context, result, user};

pub fn settings(url: &str) -> Settings {
    Settings {
        base_url: url.to_owned(),
        key: ApiKey::new(KEY),
        model: "test-1".to_owned(),
        max_tokens: 1024,
        connect: Duration::from_secs(10),
        stall: Duration::from_secs(60),
        total: Duration::from_secs(600),
    }
}

pub fn model(url: &str) -> OpenAi {
    OpenAi::new(settings(url)).unwrap()
}

/// Returns the result of a call to a server of this style that answers with `act`.
pub async fn reply_in_style(style: Style, act: ScriptedReply) -> (String, Result<ModelReply, Failure>) {
    let server = ChatServer::start(style).await.unwrap();
    server.script([act]);
    call_model(&model(&server.url()), &context(vec![user("hi")])).await
}

/// Returns the result of a call to an OpenAI-style server that answers with `act`.
pub async fn reply_to(act: ScriptedReply) -> (String, Result<ModelReply, Failure>) {
    reply_in_style(Style::OpenAi, act).await
}
