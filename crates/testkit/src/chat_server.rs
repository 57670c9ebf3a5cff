//! A scripted model server that speaks the chat-completions API on loopback, in the dialects of its servers.
//!
//! It reads requests as the vendor documents them and shares no code with our client, so that the two can
//! catch each other's mistakes. Scripted acts come first, then the closure of [`ChatServer::answering`], then
//! an echo.

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

/// Whose dialect a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// By the book.
    #[default]
    OpenAi,
    /// A call comes whole in one chunk, all of them with the number 0 and without ids; nothing is counted.
    Ollama,
    /// It stops as usual though it calls tools, counts in its last chunk, and wants roles to take turns.
    LlamaCpp,
    /// It breaks the rules wherever a server was seen to: ids and names come with every piece, two calls
    /// share one id, text comes in parts, input as an object, and there is no end but that of the connection.
    Sloppy,
    /// It never streams.
    Plain,
    /// Its model cannot call tools.
    NoTools,
    /// It thinks, and wants the `reasoning_content` of every reply with tool calls back.
    DeepSeek,
    /// It signs the first tool call of a reply, and wants the signature back.
    Gemini,
    /// It writes `reasoning_details`, and wants them back unchanged in a tool loop.
    OpenRouter,
    /// vLLM with a reasoning parser: it writes `reasoning`, and wants it back in a tool loop.
    Vllm,
    /// A current model of OpenAI: tools only in the Responses API.
    Current,
}

impl Style {
    /// All of them.
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

    /// What it is called on the command line.
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

/// How a server differs from the usual one.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where to listen; 0 lets the machine choose.
    pub port: u16,
    /// The only key that is accepted; any or none, if there is none here.
    pub key: Option<String>,
    /// Whose dialect it speaks.
    pub style: Style,
    /// A file that gets every request as one line of JSON.
    pub record: Option<PathBuf>,
}

/// A running server. Dropping it ends every stream it holds and closes the door.
pub struct ChatServer {
    house: House,
    book: Arc<Mutex<Book>>,
}

impl ChatServer {
    /// A server of this style, on a port of its own.
    pub async fn start(style: Style) -> std::io::Result<Self> {
        Self::start_with(Options { style, ..Options::default() }).await
    }

    /// A server as `options` want it.
    pub async fn start_with(options: Options) -> std::io::Result<Self> {
        let port = options.port;
        let stop = CancellationToken::new();
        let record = options.record.as_ref().map(std::fs::File::create).transpose()?;
        let book = Arc::new(Mutex::new(Book::new(options, record)));
        let routes = door::routes(Arc::clone(&book), stop.clone());
        Ok(Self { house: House::open(port, routes, stop).await?, book })
    }

    /// The base address to give to a client.
    pub fn url(&self) -> String {
        format!("{}/v1", self.house.url())
    }

    /// Adds `acts` to what will be played, one to a request.
    pub fn script(&self, acts: impl IntoIterator<Item = Act>) {
        self.book().programme.script.extend(acts);
    }

    /// Lets `answer` choose the act for every request that the script does not cover.
    pub fn answering(&self, answer: impl FnMut(&Value) -> Act + Send + 'static) {
        self.book().programme.answer = Some(Box::new(answer));
    }

    /// Every request that came, oldest first, the refused ones too.
    pub fn requests(&self) -> Vec<Received> {
        self.book().received.clone()
    }

    /// What every accepted request was charged, oldest first.
    pub fn usage(&self) -> Vec<Usage> {
        self.book().usage.clone()
    }

    /// Closes the door and waits until everybody has left.
    pub async fn stop(self) {
        self.house.close().await;
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
