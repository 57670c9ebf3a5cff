//! Tools of MCP servers: `mcp.json` lists the servers, and the user accepts the exact tools that
//! each one offers.
//!
//! Each server has its own task (`actor`), so a server that hangs, floods, dies or sends garbage
//! affects nothing else. Texts of a server come from outside: they are bounded and never obeyed.

mod actor;
mod client;
mod config;
mod content;
pub mod fuzz;
mod http;
mod oauth;
mod offer;
mod protocol;
mod stdio;
#[cfg(test)]
mod tests;
mod tool;
mod transport;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::tool::ServerToolKind;
use futures_util::future::{BoxFuture, join_all};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

pub use config::{OauthClient, ServerConfig, ServerEndpoint, parse_config};
pub use oauth::{SignIn, TokenStore};
pub use offer::ToolOffer;
pub use protocol::{
    HANDSHAKE_VERSIONS, META_CAPABILITIES, META_SERVER, META_VERSION, METHOD_NOT_FOUND, MODERN_VERSION,
    UNSUPPORTED_VERSION,
};

use actor::{ServerActor, ServerRequest};
pub(crate) use tool::MCP;
pub use wire::oauth::PasteOutcome;

/// The timeout for an answer of a server.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of queued requests per server.
const MAX_QUEUED_REQUESTS: usize = 16;

/// The tool offers that the user has accepted.
pub trait AcceptedOffers: Send + Sync {
    /// Returns whether the user has accepted the offers of `server` with this fingerprint.
    fn is_accepted<'a>(&'a self, server: &'a str, fingerprint: &'a str) -> BoxFuture<'a, bool>;
}

/// The environment of server programs.
#[derive(Clone, Debug, Default)]
pub struct ProcessContext {
    /// The command prefix that makes a program end with the daemon; empty where this is not
    /// possible.
    pub launcher: Vec<String>,
    /// The few variables that every program needs, such as `PATH`. Only those of `mcp.json` are
    /// added.
    pub environment: BTreeMap<String, String>,
    /// The working directory.
    pub directory: PathBuf,
}

/// The current offer of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOffers {
    pub server: String,
    /// The usable tools, or a sentence that says why there are none.
    pub tools: Result<Vec<ToolOffer>, String>,
    /// Problems with tools that are left out.
    pub problems: Vec<String>,
}

/// The configured servers, each with its own task. The tasks end when this is dropped.
pub struct Servers {
    senders: BTreeMap<String, mpsc::Sender<ServerRequest>>,
    _actors: JoinSet<()>,
}

impl Servers {
    /// Spawns a task for each of `servers`. A connection is opened on first use.
    pub fn new(
        servers: Vec<ServerConfig>,
        context: &ProcessContext,
        accepted: &Arc<dyn AcceptedOffers>,
        tokens: &Arc<dyn TokenStore>,
    ) -> Self {
        let mut senders = BTreeMap::new();
        let mut actors = JoinSet::new();
        for named in servers {
            let (sender, requests) = mpsc::channel(MAX_QUEUED_REQUESTS);
            let actor =
                ServerActor::new(named.clone(), context.clone(), Arc::clone(accepted), Arc::clone(tokens));
            actors.spawn(actor.run(requests));
            senders.insert(named.name, sender);
        }
        Self { senders, _actors: actors }
    }

    /// Returns what every server offers now.
    pub async fn offers(&self) -> Vec<ServerOffers> {
        join_all(self.senders.iter().map(|(name, sender)| async move {
            let (answer, reply) = oneshot::channel();
            let asked = sender.try_send(ServerRequest::List(answer)).is_ok();
            let unavailable =
                || ServerOffers { server: name.clone(), tools: Err(busy_text(name)), problems: Vec::new() };
            if asked { reply.await.unwrap_or_else(|_| unavailable()) } else { unavailable() }
        }))
        .await
    }

    /// Returns the kind of the tool that the model knows as `name`, if the user has accepted its
    /// current form.
    pub async fn kind(&self, name: &str) -> Option<ServerToolKind> {
        let (server, tool) = split_name(name)?;
        let (answer, reply) = oneshot::channel();
        self.senders.get(server)?.try_send(ServerRequest::Kind { tool: tool.to_owned(), answer }).ok()?;
        reply.await.ok()?
    }

    /// Calls the tool that the model knows as `name`, which is `mcp__<server>__<tool>`, and returns
    /// its text or an error.
    pub async fn call(&self, name: &str, input: Value) -> Result<String, String> {
        let (server, tool) =
            split_name(name).ok_or_else(|| format!("`{name}` is not a tool of a server."))?;
        let sender =
            self.senders.get(server).ok_or_else(|| format!("No server is called `{server}` in mcp.json."))?;
        let (answer, reply) = oneshot::channel();
        sender
            .try_send(ServerRequest::Call { tool: tool.to_owned(), input, answer })
            .map_err(|_| busy_text(server))?;
        reply.await.unwrap_or_else(|_| Err(busy_text(server)))
    }
}

/// Splits `name` into server and tool.
fn split_name(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}

fn busy_text(server: &str) -> String {
    format!("The server `{server}` is busy or gone. Go on without it.")
}
