//! The chat-completions API, which OpenAI, Ollama, llama.cpp, vLLM and OpenRouter speak: one request, one reply.
//!
//! Whatever the server sends is bounded in size and in time, and whatever goes wrong is a failure with words
//! for the human. Nothing is tried twice here, but for one thing: a server that refuses because it cannot call
//! tools is asked once more without them, and never again with them.

mod calls;
mod examination;
mod refusal;
pub(crate) mod request;
pub(crate) mod stream;
mod thoughts;
mod wire;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::context::Context;
use domain::failure::Failure;
use domain::turn::Reply;
use engine::ports::{Listener, Model};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::AUTHORIZATION;
use reqwest::{RequestBuilder, Response, Url};

pub use crate::door::BadSettings;
pub use crate::key::Key;

use crate::assembly::{Assembly, garbled};
use crate::beginnings::{Beginnings, Body, Limits};
use crate::door::{self, Vendor};
use crate::line::{Kind, Line, Patience, kind};
use refusal::Sent;
use request::{Asked, Room, Tools};
use stream::Completion;

/// How people reach it.
const VENDOR: Vendor = Vendor { example: "https://api.openai.com/v1", variable: "OPENAI_API_KEY" };

/// The one server that wants to hear how long a reply may be under a name of its own.
const OPENAI: &str = "api.openai.com";

/// What it takes to reach the model.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Such as `https://api.openai.com/v1`; an address without a path means its `/v1`.
    pub base_url: String,
    /// Who pays; empty, if nobody does.
    pub key: Key,
    /// The server's name of the model.
    pub model: String,
    /// The most tokens of one reply.
    pub max_tokens: u32,
    /// How long to wait for a connection.
    pub connect: Duration,
    /// How long to wait for the first event, and between any two.
    pub stall: Duration,
}

/// What the human knows of a model that cannot use tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Toolless,
}

/// A model behind the chat-completions API.
#[derive(Debug)]
pub struct OpenAi {
    line: Line,
    base: Url,
    name: String,
    settings: Settings,
    /// The models that the server refused tools for and answered with without them, and whether that was told.
    toolless: Mutex<BTreeMap<String, Told>>,
    beginnings: Beginnings,
    /// Without tools the same words come to other bytes.
    toolless_beginnings: Beginnings,
}

impl OpenAi {
    /// The model that `settings` name. Nobody is called yet.
    pub fn new(settings: Settings) -> Result<Self, BadSettings> {
        let base = base(&settings.base_url)?;
        settings.key.header("Bearer ")?;
        let patience = Patience { connect: settings.connect, stall: settings.stall };
        let line = Line::new(door::below(&base, "/chat/completions"), settings.key.clone(), patience)?;
        let name = format!("openai:{}", settings.model);
        let toolless = Mutex::default();
        let [beginnings, toolless_beginnings] = [Limits::HOUSE; 2].map(Beginnings::new);
        Ok(Self { line, base, name, settings, toolless, beginnings, toolless_beginnings })
    }

    /// It, if the key may be sent where it is. Whoever talks hears that with every reply; whoever looks wants to know it
    /// before.
    pub fn guarded(self) -> Result<Self, BadSettings> {
        self.line.guarded("Bearer ")?;
        Ok(self)
    }

    async fn ask(&self, context: &Context, listener: Listener<'_>) -> Result<Reply, Failure> {
        let model = self.model(context);
        let toolless = self.toolless().contains_key(model);
        let response = match toolless {
            true => self.send(context, Tools::Unknown).await?,
            false => self.offer_tools(context).await?,
        };
        if !response.status().is_success() {
            return Err(self.refused(response, model).await);
        }
        match kind(&response) {
            Kind::Events => self.line.hear(response, Completion::of(context), listener).await,
            Kind::Json => self.hear_whole(response, Completion::of(context), listener).await,
            Kind::Other => Err(garbled("it is not a stream of events")),
        }
    }

