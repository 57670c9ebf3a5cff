//! The Anthropic Messages API: one request, one streamed reply.
//!
//! Everything the server sends is bounded in size and in time, and every failure has a text for the
//! user. A request is sent again only with a correction that its refusal asked for; waiting and
//! trying again is the caller's decision.

mod capabilities;
mod correction;
mod known;
pub(crate) mod refusal;
pub(crate) mod request;
mod search;
pub(crate) mod stream;
pub(crate) mod wire;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::context::Context;
use domain::conversation::{Branch, Heard, Said};
use domain::effort::Effort;
use domain::failure::Failure;
use domain::model::Abilities;
use domain::thinking::Thinking;
use domain::tool::{Class, ToolSpec};
use domain::turn::Reply;
use engine::ports::{Listener, Model};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::{Response, Url};

pub use crate::door::BadSettings;
pub use crate::key::Key;
pub use capabilities::Capabilities;
pub use known::CapabilityStore;
pub use search::WebSearch;

use crate::assembly::garbled;
use crate::beginnings::{Beginnings, Body, Limits};
use crate::door::{self, Vendor};
use crate::line::{Kind, Line, Patience, Refusal, kind, reply_bytes};
use crate::presentable::presentable_text;
use crate::rate_limits;
use capabilities::{Feature, ModelInfo};
use correction::{Correction, Sent, correction};
use known::Known;
use request::Shape;
use stream::Message;
use wire::ThinkingMode;

/// The protocol version, sent as `anthropic-version`.
const VERSION: &str = "2023-06-01";

/// The names that error messages use for this vendor's settings.
const VENDOR: Vendor = Vendor { example: "https://api.anthropic.com", variable: "ANTHROPIC_API_KEY" };

/// The most corrections of one request. Each one removes a feature, so that the next request is simpler; a host that
/// knows none of the newer fields refuses them one at a time.
const CORRECTIONS: usize = 8;

/// The most branches whose stripped thinking is remembered.
const STRIPPED_BRANCHES: usize = 64;

/// The timeout for the record of an unknown model.
const RECORD_PATIENCE: Duration = Duration::from_secs(5);

/// The most output tokens of a test request.
const TEST_TOKENS: u32 = 64;

/// The settings of an [`Anthropic`] client.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Such as `https://api.anthropic.com`; the path of the API is appended.
    pub base_url: String,
    /// The API key, which is billed for the requests.
    pub key: Key,
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
    line: Line,
    name: String,
    settings: Settings,
    beginnings: Beginnings,
    known: Known,
    stripped: Mutex<BTreeMap<Branch, Stripped>>,
    /// A sentence for the user about the model, until it is shown.
    notice: Mutex<Option<String>>,
}

/// The entries of a branch whose thinking blocks the server refused.
#[derive(Debug)]
struct Stripped {
    /// The first entry. A compaction replaces it, and then nothing is left to strip.
    first: Arc<Said>,
    /// The number of entries.
    count: usize,
}

impl Anthropic {
    /// Creates a client for the model that `settings` name, without sending a request.
    pub fn new(settings: Settings) -> Result<Self, BadSettings> {
        let base = VENDOR.base(&settings.base_url)?;
        let known = Known::load(&base, settings.store.clone());
        let address = door::below(&base, "/v1/messages");
        settings.key.header("")?;
        let patience = Patience { connect: settings.connect, stall: settings.stall, total: settings.total };
        let line = Line::new(address, settings.key.clone(), patience)?;
        let name = format!("anthropic:{}", settings.model);
        let beginnings = Beginnings::new(Limits::HOUSE);
        Ok(Self {
            line,
            name,
            settings,
            beginnings,
            known,
            stripped: Mutex::default(),
            notice: Mutex::default(),
        })
    }

    /// Returns the client if the key may be sent to this address. Requests check this anyway; this
    /// reports it before the first one.
    pub fn guarded(self) -> Result<Self, BadSettings> {
        self.line.guarded("")?;
        Ok(self)
    }

    /// The features that the model `id` accepts here, as far as they are known without asking.
    pub fn capabilities(&self, id: &str) -> Capabilities {
        self.known.capabilities(id)
    }

