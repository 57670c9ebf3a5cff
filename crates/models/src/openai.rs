//! The client for OpenAI's Responses API and for chat completions, which Ollama, llama.cpp, vLLM, OpenRouter and many
//! others speak: one request, one reply.
//!
//! Answers are bounded in size and in time. A request is sent again only if the refusal names a part of it that the
//! server does not accept; [`profile`] holds the accepted shape.

mod calls;
mod dialect;
mod examination;
pub(crate) mod profile;
mod refusal;
pub(crate) mod request;
pub(crate) mod responses;
mod search;
pub(crate) mod stream;
mod thoughts;
mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::context::Context;
use domain::conversation::Said;
use domain::failure::Failure;
use domain::turn::Reply;
use engine::ports::{Listener, Model};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::AUTHORIZATION;
use reqwest::{RequestBuilder, Response, Url};

pub use crate::door::BadSettings;
pub use crate::key::Key;
pub use search::WebSearch;

use crate::assembly::{Assembly, garbled};
use crate::beginnings::{Beginnings, Body, Limits};
use crate::door::{self, Vendor};
use crate::line::{Kind, Line, Patience, kind, reply_bytes, too_large, without_end};
use crate::rate_limits;
use profile::{Api, Profile};
use refusal::Sent;
use request::Tools;
use responses::stream::ResponseStream;
use stream::Completion;

/// The names that error messages use for this vendor's settings.
const VENDOR: Vendor = Vendor { example: "https://api.openai.com/v1", variable: "OPENAI_API_KEY" };

/// The settings of an [`OpenAi`] client.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Such as `https://api.openai.com/v1`; an address without a path means its `/v1`.
    pub base_url: String,
    /// The API key, or empty if the server needs none.
    pub key: Key,
    /// The server's name of the model.
    pub model: String,
    /// The most tokens of one reply.
    pub max_tokens: u32,
    /// The timeout for a connection.
    pub connect: Duration,
    /// The timeout for the first event of a reply, and between any two.
    pub stall: Duration,
    /// The total timeout of one reply.
    pub total: Duration,
}

/// The most refusals of one request that are answered with a corrected request.
const CORRECTIONS: usize = 6;

/// The fewest prompt tokens at which truncation is checked: older servers do not count the cached
/// part.
const LEAST_TRUNCATED: u64 = 1_000;

/// More bytes than any text has per token on average.
const BYTES_PER_TOKEN: u64 = 6;

/// The state of one model of the server.
#[derive(Clone, Debug)]
struct Learned {
    profile: Profile,
    /// The cached prefixes of requests in this shape.
    beginnings: Arc<Beginnings>,
    /// Texts for the user that were not shown yet.
    notices: Vec<String>,
    /// True if the user was warned that the server truncates prompts.
    told_truncated: bool,
}

/// A model behind the chat-completions or the Responses API.
#[derive(Debug)]
pub struct OpenAi {
    line: Line,
    base: Url,
    name: String,
    settings: Settings,
    learned: Mutex<BTreeMap<String, Learned>>,
}

impl OpenAi {
    /// Creates a client for the model that `settings` name, without sending a request.
    pub fn new(settings: Settings) -> Result<Self, BadSettings> {
        let base = base(&settings.base_url)?;
        settings.key.header("Bearer ")?;
        let patience = Patience { connect: settings.connect, stall: settings.stall, total: settings.total };
        let line = Line::new(door::below(&base, "/chat/completions"), settings.key.clone(), patience)?;
        let name = format!("openai:{}", settings.model);
        Ok(Self { line, base, name, settings, learned: Mutex::default() })
    }

    /// Returns the client if the key may be sent to its address.
    pub fn guarded(self) -> Result<Self, BadSettings> {
        self.line.guarded("Bearer ")?;
        Ok(self)
    }

    async fn ask(&self, context: &Context, listener: Listener<'_>) -> Result<Reply, Failure> {
        self.ask_within(context, self.settings.max_tokens, listener).await
    }

    /// Requests a reply of at most `max_tokens`. A refusal that names one part of the request leads
    /// to a corrected request; an accepted shape is used from then on.
    async fn ask_within(
        &self,
        context: &Context,
        max_tokens: u32,
        listener: Listener<'_>,
    ) -> Result<Reply, Failure> {
        let model = self.model(context);
        let mut learned = self.learned_about(model);
        let mut corrections = 0;
        let (response, sent) = loop {
            let body = self.body(context, max_tokens, &learned)?;
            let sent = body.len();
            let address = match learned.profile.api {
                Api::ChatCompletions => self.line.address().clone(),
                Api::Responses => door::below(&self.base, "/responses"),
            };
            let response = self.line.send(self.signed(self.line.post(address, body))?).await?;
            listener.answered(&rate_limits::head(&response));
            if response.status().is_success() {
                break (response, sent);
            }
            let refusal = self.line.refused(response).await;
            let next = learned.profile.after(&refusal, context).filter(|_| corrections < CORRECTIONS);
            let Some(next) = next else { return Err(self.failure(&refusal, model)) };
            learned = Learned::new(next);
            corrections += 1;
        };
        if corrections > 0 {
            self.remember(model, &learned);
        }
        let origin = self.origin(learned.profile.api, model);
        let most = reply_bytes(max_tokens);
        let reply = match learned.profile.api {
            Api::ChatCompletions => {
                self.hear(response, Completion::new(context, &origin), most, listener).await?
            }
            Api::Responses => {
                self.hear(response, ResponseStream::new(context, &origin), most, listener).await?
            }
        };
        self.check_truncation(context, model, sent, &reply);
        Ok(reply)
    }

