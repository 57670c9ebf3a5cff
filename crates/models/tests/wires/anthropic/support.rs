//! Clients of the Messages API for tests.

use std::time::Duration;

use domain::failure::Failure;
use domain::turn::ModelReply;
use models::anthropic::{Anthropic, ApiKey, Settings};
use testkit::model_server::{ModelServer, ScriptedReply};

pub use crate::support::{KEY, answer, call, call_model, context, result, user};

pub fn settings(url: &str) -> Settings {
    Settings {
        base_url: url.to_owned(),
        key: ApiKey::new(KEY),
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
pub async fn reply_to(act: ScriptedReply) -> (String, Result<ModelReply, Failure>) {
    let server = ModelServer::start().await.unwrap();
    server.script([act]);
    call_model(&model(&server.url()), &context(vec![user("hi")])).await
}
