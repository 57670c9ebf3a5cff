//! The Anthropic Messages API: one request, one streamed reply.
//!
//! Whatever the server sends is bounded in size and in time, and whatever goes wrong is a failure with words
//! for the human. Nothing is tried twice here.

pub(crate) mod refusal;
pub(crate) mod request;
pub(crate) mod stream;
mod wire;

use std::time::Duration;

use domain::context::Context;
use domain::failure::Failure;
use domain::turn::Reply;
use engine::ports::{Listener, Model};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::{Response, Url};

pub use crate::door::BadSettings;
pub use crate::key::Key;

use crate::assembly::garbled;
use crate::beginnings::{Beginnings, Body, Limits};
use crate::door::{self, Vendor};
use crate::line::{Kind, Line, Patience, kind};
use stream::Message;

/// The version of the wire we speak.
const VERSION: &str = "2023-06-01";

/// How people reach it.
const VENDOR: Vendor = Vendor { example: "https://api.anthropic.com", variable: "ANTHROPIC_API_KEY" };

/// What it takes to reach the model.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Such as `https://api.anthropic.com`; the path of the API is added.
    pub base_url: String,
    /// Who pays.
    pub key: Key,
    /// The vendor's id of the model.
    pub model: String,
    /// The most tokens of one reply.
    pub max_tokens: u32,
    /// How long to wait for a connection.
    pub connect: Duration,
    /// How long to wait for the first event, and between any two.
    pub stall: Duration,
}

/// A model behind the Messages API.
#[derive(Debug)]
pub struct Anthropic {
    line: Line,
    name: String,
    settings: Settings,
    beginnings: Beginnings,
}

impl Anthropic {
    /// The model that `settings` name. Nobody is called yet.
    pub fn new(settings: Settings) -> Result<Self, BadSettings> {
        let address = door::below(&VENDOR.base(&settings.base_url)?, "/v1/messages");
        settings.key.header("")?;
        let patience = Patience { connect: settings.connect, stall: settings.stall };
        let line = Line::new(address, settings.key.clone(), patience)?;
        let name = format!("anthropic:{}", settings.model);
        let beginnings = Beginnings::new(Limits::HOUSE);
        Ok(Self { line, name, settings, beginnings })
    }

    /// It, if the key may be sent where it is. Whoever talks hears that with every reply; whoever looks wants to know it
    /// before.
    pub fn guarded(self) -> Result<Self, BadSettings> {
        self.line.guarded("")?;
        Ok(self)
    }

    /// Whether the model is there and takes our key. It costs nothing: tokens are counted, not used. Where nobody counts,
    /// one is asked for: a page that is not found is no sign of a model, any web server has that.
    pub async fn examine(&self) -> Result<(), Failure> {
        let counted = self.examine_at(door::below(self.line.address(), "/count_tokens"), None).await;
        let answered = match counted {
            Ok(response) if matches!(response.status().as_u16(), 404 | 405) => {
                self.examine_at(self.line.address().clone(), Some(1)).await
            }
            counted => counted,
        };
        let refused = match answered {
            Ok(response) if response.status().is_success() && kind(&response) == Kind::Json => return Ok(()),
            Ok(response) if response.status().is_success() => {
                garbled("it is not an answer to a conversation")
            }
            Ok(response) => self.refused(response).await,
            Err(why) => why,
        };
        Err(self.line.presentable(refused))
    }

    async fn examine_at(&self, address: Url, most: Option<u32>) -> Result<Response, Failure> {
        let message = serde_json::json!({ "role": "user", "content": "hello" });
        let mut body = serde_json::json!({ "model": self.settings.model, "messages": [message] });
        if let Some(most) = most {
            body["max_tokens"] = most.into();
        }
        self.send(address, body.to_string().into_bytes().into()).await
    }

    async fn ask(&self, context: &Context, listener: Listener<'_>) -> Result<Reply, Failure> {
        let asked = request::Asked { model: self.model(context), max_tokens: self.settings.max_tokens };
        let body = request::body(asked, context, &self.beginnings)?;
        let response = self.send(self.line.address().clone(), body).await?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        match kind(&response) {
            Kind::Events => self.line.hear(response, Message::default(), listener).await,
            Kind::Json | Kind::Other => Err(garbled("it is not a stream of events")),
        }
    }

    /// The vendor's id of the model that `context` asks for.
    fn model<'a>(&'a self, context: &'a Context) -> &'a str {
        context.model.as_deref().unwrap_or(&self.settings.model)
    }

    async fn send(&self, address: Url, body: Body) -> Result<Response, Failure> {
        let request = self.line.post(address, body).header("anthropic-version", VERSION);
        match self.line.header("")? {
            Some(key) => self.line.send(request.header("x-api-key", key)).await,
            None => Err(Failure::BadKey(format!("{} is empty", VENDOR.variable))),
        }
    }

    async fn refused(&self, response: Response) -> Failure {
        refusal::failure(&self.line.refused(response).await)
    }
}

impl Model for Anthropic {
    fn name(&self) -> &str {
        &self.name
    }

    fn name_for(&self, context: &Context) -> String {
        format!("anthropic:{}", self.model(context))
    }

    fn renewed(&self) -> bool {
        self.line.renewed()
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        listener: Listener<'a>,
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        let asked = self.ask(context, listener);
        asked.map(|reply| reply.map_err(|why| self.line.presentable(why))).boxed()
    }
}
