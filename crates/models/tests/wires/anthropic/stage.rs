//! Clients of the Messages API for tests.

use std::time::Duration;

use domain::failure::Failure;
use domain::turn::Reply;
use models::anthropic::{Anthropic, Key, Settings};
use testkit::model_server::{Act, ModelServer};

pub use crate::stage::{KEY, answer, ask, call, context, human, result};

pub fn settings(url: &str) -> Settings {
    Settings {
        base_url: url.to_owned(),
        key: Key::new(KEY),
        model: "claude-test-1".to_owned(),
        max_tokens: 1024,
        connect: Duration::from_secs(10),
        stall: Duration::from_secs(60),
        total: Duration::from_secs(600),
        store: None,
    }
}

pub fn model(url: &str) -> Anthropic {
    Anthropic::new(settings(url)).unwrap()
}

/// Returns the result of a call to a server that answers with `act`.
pub async fn play(act: Act) -> (String, Result<Reply, Failure>) {
    let server = ModelServer::start().await.unwrap();
    server.script([act]);
    ask(&model(&server.url()), &context(vec![human("hi")])).await
}
