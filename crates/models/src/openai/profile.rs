//! The request shape that a server accepts for one model, learned from its refusals.
//!
//! Servers with the OpenAI APIs differ in the API itself, the name of the output limit, the
//! reasoning efforts, and the fields that they require in a tool loop. The list is open-ended, so
//! the client starts with the usual shape and changes one part for each refusal that names it. An
//! accepted shape is stored until the process ends; learning it again costs one refused request.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::context::Context;
use domain::conversation::{Block, Said};
use domain::effort::Effort;

use super::refusal::{Complaint, is_about_tools};
use super::request::Tools;
use crate::line::Refusal;

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
    AsAsked,
    /// The requested one if it is above low, because unknown servers may refuse the field.
    WhenRaised,
    /// The nearest of these.
    Among(Vec<&'static str>),
    /// Always `none`: tools are refused otherwise.
    AlwaysNone,
    /// No effort field.
    Omitted,
}

impl EffortRule {
    /// Returns the effort to send for `requested`.
    pub fn value(&self, asked: Effort) -> Option<&'static str> {
        let asked = asked.as_str();
        match self {
            Self::AsAsked => Some(asked),
            Self::WhenRaised => (asked != Effort::Low.as_str()).then_some(asked),
            Self::AlwaysNone => Some("none"),
            Self::Omitted => None,
            Self::Among(values) => {
                let rank = |value: &str| EFFORTS.iter().position(|effort| *effort == value);
                let below = values.iter().filter(|value| rank(value) <= rank(asked));
                below
                    .max_by_key(|value| rank(value))
                    .or_else(|| values.iter().min_by_key(|value| rank(value)))
                    .copied()
            }
        }
    }

    /// Returns the rule after a server refused the effort `sent` with `message`.
    fn refused(&self, sent: Option<&str>, message: &str) -> Option<Self> {
        let sent = sent?;
        let listed: Vec<_> = EFFORTS.into_iter().filter(|effort| is_listed(message, effort)).collect();
        let supported: Vec<_> = listed.into_iter().filter(|effort| *effort != sent).collect();
        let next = match supported.is_empty() {
            false => Self::Among(supported),
            true if matches!(sent, "xhigh" | "max") => Self::Among(vec!["low", "medium", "high"]),
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
    pub tools: Tools,
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
        let is_openai = host == OPENAI || host.ends_with(".api.openai.com");
        let takes_effort = is_openai || [GEMINI, OPENROUTER].contains(&host);
        Self {
            api: if is_openai { Api::Responses } else { Api::ChatCompletions },
            lacks_responses: false,
            tools: Tools::Offered,
            limit: if is_openai { LimitField::MaxCompletionTokens } else { LimitField::MaxTokens },
            effort: if takes_effort { EffortRule::AsAsked } else { EffortRule::WhenRaised },
            notes: NoteStyle::System,
            reasoning: ReasoningReplay::Own,
            placeholder_signatures: host == GEMINI,
            summary: true,
            encrypted: true,
            unreadable: Arc::default(),
        }
    }

    /// Returns the shape to try after `refusal` of a request for `context`, or none if it names
    /// nothing to change.
    pub fn after(&self, refusal: &Refusal, context: &Context) -> Option<Self> {
        let complaint = Complaint::of(refusal);
        match self.api {
            Api::ChatCompletions => self.after_chat(refusal, &complaint, context),
            Api::Responses => self.after_responses(refusal, &complaint, context),
        }
    }

    fn after_chat(&self, refusal: &Refusal, complaint: &Complaint, context: &Context) -> Option<Self> {
        if !complaint.is_about_the_request() {
            return None;
        }
        let mut next = self.clone();
        if complaint.wants_responses() {
            if self.lacks_responses {
                next.effort = EffortRule::AlwaysNone
            } else {
                next.api = Api::Responses;
                next.effort = EffortRule::AsAsked;
            }
        } else if complaint.mentions("max_tokens") && complaint.mentions("max_completion_tokens") {
            next.limit = LimitField::MaxCompletionTokens;
        } else if complaint.mentions("max_completion_tokens") {
            next.limit = LimitField::MaxTokens;
        } else if complaint.is_about_effort() {
            next.effort = self.effort.refused(self.effort.value(context.effort), complaint.text())?;
        } else if complaint.mentions("thought_signature") {
            next.placeholder_signatures = true;
        } else if complaint.misses_reasoning() {
            next.reasoning = ReasoningReplay::OrEmpty;
        } else if complaint.names_reasoning_field() {
            next.reasoning = ReasoningReplay::Withheld;
        } else if !context.notes.is_empty() && complaint.is_about_roles() {
            next.notes = NoteStyle::User;
        } else if !context.tools.is_empty() && is_about_tools(refusal) {
            next.tools = Tools::Unknown;
        }
        (next != *self).then_some(next)
    }

    fn after_responses(&self, refusal: &Refusal, complaint: &Complaint, context: &Context) -> Option<Self> {
        let mut next = self.clone();
        if complaint.is_missing_page() || complaint.mentions("v1/chat/completions") {
            next.api = Api::ChatCompletions;
            next.lacks_responses = true;
            return (!self.lacks_responses).then_some(next);
        }
        if !complaint.is_about_the_request() {
            return None;
        }
        if complaint.is_about_unreadable_reasoning() {
            let mut unreadable = BTreeSet::clone(&self.unreadable);
            unreadable.extend(opaque_parts(context).map(str::to_owned));
            next.unreadable = Arc::new(unreadable);
        } else if complaint.mentions("encrypted") {
            next.encrypted = false;
        } else if complaint.mentions("reasoning.summary") || complaint.mentions("reasoning summar") {
            next.summary = false;
        } else if complaint.is_about_effort() {
            next.effort = self.effort.refused(self.effort.value(context.effort), complaint.text())?;
        } else if !context.tools.is_empty() && is_about_tools(refusal) {
            next.tools = Tools::Unknown;
        }
        (next != *self).then_some(next)
    }
}

