//! A scripted model server that speaks the chat-completions API on loopback, in several vendors'
//! dialects.
//!
//! It reads requests as the vendors document them and shares no code with our client, so that each
//! can catch mistakes of the other. Scripted replies are used first, then the closure of
//! [`ChatServer::answering`], then an echo.

mod cache;
mod chunks;
mod echo;
mod http;
mod reasoning_rules;
mod responses;
mod rules;
mod search;
mod state;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::conversation::Usage;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use state::{Api, ChatRequest};

use crate::scripted_replies::ScriptedReply;
use crate::scripted_replies::http_server::HttpServer;
use state::ChatServerState;

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
    OpenAiCurrent,
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
        Self::OpenAiCurrent,
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
            Self::OpenAiCurrent => "openai-current",
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
    http: HttpServer,
    state: Arc<Mutex<ChatServerState>>,
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
        let state = Arc::new(Mutex::new(ChatServerState::new(options, record)));
        let routes = http::routes(Arc::clone(&state), stop.clone());
        Ok(Self { http: HttpServer::start(port, routes, stop).await?, state })
    }

    /// Returns the base address for a client.
    pub fn url(&self) -> String {
        format!("{}/v1", self.http.url())
    }

    /// Appends `replies` to the script; each request uses one.
    pub fn script(&self, replies: impl IntoIterator<Item = ScriptedReply>) {
        self.state().replies.scripted.extend(replies);
    }

    /// Lets `answer` choose the reply for every request that the script does not cover.
    pub fn answering(&self, answer: impl FnMut(&Value) -> ScriptedReply + Send + 'static) {
        self.state().replies.fallback = Some(Box::new(answer));
    }

    /// Returns every request, oldest first, including refused ones.
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.state().received.clone()
    }

    /// Returns the usage charged for every accepted request, oldest first.
    pub fn usage(&self) -> Vec<Usage> {
        self.state().usage.clone()
    }

    /// Closes the port and waits until all connections have ended.
    pub async fn stop(self) {
        self.http.stop_and_wait().await;
    }

    fn state(&self) -> MutexGuard<'_, ChatServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
