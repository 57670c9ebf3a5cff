//! The Anthropic Messages API: one request, one streamed reply.
//!
//! Everything the server sends is bounded in size and in time, and every failure has a text for the
//! user. A request is sent again only with a correction that its refusal asked for; waiting and
//! trying again is the caller's decision.

mod capabilities;
mod correction;
mod model_registry;
pub(crate) mod protocol;
pub(crate) mod refusal;
pub(crate) mod request;
mod search;
pub(crate) mod stream;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::context::Context;
use domain::conversation::{Branch, EntryContent, UserInput};
use domain::effort::Effort;
use domain::failure::Failure;
use domain::model::ModelAbilities;
use domain::thinking::Thinking;
use domain::tool::{ToolClass, ToolSpec};
use domain::turn::ModelReply;
use engine::ports::{Model, StreamSinkRef};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::{Response, Url};

pub use crate::connection::SettingsError;
pub use crate::key::ApiKey;
pub use capabilities::Capabilities;
pub use model_registry::CapabilityStore;
pub use search::WebSearch;

use crate::assembly::garbled;
use crate::connection::{self, VendorNames};
use crate::prefix_cache::{CacheLimits, PrefixCache, RequestBody};
use crate::rate_limits;
use crate::sanitizer::sanitize_text;
use crate::vendor_client::{BodyKind, Refusal, RequestTimeouts, VendorClient, body_kind, max_reply_bytes};
use capabilities::{Feature, ModelInfo};
use correction::{Correction, SentFields, correction};
use model_registry::ModelRegistry;
use protocol::ThinkingMode;
use request::Shape;
use stream::MessageAssembler;

/// The protocol version, sent as `anthropic-version`.
const API_VERSION: &str = "2023-06-01";

/// The names that error messages use for this vendor's settings.
const VENDOR: VendorNames =
    VendorNames { example_url: "https://api.anthropic.com", key_variable: "ANTHROPIC_API_KEY" };

/// The most corrections of one request. Each one removes a feature, so that the next request is simpler; a host that
/// knows none of the newer fields refuses them one at a time.
const MAX_CORRECTIONS: usize = 8;

/// The most branches whose stripped thinking is remembered.
const MAX_STRIPPED_BRANCHES: usize = 64;

/// The timeout for the record of an unknown model.
const RECORD_TIMEOUT: Duration = Duration::from_secs(5);

/// The most output tokens of a test request.
const TEST_MAX_TOKENS: u32 = 64;

/// The settings of an [`Anthropic`] client.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Such as `https://api.anthropic.com`; the path of the API is appended.
    pub base_url: String,
    /// The API key, which is billed for the requests.
    pub key: ApiKey,
    /// The vendor's id of the model.
    pub model: String,
    /// The most tokens of one reply.
    pub max_tokens: u32,
    /// The timeout for a connection.
    pub connect: Duration,
    /// The timeout for the first event of a reply, and between any two.
    pub stall: Duration,
    /// The total timeout of one reply.
    pub total: Duration,
    /// Stores the vendor's model records and refused features. If unset, they are held in memory
    /// only, and no records are fetched.
    pub store: Option<Arc<dyn CapabilityStore>>,
}

/// A model behind the Messages API.
#[derive(Debug)]
pub struct Anthropic {
    client: VendorClient,
    name: String,
    settings: Settings,
    prefix_cache: PrefixCache,
    registry: ModelRegistry,
    stripped: Mutex<BTreeMap<Branch, StrippedPrefix>>,
    /// A sentence for the user about the model, until it is shown.
    notice: Mutex<Option<String>>,
}

/// The entries of a branch whose thinking blocks the server refused.
#[derive(Debug)]
struct StrippedPrefix {
    /// The first entry. A compaction replaces it, and then nothing is left to strip.
    first: Arc<EntryContent>,
    /// The number of entries.
    count: usize,
}

