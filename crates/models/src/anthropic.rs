//! The Anthropic Messages API: one request, one streamed reply.
//!
//! Whatever the server sends is bounded in size and in time, and whatever goes wrong is a failure with words
//! for the human. Nothing is tried twice here.

mod door;
pub(crate) mod refusal;
mod request;
mod stream;
mod wire;

use std::fmt;
use std::time::Duration;

use domain::context::Context;
use domain::failure::Failure;
use domain::turn::Reply;
use engine::ports::{Listener, Model};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, Url};
use tokio::time::{Instant, timeout, timeout_at};

use crate::sse::Decoder;
use refusal::Refusal;
use stream::{Assembly, News};

/// The version of the wire we speak.
const VERSION: &str = "2023-06-01";

/// The most bytes of one reply, pings included.
const REPLY_BYTES: usize = 64 * 1024 * 1024;

/// The most bytes of a refusal that are read.
const REFUSAL_BYTES: usize = 64 * 1024;

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

/// A secret that does not show itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// The key `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

/// Settings that cannot work. The human must act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSettings {
    /// The address is none.
    #[error("`{0}` is not the address of a model; it looks like https://api.anthropic.com")]
    Address(String),
    /// The address holds a name and a password, which would be shown wherever the address is.
    #[error("the address of the model holds a password; put the key into ANTHROPIC_API_KEY instead")]
    Password,
    /// The key has characters that no key has.
    #[error("the model's key has a line break or another character that no key has; copy it once more")]
    Key,
    /// This machine cannot make a secure connection.
    #[error("this machine cannot make a secure connection: {0}")]
    Secure(String),
}

/// A model behind the Messages API.
#[derive(Debug)]
pub struct Anthropic {
    client: Client,
    address: Url,
    header: HeaderValue,
    name: String,
    settings: Settings,
}

impl Anthropic {
    /// The model that `settings` name. Nobody is called yet.
    pub fn new(settings: Settings) -> Result<Self, BadSettings> {
        let address = door::address(&settings.base_url)?;
        let mut header = HeaderValue::from_str(&settings.key.0).map_err(|_| BadSettings::Key)?;
        header.set_sensitive(true);
        let client = door::client(&address, settings.connect)?;
        let name = format!("anthropic:{}", settings.model);
        Ok(Self { client, address, header, name, settings })
    }

    /// Whether the model is there and takes our key. It costs nothing: tokens are counted, not used.
    pub async fn examine(&self) -> Result<(), Failure> {
        let mut address = self.address.clone();
        address.set_path(&format!("{}/count_tokens", address.path()));
        let message = serde_json::json!({ "role": "user", "content": "hello" });
        let body = serde_json::json!({ "model": self.settings.model, "messages": [message] });
        let answered = self.send(address, body.to_string().into_bytes()).await;
        let presentable = |why| refusal::presentable(why, &self.settings.key.0);
        let response = answered.map_err(presentable)?;
        // A server that does not count is there all the same.
        match response.status().as_u16() {
            200..=299 | 404 | 405 => Ok(()),
            _ => Err(presentable(self.refused(response).await)),
        }
    }

    async fn ask(&self, context: &Context, listener: Listener<'_>) -> Result<Reply, Failure> {
        let response = self.send(self.address.clone(), self.body(context)?).await?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        if !is_stream(&response) {
            return Err(Failure::Garbled("it is not a stream of events".to_owned()));
        }
        self.listen(response, listener).await
    }

    fn body(&self, context: &Context) -> Result<Vec<u8>, Failure> {
        let asked = request::Asked { model: &self.settings.model, max_tokens: self.settings.max_tokens };
        serde_json::to_vec(&request::request(asked, context))
            .map_err(|error| Failure::Rejected(error.to_string()))
    }

    async fn send(&self, address: Url, body: Vec<u8>) -> Result<Response, Failure> {
        let request = self.client.post(address).body(body);
        let request = request
            .header(CONTENT_TYPE, "application/json")
            .header("anthropic-version", VERSION)
            .header("x-api-key", self.header.clone());
        match timeout(self.settings.stall, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(door::unanswered(error, &self.address)),
            Err(_) => Err(Failure::Unreachable(self.silence())),
        }
    }

    async fn refused(&self, mut response: Response) -> Failure {
        let deadline = Instant::now() + self.settings.stall;
        let mut body = Vec::new();
        // Half a refusal still has its status, so how its body ends does not matter.
        while let Ok(Ok(Some(piece))) = timeout_at(deadline, response.chunk()).await {
            body.extend_from_slice(&piece[..piece.len().min(REFUSAL_BYTES - body.len())]);
            if body.len() == REFUSAL_BYTES {
                break;
            }
        }
        let retry_after = response.headers().get(RETRY_AFTER).map(|value| value.to_str().unwrap_or_default());
        Refusal { status: response.status().as_u16(), retry_after, body: &body }.failure()
    }

    async fn listen(&self, mut response: Response, listener: Listener<'_>) -> Result<Reply, Failure> {
        let mut decoder = Decoder::default();
        let mut assembly = Assembly::default();
        let mut deadline = Instant::now() + self.settings.stall;
        let mut left = REPLY_BYTES;
        loop {
            let piece = match timeout_at(deadline, response.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) => return Err(assembly.broke_off("its words ended too early")),
                Ok(Err(_)) => return Err(assembly.broke_off("the connection was lost")),
                Err(_) => return Err(assembly.went_silent(&self.silence())),
            };
            left = left.checked_sub(piece.len()).ok_or_else(too_much)?;
            for event in decoder.feed(&piece).map_err(|error| Failure::Garbled(error.to_string()))? {
                deadline = Instant::now() + self.settings.stall;
                match assembly.take(&event)? {
                    News::Quiet => {}
                    News::Words(words) => listener(&words),
                    News::Ended => return assembly.finish(),
                }
            }
        }
    }

    fn silence(&self) -> String {
        format!("silent for {} s", self.settings.stall.as_secs_f32())
    }
}

impl Model for Anthropic {
    fn name(&self) -> &str {
        &self.name
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        listener: Listener<'a>,
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        let asked = self.ask(context, listener);
        asked.map(|reply| reply.map_err(|why| refusal::presentable(why, &self.settings.key.0))).boxed()
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

fn too_much() -> Failure {
    Failure::Garbled(format!("more than {} MB in one reply", REPLY_BYTES / 1024 / 1024))
}
