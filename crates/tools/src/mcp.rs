//! Tools of servers that others wrote: `mcp.json` names them, and the human accepts what they offer as it is.
//!
//! Each server has somebody of its own who talks to it (`keeper`), so that one that hangs, floods, dies or talks
//! nonsense harms nobody but itself. What a server says is outside text: it is bounded and never obeyed.

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

/// How long a server may take for an answer.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// The most calls that wait for one server.
const WAITING: usize = 16;

/// Who knows what the human has accepted.
pub trait Pins: Send + Sync {
    /// Whether the human has accepted what `server` offers with this fingerprint.
    fn is_accepted<'a>(&'a self, server: &'a str, fingerprint: &'a str) -> BoxFuture<'a, bool>;
}

/// What programs of servers get of this machine.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The words that are put before a program so that it ends when we do; none, where that cannot be had.
    pub leash: Vec<String>,
    /// The few variables that every program needs, such as `PATH`; what `mcp.json` names is added, and nothing else.
    pub environment: BTreeMap<String, String>,
    /// Where they work.
    pub directory: PathBuf,
}

/// What a server offers now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The server.
    pub server: String,
    /// Its tools that can be used, or why none can: a sentence.
    pub tools: Result<Vec<Offer>, String>,
    /// What is wrong with tools that are left out.
    pub complaints: Vec<String>,
}

/// The servers, each with somebody who talks to it. Those go when this does.
pub struct Servers {
    doors: BTreeMap<String, mpsc::Sender<Wish>>,
    _keepers: JoinSet<()>,
}

impl Servers {
    /// Somebody for each of `servers`. Nothing is started before it is needed.
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

    /// What every server offers now, by its name.
    pub async fn offers(&self) -> Vec<Offered> {
        join_all(self.doors.iter().map(|(name, door)| async move {
            let (answer, told) = oneshot::channel();
            let asked = door.try_send(Wish::List(answer)).is_ok();
            let silent = || Offered { server: name.clone(), tools: Err(busy(name)), complaints: Vec::new() };
            if asked { told.await.unwrap_or_else(|_| silent()) } else { silent() }
        }))
        .await
    }

    /// Returns what the tool does that the model knows as `name`: nothing, unless the user has accepted it as it is now.
    pub async fn kind(&self, name: &str) -> Option<ServerKind> {
        let (server, tool) = split(name)?;
        let (answer, told) = oneshot::channel();
        self.doors.get(server)?.try_send(Wish::Kind { tool: tool.to_owned(), answer }).ok()?;
        told.await.ok()?
    }

    /// Calls the tool that the model knows as `name`, which is `mcp__<server>__<tool>`: its words, or why there are none.
    pub async fn call(&self, name: &str, input: Value) -> Result<String, String> {
        let (server, tool) = split(name).ok_or_else(|| format!("`{name}` is not a tool of a server."))?;
        let door =
            self.doors.get(server).ok_or_else(|| format!("No server is called `{server}` in mcp.json."))?;
        let (answer, told) = oneshot::channel();
        door.try_send(Wish::Call { tool: tool.to_owned(), input, answer }).map_err(|_| busy(server))?;
        told.await.unwrap_or_else(|_| Err(busy(server)))
    }
}

/// The server and the tool that `name` means.
fn split(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}

fn busy(server: &str) -> String {
    format!("The server `{server}` is busy or gone. Go on without it.")
}