    /// Checks that the model answers a request of the shape that conversations use, with instructions and a tool. A
    /// few tokens are used: a request that only counts tokens passes where the real one is refused.
    pub async fn examine(&self, thinking: Thinking) -> Result<(), Failure> {
        let settings = Settings { max_tokens: TEST_TOKENS, ..self.settings.clone() };
        let greeting = Heard { preface: String::new(), text: "Say hello.".to_owned(), images: Vec::new() };
        let context = Context {
            branch: Branch::Main,
            model: None,
            thinking,
            effort: Effort::for_thinking(thinking),
            interactive: true,
            tools: Arc::from([TEST_TOOL]),
            instructions: Arc::from("This is a connection test. Answer with one word."),
            said: vec![Arc::new(Said::Human(greeting))],
            notes: Vec::new(),
            aside: 0,
        };
        let answered = self.accepted(&context, settings.max_tokens, &|_: &str| {}).await;
        let answered = answered.and_then(|(response, _)| {
            let is_answer = matches!(kind(&response), Kind::Events);
            if is_answer { Ok(()) } else { Err(garbled("it is not an answer to a conversation")) }
        });
        answered.map_err(|failure| self.line.presentable(failure))
    }

    /// Fetches the vendor's record of the model concurrently with the reply, or before it if
    /// nothing is known.
    async fn ask(&self, context: &Context, listener: Listener<'_>) -> Result<Reply, Failure> {
        let model = self.model(context);
        if self.known.wants_record(model) && self.known.is_unknown(model) {
            // The reply does not depend on the record: if the server is slow, the reply is
            // requested without it.
            if tokio::time::timeout(RECORD_PATIENCE, self.fetch_record(model)).await.is_err() {
                self.known.fetch_failed(model);
            }
        }
        let refreshed = async {
            if self.known.wants_record(model) {
                self.fetch_record(model).await;
            }
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            biased;
            reply = self.answer(context, listener) => reply,
            never = refreshed => match never {},
        }
    }

    async fn answer(&self, context: &Context, listener: Listener<'_>) -> Result<Reply, Failure> {
        let (response, shape) = self.accepted(context, self.settings.max_tokens, listener).await?;
        let shows_progress = matches!(
            shape.thinking,
            Some(ThinkingMode::BetweenTools | ThinkingMode::Adaptive { display: Some(_), .. })
        );
        match kind(&response) {
            Kind::Events => {
                let most = reply_bytes(self.settings.max_tokens);
                self.line.hear(response, Message::new(shows_progress), most, listener).await
            }
            Kind::Json | Kind::Other => Err(garbled("it is not a stream of events")),
        }
    }

    /// Sends the request for the reply to `context` until the server accepts it, with the corrections that it asks
    /// for. Returns the response and the shape that was accepted.
    async fn accepted(
        &self,
        context: &Context,
        max_tokens: u32,
        listener: Listener<'_>,
    ) -> Result<(Response, Shape), Failure> {
        let model = self.model(context);
        for _ in 0..CORRECTIONS {
            let stripped = self.stripped_before(context);
            let shape = Shape::new(&self.known.capabilities(model), context, max_tokens, stripped);
            let body = if shape.strip_thinking_before == 0 {
                request::body(model, shape, context, &self.beginnings)?
            } else {
                // The cached bytes contain the thinking blocks.
                request::body(model, shape, context, &Beginnings::new(Limits::HOUSE))?
            };
            let response = self.send(self.line.address().clone(), body, shape.betas()).await?;
            listener.answered(&rate_limits::head(&response));
            if response.status().is_success() {
                return Ok((response, shape));
            }
            let refusal = self.line.refused(response).await;
            if !self.corrects(&refusal, context, shape) {
                return Err(refusal::failure(&refusal, model));
            }
        }
        Err(Failure::Rejected(format!("it still refuses the request after {CORRECTIONS} corrections")))
    }

    /// Records what `refusal` shows. Returns whether the next request is different from the refused
    /// one.
    fn corrects(&self, refusal: &Refusal, context: &Context, shape: Shape) -> bool {
        // Hosts that check requests against a schema answer 422 for a field that they do not know.
        if !matches!(refusal.status, 400 | 422) {
            return false;
        }
        let sent = Sent {
            thinking: shape.thinking,
            effort: shape.effort,
            system_messages: shape.system_messages && !context.notes.is_empty(),
            hour_cache: shape.cache == wire::CacheControl::ONE_HOUR,
        };
        let model = self.model(context);
        match correction(&refusal::message(refusal), sent) {
            Some(Correction::Without(feature)) => {
                if feature == Feature::SystemMessages {
                    // The cached bytes may contain such messages.
                    self.beginnings.clear();
                }
                self.known.refused(model, feature)
            }
            Some(Correction::MaxOutput(most)) => self.known.limited(model, most),
            Some(Correction::StripThinking) => self.strip(context),
            None => false,
        }
    }