impl Anthropic {
    /// Creates a client for the model that `settings` name, without sending a request.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        let base = VENDOR.parse_base_url(&settings.base_url)?;
        let registry = ModelRegistry::load(&base, settings.store.clone());
        let address = connection::join_path(&base, "/v1/messages");
        settings.key.header("")?;
        let timeouts =
            RequestTimeouts { connect: settings.connect, stall: settings.stall, total: settings.total };
        let client = VendorClient::new(address, settings.key.clone(), timeouts)?;
        let name = format!("anthropic:{}", settings.model);
        let prefix_cache = PrefixCache::new(CacheLimits::DEFAULT);
        Ok(Self {
            client,
            name,
            settings,
            prefix_cache,
            registry,
            stripped: Mutex::default(),
            notice: Mutex::default(),
        })
    }

    /// Returns the client if the key may be sent to this address. Requests check this anyway; this
    /// reports it before the first one.
    pub fn require_safe_transport(self) -> Result<Self, SettingsError> {
        self.client.checked_header("")?;
        Ok(self)
    }

    /// The features that the model `id` accepts here, as far as they are known without asking.
    pub fn capabilities(&self, id: &str) -> Capabilities {
        self.registry.capabilities(id)
    }

    /// Checks that the model answers a request of the shape that conversations use, with instructions and a tool. A
    /// few tokens are used: a request that only counts tokens passes where the real one is refused.
    pub async fn test_connection(&self, thinking: Thinking) -> Result<(), Failure> {
        let settings = Settings { max_tokens: TEST_MAX_TOKENS, ..self.settings.clone() };
        let greeting =
            UserInput { preface: String::new(), text: "Say hello.".to_owned(), images: Vec::new() };
        let context = Context {
            branch: Branch::Main,
            model: None,
            thinking,
            effort: Effort::for_thinking(thinking),
            interactive: true,
            tools: Arc::from([TEST_TOOL]),
            instructions: Arc::from("This is a connection test. Answer with one word."),
            entries: vec![Arc::new(EntryContent::User(greeting))],
            notes: Vec::new(),
            transient_count: 0,
        };
        let result = self.send_until_accepted(&context, settings.max_tokens, &|_: &str| {}).await;
        let result = result.and_then(|(response, _)| {
            let is_answer = matches!(body_kind(&response), BodyKind::EventStream);
            if is_answer { Ok(()) } else { Err(garbled("it is not an answer to a conversation")) }
        });
        result.map_err(|failure| self.client.sanitize(failure))
    }

    /// Fetches the vendor's record of the model concurrently with the reply, or before it if
    /// nothing is known.
    async fn request_reply(&self, context: &Context, sink: StreamSinkRef<'_>) -> Result<ModelReply, Failure> {
        let model = self.model_id(context);
        if self.registry.needs_record(model) && self.registry.is_unknown(model) {
            // The reply does not depend on the record: if the server is slow, the reply is
            // requested without it.
            if tokio::time::timeout(RECORD_TIMEOUT, self.fetch_record(model)).await.is_err() {
                self.registry.record_fetch_failure(model);
            }
        }
        let refreshed = async {
            if self.registry.needs_record(model) {
                self.fetch_record(model).await;
            }
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            biased;
            reply = self.stream_reply(context, sink) => reply,
            never = refreshed => match never {},
        }
    }

    async fn stream_reply(&self, context: &Context, sink: StreamSinkRef<'_>) -> Result<ModelReply, Failure> {
        let (response, shape) = self.send_until_accepted(context, self.settings.max_tokens, sink).await?;
        let shows_progress = matches!(
            shape.thinking,
            Some(ThinkingMode::BetweenTools | ThinkingMode::Adaptive { display: Some(_), .. })
        );
        match body_kind(&response) {
            BodyKind::EventStream => {
                let most = max_reply_bytes(self.settings.max_tokens);
                self.client.read_stream(response, MessageAssembler::new(shows_progress), most, sink).await
            }
            BodyKind::Json | BodyKind::Other => Err(garbled("it is not a stream of events")),
        }
    }

    /// Sends the request for the reply to `context` until the server accepts it, with the corrections that it asks
    /// for. Returns the response and the shape that was accepted.
    async fn send_until_accepted(
        &self,
        context: &Context,
        max_tokens: u32,
        sink: StreamSinkRef<'_>,
    ) -> Result<(Response, Shape), Failure> {
        let model = self.model_id(context);
        for _ in 0..MAX_CORRECTIONS {
            let stripped = self.stripped_before(context);
            let shape = Shape::new(&self.registry.capabilities(model), context, max_tokens, stripped);
            let body = if shape.strip_thinking_before == 0 {
                request::body(model, shape, context, &self.prefix_cache)?
            } else {
                // The cached bytes contain the thinking blocks.
                request::body(model, shape, context, &PrefixCache::new(CacheLimits::DEFAULT))?
            };
            let response = self.send(self.client.address().clone(), body, shape.betas()).await?;
            sink.response_head(&rate_limits::response_head(&response));
            if response.status().is_success() {
                return Ok((response, shape));
            }
            let refusal = self.client.read_refusal(response).await;
            if !self.apply_correction(&refusal, context, shape) {
                return Err(refusal::failure(&refusal, model));
            }
        }
        Err(Failure::Rejected(format!("it still refuses the request after {MAX_CORRECTIONS} corrections")))
    }

    /// Records what `refusal` shows. Returns whether the next request is different from the refused
    /// one.
    fn apply_correction(&self, refusal: &Refusal, context: &Context, shape: Shape) -> bool {
        // Hosts that check requests against a schema answer 422 for a field that they do not know.
        if !matches!(refusal.status, 400 | 422) {
            return false;
        }
        let sent = SentFields {
            thinking: shape.thinking,
            effort: shape.effort,
            system_messages: shape.system_messages && !context.notes.is_empty(),
            hour_cache: shape.cache == protocol::CacheControl::ONE_HOUR,
        };
        let model = self.model_id(context);
        match correction(&refusal::message(refusal), sent) {
            Some(Correction::OmitFeature(feature)) => {
                if feature == Feature::SystemMessages {
                    // The cached bytes may contain such messages.
                    self.prefix_cache.clear();
                }
                self.registry.record_refusal(model, feature)
            }
            Some(Correction::LimitOutput(most)) => self.registry.record_output_limit(model, most),
            Some(Correction::StripThinking) => self.strip(context),
            None => false,
        }
    }

    /// Leaves out the thinking blocks of all entries in `context` from now on. Later blocks are
    /// bound to requests without them, so they stay valid. Returns whether the number of stripped
    /// entries grew.
    fn strip(&self, context: &Context) -> bool {
        let count = context.entries.len();
        let Some(first) = context.entries.first() else { return false };
        if self.stripped_before(context) == count {
            return false;
        }
        let mut stripped = self.stripped.lock().unwrap_or_else(PoisonError::into_inner);
        if stripped.len() >= MAX_STRIPPED_BRANCHES && !stripped.contains_key(&context.branch) {
            // Main sorts first and stays: forks fall back to its value.
            stripped.pop_last();
        }
        stripped.insert(context.branch.clone(), StrippedPrefix { first: Arc::clone(first), count });
        true
    }

    /// Returns how many entries of `context` are sent without their thinking. A fork begins with
    /// main's entries, so main's stripped prefix applies to it too.
    fn stripped_before(&self, context: &Context) -> usize {
        let stripped = self.stripped.lock().unwrap_or_else(PoisonError::into_inner);
        // Compared by value: the journal reads the conversation again after a turn on another
        // branch.
        let same = |stripped: &&StrippedPrefix| context.entries.first() == Some(&stripped.first);
        let of = |branch: &Branch| stripped.get(branch).filter(same);
        of(&context.branch).or_else(|| of(&Branch::Main)).map_or(0, |stripped| stripped.count)
    }

    /// Fetches the vendor's record of `model`. A host without such records is asked again after a
    /// day.
    async fn fetch_record(&self, model: &str) {
        let path = format!("/{model}");
        let mut address = self.client.address().clone();
        address.set_path(&address.path().replace("/messages", "/models"));
        let address = connection::join_path(&address, &path);
        let Ok(Some(key)) = self.client.header("") else { return };
        let request =
            self.client.get(address).header("anthropic-version", API_VERSION).header("x-api-key", key);
        let Ok(response) = self.client.send(request).await else {
            return self.registry.record_fetch_failure(model);
        };
        let status = response.status();
        if status.is_success() {
            let text = self.client.read_body(response).await.unwrap_or_default();
            let info = serde_json::from_str::<ModelInfo>(&text).ok();
            let retires = info.as_ref().and_then(|info| retirement_notice(model, info));
            if retires.is_some() {
                *self.notice.lock().unwrap_or_else(PoisonError::into_inner) = retires;
            }
            self.registry.store_record(model, info);
        } else if matches!(status.as_u16(), 400 | 404 | 405 | 501) {
            self.registry.store_record(model, None);
        } else {
            self.registry.record_fetch_failure(model);
        }
    }

    /// The vendor's id of the model that `context` asks for.
    fn model_id<'a>(&'a self, context: &'a Context) -> &'a str {
        context.model.as_deref().unwrap_or(&self.settings.model)
    }

    async fn send(
        &self,
        address: Url,
        body: RequestBody,
        betas: Option<String>,
    ) -> Result<Response, Failure> {
        let mut request = self.client.post(address, body).header("anthropic-version", API_VERSION);
        if let Some(betas) = betas {
            request = request.header("anthropic-beta", betas);
        }
        match self.client.header("")? {
            Some(key) => self.client.send(request.header("x-api-key", key)).await,
            None => Err(Failure::BadKey(format!("{} is empty", VENDOR.key_variable))),
        }
    }
}

