//! Who talks to one server: it is started when it is needed, left when it misbehaves, and started anew the next time.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::tool::ServerKind;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::client::{Client, param_headers};
use super::file::{Named, Server};
use super::http::Posts;
use super::oauth::{Authorizer, TokenStore};
use super::offer::Offer;
use super::stdio::Pipes;
use super::transport::{Failure, Transport};
use super::{Offered, PATIENCE, Pins, Surroundings, content};

/// The most pages of tools.
const PAGES: usize = 10;

/// What is wanted of a server.
pub(super) enum Wish {
    /// What it offers.
    List(oneshot::Sender<Offered>),
    /// To know what a tool does, if the user has accepted it as it is.
    Kind {
        /// The tool, as the server calls it.
        tool: String,
        /// Who waits for the answer.
        answer: oneshot::Sender<Option<ServerKind>>,
    },
    /// To call a tool.
    Call {
        /// The tool, as the server calls it.
        tool: String,
        /// What it is given.
        input: Value,
        /// Who waits for the answer.
        answer: oneshot::Sender<Result<String, String>>,
    },
}

/// The keeper of one server.
pub(super) struct Keeper {
    named: Named,
    around: Surroundings,
    pins: Arc<dyn Pins>,
    tokens: Arc<dyn TokenStore>,
    talk: Option<Talk>,
    /// The kinds that were told, by which calls were decided.
    decided_by: BTreeMap<String, Option<ServerKind>>,
}

/// A line that stands, and what was offered on it.
struct Talk {
    client: Client,
    offers: Vec<Offer>,
    complaints: Vec<String>,
}

impl Keeper {
    pub(super) fn new(
        named: Named,
        around: Surroundings,
        pins: Arc<dyn Pins>,
        tokens: Arc<dyn TokenStore>,
    ) -> Self {
        Self { named, around, pins, tokens, talk: None, decided_by: BTreeMap::new() }
    }

    /// Does what is wished, one wish after the other.
    pub(super) async fn keep(mut self, mut wishes: mpsc::Receiver<Wish>) {
        while let Some(wish) = wishes.recv().await {
            match wish {
                Wish::List(answer) => drop(answer.send(self.list().await)),
                Wish::Kind { tool, answer } => drop(answer.send(self.kind(&tool).await)),
                // Who does not wait any more does not want it done either.
                Wish::Call { answer, .. } if answer.is_closed() => {}
                Wish::Call { tool, input, answer } => drop(answer.send(self.call(&tool, input).await)),
            }
        }
    }

    async fn list(&mut self) -> Offered {
        // What it offers is asked anew: it may have changed.
        self.talk = None;
        let (tools, complaints) = match self.ready().await {
            Ok(talk) => (Ok(talk.offers.clone()), talk.complaints.clone()),
            Err(why) => (Err(why), Vec::new()),
        };
        Offered { server: self.named.name.clone(), tools, complaints }
    }

    /// Returns what `tool` does: nothing, unless the user has accepted it as it is offered now.
    async fn kind(&mut self, tool: &str) -> Option<ServerKind> {
        let offer = self.ready().await.ok()?.offers.iter().find(|offer| offer.tool == tool).cloned()?;
        let accepted = self.pins.is_accepted(&self.named.name, &offer.fingerprint()).await;
        let kind = offer.kind.filter(|_| accepted);
        self.decided_by.insert(offer.tool, kind);
        kind
    }