    /// Leaves out the thinking blocks of all entries in `context` from now on. Later blocks are
    /// bound to requests without them, so they stay valid. Returns whether the number of stripped
    /// entries grew.
    fn strip(&self, context: &Context) -> bool {
        let count = context.said.len();
        let Some(first) = context.said.first() else { return false };
        if self.stripped_before(context) == count {
            return false;
        }
        let mut stripped = self.stripped.lock().unwrap_or_else(PoisonError::into_inner);
        if stripped.len() >= STRIPPED_BRANCHES && !stripped.contains_key(&context.branch) {
            // Main sorts first and stays: forks fall back to its value.
            stripped.pop_last();
        }
        stripped.insert(context.branch.clone(), Stripped { first: Arc::clone(first), count });
        true
    }

    /// Returns how many entries of `context` are sent without their thinking. A fork begins with
    /// main's entries, so main's stripped prefix applies to it too.
    fn stripped_before(&self, context: &Context) -> usize {
        let stripped = self.stripped.lock().unwrap_or_else(PoisonError::into_inner);
        // Compared by value: the journal reads the conversation again after a turn on another
        // branch.
        let same = |stripped: &&Stripped| context.said.first() == Some(&stripped.first);
        let of = |branch: &Branch| stripped.get(branch).filter(same);
        of(&context.branch).or_else(|| of(&Branch::Main)).map_or(0, |stripped| stripped.count)
    }

    /// Fetches the vendor's record of `model`. A host without such records is asked again after a
    /// day.
    async fn fetch_record(&self, model: &str) {
        let path = format!("/{model}");
        let mut address = self.line.address().clone();
        address.set_path(&address.path().replace("/messages", "/models"));
        let address = door::below(&address, &path);
        let Ok(Some(key)) = self.line.header("") else { return };
        let request = self.line.get(address).header("anthropic-version", VERSION).header("x-api-key", key);
        let Ok(response) = self.line.send(request).await else { return self.known.fetch_failed(model) };
        let status = response.status();
        if status.is_success() {
            let text = self.line.whole(response).await.unwrap_or_default();
            let info = serde_json::from_str::<ModelInfo>(&text).ok();
            let retires = info.as_ref().and_then(|info| retirement(model, info));
            if retires.is_some() {
                *self.notice.lock().unwrap_or_else(PoisonError::into_inner) = retires;
            }
            self.known.fetched(model, info);
        } else if matches!(status.as_u16(), 400 | 404 | 405 | 501) {
            self.known.fetched(model, None);
        } else {
            self.known.fetch_failed(model);
        }
    }

    /// The vendor's id of the model that `context` asks for.
    fn model<'a>(&'a self, context: &'a Context) -> &'a str {
        context.model.as_deref().unwrap_or(&self.settings.model)
    }

    async fn send(&self, address: Url, body: Body, betas: Option<String>) -> Result<Response, Failure> {
        let mut request = self.line.post(address, body).header("anthropic-version", VERSION);
        if let Some(betas) = betas {
            request = request.header("anthropic-beta", betas);
        }
        match self.line.header("")? {
            Some(key) => self.line.send(request.header("x-api-key", key)).await,
            None => Err(Failure::BadKey(format!("{} is empty", VENDOR.variable))),
        }
    }
}

/// Returns a sentence about the end of `model`, if the vendor has announced it.
fn retirement(model: &str, info: &ModelInfo) -> Option<String> {
    if info.lifecycle.as_deref() != Some("deprecated") {
        return None;
    }
    let day = info.retires_at.as_deref().and_then(|at| at.get(..10));
    let when = day.map_or_else(|| "soon".to_owned(), |day| format!("on {day}"));
    let model = presentable_text(model.to_owned(), "");
    Some(format!("The vendor retires {model} {when}. Choose another model with `/model` before that."))
}

/// The tool of a test request.
const TEST_TOOL: ToolSpec = ToolSpec {
    name: "note",
    description: Cow::Borrowed("Writes a note."),
    schema: r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#,
    class: Class::Own,
};

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

    fn notice(&self) -> Option<String> {
        self.notice.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn learned(&self) -> Option<BTreeMap<String, Abilities>> {
        self.known.learned()
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
