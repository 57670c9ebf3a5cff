//! The task of one server: connects when needed, disconnects after misbehaviour, and reconnects on
//! the next request.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::tool::ServerToolKind;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::client::{Client, param_headers};
use super::config::{ServerConfig, ServerEndpoint};
use super::http::HttpTransport;
use super::oauth::{TokenProvider, TokenStore};
use super::offer::ToolOffer;
use super::stdio::StdioTransport;
use super::transport::{Transport, TransportError};
use super::{ANSWER_TIMEOUT, AcceptedOffers, ProcessContext, ServerOffers, content};

/// The maximum number of pages of a tool list.
const MAX_TOOL_PAGES: usize = 10;

/// A request to the task of a server.
pub(super) enum ServerRequest {
    /// Returns the current offer.
    List(oneshot::Sender<ServerOffers>),
    /// Returns the kind of a tool, if the user has accepted its current form.
    Kind {
        /// The server's name for the tool.
        tool: String,
        answer: oneshot::Sender<Option<ServerToolKind>>,
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
pub(super) struct ServerActor {
    config: ServerConfig,
    context: ProcessContext,
    accepted: Arc<dyn AcceptedOffers>,
    tokens: Arc<dyn TokenStore>,
    session: Option<Session>,
    /// The kinds that were reported last; the permission decisions are based on them.
    reported_kinds: BTreeMap<String, Option<ServerToolKind>>,
}

/// An open connection with the tools offered on it.
struct Session {
    client: Client,
    offers: Vec<ToolOffer>,
    problems: Vec<String>,
}

impl ServerActor {
    pub(super) fn new(
        config: ServerConfig,
        context: ProcessContext,
        accepted: Arc<dyn AcceptedOffers>,
        tokens: Arc<dyn TokenStore>,
    ) -> Self {
        Self { config, context, accepted, tokens, session: None, reported_kinds: BTreeMap::new() }
    }

    /// Handles the requests one at a time.
    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<ServerRequest>) {
        while let Some(request) = requests.recv().await {
            match request {
                ServerRequest::List(answer) => drop(answer.send(self.list().await)),
                ServerRequest::Kind { tool, answer } => drop(answer.send(self.kind(&tool).await)),
                // A caller that has stopped waiting does not want the call any more.
                ServerRequest::Call { answer, .. } if answer.is_closed() => {}
                ServerRequest::Call { tool, input, answer } => {
                    drop(answer.send(self.call(&tool, input).await))
                }
            }
        }
    }

    async fn list(&mut self) -> ServerOffers {
        // Reconnects, since the offer may have changed.
        self.session = None;
        let (tools, problems) = match self.connected().await {
            Ok(session) => (Ok(session.offers.clone()), session.problems.clone()),
            Err(why) => (Err(why), Vec::new()),
        };
        ServerOffers { server: self.config.name.clone(), tools, problems }
    }

    /// Returns the kind of `tool` if the user has accepted its current form.
    async fn kind(&mut self, tool: &str) -> Option<ServerToolKind> {
        let offer = self.connected().await.ok()?.offers.iter().find(|offer| offer.tool == tool).cloned()?;
        let accepted = self.accepted.is_accepted(&self.config.name, &offer.fingerprint()).await;
        let kind = offer.kind.filter(|_| accepted);
        self.reported_kinds.insert(offer.tool, kind);
        kind
    }

    async fn call(&mut self, tool: &str, input: Value) -> Result<String, String> {
        let server = self.config.name.clone();
        let offer = self.connected().await?.offers.iter().find(|offer| offer.tool == tool).cloned();
        let offer = offer.ok_or_else(|| format!("The server `{server}` does not offer `{tool}` now."))?;
        if !self.accepted.is_accepted(&server, &offer.fingerprint()).await {
            return Err(format!(
                "`{}` is off: the user has not accepted it as it is now. `ollim-bot mcp-servers accept {server}` accepts it.",
                offer.name
            ));
        }
        // The call was permitted for the kind that was reported last. A different kind requires a
        // new decision.
        if self.reported_kinds.get(tool).copied().flatten().is_some_and(|kind| Some(kind) != offer.kind) {
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
            let Some(session) = &mut self.session else { return Err(self.describe("is gone")) };
            let response = session.client.request("tools/call", params.clone(), headers.clone());
            return match timeout(ANSWER_TIMEOUT, response).await {
                Ok(Ok(result)) if result["resultType"] == "input_required" => {
                    Err(self.describe("asks for input while it works, which ollim-bot cannot give"))
                }
                Ok(Ok(result)) => content::result_text(&result),
                Ok(Err(TransportError::SessionExpired)) if may_repeat => {
                    may_repeat = false;
                    self.session = None;
                    let offers = &self.connected().await?.offers;
                    if !offers.contains(&offer) {
                        return Err(format!("The server `{server}` does not offer `{tool}` as it was."));
                    }
                    continue;
                }
                Ok(Err(TransportError::Refused(error))) => {
                    Err(format!("The server `{server}` refuses: {}", error.message))
                }
                Ok(Err(
                    failure @ (TransportError::SignInNeeded
                    | TransportError::SignInExpired
                    | TransportError::Forbidden),
                )) => {
                    self.session = None;
                    Err(self.describe(&failure.describe(&server)))
                }
                Ok(Err(failure)) => Err(self.disconnect(&failure.describe(&server))),
                Err(_) => Err(self.disconnect("did not answer in time")),
            };
        }
    }

    /// Returns an open connection with the current offer.
    async fn connected(&mut self) -> Result<&Session, String> {
        let is_current = self.session.as_mut().is_some_and(|session| !session.client.take_tools_changed());
        if !is_current {
            // The old connection is closed first, so that there are never two programs.
            self.session = None;
            self.session = match timeout(ANSWER_TIMEOUT, self.connect()).await {
                Ok(Ok(session)) => Some(session),
                Ok(Err(failure)) => return Err(self.describe(&failure.describe(&self.config.name))),
                Err(_) => return Err(self.describe("did not answer in time")),
            };
        }
        self.session.as_ref().ok_or_else(|| self.describe("is gone"))
    }

    async fn connect(&self) -> Result<Session, TransportError> {
        let transport: Box<dyn Transport> = match &self.config.endpoint {
            ServerEndpoint::Program { command, args, env } => {
                Box::new(StdioTransport::start(command, args, env, &self.context)?)
            }
            ServerEndpoint::Address { url, headers, .. } => {
                let authorizer = TokenProvider::new(&self.config.name, url, Arc::clone(&self.tokens));
                Box::new(HttpTransport::new(url, headers, authorizer)?)
            }
        };
        let mut client = Client::new(transport);
        client.negotiate().await?;
        let mut listed = Vec::new();
        let mut params = Map::new();
        for _ in 0..MAX_TOOL_PAGES {
            let mut page = client.request("tools/list", params, Vec::new()).await?;
            // A value that is not an object has no tools either.
            let Some(Value::Array(tools)) = page.get_mut("tools").map(Value::take) else {
                return Err(TransportError::broken("does not say which tools it has"));
            };
            listed.extend(tools);
            let Some(cursor) = page["nextCursor"].as_str() else { break };
            params = Map::from_iter([("cursor".to_owned(), json!(cursor))]);
        }
        let (offers, problems) = ToolOffer::parse_list(&self.config.name, &listed, &self.config.kinds);
        Ok(Session { client, offers, problems })
    }

    /// Disconnects a misbehaving server and returns the text for the model.
    fn disconnect(&mut self, why: &str) -> String {
        self.session = None;
        format!("{} The call may have been carried out or not.", self.describe(why))
    }

    fn describe(&self, why: &str) -> String {
        format!("The server `{}` {why}.", self.config.name)
    }
}
