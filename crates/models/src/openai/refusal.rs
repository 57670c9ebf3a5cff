//! Maps the error responses and error events of a server to failures with advice for the user.

use domain::failure::{Failure, SpendLimit};

use super::VENDOR;
use super::protocol::{ErrorBody, ErrorInfo};
use crate::vendor_client::{Refusal, is_about_key};

/// The request that was refused.
#[derive(Clone, Copy, Debug)]
pub struct RefusedRequest<'a> {
    /// The requested model.
    pub model: &'a str,
    /// States whether a key was sent.
    pub key: SentKey,
}

/// States whether a key was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentKey {
    Present,
    Absent,
}

/// Returns the failure that `refusal` means.
pub fn failure(refusal: &Refusal, request: RefusedRequest<'_>) -> Failure {
    let error = parse_error(&refusal.body).unwrap_or_else(|| plain_error(refusal));
    let message = format!("{}: {}", refusal.status, error.message);
    let bad_key = || match request.key {
        SentKey::Present => Failure::BadKey(format!("{}, {message}", VENDOR.key_variable)),
        SentKey::Absent => Failure::BadKey(format!("{} is not set, {message}", VENDOR.key_variable)),
    };
    match refusal.status {
        _ if error.is_about_money() => Failure::SpendLimit(SpendLimit::Account(message)),
        413 => Failure::ContextFull(message),
        400 | 422 | 500 if error.is_about_length() => Failure::ContextFull(message),
        401 => bad_key(),
        403 if error.is_about_account() && !error.is_about_model() => bad_key(),
        402 => Failure::SpendLimit(SpendLimit::Account(message)),
        429 if refusal.is_about_money(&error.message) => Failure::SpendLimit(SpendLimit::Account(message)),
        429 | 503 | 529 => Failure::Overloaded(refusal.retry_seconds()),
        400 | 403 | 404 | 410 if error.is_about_model() => Failure::Rejected(format!(
            "{}. {}",
            message.trim_end_matches('.'),
            not_found_advice(&error.message, request.model)
        )),
        404 => Failure::Rejected(format!("{message}. {}", not_found_advice(&error.message, request.model))),
        300..=399 => Failure::Unreachable(format!("{}: the address points elsewhere", refusal.status)),
        500.. => Failure::VendorError(message),
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
    let error = RequestError::from_refusal(refusal);
    let tools = ["tools", "tool use", "tool choice", "tool call", "function call"];
    let unsupported =
        ["support", "require", "not enabled", "not implemented", "not available", "unknown", "unrecog"];
    // These refusals are about one tool, message or field, so the model can call tools.
    let unrelated = [
        "reasoning_effort",
        "reasoning.effort",
        "v1/responses",
        "schema",
        "parallel",
        "messages[",
        "messages.",
        "tool message",
    ];
    let mentions = |words: &[&str]| words.iter().any(|word| error.mentions(word));
    match refusal.status {
        501 => true,
        400 | 404 | 405 | 422 | 500 => {
            mentions(&tools)
                && mentions(&unsupported)
                && !mentions(&unrelated)
                && !names_one_tool(&error.text)
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
pub struct RequestError {
    status: u16,
    /// The message in lower case.
    text: String,
    /// The field that the error is about, if it names one.
    param: String,
    code: String,
}

impl RequestError {
    /// Parses the error in `refusal`.
    pub fn from_refusal(refusal: &Refusal) -> Self {
        let trouble = parse_error(&refusal.body).unwrap_or_else(|| plain_error(refusal));
        Self {
            status: refusal.status,
            text: trouble.message.to_lowercase(),
            param: trouble.param.as_str().unwrap_or_default().to_lowercase(),
            code: trouble.code_text().unwrap_or_default().to_owned(),
        }
    }

    /// Returns the message in lower case.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the message contains `phrase`, which must be in lower case.
    pub fn mentions(&self, phrase: &str) -> bool {
        self.text.contains(phrase)
    }

    /// Returns whether a changed request could be accepted. llama.cpp refuses invalid requests with
    /// 500.
    pub fn is_correctable(&self) -> bool {
        matches!(self.status, 400 | 404 | 405 | 422 | 500 | 501)
    }

    /// Returns whether it is OpenAI's refusal of tools with reasoning in chat completions, which
    /// the Responses API allows.
    pub fn requires_responses_api(&self) -> bool {
        let tools_and_effort = self.param == "reasoning_effort" && self.mentions("tools");
        self.mentions("v1/responses") || self.mentions("responses api") || tools_and_effort
    }

    /// Returns whether the address has no API. A missing model or item is also reported as 404.
    pub fn is_missing_api(&self) -> bool {
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
    pub fn is_missing_reasoning(&self) -> bool {
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
    let error = ErrorInfo::parse(json).unwrap_or_default();
    let kind = error.kind.as_str();
    match (error.code_number(), error.code_text(), kind) {
        _ if error.is_about_money() => Failure::SpendLimit(SpendLimit::Account(error.message)),
        _ if error.is_about_length() => Failure::ContextFull(error.message),
        (Some(402), ..) => Failure::SpendLimit(SpendLimit::Account(error.message)),
        (Some(429 | 503 | 529), ..) | (_, Some("rate_limit_exceeded"), _) => Failure::Overloaded(None),
        (.., "rate_limit_error" | "overloaded_error" | "unavailable_error") => Failure::Overloaded(None),
        (Some(413), ..) => Failure::ContextFull(error.message),
        (Some(401), ..) | (_, Some("invalid_api_key"), _) | (.., "authentication_error") => {
            Failure::BadKey(format!("{}, {}", VENDOR.key_variable, error.message))
        }
        (Some(403), ..) if error.is_about_account() => {
            Failure::BadKey(format!("{}, {}", VENDOR.key_variable, error.message))
        }
        (Some(400..=499), ..) | (.., "invalid_request_error" | "BadRequestError") => {
            Failure::Rejected(error.message)
        }
        // Error codes of a failed response that concern the prompt or one of its images.
        (_, Some(code), _)
            if code.starts_with("invalid_") || code.contains("image") || code.ends_with("_policy") =>
        {
            Failure::Rejected(error.message)
        }
        (_, Some("misalignment_policy_violation" | "data_residency_mismatch"), _) => {
            Failure::Rejected(error.message)
        }
        _ => Failure::VendorError(error.message),
    }
}

impl ErrorInfo {
    /// Parses an error object, or a plain string as its message.
    fn parse(json: &str) -> Option<Self> {
        let plain = |message| Self { message, ..Self::default() };
        serde_json::from_str(json).ok().or_else(|| serde_json::from_str(json).ok().map(plain))
    }

    fn code_text(&self) -> Option<&str> {
        self.code.as_str()
    }

    fn code_number(&self) -> Option<u64> {
        self.code.as_u64().or_else(|| self.code_text()?.parse().ok())
    }

    /// Returns whether the conversation exceeds the context window: OpenAI has a code for it, vLLM
    /// and OpenRouter mention the maximum context length, llama.cpp the context size.
    fn is_about_length(&self) -> bool {
        let text = self.message.to_lowercase();
        let full = |word: &str| {
            matches!(word, "context_length_exceeded" | "exceed_context_size_error" | "request_too_large")
        };
        full(&self.kind)
            || self.code_text().is_some_and(full)
            || text.contains("maximum context length")
            || text.contains("exceeds the available context size")
    }

    /// Returns whether it is about the key or account. A 403 can also mean forbidden content, which
    /// no other key would change.
    fn is_about_account(&self) -> bool {
        is_about_key(&self.kind) || is_about_key(&self.message) || self.code_text().is_some_and(is_about_key)
    }

    /// Returns whether the model is missing, shut down or not open to this account.
    fn is_about_model(&self) -> bool {
        self.code_text() == Some("model_not_found") || self.kind == "model_not_found"
    }

    fn is_about_money(&self) -> bool {
        let spent = |word: &str| {
            matches!(word, "insufficient_quota" | "billing_hard_limit_reached" | "billing_not_active")
        };
        spent(&self.kind) || self.code_text().is_some_and(spent)
    }
}

/// Parses the error in `body`, nested in an object or flat.
fn parse_error(body: &[u8]) -> Option<ErrorInfo> {
    let text = std::str::from_utf8(body).ok()?;
    match serde_json::from_str::<ErrorBody<'_>>(text) {
        Ok(problem) => ErrorInfo::parse(problem.error.get()),
        Err(_) => serde_json::from_str::<ErrorInfo>(text).ok().filter(|trouble| !trouble.message.is_empty()),
    }
}

/// Returns the error message in `refusal`.
pub fn message(refusal: &Refusal) -> String {
    parse_error(&refusal.body).unwrap_or_else(|| plain_error(refusal)).message
}

fn plain_error(refusal: &Refusal) -> ErrorInfo {
    ErrorInfo { message: refusal.text(), ..ErrorInfo::default() }
}

/// Returns advice for a model or page that was not found.
fn not_found_advice(message: &str, model: &str) -> String {
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
