//! The client for OpenAI's Responses API and for chat completions, which Ollama, llama.cpp, vLLM, OpenRouter and many
//! others speak: one request, one reply.
//!
//! Answers are bounded in size and in time. A request is sent again only if the refusal names a part of it that the
//! server does not accept; [`profile`] holds the accepted shape.

mod calls;
mod connection_test;
pub(crate) mod profile;
mod protocol;
mod reasoning_fields;
mod refusal;
pub(crate) mod request;
pub(crate) mod responses;
mod search;
pub(crate) mod stream;
mod think_tags;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::context::Context;
use domain::conversation::EntryContent;
use domain::failure::Failure;
use domain::turn::ModelReply;
use engine::ports::{Model, StreamSinkRef};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::AUTHORIZATION;
use reqwest::{RequestBuilder, Response, Url};

pub use crate::connection::SettingsError;
pub use crate::key::ApiKey;
pub use search::WebSearch;

use crate::assembly::{ReplyAssembler, garbled};
use crate::connection::{self, VendorNames};
use crate::prefix_cache::{CacheLimits, PrefixCache, RequestBody};
use crate::rate_limits;
use crate::vendor_client::{
    BodyKind, RequestTimeouts, VendorClient, body_kind, max_reply_bytes, too_large_failure, truncate_by,
};
use profile::{Api, Profile};
use refusal::SentKey;
use request::ToolSupport;
use responses::stream::ResponseAssembler;
use stream::CompletionAssembler;

/// The names that error messages use for this vendor's settings.
const VENDOR: VendorNames =
    VendorNames { example_url: "https://api.openai.com/v1", key_variable: "OPENAI_API_KEY" };

/// The settings of an [`OpenAi`] client.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Such as `https://api.openai.com/v1`; an address without a path means its `/v1`.
    pub base_url: String,
    /// The API key, or empty if the server needs none.
    pub key: ApiKey,
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
const MAX_CORRECTIONS: usize = 6;

/// The fewest prompt tokens at which truncation is checked: older servers do not count the cached
/// part.
const MIN_CHECKED_TOKENS: u64 = 1_000;

/// More bytes than any text has per token on average.
const MAX_BYTES_PER_TOKEN: u64 = 6;

/// The state of one model of the server.
#[derive(Clone, Debug)]
struct ModelState {
    profile: Profile,
    /// The cached prefixes of requests in this shape.
    prefix_cache: Arc<PrefixCache>,
    /// Texts for the user that were not shown yet.
    notices: Vec<String>,
    /// True if the user was warned that the server truncates prompts.
    warned_truncated: bool,
}

/// A model behind the chat-completions or the Responses API.
#[derive(Debug)]
pub struct OpenAi {
    client: VendorClient,
    base: Url,
    name: String,
    settings: Settings,
    states: Mutex<BTreeMap<String, ModelState>>,
}

