//! What a server says when it does not answer, and what that means for the human.

use domain::failure::{Failure, SpendLimit};

use super::VENDOR;
use super::wire::{Problem, Trouble};
use crate::line::{Refusal, is_about_key};

/// What is known about who refused.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The model that was asked for.
    pub model: &'a str,
    /// Whether a key was sent.
    pub key: Sent,
}

/// Whether a key was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It was.
    Key,
    /// There is none.
    Nothing,
}

/// What `refusal` means.
pub fn failure(refusal: &Refusal, asked: Asked<'_>) -> Failure {
    let trouble = trouble(&refusal.body).unwrap_or_else(|| plain(refusal));
    let message = format!("{}: {}", refusal.status, trouble.message);
    let bad_key = || match asked.key {
        Sent::Key => Failure::BadKey(format!("{}, {message}", VENDOR.variable)),
        Sent::Nothing => Failure::BadKey(format!("{} is not set, {message}", VENDOR.variable)),
    };
    match refusal.status {
        _ if trouble.is_about_money() => Failure::SpendLimit(SpendLimit::Account(message)),
        413 => Failure::Full(message),
        400 | 422 | 500 if trouble.is_about_length() => Failure::Full(message),
        401 => bad_key(),
        403 if trouble.is_about_who_asks() => bad_key(),
        402 => Failure::SpendLimit(SpendLimit::Account(message)),
        429 if refusal.is_about_money(&trouble.message) => Failure::SpendLimit(SpendLimit::Account(message)),
        429 | 503 | 529 => Failure::Busy(refusal.seconds()),
        404 => Failure::Rejected(format!("{message}. {}", way_out(&trouble.message, asked.model))),
        300..=399 => Failure::Unreachable(format!("{}: the address points elsewhere", refusal.status)),
        500.. => Failure::Broken(message),
        _ => Failure::Rejected(message),
    }
}

/// Whether a server refuses because it, or its model, cannot call tools.
///
/// Ollama says that a model does not support tools (400), llama.cpp that the parameter is unsupported or wants
/// a flag (500), vLLM that tool choice requires a flag (400), OpenRouter that no endpoint supports tool use
/// (404). A conversation with a wrong tool message in it is refused in other words.
pub fn is_about_tools(refusal: &Refusal) -> bool {
    let text = trouble(&refusal.body).unwrap_or_else(|| plain(refusal)).message.to_lowercase();
    let tools = ["tools", "tool use", "tool choice", "tool call", "function call"];
    let cannot =
        ["support", "require", "not enabled", "not implemented", "not available", "unknown", "unrecog"];
    match refusal.status {
        501 => true,
        400 | 404 | 405 | 422 | 500 => {
            tools.iter().any(|word| text.contains(word)) && cannot.iter().any(|word| text.contains(word))
        }
        _ => false,
    }
}

/// An error in a stream that began well, or in an answer whose status says that all is well.
pub fn from_event(json: &str) -> Failure {
    let trouble = Trouble::read(json).unwrap_or_default();
    let kind = trouble.kind.as_str();
    match (trouble.number(), trouble.word(), kind) {
        _ if trouble.is_about_money() => Failure::SpendLimit(SpendLimit::Account(trouble.message)),
        _ if trouble.is_about_length() => Failure::Full(trouble.message),
        (Some(402), ..) => Failure::SpendLimit(SpendLimit::Account(trouble.message)),
        (Some(429 | 503 | 529), ..) | (_, Some("rate_limit_exceeded"), _) => Failure::Busy(None),
        (.., "rate_limit_error" | "overloaded_error" | "unavailable_error") => Failure::Busy(None),
        (Some(413), ..) => Failure::Full(trouble.message),
        (Some(401), ..) | (_, Some("invalid_api_key"), _) | (.., "authentication_error") => {
            Failure::BadKey(format!("{}, {}", VENDOR.variable, trouble.message))
        }
        (Some(403), ..) if trouble.is_about_who_asks() => {
            Failure::BadKey(format!("{}, {}", VENDOR.variable, trouble.message))
        }
        (Some(400..=499), ..) | (.., "invalid_request_error" | "BadRequestError") => {
            Failure::Rejected(trouble.message)
        }
        _ => Failure::Broken(trouble.message),
    }
}

impl Trouble {
    /// An object with words in it, or only the words.
    fn read(json: &str) -> Option<Self> {
        let plain = |message| Self { message, ..Self::default() };
        serde_json::from_str(json).ok().or_else(|| serde_json::from_str(json).ok().map(plain))
    }

    fn word(&self) -> Option<&str> {
        self.code.as_str()
    }

    fn number(&self) -> Option<u64> {
        self.code.as_u64().or_else(|| self.word()?.parse().ok())
    }

    /// Whether the conversation is longer than the model reads: OpenAI has a code for it, vLLM and OpenRouter
    /// speak of the maximum context length, llama.cpp of the context size.
    fn is_about_length(&self) -> bool {
        let text = self.message.to_lowercase();
        let full = |word: &str| {
            matches!(word, "context_length_exceeded" | "exceed_context_size_error" | "request_too_large")
        };
        full(&self.kind)
            || self.word().is_some_and(full)
            || text.contains("maximum context length")
            || text.contains("exceeds the available context size")
    }

    /// A server also forbids words that it does not like, which no other key would change.
    fn is_about_who_asks(&self) -> bool {
        is_about_key(&self.kind) || is_about_key(&self.message) || self.word().is_some_and(is_about_key)
    }

    fn is_about_money(&self) -> bool {
        let spent = |word: &str| {
            matches!(word, "insufficient_quota" | "billing_hard_limit_reached" | "billing_not_active")
        };
        spent(&self.kind) || self.word().is_some_and(spent)
    }
}

/// The error in `body`, inside of an object or flat.
fn trouble(body: &[u8]) -> Option<Trouble> {
    let text = std::str::from_utf8(body).ok()?;
    match serde_json::from_str::<Problem<'_>>(text) {
        Ok(problem) => Trouble::read(problem.error.get()),
        Err(_) => serde_json::from_str::<Trouble>(text).ok().filter(|trouble| !trouble.message.is_empty()),
    }
}

fn plain(refusal: &Refusal) -> Trouble {
    Trouble { message: refusal.text(), ..Trouble::default() }
}

/// What would be right when something was not found.
fn way_out(message: &str, model: &str) -> String {
    let message = message.to_lowercase();
    // Only Ollama speaks of pulling a model.
    if message.contains("pulling it") {
        return format!("`ollama pull {model}` fetches it");
    }
    match message.contains("model") {
        true => format!("`{model}` in OLLIM_MODEL must be a model that this server has"),
        false => "check OPENAI_BASE_URL; it usually ends in /v1".to_owned(),
    }
}