/// Returns a sentence about the end of `model`, if the vendor has announced it.
fn retirement_notice(model: &str, info: &ModelInfo) -> Option<String> {
    if info.lifecycle.as_deref() != Some("deprecated") {
        return None;
    }
    let day = info.retires_at.as_deref().and_then(|at| at.get(..10));
    let when = day.map_or_else(|| "soon".to_owned(), |day| format!("on {day}"));
    let model = sanitize_text(model.to_owned(), "");
    Some(format!("The vendor retires {model} {when}. Choose another model with `/model` before that."))
}

/// The tool of a test request.
const TEST_TOOL: ToolSpec = ToolSpec {
    name: "note",
    description: Cow::Borrowed("Writes a note."),
    schema: r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#,
    class: ToolClass::Own,
};

impl Model for Anthropic {
    fn name(&self) -> &str {
        &self.name
    }

    fn name_for(&self, context: &Context) -> String {
        format!("anthropic:{}", self.model_id(context))
    }

    fn has_new_key(&self) -> bool {
        self.client.has_new_key()
    }

    fn take_notice(&self) -> Option<String> {
        self.notice.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn take_learned_abilities(&self) -> Option<BTreeMap<String, ModelAbilities>> {
        self.registry.take_learned()
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        sink: StreamSinkRef<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, Failure>> {
        let reply = self.request_reply(context, sink);
        reply.map(|reply| reply.map_err(|why| self.client.sanitize(why))).boxed()
    }
}
