//! Tools of MCP servers: `mcp.json` lists the servers, and the user accepts the exact tools that
//! each one offers.
//!
//! Each server has its own task (`actor`), so a server that hangs, floods, dies or sends garbage
//! affects nothing else. Texts of a server come from outside: they are bounded and never obeyed.

mod client;
mod content;
mod file;
pub mod fuzz;
mod http;
mod keeper;
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

use domain::tool::ServerKind;
use futures_util::future::{BoxFuture, join_all};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

pub use file::{Named, OauthClient, Server, read};
pub use oauth::{SignIn, TokenStore};
pub use offer::Offer;
pub use protocol::{
    HANDSHAKE_VERSIONS, META_CAPABILITIES, META_SERVER, META_VERSION, METHOD_NOT_FOUND, MODERN_VERSION,
    UNSUPPORTED_VERSION,
};

use keeper::{Keeper, Wish};
pub(crate) use tool::MCP;
pub use wire::oauth::Pasted;

/// The timeout for an answer of a server.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// The maximum number of queued requests per server.
const WAITING: usize = 16;

/// The tool offers that the user has accepted.
pub trait Pins: Send + Sync {
    /// Returns whether the user has accepted the offers of `server` with this fingerprint.
    fn is_accepted<'a>(&'a self, server: &'a str, fingerprint: &'a str) -> BoxFuture<'a, bool>;
}

/// The environment of server programs.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The command prefix that makes a program end with the daemon; empty where this is not
    /// possible.
    pub leash: Vec<String>,
    /// The few variables that every program needs, such as `PATH`. Only those of `mcp.json` are
    /// added.
    pub environment: BTreeMap<String, String>,
    /// The working directory.
    pub directory: PathBuf,
}

/// The current offer of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    pub server: String,
    /// The usable tools, or a sentence that says why there are none.
    pub tools: Result<Vec<Offer>, String>,
    /// Problems with tools that are left out.
    pub complaints: Vec<String>,
}

/// The configured servers, each with its own task. The tasks end when this is dropped.
pub struct Servers {
    doors: BTreeMap<String, mpsc::Sender<Wish>>,
    _keepers: JoinSet<()>,
}

impl Servers {
    /// Spawns a task for each of `servers`. A connection is opened on first use.
    pub fn new(
        servers: Vec<Named>,
        around: &Surroundings,
        pins: &Arc<dyn Pins>,
        tokens: &Arc<dyn TokenStore>,
    ) -> Self {
        let mut doors = BTreeMap::new();
        let mut keepers = JoinSet::new();
        for named in servers {
            let (door, wishes) = mpsc::channel(WAITING);
            let keeper = Keeper::new(named.clone(), around.clone(), Arc::clone(pins), Arc::clone(tokens));
            keepers.spawn(keeper.keep(wishes));
            doors.insert(named.name, door);
        }
        Self { doors, _keepers: keepers }
    }

    /// Returns what every server offers now.
    pub async fn offers(&self) -> Vec<Offered> {
        join_all(self.doors.iter().map(|(name, door)| async move {
            let (answer, told) = oneshot::channel();
            let asked = door.try_send(Wish::List(answer)).is_ok();
            let silent = || Offered { server: name.clone(), tools: Err(busy(name)), complaints: Vec::new() };
            if asked { told.await.unwrap_or_else(|_| silent()) } else { silent() }
        }))
        .await
    }

    /// Returns the kind of the tool that the model knows as `name`, if the user has accepted its
    /// current form.
    pub async fn kind(&self, name: &str) -> Option<ServerKind> {
        let (server, tool) = split(name)?;
        let (answer, told) = oneshot::channel();
        self.doors.get(server)?.try_send(Wish::Kind { tool: tool.to_owned(), answer }).ok()?;
        told.await.ok()?
    }

    /// Calls the tool that the model knows as `name`, which is `mcp__<server>__<tool>`, and returns
    /// its text or an error.
    pub async fn call(&self, name: &str, input: Value) -> Result<String, String> {
        let (server, tool) = split(name).ok_or_else(|| format!("`{name}` is not a tool of a server."))?;
        let door =
            self.doors.get(server).ok_or_else(|| format!("No server is called `{server}` in mcp.json."))?;
        let (answer, told) = oneshot::channel();
        door.try_send(Wish::Call { tool: tool.to_owned(), input, answer }).map_err(|_| busy(server))?;
        told.await.unwrap_or_else(|_| Err(busy(server)))
    }
}

/// Splits `name` into server and tool.
fn split(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}

fn busy(server: &str) -> String {
    format!("The server `{server}` is busy or gone. Go on without it.")
}
