//! Maps the error responses and error events of a server to failures with advice for the user.

use domain::failure::{Failure, SpendLimit};

use super::VENDOR;
use super::wire::{Problem, Trouble};
use crate::line::{Refusal, is_about_key};

/// The request that was refused.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The requested model.
    pub model: &'a str,
    /// States whether a key was sent.
    pub key: Sent,
}

/// States whether a key was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    Key,
    Nothing,
}

/// Returns the failure that `refusal` means.
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
        403 if trouble.is_about_who_asks() && !trouble.is_about_model() => bad_key(),
        402 => Failure::SpendLimit(SpendLimit::Account(message)),
        429 if refusal.is_about_money(&trouble.message) => Failure::SpendLimit(SpendLimit::Account(message)),
        429 | 503 | 529 => Failure::Busy(refusal.seconds()),
        400 | 403 | 404 | 410 if trouble.is_about_model() => Failure::Rejected(format!(
            "{}. {}",
            message.trim_end_matches('.'),
            way_out(&trouble.message, asked.model)
        )),
        404 => Failure::Rejected(format!("{message}. {}", way_out(&trouble.message, asked.model))),
        300..=399 => Failure::Unreachable(format!("{}: the address points elsewhere", refusal.status)),
        500.. => Failure::Broken(message),
        _ => Failure::Rejected(message),
    }
}

/// Returns whether a server refuses because it, or its model, cannot call tools.
///
/// Ollama: the model does not support tools (400). llama.cpp: the parameter is unsupported or
/// requires a flag (500). vLLM: tool choice requires a flag (400). OpenRouter: no endpoint supports
/// tool use (404). A refusal of one tool, of its schema or of a message with tool calls is about
/// the request. OpenAI's refusal of tools together with reasoning is about the reasoning: its
/// models can call tools.
pub fn is_about_tools(refusal: &Refusal) -> bool {
    let complaint = Complaint::of(refusal);
    let tools = ["tools", "tool use", "tool choice", "tool call", "function call"];
    let cannot =
        ["support", "require", "not enabled", "not implemented", "not available", "unknown", "unrecog"];
    // These refusals are about one tool, message or field, so the model can call tools.
    let elsewhere = [
        "reasoning_effort",
        "reasoning.effort",
        "v1/responses",
        "schema",
        "parallel",
        "messages[",
        "messages.",
        "tool message",
    ];
    let mentions = |words: &[&str]| words.iter().any(|word| complaint.mentions(word));
    match refusal.status {
        501 => true,
        400 | 404 | 405 | 422 | 500 => {
            mentions(&tools) && mentions(&cannot) && !mentions(&elsewhere) && !names_one_tool(&complaint.text)
        }
        _ => false,
    }
}

/// Returns whether `text` is about one of the tools, such as `tools[0]` or `tools.0`.
fn names_one_tool(text: &str) -> bool {
    let mut rests = text.match_indices("tools").map(|(at, found)| &text[at + found.len()..]);
    rests.any(|rest| {
        rest.starts_with('[') || rest.starts_with('.') && rest[1..].starts_with(|c: char| c.is_ascii_digit())
    })
}

/// The error in a refusal, as far as it identifies the part of the request to change.
#[derive(Clone, Debug)]
pub struct Complaint {
    status: u16,
    /// The message in lower case.
    text: String,
    /// The field that the error is about, if it names one.
    param: String,
    code: String,
}

impl Complaint {
    /// Parses the error in `refusal`.
    pub fn of(refusal: &Refusal) -> Self {
        let trouble = trouble(&refusal.body).unwrap_or_else(|| plain(refusal));
        Self {
            status: refusal.status,
            text: trouble.message.to_lowercase(),
            param: trouble.param.as_str().unwrap_or_default().to_lowercase(),
            code: trouble.word().unwrap_or_default().to_owned(),
        }
    }

    /// Returns the message in lower case.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the message contains `phrase`, which must be in lower case.
    pub fn mentions(&self, words: &str) -> bool {
        self.text.contains(words)
    }

    /// Returns whether a changed request could be accepted. llama.cpp refuses invalid requests with
    /// 500.
    pub fn is_about_the_request(&self) -> bool {
        matches!(self.status, 400 | 404 | 405 | 422 | 500 | 501)
    }

    /// Returns whether it is OpenAI's refusal of tools with reasoning in chat completions, which
    /// the Responses API allows.
    pub fn wants_responses(&self) -> bool {
        let tools_and_effort = self.param == "reasoning_effort" && self.mentions("tools");
        self.mentions("v1/responses") || self.mentions("responses api") || tools_and_effort
    }

    /// Returns whether the address has no API. A missing model or item is also reported as 404.
    pub fn is_missing_page(&self) -> bool {
        let is_page = !self.mentions("model") && !self.mentions("item");
        matches!(self.status, 404 | 405 | 501) && self.code != "model_not_found" && is_page
    }