/// The host of OpenAI's own API.
pub const OPENAI: &str = "api.openai.com";

/// The host of Gemini's API.
const GEMINI: &str = "generativelanguage.googleapis.com";

/// The host of OpenRouter's API.
const OPENROUTER: &str = "openrouter.ai";

/// Returns the JSON of every opaque part in `context`.
fn opaque_parts(context: &Context) -> impl Iterator<Item = &str> {
    let replies = context.said.iter().filter_map(|said| match said.as_ref() {
        Said::Assistant(blocks, _) => Some(blocks),
        Said::Human(_) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => None,
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
    fn the_shape_to_begin_with_depends_on_the_host() {
        let openai = Profile::for_host("api.openai.com");
        let first = (openai.api, openai.limit, openai.effort);
        assert_eq!(first, (Api::Responses, LimitField::MaxCompletionTokens, EffortRule::AsAsked));
        assert_eq!(Profile::for_host("eu.api.openai.com").api, Api::Responses);
        for host in ["127.0.0.1", "api.deepseek.com", "openrouter.ai", "fake-api.openai.com.example"] {
            let profile = Profile::for_host(host);
            assert_eq!((profile.api, profile.limit), (Api::ChatCompletions, LimitField::MaxTokens), "{host}");
        }
        let gemini = Profile::for_host("generativelanguage.googleapis.com");
        assert!(gemini.placeholder_signatures && gemini.effort == EffortRule::AsAsked);
    }

    #[test]
    fn the_nearest_supported_effort_is_sent() {
        let among = |values: &[&'static str]| EffortRule::Among(values.to_vec());
        assert_eq!(EffortRule::AsAsked.value(Effort::Max), Some("max"));
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
        let learned = EffortRule::AlwaysNone.refused(Some("none"), text);
        assert_eq!(learned, Some(EffortRule::Among(vec!["low", "medium", "high", "xhigh", "max"])));
        let unknown =
            EffortRule::AsAsked.refused(Some("low"), "Unrecognized request argument: reasoning_effort");
        assert_eq!(unknown, Some(EffortRule::Omitted));
        let too_high = EffortRule::AsAsked.refused(Some("max"), "reasoning_effort: unexpected value");
        assert_eq!(too_high, Some(EffortRule::Among(vec!["low", "medium", "high"])));
    }
}
