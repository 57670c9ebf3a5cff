//! Both APIs behind one interface, for tests that apply to both.

use domain::failure::Failure;
use domain::turn::ModelReply;
use engine::ports::Model;
use models::anthropic::Anthropic;
use models::openai::OpenAi;
use testkit::chat_server::{self, ChatServer, Style};
use testkit::model_server::{self, ModelServer};
use testkit::scripted_replies::ScriptedReply;

use crate::support::{KEY, call_model, context, user};
use crate::{anthropic, openai};

/// An API, with the server style for chat completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiKind {
    Messages,
    Chat(Style),
}

/// Each API once.
pub const BOTH_APIS: [ApiKind; 2] = [ApiKind::Messages, ApiKind::Chat(Style::OpenAi)];

/// A server of either API.
pub enum Server {
    Messages(ModelServer),
    Chat(ChatServer),
}

impl ApiKind {
    pub async fn start_server(self) -> Server {
        match self {
            Self::Messages => Server::Messages(ModelServer::start().await.unwrap()),
            Self::Chat(style) => Server::Chat(ChatServer::start(style).await.unwrap()),
        }
    }

    /// Starts a server that accepts only our key.
    pub async fn start_server_with_key(self) -> Server {
        let key = Some(KEY.to_owned());
        match self {
            Self::Messages => {
                let options = model_server::Options { key, ..Default::default() };
                Server::Messages(ModelServer::start_with(options).await.unwrap())
            }
            Self::Chat(style) => {
                let options = chat_server::Options { key, style, ..Default::default() };
                Server::Chat(ChatServer::start_with(options).await.unwrap())
            }
        }
    }

    pub fn model(self, url: &str) -> Box<dyn Model> {
        self.model_with(url, KEY).unwrap()
    }

    /// Returns a client with this key, or the error text.
    pub fn model_with(self, url: &str, key: &str) -> Result<Box<dyn Model>, String> {
        let error_text = |bad: models::anthropic::SettingsError| bad.to_string();
        match self {
            Self::Messages => {
                let mut settings = anthropic::support::settings(url);
                settings.key = models::anthropic::ApiKey::new(key);
                Ok(Box::new(Anthropic::new(settings).map_err(error_text)?))
            }
            Self::Chat(_) => {
                let mut settings = openai::support::settings(url);
                settings.key = models::openai::ApiKey::new(key);
                Ok(Box::new(OpenAi::new(settings).map_err(error_text)?))
            }
        }
    }

    /// Returns the debug output of a client and its settings.
    pub fn debug_output(self) -> String {
        let url = "http://127.0.0.1:1";
        match self {
            Self::Messages => {
                format!("{:?} {:?}", anthropic::support::model(url), anthropic::support::settings(url))
            }
            Self::Chat(_) => {
                format!("{:?} {:?}", openai::support::model(url), openai::support::settings(url))
            }
        }
    }

    /// Returns the environment variable of the key.
    pub fn key_variable(self) -> &'static str {
        match self {
            Self::Messages => "ANTHROPIC_API_KEY",
            Self::Chat(_) => "OPENAI_API_KEY",
        }
    }

    /// Returns the path of requests, relative to the server's address.
    pub fn path(self) -> &'static str {
        match self {
            Self::Messages => "/v1/messages",
            Self::Chat(_) => "/chat/completions",
        }
    }

    /// Returns the index of an event before the first text, and of one after it.
    pub fn events_around_text(self) -> (usize, usize) {
        match self {
            Self::Messages => (2, 4),
            Self::Chat(_) => (1, 3),
        }
    }

    /// Returns the result of a call to a server that answers with `act`.
    pub async fn reply_to(self, act: ScriptedReply) -> (String, Result<ModelReply, Failure>) {
        let server = self.start_server().await;
        server.script(act);
        call_model(self.model(&server.url()).as_ref(), &context(vec![user("hi")])).await
    }
}

impl Server {
    pub fn url(&self) -> String {
        match self {
            Self::Messages(server) => server.url(),
            Self::Chat(server) => server.url(),
        }
    }

    pub fn script(&self, act: ScriptedReply) {
        match self {
            Self::Messages(server) => server.script([act]),
            Self::Chat(server) => server.script([act]),
        }
    }

    pub fn requests(&self) -> usize {
        match self {
            Self::Messages(server) => server.requests().len(),
            Self::Chat(server) => server.requests().len(),
        }
    }
}
