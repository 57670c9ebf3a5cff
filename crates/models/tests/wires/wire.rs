//! The two wires as one: what goes wrong goes wrong on both.

use domain::failure::Failure;
use domain::turn::Reply;
use engine::ports::Model;
use models::anthropic::Anthropic;
use models::openai::OpenAi;
use testkit::chat_server::{self, ChatServer, Style};
use testkit::model_server::{self, ModelServer};
use testkit::play::Act;

use crate::stage::{KEY, ask, context, human};
use crate::{anthropic, openai};

/// A wire, and whose dialect is spoken on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    Messages,
    Chat(Style),
}

/// Each wire once.
pub const BOTH: [Wire; 2] = [Wire::Messages, Wire::Chat(Style::OpenAi)];

/// A server of either.
pub enum Server {
    Messages(ModelServer),
    Chat(ChatServer),
}

impl Wire {
    pub async fn serve(self) -> Server {
        match self {
            Self::Messages => Server::Messages(ModelServer::start().await.unwrap()),
            Self::Chat(style) => Server::Chat(ChatServer::start(style).await.unwrap()),
        }
    }

    /// A server that takes our key and no other.
    pub async fn serve_for_us(self) -> Server {
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

    /// A client with this key, or why there cannot be one.
    pub fn model_with(self, url: &str, key: &str) -> Result<Box<dyn Model>, String> {
        let told = |bad: models::anthropic::BadSettings| bad.to_string();
        match self {
            Self::Messages => {
                let mut settings = anthropic::stage::settings(url);
                settings.key = models::anthropic::Key::new(key);
                Ok(Box::new(Anthropic::new(settings).map_err(told)?))
            }
            Self::Chat(_) => {
                let mut settings = openai::stage::settings(url);
                settings.key = models::openai::Key::new(key);
                Ok(Box::new(OpenAi::new(settings).map_err(told)?))
            }
        }
    }

    /// All that a client and its settings show of themselves.
    pub fn shown(self) -> String {
        let url = "http://127.0.0.1:1";
        match self {
            Self::Messages => {
                format!("{:?} {:?}", anthropic::stage::model(url), anthropic::stage::settings(url))
            }
            Self::Chat(_) => format!("{:?} {:?}", openai::stage::model(url), openai::stage::settings(url)),
        }
    }

    /// The variable that holds the key.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Messages => "ANTHROPIC_API_KEY",
            Self::Chat(_) => "OPENAI_API_KEY",
        }
    }

    /// Where the questions go, below the address of a server.
    pub fn path(self) -> &'static str {
        match self {
            Self::Messages => "/v1/messages",
            Self::Chat(_) => "/chat/completions",
        }
    }

    /// The number of an event that comes before the first words, and of one that comes after them.
    pub fn around_words(self) -> (usize, usize) {
        match self {
            Self::Messages => (2, 4),
            Self::Chat(_) => (1, 3),
        }
    }

    /// What comes of asking a server that plays `act`.
    pub async fn play(self, act: Act) -> (String, Result<Reply, Failure>) {
        let server = self.serve().await;
        server.script(act);
        ask(self.model(&server.url()).as_ref(), &context(vec![human("hi")])).await
    }
}

impl Server {
    pub fn url(&self) -> String {
        match self {
            Self::Messages(server) => server.url(),
            Self::Chat(server) => server.url(),
        }
    }

    pub fn script(&self, act: Act) {
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