impl OpenAi {
    /// Creates a client for the model that `settings` name, without sending a request.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        let base = parse_base_url(&settings.base_url)?;
        settings.key.header("Bearer ")?;
        let timeouts =
            RequestTimeouts { connect: settings.connect, stall: settings.stall, total: settings.total };
        let client = VendorClient::new(
            connection::join_path(&base, "/chat/completions"),
            settings.key.clone(),
            timeouts,
        )?;
        let name = format!("openai:{}", settings.model);
        Ok(Self { client, base, name, settings, states: Mutex::default() })
    }

    /// Returns the client if the key may be sent to its address.
    pub fn require_safe_transport(self) -> Result<Self, SettingsError> {
        self.client.checked_header("Bearer ")?;
        Ok(self)
    }

    async fn request_reply(&self, context: &Context, sink: StreamSinkRef<'_>) -> Result<ModelReply, Failure> {
        self.request_reply_within(context, self.settings.max_tokens, sink).await
    }

    /// Requests a reply of at most `max_tokens`. A refusal that names one part of the request leads
    /// to a corrected request; an accepted shape is used from then on.
    async fn request_reply_within(
        &self,
        context: &Context,
        max_tokens: u32,
        sink: StreamSinkRef<'_>,
    ) -> Result<ModelReply, Failure> {
        let model = self.model_id(context);
        let mut state = self.state_of(model);
        let mut corrections = 0;
        let (response, body_bytes) = loop {
            let body = self.body(context, max_tokens, &state)?;
            let body_bytes = body.len();
            let address = match state.profile.api {
                Api::ChatCompletions => self.client.address().clone(),
                Api::Responses => connection::join_path(&self.base, "/responses"),
            };
            let response = self.client.send(self.with_key(self.client.post(address, body))?).await?;
            sink.response_head(&rate_limits::response_head(&response));
            if response.status().is_success() {
                break (response, body_bytes);
            }
            let refusal = self.client.read_refusal(response).await;
            let next =
                state.profile.corrected_after(&refusal, context).filter(|_| corrections < MAX_CORRECTIONS);
            let Some(next) = next else { return Err(self.failure(&refusal, model)) };
            state = ModelState::new(next);
            corrections += 1;
        };
        if corrections > 0 {
            self.store_state(model, &state);
        }
        let origin = self.origin(state.profile.api, model);
        let max_bytes = max_reply_bytes(max_tokens);
        let reply = match state.profile.api {
            Api::ChatCompletions => {
                self.read_reply(response, CompletionAssembler::new(context, &origin), max_bytes, sink).await?
            }
            Api::Responses => {
                self.read_reply(response, ResponseAssembler::new(context, &origin), max_bytes, sink).await?
            }
        };
        self.check_truncation(context, model, body_bytes, &reply);
        Ok(reply)
    }

    async fn read_reply(
        &self,
        response: Response,
        reply: impl JsonReply,
        max_bytes: usize,
        sink: StreamSinkRef<'_>,
    ) -> Result<ModelReply, Failure> {
        match body_kind(&response) {
            BodyKind::EventStream => self.client.read_stream(response, reply, max_bytes, sink).await,
            BodyKind::Json => self.read_json_reply(response, reply, max_bytes, sink).await,
            BodyKind::Other => Err(garbled("it is not a stream of events")),
        }
    }

    fn body(&self, context: &Context, max_tokens: u32, state: &ModelState) -> Result<RequestBody, Failure> {
        let model = self.model_id(context);
        let profile = &state.profile;
        let origin = self.origin(profile.api, model);
        match profile.api {
            Api::ChatCompletions => {
                let parameters = request::RequestParameters { model, max_tokens, profile, origin: &origin };
                request::body(parameters, context, &state.prefix_cache)
            }
            Api::Responses => {
                let parameters = request::RequestParameters { model, max_tokens, profile, origin: &origin };
                responses::request::body(parameters, context, &state.prefix_cache)
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

    fn state_of(&self, model: &str) -> ModelState {
        let mut states = self.states();
        let new = || ModelState::new(Profile::for_host(self.base.host_str().unwrap_or_default()));
        states.entry(model.to_owned()).or_insert_with(new).clone()
    }

    fn store_state(&self, model: &str, new: &ModelState) {
        let mut states = self.states();
        let Some(known) = states.get_mut(model) else { return };
        let lost_tools =
            known.profile.tools == ToolSupport::Offered && new.profile.tools == ToolSupport::Unsupported;
        known.profile = new.profile.clone();
        known.prefix_cache = Arc::clone(&new.prefix_cache);
        if lost_tools {
            known.notices.push(format!(
                "{model} cannot use tools, so I can talk but not act: no reminders, files or commands. Choose another \
                 model: ollim-bot setup model"
            ));
        }
    }

    /// Ollama truncates a prompt that exceeds its window without an error. The usage shows it: it
    /// counts far fewer tokens than the request has.
    fn check_truncation(&self, context: &Context, model: &str, body_bytes: usize, reply: &ModelReply) {
        let images = context.entries.iter().flat_map(|said| match said.as_ref() {
            EntryContent::User(heard) => heard.images.as_slice(),
            EntryContent::Assistant(..)
            | EntryContent::Tools(_)
            | EntryContent::Summary(_)
            | EntryContent::SummaryRecalled(_) => &[],
        });
        let text = body_bytes.saturating_sub(images.map(|image| image.data.len()).sum()) as u64;
        let read = reply.usage.input + reply.usage.cache_read;
        if read < MIN_CHECKED_TOKENS || text / MAX_BYTES_PER_TOKEN <= read {
            return;
        }
        let mut states = self.states();
        let Some(known) = states.get_mut(model).filter(|known| !known.warned_truncated) else { return };
        known.warned_truncated = true;
        known.notices.push(format!(
            "The server read only {read} tokens of a prompt of about {}, so {model} has forgotten the beginning of our \
             conversation. Its context window is too small. With Ollama, restart it with \
             `OLLAMA_CONTEXT_LENGTH=64000 ollama serve`; with another server, raise its context length.",
            text / 4
        ));
    }

    fn with_key(&self, request: RequestBuilder) -> Result<RequestBuilder, Failure> {
        Ok(match self.client.header("Bearer ")? {
            Some(header) => request.header(AUTHORIZATION, header),
            None => request,
        })
    }

    async fn read_json_reply(
        &self,
        response: Response,
        mut completion: impl JsonReply,
        max_bytes: usize,
        sink: StreamSinkRef<'_>,
    ) -> Result<ModelReply, Failure> {
        let text = completion.add_body(&self.client.read_body(response).await?)?;
        let surplus = completion.byte_count().saturating_sub(max_bytes);
        if surplus > 0 {
            sink.text(truncate_by(&text, surplus));
            return Err(too_large_failure(max_bytes));
        }
        let reply = completion.finish()?;
        if !text.is_empty() {
            sink.text(&text);
        }
        Ok(reply)
    }

    async fn refusal_failure(&self, response: Response, model: &str) -> Failure {
        self.failure(&self.client.read_refusal(response).await, model)
    }

    fn failure(&self, refusal: &crate::vendor_client::Refusal, model: &str) -> Failure {
        let key = if self.settings.key.last_sent().is_empty() { SentKey::Absent } else { SentKey::Present };
        refusal::failure(refusal, refusal::RefusedRequest { model, key })
    }

    /// Returns the server's name of the model that `context` asks for.
    fn model_id<'a>(&'a self, context: &'a Context) -> &'a str {
        context.model.as_deref().unwrap_or(&self.settings.model)
    }

    fn states(&self) -> MutexGuard<'_, BTreeMap<String, ModelState>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ModelState {
    fn new(profile: Profile) -> Self {
        let prefix_cache = Arc::new(PrefixCache::new(CacheLimits::DEFAULT));
        Self { profile, prefix_cache, notices: Vec::new(), warned_truncated: false }
    }
}

/// A reply that may also arrive as one JSON body.
trait JsonReply: ReplyAssembler {
    /// Parses the whole body and returns its text.
    fn add_body(&mut self, body: &str) -> Result<String, Failure>;
}

impl JsonReply for CompletionAssembler {
    fn add_body(&mut self, body: &str) -> Result<String, Failure> {
        Self::add_body(self, body)
    }
}

impl JsonReply for ResponseAssembler {
    fn add_body(&mut self, body: &str) -> Result<String, Failure> {
        Self::add_body(self, body)
    }
}

impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.name
    }

    fn name_for(&self, context: &Context) -> String {
        format!("openai:{}", self.model_id(context))
    }

    fn has_new_key(&self) -> bool {
        self.client.has_new_key()
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        sink: StreamSinkRef<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, Failure>> {
        let reply = self.request_reply(context, sink);
        reply.map(|reply| reply.map_err(|why| self.client.sanitize(why))).boxed()
    }

    fn take_notice(&self) -> Option<String> {
        self.states().values_mut().find_map(|known| known.notices.pop())
    }
}

/// Adds `/v1` to an address without a path: no server has the API at the root alone.
fn parse_base_url(base_url: &str) -> Result<Url, SettingsError> {
    let base = VENDOR.parse_base_url(base_url)?;
    match base.path() {
        "" | "/" => Ok(connection::join_path(&base, "/v1")),
        _ => Ok(base),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_may_omit_only_the_version() {
        let check = |given: &str, expected: &str| {
            let said = parse_base_url(given).map_or_else(|error| error.to_string(), |url| url.to_string());
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
