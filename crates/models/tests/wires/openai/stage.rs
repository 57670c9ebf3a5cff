//! Clients of the chat-completions API for tests.

use std::time::Duration;

use domain::failure::Failure;
use domain::turn::Reply;
use models::openai::{Key, OpenAi, Settings};
use testkit::chat_server::{ChatServer, Style};
use testkit::play::Act;

pub use crate::stage::{KEY, answer, ask, call, calls, context, human, result};

pub fn settings(url: &str) -> Settings {
    Settings {
        base_url: url.to_owned(),
        key: Key::new(KEY),
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
pub async fn play_in(style: Style, act: Act) -> (String, Result<Reply, Failure>) {
    let server = ChatServer::start(style).await.unwrap();
    server.script([act]);
    ask(&model(&server.url()), &context(vec![human("hi")])).await
}

/// Returns the result of a call to an OpenAI-style server that answers with `act`.
pub async fn play(act: Act) -> (String, Result<Reply, Failure>) {
    play_in(Style::OpenAi, act).await
}