    /// Asks with tools, and once without them if that is what the server refuses.
    async fn offer_tools(&self, context: &Context) -> Result<Response, Failure> {
        let response = self.send(context, Tools::Offered).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let refusal = self.line.refused(response).await;
        if context.tools.is_empty() || !refusal::is_about_tools(&refusal) {
            return Err(self.failure(&refusal, self.model(context)));
        }
        let response = self.send(context, Tools::Unknown).await?;
        if response.status().is_success() {
            // Two requests may find out at once; what they found is the same.
            self.toolless().entry(self.model(context).to_owned()).or_insert(Told::Nothing);
        }
        Ok(response)
    }

    async fn send(&self, context: &Context, tools: Tools) -> Result<Response, Failure> {
        let body = self.body(context, tools)?;
        self.line.send(self.signed(self.line.post(self.line.address().clone(), body))?).await
    }

    /// Room for so many tokens, as the server wants to hear it.
    fn room(&self, most: u32) -> Room {
        match self.base.host_str() == Some(OPENAI) {
            true => Room::CompletionTokens(most),
            false => Room::Tokens(most),
        }
    }

    fn body(&self, context: &Context, tools: Tools) -> Result<Body, Failure> {
        let room = self.room(self.settings.max_tokens);
        let asked = Asked { model: self.model(context), room, tools };
        let beginnings = match tools {
            Tools::Offered => &self.beginnings,
            Tools::Unknown => &self.toolless_beginnings,
        };
        request::body(asked, context, beginnings)
    }

    fn signed(&self, request: RequestBuilder) -> Result<RequestBuilder, Failure> {
        Ok(match self.line.header("Bearer ")? {
            Some(header) => request.header(AUTHORIZATION, header),
            None => request,
        })
    }

    async fn hear_whole(
        &self,
        response: Response,
        mut completion: Completion,
        listener: Listener<'_>,
    ) -> Result<Reply, Failure> {
        let words = completion.take_whole(&self.line.whole(response).await?)?;
        let reply = completion.finish()?;
        if !words.is_empty() {
            listener.words(&words);
        }
        Ok(reply)
    }

    async fn refused(&self, response: Response, model: &str) -> Failure {
        self.failure(&self.line.refused(response).await, model)
    }

    fn failure(&self, refusal: &crate::line::Refusal, model: &str) -> Failure {
        let key = if self.settings.key.sent().is_empty() { Sent::Nothing } else { Sent::Key };
        refusal::failure(refusal, refusal::Asked { model, key })
    }

    /// The server's name of the model that `context` asks for.
    fn model<'a>(&'a self, context: &'a Context) -> &'a str {
        context.model.as_deref().unwrap_or(&self.settings.model)
    }

    fn toolless(&self) -> MutexGuard<'_, BTreeMap<String, Told>> {
        self.toolless.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.name
    }

    fn name_for(&self, context: &Context) -> String {
        format!("openai:{}", self.model(context))
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

    fn notice(&self) -> Option<String> {
        let mut toolless = self.toolless();
        let (model, told) = toolless.iter_mut().find(|(_, told)| **told == Told::Nothing)?;
        *told = Told::Toolless;
        Some(format!(
            "{model} cannot use tools, so i can talk with it but do nothing. choose another model in OLLIM_MODEL."
        ))
    }
}

/// An address without a path means its `/v1`: nobody serves the API at the root alone.
fn base(base_url: &str) -> Result<Url, BadSettings> {
    let base = VENDOR.base(base_url)?;
    match base.path() {
        "" | "/" => Ok(door::below(&base, "/v1")),
        _ => Ok(base),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_leave_out_the_version_but_nothing_else() {
        let check = |given: &str, expected: &str| {
            let said = base(given).map_or_else(|error| error.to_string(), |url| url.to_string());
            assert_eq!(said, expected);
        };
        check("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1");
        check("http://127.0.0.1:11434/", "http://127.0.0.1:11434/v1");
        check("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1");
        check("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1");
        check("https://a.b/openai/", "https://a.b/openai/");
        check("nowhere", "`nowhere` is not the address of a model; it looks like https://api.openai.com/v1");
        let password = "the address of the model holds a password; put the key into OPENAI_API_KEY instead";
        check("https://me:secret@a.b/v1", password);
    }
}
