//! Corrections of refused requests, read from the text of the refusal.
//!
//! The vendor phrases the same refusal in several ways and other hosts in many more, so this looks
//! for the names of fields and values, never for whole sentences.

use domain::effort::Effort;

use super::capabilities::{BINDING_BETA, Feature, PROGRESS_BETA};
use super::protocol::ThinkingMode;

/// The fields of a refused request that a correction could change.
#[derive(Clone, Copy, Debug)]
pub struct SentFields {
    pub thinking: Option<ThinkingMode>,
    pub effort: Option<Effort>,
    pub system_messages: bool,
    pub hour_cache: bool,
}

/// A change after which the same request may be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correction {
    /// The request uses a feature that this model or host does not have.
    OmitFeature(Feature),
    /// The reply may be at most this long.
    LimitOutput(u32),
    /// A thinking block in the history belongs to another conversation.
    StripThinking,
}

/// Returns the correction that a refusal of the request with this `message` asks for.
pub fn correction(message: &str, sent: SentFields) -> Option<Correction> {
    let text = message.to_lowercase();
    if is_about_signature(&text) {
        return Some(Correction::StripThinking);
    }
    if let Some(most) = max_output(&text) {
        return Some(Correction::LimitOutput(most));
    }
    refused_feature(&text, sent).map(Correction::OmitFeature)
}

fn is_about_signature(text: &str) -> bool {
    text.contains("bound to a different conversation")
        || text.contains("invalid `signature` in `thinking`")
        || (text.contains("thinking") && text.contains("cannot be modified"))
}

/// Reads the limit from `max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens…`.
fn max_output(text: &str) -> Option<u32> {
    let (_, limit) = text.strip_prefix("max_tokens: ")?.split_once(" > ")?;
    let digits: String = limit.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|most| *most > 0)
}

fn refused_feature(text: &str, sent: SentFields) -> Option<Feature> {
    let shows_progress = matches!(sent.thinking, Some(ThinkingMode::Adaptive { display: Some(_), .. }));
    let binds = match sent.thinking {
        Some(ThinkingMode::Adaptive { block_binding, .. } | ThinkingMode::Enabled { block_binding, .. }) => {
            block_binding.is_some()
        }
        Some(ThinkingMode::Disabled | ThinkingMode::BetweenTools) | None => false,
    };
    if shows_progress && (text.contains(PROGRESS_BETA) || text.contains("display")) {
        return Some(Feature::Progress);
    }
    if binds && (text.contains(BINDING_BETA) || text.contains("block_binding")) {
        return Some(Feature::BlockBinding);
    }
    // A refusal of a field in `thinking` names the type too, as in `thinking.adaptive.display`, so this comes later.
    if let Some(feature) = sent.thinking.and_then(|thinking| refused_type(text, thinking)) {
        return Some(feature);
    }
    if text.contains("anthropic-beta") {
        // The refusal names no value of ours: drop the newer header first, the other one in the
        // next round.
        return if shows_progress { Some(Feature::Progress) } else { binds.then_some(Feature::BlockBinding) };
    }
    if sent.effort.is_some() && (text.contains("effort") || text.contains("output_config")) {
        return Some(refused_effort(text, sent));
    }
    if sent.system_messages && is_about_system_role(text) {
        return Some(Feature::SystemMessages);
    }
    if sent.hour_cache && text.contains("ttl") {
        return Some(Feature::HourCache);
    }
    (sent.thinking.is_some() && is_about_thinking_field(text)).then_some(Feature::Thinking)
}

/// Returns whether the refusal shows that the host does not know the `thinking` field at all.
fn is_about_thinking_field(text: &str) -> bool {
    const REFUSALS: [&str; 6] =
        ["extra inputs", "unknown", "unrecognized", "unexpected", "not support", "not allowed"];
    text.contains("thinking") && REFUSALS.iter().any(|words| text.contains(words))
}

/// Returns the feature if `text` refuses the thinking type that was sent. Such a text also names
/// other types and the effort field, as alternatives.
fn refused_type(text: &str, sent: ThinkingMode) -> Option<Feature> {
    let names = |name: &str| text.contains(&format!("thinking.type.{name}"));
    let refused = match sent {
        ThinkingMode::Disabled => names("disabled") || text.contains("between_tools"),
        ThinkingMode::BetweenTools => names("between_tools"),
        ThinkingMode::Enabled { .. } => names("enabled") || text.contains("budget_tokens"),
        ThinkingMode::Adaptive { .. } => {
            names("adaptive") || (text.contains("adaptive") && text.contains("not support"))
        }
    };
    refused.then_some(match sent {
        ThinkingMode::Disabled => Feature::Disabled,
        ThinkingMode::BetweenTools => Feature::BetweenTools,
        ThinkingMode::Enabled { .. } => Feature::Budget,
        ThinkingMode::Adaptive { .. } => Feature::Adaptive,
    })
}

