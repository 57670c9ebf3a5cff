//! The request shape that a server accepts for one model, learned from its refusals.
//!
//! Servers with the OpenAI APIs differ in the API itself, the name of the output limit, the
//! reasoning efforts, and the fields that they require in a tool loop. The list is open-ended, so
//! the client starts with the usual shape and changes one part for each refusal that names it. An
//! accepted shape is stored until the process ends; learning it again costs one refused request.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::context::Context;
use domain::conversation::{Block, EntryContent};
use domain::effort::Effort;

use super::refusal::{RequestError, is_about_tools};
use super::request::ToolSupport;
use crate::vendor_client::Refusal;

/// Reasoning efforts with the vendors' names, lowest first.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The API in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `POST /chat/completions`.
    ChatCompletions,
    /// `POST /responses`, without stored state.
    Responses,
}

/// The name of the output limit in chat completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitField {
    /// `max_tokens`: accepted by every server except newer ones of OpenAI and Azure.
    MaxTokens,
    /// `max_completion_tokens`: includes the reasoning.
    MaxCompletionTokens,
}

/// The form of system notes in the middle of a conversation in chat completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteStyle {
    /// As messages of the role `system`.
    System,
    /// As user text in brackets: the templates of many local models allow no system message there.
    User,
}

/// The rule for the reasoning effort that is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffortRule {
    /// The requested one.
    AsRequested,
    /// The requested one if it is above low, because unknown servers may refuse the field.
    WhenRaised,
    /// The nearest of these.
    Nearest(Vec<&'static str>),
    /// Always `none`: tools are refused otherwise.
    AlwaysNone,
    /// No effort field.
    Omitted,
}

impl EffortRule {
    /// Returns the effort to send for `requested`.
    pub fn value(&self, requested: Effort) -> Option<&'static str> {
        let requested = requested.as_str();
        match self {
            Self::AsRequested => Some(requested),
            Self::WhenRaised => (requested != Effort::Low.as_str()).then_some(requested),
            Self::AlwaysNone => Some("none"),
            Self::Omitted => None,
            Self::Nearest(values) => {
                let rank = |value: &str| EFFORTS.iter().position(|effort| *effort == value);
                let below = values.iter().filter(|value| rank(value) <= rank(requested));
                below
                    .max_by_key(|value| rank(value))
                    .or_else(|| values.iter().min_by_key(|value| rank(value)))
                    .copied()
            }
        }
    }

    /// Returns the rule after a server refused the effort `sent` with `message`.
    fn after_refusal(&self, sent: Option<&str>, message: &str) -> Option<Self> {
        let sent = sent?;
        let listed: Vec<_> = EFFORTS.into_iter().filter(|effort| is_listed(message, effort)).collect();
        let supported: Vec<_> = listed.into_iter().filter(|effort| *effort != sent).collect();
        let next = match supported.is_empty() {
            false => Self::Nearest(supported),
            true if matches!(sent, "xhigh" | "max") => Self::Nearest(vec!["low", "medium", "high"]),
            true => Self::Omitted,
        };
        (next != *self).then_some(next)
    }
}

/// Returns whether `message` names `effort` in quotation marks, as lists of supported values do.
fn is_listed(message: &str, effort: &str) -> bool {
    ["'", "\"", "`"].iter().any(|mark| message.contains(&format!("{mark}{effort}{mark}")))
}

/// The reasoning fields of earlier chat completions that are sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningReplay {
    /// The fields that this server and model wrote.
    Own,
    /// These, and an empty `reasoning_content` where there is none: DeepSeek requires the field in
    /// every message.
    OrEmpty,
    /// None: the server refuses the fields.
    Withheld,
}

/// The request shape that a server accepts for one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pub api: Api,
    /// True if the server has no Responses API.
    pub lacks_responses: bool,
    pub tools: ToolSupport,
    pub limit: LimitField,
    pub effort: EffortRule,
    pub notes: NoteStyle,
    pub reasoning: ReasoningReplay,
    /// True if tool calls without a thought signature get the placeholder that Gemini accepts.
    pub placeholder_signatures: bool,
    /// Responses API: whether a summary of the reasoning is requested.
    pub summary: bool,
    /// Responses API: whether encrypted reasoning is requested and sent back.
    pub encrypted: bool,
    /// Responses API: reasoning items that the server could not decrypt.
    pub unreadable: Arc<BTreeSet<String>>,
}

impl Profile {
    /// Returns the initial shape for `host`.
    pub fn for_host(host: &str) -> Self {
        let is_openai = host == OPENAI_HOST || host.ends_with(".api.openai.com");
        let takes_effort = is_openai || [GEMINI_HOST, OPENROUTER_HOST].contains(&host);
        Self {
            api: if is_openai { Api::Responses } else { Api::ChatCompletions },
            lacks_responses: false,
            tools: ToolSupport::Offered,
            limit: if is_openai { LimitField::MaxCompletionTokens } else { LimitField::MaxTokens },
            effort: if takes_effort { EffortRule::AsRequested } else { EffortRule::WhenRaised },
            notes: NoteStyle::System,
            reasoning: ReasoningReplay::Own,
            placeholder_signatures: host == GEMINI_HOST,
            summary: true,
            encrypted: true,
            unreadable: Arc::default(),
        }
    }

    /// Returns the shape to try after `refusal` of a request for `context`, or none if it names
    /// nothing to change.
    pub fn corrected_after(&self, refusal: &Refusal, context: &Context) -> Option<Self> {
        let error = RequestError::from_refusal(refusal);
        match self.api {
            Api::ChatCompletions => self.corrected_chat(refusal, &error, context),
            Api::Responses => self.corrected_responses(refusal, &error, context),
        }
    }