    async fn hear(
        &self,
        response: Response,
        reply: impl WholeAnswer,
        most: usize,
        listener: Listener<'_>,
    ) -> Result<Reply, Failure> {
        match kind(&response) {
            Kind::Events => self.line.hear(response, reply, most, listener).await,
            Kind::Json => self.hear_whole(response, reply, most, listener).await,
            Kind::Other => Err(garbled("it is not a stream of events")),
        }
    }

    fn body(&self, context: &Context, max_tokens: u32, learned: &Learned) -> Result<Body, Failure> {
        let model = self.model(context);
        let profile = &learned.profile;
        let origin = self.origin(profile.api, model);
        match profile.api {
            Api::ChatCompletions => {
                let asked = request::Asked { model, max_tokens, profile, origin: &origin };
                request::body(asked, context, &learned.beginnings)
            }
            Api::Responses => {
                let asked = request::Asked { model, max_tokens, profile, origin: &origin };
                responses::request::body(asked, context, &learned.beginnings)
            }
        }
    }

    /// Returns the origin of opaque parts from `model`. No other server, API or model can read
    /// them.
    fn origin(&self, api: Api, model: &str) -> String {
        let api = match api {
            Api::ChatCompletions => "chat",
            Api::Responses => "responses",
        };
        format!("{api}:{}:{model}", self.base)
    }

    fn learned_about(&self, model: &str) -> Learned {
        let mut learned = self.learned();
        let new = || Learned::new(Profile::for_host(self.base.host_str().unwrap_or_default()));
        learned.entry(model.to_owned()).or_insert_with(new).clone()
    }

    fn remember(&self, model: &str, new: &Learned) {
        let mut learned = self.learned();
        let Some(known) = learned.get_mut(model) else { return };
        let lost_tools = known.profile.tools == Tools::Offered && new.profile.tools == Tools::Unknown;
        known.profile = new.profile.clone();
        known.beginnings = Arc::clone(&new.beginnings);
        if lost_tools {
            known.notices.push(format!(
                "{model} cannot use tools, so I can talk but not act: no reminders, files or commands. Choose another \
                 model: ollim-bot setup model"
            ));
        }
    }

    /// Ollama truncates a prompt that exceeds its window without an error. The usage shows it: it
    /// counts far fewer tokens than the request has.
    fn check_truncation(&self, context: &Context, model: &str, sent: usize, reply: &Reply) {
        let images = context.said.iter().flat_map(|said| match said.as_ref() {
            Said::Human(heard) => heard.images.as_slice(),
            Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => &[],
        });
        let text = sent.saturating_sub(images.map(|image| image.data.len()).sum()) as u64;
        let read = reply.usage.input + reply.usage.cache_read;
        if read < LEAST_TRUNCATED || text / BYTES_PER_TOKEN <= read {
            return;
        }
        let mut learned = self.learned();
        let Some(known) = learned.get_mut(model).filter(|known| !known.told_truncated) else { return };
        known.told_truncated = true;
        known.notices.push(format!(
            "The server read only {read} tokens of a prompt of about {}, so {model} has forgotten the beginning of our \
             conversation. Its context window is too small. With Ollama, restart it with \
             `OLLAMA_CONTEXT_LENGTH=64000 ollama serve`; with another server, raise its context length.",
            text / 4
        ));
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
        mut completion: impl WholeAnswer,
        most: usize,
        listener: Listener<'_>,
    ) -> Result<Reply, Failure> {
        let words = completion.take_whole(&self.line.whole(response).await?)?;
        let surplus = completion.held().saturating_sub(most);
        if surplus > 0 {
            listener.words(without_end(&words, surplus));
            return Err(too_large(most));
        }
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

    /// Returns the server's name of the model that `context` asks for.
    fn model<'a>(&'a self, context: &'a Context) -> &'a str {
        context.model.as_deref().unwrap_or(&self.settings.model)
    }

    fn learned(&self) -> MutexGuard<'_, BTreeMap<String, Learned>> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Learned {
    fn new(profile: Profile) -> Self {
        let beginnings = Arc::new(Beginnings::new(Limits::HOUSE));
        Self { profile, beginnings, notices: Vec::new(), told_truncated: false }
    }
}

/// A reply that may also arrive as one JSON body.
trait WholeAnswer: Assembly {
    /// Parses the whole body and returns its text.
    fn take_whole(&mut self, body: &str) -> Result<String, Failure>;
}

impl WholeAnswer for Completion {
    fn take_whole(&mut self, body: &str) -> Result<String, Failure> {
        Self::take_whole(self, body)
    }
}

impl WholeAnswer for ResponseStream {
    fn take_whole(&mut self, body: &str) -> Result<String, Failure> {
        Self::take_whole(self, body)
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
        self.learned().values_mut().find_map(|known| known.notices.pop())
    }
}

/// Adds `/v1` to an address without a path: no server has the API at the root alone.
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