    /// Returns whether it is about the reasoning effort. Ollama reports that a model does not
    /// support thinking.
    pub fn is_about_effort(&self) -> bool {
        let words = ["reasoning_effort", "reasoning.effort", "reasoning effort", "does not support thinking"];
        ["reasoning_effort", "reasoning.effort"].contains(&self.param.as_str())
            || words.iter().any(|words| self.mentions(words))
    }

    /// Returns whether it is about a field for reasoning in chat completions.
    pub fn names_reasoning_field(&self) -> bool {
        let fields =
            ["reasoning_content", "reasoning_details", "extra_content", "'reasoning'", "\"reasoning\""];
        fields.iter().any(|field| self.mentions(field) || self.param.contains(field))
    }

    /// Returns whether a message lacks its reasoning. DeepSeek has two texts for it.
    pub fn misses_reasoning(&self) -> bool {
        self.mentions("reasoning_content") && (self.mentions("passed back") || self.mentions("missing"))
    }

    /// Returns whether the Responses API cannot read reasoning that was sent back: it cannot
    /// decrypt it, or it looks for an item that was not stored.
    pub fn is_about_unreadable_reasoning(&self) -> bool {
        self.code == "invalid_encrypted_content"
            || self.mentions("could not be verified")
            || self.mentions("items are not persisted")
    }

    /// Returns whether it is about the order of roles. Templates allow one system message, at the
    /// beginning.
    pub fn is_about_roles(&self) -> bool {
        self.mentions("system") || self.mentions("alternate")
    }
}

/// Returns the failure for an error inside a stream or a successful response.
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
        // Error codes of a failed response that concern the prompt or one of its images.
        (_, Some(code), _)
            if code.starts_with("invalid_") || code.contains("image") || code.ends_with("_policy") =>
        {
            Failure::Rejected(trouble.message)
        }
        (_, Some("misalignment_policy_violation" | "data_residency_mismatch"), _) => {
            Failure::Rejected(trouble.message)
        }
        _ => Failure::Broken(trouble.message),
    }
}

impl Trouble {
    /// Parses an error object, or a plain string as its message.
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

    /// Returns whether the conversation exceeds the context window: OpenAI has a code for it, vLLM
    /// and OpenRouter mention the maximum context length, llama.cpp the context size.
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

    /// Returns whether it is about the key or account. A 403 can also mean forbidden content, which
    /// no other key would change.
    fn is_about_who_asks(&self) -> bool {
        is_about_key(&self.kind) || is_about_key(&self.message) || self.word().is_some_and(is_about_key)
    }

    /// Returns whether the model is missing, shut down or not open to this account.
    fn is_about_model(&self) -> bool {
        self.word() == Some("model_not_found") || self.kind == "model_not_found"
    }

    fn is_about_money(&self) -> bool {
        let spent = |word: &str| {
            matches!(word, "insufficient_quota" | "billing_hard_limit_reached" | "billing_not_active")
        };
        spent(&self.kind) || self.word().is_some_and(spent)
    }
}

/// Parses the error in `body`, nested in an object or flat.
fn trouble(body: &[u8]) -> Option<Trouble> {
    let text = std::str::from_utf8(body).ok()?;
    match serde_json::from_str::<Problem<'_>>(text) {
        Ok(problem) => Trouble::read(problem.error.get()),
        Err(_) => serde_json::from_str::<Trouble>(text).ok().filter(|trouble| !trouble.message.is_empty()),
    }
}

/// Returns the error message in `refusal`.
pub fn message(refusal: &Refusal) -> String {
    trouble(&refusal.body).unwrap_or_else(|| plain(refusal)).message
}

fn plain(refusal: &Refusal) -> Trouble {
    Trouble { message: refusal.text(), ..Trouble::default() }
}

/// Returns advice for a model or page that was not found.
fn way_out(message: &str, model: &str) -> String {
    let message = message.to_lowercase();
    let mentions = |words: &[&str]| words.iter().any(|word| message.contains(word));
    // Only Ollama suggests pulling a model.
    if mentions(&["pulling it"]) {
        return format!("`ollama pull {model}` fetches it");
    }
    if mentions(&["deprecated", "shut down", "shutdown", "retired", "no longer available", "sunset"]) {
        return format!("`{model}` is no longer offered. Choose another model: ollim-bot setup model");
    }
    if mentions(&["does not have access to model", "must be verified", "not allowed to"]) {
        return format!(
            "The key's project may not use `{model}`. Allow it in the vendor's settings, or choose another model: \
             ollim-bot setup model"
        );
    }
    if message.contains("model") {
        format!("`{model}` in OLLIM_MODEL must be a model that this server has")
    } else {
        "check OPENAI_BASE_URL; it usually ends in /v1".to_owned()
    }
}
