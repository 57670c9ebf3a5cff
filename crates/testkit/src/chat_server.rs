//! A scripted model server that speaks the chat-completions API on loopback, in several vendors'
//! dialects.
//!
//! It reads requests as the vendors document them and shares no code with our client, so that each
//! can catch mistakes of the other. Scripted replies are used first, then the closure of
//! [`ChatServer::answering`], then an echo.

mod book;
mod cache;
mod chunks;
mod dialect;
mod door;
mod echo;
mod responses;
mod rules;
mod search;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::conversation::Usage;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use book::{Api, Received};

use crate::play::Act;
use crate::play::house::House;
use book::Book;

/// The dialect that a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// As documented by the vendor.
    #[default]
    OpenAi,
    /// Sends a call whole in one chunk, every call with index 0 and without an id; reports no
    /// usage.
    Ollama,
    /// Stops with `stop` although it calls tools, reports usage in its last chunk, and requires
    /// alternating roles.
    LlamaCpp,
    /// Breaks the rules in every way that real servers were seen to: ids and names are repeated
    /// with every piece, two calls share one id, text is sent in parts, input as an object, and
    /// only the end of the connection ends the stream.
    Sloppy,
    /// Never streams.
    Plain,
    /// Its model cannot call tools.
    NoTools,
    /// Thinks, and requires the `reasoning_content` of every reply with tool calls back.
    DeepSeek,
    /// Signs the first tool call of a reply, and requires the signature back.
    Gemini,
    /// Writes `reasoning_details`, and requires them back unchanged in a tool loop.
    OpenRouter,
    /// vLLM with a reasoning parser: writes `reasoning`, and requires it back in a tool loop.
    Vllm,
    /// A current model of OpenAI: tools only in the Responses API.
    Current,
}

impl Style {
    pub const ALL: [Self; 11] = [
        Self::OpenAi,
        Self::Ollama,
        Self::LlamaCpp,
        Self::Sloppy,
        Self::Plain,
        Self::NoTools,
        Self::DeepSeek,
        Self::Gemini,
        Self::OpenRouter,
        Self::Vllm,
        Self::Current,
    ];

    /// Returns the name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
            Self::LlamaCpp => "llama-cpp",
            Self::Sloppy => "sloppy",
            Self::Plain => "plain",
            Self::NoTools => "no-tools",
            Self::DeepSeek => "deepseek",
            Self::Gemini => "gemini",
            Self::OpenRouter => "openrouter",
            Self::Vllm => "vllm",
            Self::Current => "openai-current",
        }
    }
}

/// Options of a server.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The port to listen on; 0 lets the system choose.
    pub port: u16,
    /// The only key that is accepted. With `None`, every request is accepted.
    pub key: Option<String>,
    pub style: Style,
    /// A file that gets every request as one line of JSON.
    pub record: Option<PathBuf>,
}

/// A running server. Dropping it ends all open streams and closes the port.
pub struct ChatServer {
    house: House,
    book: Arc<Mutex<Book>>,
}

impl ChatServer {
    /// Starts a server of this style on a free port.
    pub async fn start(style: Style) -> std::io::Result<Self> {
        Self::start_with(Options { style, ..Options::default() }).await
    }

    /// Starts a server with `options`.
    pub async fn start_with(options: Options) -> std::io::Result<Self> {
        let port = options.port;
        let stop = CancellationToken::new();
        let record = options.record.as_ref().map(std::fs::File::create).transpose()?;
        let book = Arc::new(Mutex::new(Book::new(options, record)));
        let routes = door::routes(Arc::clone(&book), stop.clone());
        Ok(Self { house: House::open(port, routes, stop).await?, book })
    }

    /// Returns the base address for a client.
    pub fn url(&self) -> String {
        format!("{}/v1", self.house.url())
    }

    /// Appends `replies` to the script; each request uses one.
    pub fn script(&self, acts: impl IntoIterator<Item = Act>) {
        self.book().programme.script.extend(acts);
    }

    /// Lets `answer` choose the reply for every request that the script does not cover.
    pub fn answering(&self, answer: impl FnMut(&Value) -> Act + Send + 'static) {
        self.book().programme.answer = Some(Box::new(answer));
    }

    /// Returns every request, oldest first, including refused ones.
    pub fn requests(&self) -> Vec<Received> {
        self.book().received.clone()
    }

    /// Returns the usage charged for every accepted request, oldest first.
    pub fn usage(&self) -> Vec<Usage> {
        self.book().usage.clone()
    }

    /// Closes the port and waits until all connections have ended.
    pub async fn stop(self) {
        self.house.close().await;
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
