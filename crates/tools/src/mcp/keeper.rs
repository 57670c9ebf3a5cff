//! The task of one server: connects when needed, disconnects after misbehaviour, and reconnects on
//! the next request.

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

/// The maximum number of pages of a tool list.
const PAGES: usize = 10;

/// A request to the task of a server.
pub(super) enum Wish {
    /// Returns the current offer.
    List(oneshot::Sender<Offered>),
    /// Returns the kind of a tool, if the user has accepted its current form.
    Kind {
        /// The server's name for the tool.
        tool: String,
        answer: oneshot::Sender<Option<ServerKind>>,
    },
    /// Calls a tool.
    Call {
        /// The server's name for the tool.
        tool: String,
        input: Value,
        answer: oneshot::Sender<Result<String, String>>,
    },
}

/// The task of one server.
pub(super) struct Keeper {
    named: Named,
    around: Surroundings,
    pins: Arc<dyn Pins>,
    tokens: Arc<dyn TokenStore>,
    talk: Option<Talk>,
    /// The kinds that were reported last; the permission decisions are based on them.
    decided_by: BTreeMap<String, Option<ServerKind>>,
}

/// An open connection with the tools offered on it.
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

    /// Handles the requests one at a time.
    pub(super) async fn keep(mut self, mut wishes: mpsc::Receiver<Wish>) {
        while let Some(wish) = wishes.recv().await {
            match wish {
                Wish::List(answer) => drop(answer.send(self.list().await)),
                Wish::Kind { tool, answer } => drop(answer.send(self.kind(&tool).await)),
                // A caller that has stopped waiting does not want the call any more.
                Wish::Call { answer, .. } if answer.is_closed() => {}
                Wish::Call { tool, input, answer } => drop(answer.send(self.call(&tool, input).await)),
            }
        }
    }

    async fn list(&mut self) -> Offered {
        // Reconnects, since the offer may have changed.
        self.talk = None;
        let (tools, complaints) = match self.ready().await {
            Ok(talk) => (Ok(talk.offers.clone()), talk.complaints.clone()),
            Err(why) => (Err(why), Vec::new()),
        };
        Offered { server: self.named.name.clone(), tools, complaints }
    }

    /// Returns the kind of `tool` if the user has accepted its current form.
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
        // The call was permitted for the kind that was reported last. A different kind requires a
        // new decision.
        if self.decided_by.get(tool).copied().flatten().is_some_and(|kind| Some(kind) != offer.kind) {
            return Err(format!("`{}` was changed meanwhile and was not called. Call it again.", offer.name));
        }
        let schema: Value = serde_json::from_str(&offer.schema).unwrap_or_default();
        let headers = param_headers(&schema, &input);
        let mut params = Map::new();
        params.insert("name".to_owned(), json!(tool));
        params.insert("arguments".to_owned(), input);
        // A server that has lost the session has not carried out the call, so it is repeated once.
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

    /// Returns an open connection with the current offer.
    async fn ready(&mut self) -> Result<&Talk, String> {
        let stands = self.talk.as_mut().is_some_and(|talk| !talk.client.take_tools_changed());
        if !stands {
            // The old connection is closed first, so that there are never two programs.
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
            // A value that is not an object has no tools either.
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

    /// Disconnects a misbehaving server and returns the text for the model.
    fn leave(&mut self, why: &str) -> String {
        self.talk = None;
        format!("{} The call may have been carried out or not.", self.told(why))
    }

    fn told(&self, why: &str) -> String {
        format!("The server `{}` {why}.", self.named.name)
    }
}