/// Returns the refused feature: one level if the text names it, as in `output_config.effort 'xhigh'
/// is not supported`, else the field.
fn refused_effort(text: &str, sent: SentFields) -> Feature {
    let level = |effort: Effort| text.contains(&format!("'{effort}'")) && !text.contains("extra inputs");
    match sent.effort.filter(|effort| level(*effort)) {
        Some(Effort::Low) => Feature::LowEffort,
        Some(Effort::Medium) => Feature::MediumEffort,
        Some(Effort::High) => Feature::HighEffort,
        Some(Effort::Xhigh) => Feature::XhighEffort,
        Some(Effort::Max) => Feature::MaxEffort,
        None => Feature::Effort,
    }
}

fn is_about_system_role(text: &str) -> bool {
    text.contains("role 'system'")
        || text.contains("role \"system\"")
        || (text.contains(".role") && text.contains("assistant") && text.contains("user"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anthropic::protocol::{BlockBinding, Display};

    const ADAPTIVE: ThinkingMode =
        ThinkingMode::Adaptive { display: Some(Display::Updates), block_binding: Some(BlockBinding::DROP) };

    fn of(message: &str, thinking: ThinkingMode) -> Option<Correction> {
        let effort = Some(Effort::Xhigh);
        correction(
            message,
            SentFields { thinking: Some(thinking), effort, system_messages: true, hour_cache: true },
        )
    }

    /// Maps each refusal to the feature to leave out. The texts are the vendor's; the last ones
    /// come from gateways that do not know newer fields.
    #[test]
    fn refusals_name_the_feature_to_leave_out() {
        let enabled = ThinkingMode::Enabled { budget_tokens: 1024, block_binding: None };
        let without = |feature| Some(Correction::OmitFeature(feature));
        let table = [
            (
                "To turn thinking off on this model, send \"thinking\": {\"type\": \"between_tools\"} instead of \
                 {\"type\": \"disabled\"}.",
                ThinkingMode::Disabled,
                without(Feature::Disabled),
            ),
            (
                "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \
                 \"output_config.effort\" to control thinking behavior.",
                enabled,
                without(Feature::Budget),
            ),
            (
                "\"thinking.type.between_tools\" is not supported for this model.",
                ThinkingMode::BetweenTools,
                without(Feature::BetweenTools),
            ),
            ("adaptive thinking is not supported on this model", ADAPTIVE, without(Feature::Adaptive)),
            (
                "output_config.effort 'xhigh' is not supported when thinking is disabled on this model.",
                ThinkingMode::Disabled,
                without(Feature::XhighEffort),
            ),
            ("output_config: Extra inputs are not permitted", ADAPTIVE, without(Feature::Effort)),
            (
                "thinking.adaptive.block_binding: Extra inputs are not permitted",
                ADAPTIVE,
                without(Feature::BlockBinding),
            ),
            (
                "Unexpected value(s) `thinking-display-updates-2026-08-18` for the `anthropic-beta` header.",
                ADAPTIVE,
                without(Feature::Progress),
            ),
            (
                "Unexpected value(s) `thinking-binding-controls-2026-08-01` for the `anthropic-beta` header.",
                ADAPTIVE,
                without(Feature::BlockBinding),
            ),
            ("role 'system' is not supported on this model", ADAPTIVE, without(Feature::SystemMessages)),
            (
                "messages.2.role: Input should be 'user' or 'assistant'",
                ADAPTIVE,
                without(Feature::SystemMessages),
            ),
            (
                "cache_control.ephemeral.ttl: Extra inputs are not permitted",
                ADAPTIVE,
                without(Feature::HourCache),
            ),
            ("thinking: Extra inputs are not permitted", ADAPTIVE, without(Feature::Thinking)),
            ("Unknown field `thinking`", ADAPTIVE, without(Feature::Thinking)),
            (
                "thinking.adaptive.display: 'updates' is not supported for this model",
                ADAPTIVE,
                without(Feature::Progress),
            ),
            (
                "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for this model",
                ADAPTIVE,
                Some(Correction::LimitOutput(64_000)),
            ),
            (
                "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different \
                 conversation.",
                ADAPTIVE,
                Some(Correction::StripThinking),
            ),
            ("messages.3: tool_use ids must be unique", ADAPTIVE, None),
            ("prompt is too long: 1200000 tokens > 1000000 maximum", ADAPTIVE, None),
        ];
        for (message, thinking, expected) in table {
            assert_eq!(of(message, thinking), expected, "{message}");
        }
    }
}