    fn corrected_chat(&self, refusal: &Refusal, error: &RequestError, context: &Context) -> Option<Self> {
        if !error.is_correctable() {
            return None;
        }
        let mut next = self.clone();
        if error.requires_responses_api() {
            if self.lacks_responses {
                next.effort = EffortRule::AlwaysNone
            } else {
                next.api = Api::Responses;
                next.effort = EffortRule::AsRequested;
            }
        } else if error.mentions("max_tokens") && error.mentions("max_completion_tokens") {
            next.limit = LimitField::MaxCompletionTokens;
        } else if error.mentions("max_completion_tokens") {
            next.limit = LimitField::MaxTokens;
        } else if error.is_about_effort() {
            next.effort = self.effort.after_refusal(self.effort.value(context.effort), error.text())?;
        } else if error.mentions("thought_signature") {
            next.placeholder_signatures = true;
        } else if error.is_missing_reasoning() {
            next.reasoning = ReasoningReplay::OrEmpty;
        } else if error.names_reasoning_field() {
            next.reasoning = ReasoningReplay::Withheld;
        } else if !context.notes.is_empty() && error.is_about_roles() {
            next.notes = NoteStyle::User;
        } else if !context.tools.is_empty() && is_about_tools(refusal) {
            next.tools = ToolSupport::Unsupported;
        }
        (next != *self).then_some(next)
    }

    fn corrected_responses(
        &self,
        refusal: &Refusal,
        error: &RequestError,
        context: &Context,
    ) -> Option<Self> {
        let mut next = self.clone();
        if error.is_missing_api() || error.mentions("v1/chat/completions") {
            next.api = Api::ChatCompletions;
            next.lacks_responses = true;
            return (!self.lacks_responses).then_some(next);
        }
        if !error.is_correctable() {
            return None;
        }
        if error.is_about_unreadable_reasoning() {
            let mut unreadable = BTreeSet::clone(&self.unreadable);
            unreadable.extend(opaque_parts(context).map(str::to_owned));
            next.unreadable = Arc::new(unreadable);
        } else if error.mentions("encrypted") {
            next.encrypted = false;
        } else if error.mentions("reasoning.summary") || error.mentions("reasoning summar") {
            next.summary = false;
        } else if error.is_about_effort() {
            next.effort = self.effort.after_refusal(self.effort.value(context.effort), error.text())?;
        } else if !context.tools.is_empty() && is_about_tools(refusal) {
            next.tools = ToolSupport::Unsupported;
        }
        (next != *self).then_some(next)
    }
}

/// The host of OpenAI's own API.
pub const OPENAI_HOST: &str = "api.openai.com";

/// The host of Gemini's API.
const GEMINI_HOST: &str = "generativelanguage.googleapis.com";

/// The host of OpenRouter's API.
const OPENROUTER_HOST: &str = "openrouter.ai";

/// Returns the JSON of every opaque part in `context`.
fn opaque_parts(context: &Context) -> impl Iterator<Item = &str> {
    let replies = context.entries.iter().filter_map(|said| match said.as_ref() {
        EntryContent::Assistant(blocks, _) => Some(blocks),
        EntryContent::User(_)
        | EntryContent::Tools(_)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => None,
    });
    replies.flatten().filter_map(|block| match block {
        Block::Opaque(opaque) => Some(opaque.json.0.as_str()),
        Block::Text(_) | Block::Call(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_shape_depends_on_the_host() {
        let openai = Profile::for_host("api.openai.com");
        let first = (openai.api, openai.limit, openai.effort);
        assert_eq!(first, (Api::Responses, LimitField::MaxCompletionTokens, EffortRule::AsRequested));
        assert_eq!(Profile::for_host("eu.api.openai.com").api, Api::Responses);
        for host in ["127.0.0.1", "api.deepseek.com", "openrouter.ai", "fake-api.openai.com.example"] {
            let profile = Profile::for_host(host);
            assert_eq!((profile.api, profile.limit), (Api::ChatCompletions, LimitField::MaxTokens), "{host}");
        }
        let gemini = Profile::for_host("generativelanguage.googleapis.com");
        assert!(gemini.placeholder_signatures && gemini.effort == EffortRule::AsRequested);
    }

    #[test]
    fn the_nearest_supported_effort_is_sent() {
        let among = |values: &[&'static str]| EffortRule::Nearest(values.to_vec());
        assert_eq!(EffortRule::AsRequested.value(Effort::Max), Some("max"));
        assert_eq!(among(&["none", "low", "high"]).value(Effort::Medium), Some("low"));
        assert_eq!(among(&["medium", "high"]).value(Effort::Low), Some("medium"));
        assert_eq!(among(&["low", "medium", "high"]).value(Effort::Xhigh), Some("high"));
        assert_eq!(EffortRule::AlwaysNone.value(Effort::High), Some("none"));
        assert_eq!(EffortRule::Omitted.value(Effort::High), None);
    }

    #[test]
    fn supported_efforts_are_read_from_the_refusal() {
        let text = "Unsupported value: 'none' is not supported with the 'gpt-6-astra' model. Supported values are: \
            'low', 'medium', 'high', 'xhigh', and 'max'.";
        let learned = EffortRule::AlwaysNone.after_refusal(Some("none"), text);
        assert_eq!(learned, Some(EffortRule::Nearest(vec!["low", "medium", "high", "xhigh", "max"])));
        let unknown = EffortRule::AsRequested
            .after_refusal(Some("low"), "Unrecognized request argument: reasoning_effort");
        assert_eq!(unknown, Some(EffortRule::Omitted));
        let too_high =
            EffortRule::AsRequested.after_refusal(Some("max"), "reasoning_effort: unexpected value");
        assert_eq!(too_high, Some(EffortRule::Nearest(vec!["low", "medium", "high"])));
    }
}