    async fn call(&mut self, tool: &str, input: Value) -> Result<String, String> {
        let server = self.named.name.clone();
        let offer = self.ready().await?.offers.iter().find(|offer| offer.tool == tool).cloned();
        let offer = offer.ok_or_else(|| format!("The server `{server}` does not offer `{tool}` now."))?;
        if !self.pins.is_accepted(&server, &offer.fingerprint()).await {
            return Err(format!(
                "`{}` is off: the user has not accepted it as it is now. `ollim-bot mcp-servers accept {server}` accepts it.",
                offer.name
            ));
        }
        // The call was decided by the kind that was told last. Another one would need another decision.
        if self.decided_by.get(tool).copied().flatten().is_some_and(|kind| Some(kind) != offer.kind) {
            return Err(format!("`{}` was changed meanwhile and was not called. Call it again.", offer.name));
        }
        let schema: Value = serde_json::from_str(&offer.schema).unwrap_or_default();
        let headers = param_headers(&schema, &input);
        let mut params = Map::new();
        params.insert("name".to_owned(), json!(tool));
        params.insert("arguments".to_owned(), input);
        // A server that has forgotten the session has not carried the call out, so it is repeated once.
        let mut may_repeat = true;
        loop {
            let Some(talk) = &mut self.talk else { return Err(self.told("is gone")) };
            let asked = talk.client.request("tools/call", params.clone(), headers.clone());
            return match timeout(PATIENCE, asked).await {
                Ok(Ok(result)) if result["resultType"] == "input_required" => {
                    Err(self.told("asks for input while it works, which ollim-bot cannot give"))
                }
                Ok(Ok(result)) => content::words(&result),
                Ok(Err(Failure::SessionExpired)) if may_repeat => {
                    may_repeat = false;
                    self.talk = None;
                    let offers = &self.ready().await?.offers;
                    if !offers.contains(&offer) {
                        return Err(format!("The server `{server}` does not offer `{tool}` as it was."));
                    }
                    continue;
                }
                Ok(Err(Failure::Refused(error))) => {
                    Err(format!("The server `{server}` refuses: {}", error.message))
                }
                Ok(Err(failure @ (Failure::SignInNeeded | Failure::SignInExpired | Failure::Forbidden))) => {
                    self.talk = None;
                    Err(self.told(&failure.told(&server)))
                }
                Ok(Err(failure)) => Err(self.leave(&failure.told(&server))),
                Err(_) => Err(self.leave("did not answer in time")),
            };
        }
    }

    /// A line that stands, with what is offered on it now.
    async fn ready(&mut self) -> Result<&Talk, String> {
        let stands = self.talk.as_mut().is_some_and(|talk| !talk.client.take_tools_changed());
        if !stands {
            // An old line is let go of first, so that there is never a second program.
            self.talk = None;
            self.talk = match timeout(PATIENCE, self.open()).await {
                Ok(Ok(talk)) => Some(talk),
                Ok(Err(failure)) => return Err(self.told(&failure.told(&self.named.name))),
                Err(_) => return Err(self.told("did not answer in time")),
            };
        }
        self.talk.as_ref().ok_or_else(|| self.told("is gone"))
    }

    async fn open(&self) -> Result<Talk, Failure> {
        let transport: Box<dyn Transport> = match &self.named.server {
            Server::Program { command, args, env } => {
                Box::new(Pipes::start(command, args, env, &self.around)?)
            }
            Server::Address { url, headers, .. } => {
                let authorizer = Authorizer::new(&self.named.name, url, Arc::clone(&self.tokens));
                Box::new(Posts::new(url, headers, authorizer)?)
            }
        };
        let mut client = Client::new(transport);
        client.negotiate().await?;
        let mut listed = Vec::new();
        let mut params = Map::new();
        for _ in 0..PAGES {
            let mut page = client.request("tools/list", params, Vec::new()).await?;
            // What is no object has no tools either.
            let Some(Value::Array(tools)) = page.get_mut("tools").map(Value::take) else {
                return Err(Failure::broken("does not say which tools it has"));
            };
            listed.extend(tools);
            let Some(cursor) = page["nextCursor"].as_str() else { break };
            params = Map::from_iter([("cursor".to_owned(), json!(cursor))]);
        }
        let (offers, complaints) = Offer::read(&self.named.name, &listed, &self.named.kinds);
        Ok(Talk { client, offers, complaints })
    }

    /// Leaves the line, because the server misbehaves; gives what is told of it.
    fn leave(&mut self, why: &str) -> String {
        self.talk = None;
        format!("{} The call may have been carried out or not.", self.told(why))
    }

    fn told(&self, why: &str) -> String {
        format!("The server `{}` {why}.", self.named.name)
    }
}
