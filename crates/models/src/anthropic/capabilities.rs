//! The request features that a model behind the Messages API accepts.
//!
//! Three sources, each overriding the one before it: a built-in table, the vendor's `GET /v1/models/{id}`, and
//! refusals of earlier requests. A refused feature is remembered for that host and model, so that a server which
//! does not know new fields is asked without them from then on.

use std::collections::BTreeSet;

use domain::effort::Effort;
use domain::model::{DEFAULT_BUDGET, ModelAbilities};
use domain::thinking::Thinking;
use serde::{Deserialize, Serialize};

use super::protocol::{BlockBinding, Display, ThinkingMode};

/// Beta header that lets the server drop thinking blocks which belong to another conversation.
pub const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

/// Beta header for progress notes in thinking blocks.
pub const PROGRESS_BETA: &str = "thinking-display-updates-2026-08-18";

/// The smallest thinking budget that the vendor accepts.
const MIN_BUDGET: u32 = 1024;

/// The smallest context window that can hold a conversation.
const MIN_WINDOW: u64 = 4_000;

/// The features of one model on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// `thinking.type` values that are accepted.
    pub adaptive: bool,
    pub disabled: bool,
    pub budget: bool,
    pub between_tools: bool,
    /// Accepted `output_config.effort` values; empty where the field is refused.
    pub efforts: Vec<Effort>,
    /// True if `display: "updates"` is accepted.
    pub progress: bool,
    /// True if `thinking.block_binding` is accepted.
    pub block_binding: bool,
    /// True if the server compares the signature of a thinking block with the messages before it.
    pub checks_prefix: bool,
    /// True if `messages` may contain `role: "system"`.
    pub system_messages: bool,
    /// True if cache marks may have a lifetime of one hour.
    pub hour_cache: bool,
    /// The most output tokens of one reply.
    pub max_output: u32,
    /// The size of the context window, in tokens.
    pub window: u64,
}

/// A feature that a server refused. The name is stored in the data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    Thinking,
    Adaptive,
    Disabled,
    Budget,
    BetweenTools,
    Effort,
    LowEffort,
    MediumEffort,
    HighEffort,
    XhighEffort,
    MaxEffort,
    Progress,
    BlockBinding,
    SystemMessages,
    HourCache,
}

/// The answer of `GET /v1/models/{id}`, as far as it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_input_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// `active`, `deprecated` or `retired`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retires_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<ReportedCapabilities>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedCapabilities {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ReportedThinking>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReportedEffort>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedThinking {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<ReportedTypes>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedTypes {
    #[serde(default)]
    pub adaptive: ReportedSupport,
    #[serde(default)]
    pub between_tools: ReportedSupport,
    #[serde(default)]
    pub disabled: ReportedSupport,
    #[serde(default)]
    pub enabled: ReportedSupport,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedEffort {
    #[serde(default)]
    pub low: ReportedSupport,
    #[serde(default)]
    pub medium: ReportedSupport,
    #[serde(default)]
    pub high: ReportedSupport,
    #[serde(default)]
    pub xhigh: ReportedSupport,
    #[serde(default)]
    pub max: ReportedSupport,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedSupport {
    #[serde(default)]
    pub supported: bool,
}

impl Capabilities {
    /// The features of the newest models: assumed for a model of the vendor that is not in the table.
    fn newest() -> Self {
        Self {
            adaptive: true,
            disabled: false,
            budget: false,
            between_tools: false,
            efforts: Effort::ALL.to_vec(),
            progress: false,
            block_binding: true,
            checks_prefix: true,
            system_messages: false,
            hour_cache: true,
            max_output: 128_000,
            window: 1_000_000,
        }
    }

    /// The fields that every server with this API has known from the beginning: assumed for an unknown model on a
    /// host that is not the vendor's.
    fn oldest() -> Self {
        Self {
            adaptive: false,
            efforts: Vec::new(),
            block_binding: false,
            checks_prefix: false,
            hour_cache: false,
            max_output: u32::MAX,
            window: u64::MAX,
            ..Self::newest()
        }
    }

    /// Looks `model` up in the built-in table. The longest matching prefix of an id wins, so that dated ids match.
    ///
    /// Source: the vendor's guide of 2026-11-03 (models, thinking and effort, preserved thinking).
    pub fn built_in(model: &str) -> Option<Self> {
        let newest = Self::newest();
        let shows_progress = Self { progress: true, system_messages: true, ..newest.clone() };
        let unchecked = Self { checks_prefix: false, ..newest.clone() };
        let with_system_messages = Self { system_messages: true, ..unchecked.clone() };
        let small = Self { max_output: 64_000, window: 200_000, ..unchecked.clone() };
        let table = [
            ("claude-fable-5", Self { checks_prefix: false, ..shows_progress.clone() }),
            ("claude-fable-5-1", shows_progress.clone()),
            ("claude-fable-5-2", shows_progress.clone()),
            ("claude-mythos-5", shows_progress.clone()),
            ("claude-opus-5-5", shows_progress.clone()),
            ("claude-opus-5", with_system_messages.clone()),
            ("claude-opus-4-8", with_system_messages),
            ("claude-opus-4-7", unchecked.clone()),
            ("claude-opus-4-6", unchecked.clone()),
            ("claude-opus-4-5", small.clone()),
            ("claude-sonnet-5-5", Self { between_tools: true, ..shows_progress }),
            ("claude-sonnet-5", unchecked.clone()),
            ("claude-sonnet-4-6", unchecked),
            ("claude-sonnet-4-5", small.clone()),
            ("claude-haiku-5-5", Self { system_messages: true, ..newest }),
            ("claude-haiku-4-5", small),
        ];
        let matching = table.into_iter().filter(|(id, _)| matches_id(model, id));
        let (id, found) = matching.max_by_key(|(id, _)| id.len())?;
        // Thinking and effort come from the domain's table, with which `/thinking` and `/effort`
        // explain a model.
        let abilities = ModelAbilities::of_family(id);
        Some(Self {
            adaptive: abilities.adaptive,
            disabled: abilities.can_turn_off,
            budget: abilities.budgets,
            efforts: abilities.efforts,
            ..found
        })
    }

    /// Returns what the user can choose about the model.
    pub fn abilities(&self) -> ModelAbilities {
        ModelAbilities {
            // Matches the condition for `DisabledThinking` in `thinking`.
            can_turn_off: self.disabled && !self.checks_prefix,
            adaptive: self.adaptive,
            budgets: self.budget,
            efforts: self.efforts.clone(),
            // A record with less than our own instructions need is treated as a mistake.
            context_window: Some(self.window).filter(|window| (MIN_WINDOW..u64::MAX).contains(window)),
        }
    }

    /// The features to use for `model`, from all sources.
    pub fn of(
        model: &str,
        official_host: bool,
        info: Option<&ModelInfo>,
        refused: &BTreeSet<Feature>,
    ) -> Self {
        // Gateways have records too, without capabilities.
        let is_described = info.is_some_and(|info| info.capabilities.is_some());
        let assumed = if official_host || is_described { Self::newest() } else { Self::oldest() };
        let mut capabilities = Self::built_in(model).unwrap_or(assumed);
        if let Some(info) = info {
            capabilities.apply_reported(info);
        }
        refused.iter().for_each(|feature| capabilities.remove(*feature));
        capabilities
    }

    fn apply_reported(&mut self, info: &ModelInfo) {
        self.max_output = info.max_tokens.unwrap_or(self.max_output);
        self.window = info.max_input_tokens.unwrap_or(self.window);
        let Some(reported) = &info.capabilities else { return };
        if let Some(types) = reported.thinking.as_ref().and_then(|thinking| thinking.types.as_ref()) {
            self.adaptive = types.adaptive.supported;
            self.disabled = types.disabled.supported;
            self.budget = types.enabled.supported;
            self.between_tools = types.between_tools.supported;
        }
        if let Some(effort) = &reported.effort {
            let levels = [effort.low, effort.medium, effort.high, effort.xhigh, effort.max];
            let supported = Effort::ALL.into_iter().zip(levels).filter(|(_, level)| level.supported);
            self.efforts = supported.map(|(effort, _)| effort).collect();
        }
    }

    fn remove(&mut self, feature: Feature) {
        match feature {
            Feature::Thinking => {
                self.adaptive = false;
                self.disabled = false;
                self.budget = false;
                self.between_tools = false;
            }
            Feature::Adaptive => self.adaptive = false,
            Feature::Disabled => self.disabled = false,
            Feature::Budget => self.budget = false,
            Feature::BetweenTools => self.between_tools = false,
            Feature::Effort => self.efforts.clear(),
            Feature::LowEffort => self.efforts.retain(|effort| *effort != Effort::Low),
            Feature::MediumEffort => self.efforts.retain(|effort| *effort != Effort::Medium),
            Feature::HighEffort => self.efforts.retain(|effort| *effort != Effort::High),
            Feature::XhighEffort => self.efforts.retain(|effort| *effort != Effort::Xhigh),
            Feature::MaxEffort => self.efforts.retain(|effort| *effort != Effort::Max),
            Feature::Progress => self.progress = false,
            Feature::BlockBinding => self.block_binding = false,
            Feature::SystemMessages => self.system_messages = false,
            Feature::HourCache => self.hour_cache = false,
        }
    }

    /// Returns the `thinking` field for a request, or nothing where the field is best left out.
    pub fn thinking(&self, wanted: Thinking) -> Option<ThinkingMode> {
        let adaptive = || {
            self.adaptive.then(|| ThinkingMode::Adaptive {
                display: self.progress.then_some(Display::Updates),
                block_binding: self.block_binding.then_some(BlockBinding::DROP),
            })
        };
        let budget = |tokens: u32| {
            self.budget.then(|| ThinkingMode::Enabled {
                budget_tokens: tokens.max(MIN_BUDGET),
                block_binding: self.block_binding.then_some(BlockBinding::DROP),
            })
        };
        match wanted {
            Thinking::Auto => adaptive(),
            Thinking::Off if self.between_tools => Some(ThinkingMode::BetweenTools),
            // A server that checks prefixes refuses the blocks of earlier turns even when thinking is off, and only
            // the other modes have a field that lets it drop them instead.
            Thinking::Off if self.disabled && !self.checks_prefix => Some(ThinkingMode::Disabled),
            Thinking::Off => adaptive(),
            Thinking::Adaptive => adaptive().or_else(|| budget(DEFAULT_BUDGET)),
            Thinking::Budget(tokens) => budget(tokens.get()).or_else(adaptive),
        }
    }

    /// Returns the supported effort nearest to `wanted`, preferring the lower one.
    pub fn effort(&self, wanted: Effort, thinking: Option<ThinkingMode>) -> Option<Effort> {
        let limit = match thinking {
            // Several models refuse more than high effort without thinking.
            Some(ThinkingMode::Disabled | ThinkingMode::BetweenTools) => Effort::High,
            Some(ThinkingMode::Adaptive { .. } | ThinkingMode::Enabled { .. }) | None => Effort::Max,
        };
        let wanted = wanted.min(limit);
        let lower = self.efforts.iter().filter(|effort| **effort <= wanted).max();
        lower.or_else(|| self.efforts.iter().min()).copied()
    }
}

/// Returns whether `model` is `id`, optionally followed by a date or `-latest`.
fn matches_id(model: &str, id: &str) -> bool {
    model.strip_prefix(id).is_some_and(|rest| rest.is_empty() || is_date(rest) || rest == "-latest")
}

fn is_date(suffix: &str) -> bool {
    suffix
        .strip_prefix('-')
        .is_some_and(|date| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(model: &str) -> Capabilities {
        Capabilities::of(model, true, None, &BTreeSet::new())
    }

    fn thinking(model: &str, wanted: &str) -> String {
        match of(model).thinking(wanted.parse().unwrap()) {
            None => "absent".to_owned(),
            Some(mode) => serde_json::to_value(mode).unwrap()["type"].as_str().unwrap().to_owned(),
        }
    }

    /// EN-7: each model gets a thinking type that it accepts.
    #[test]
    fn thinking_type_is_accepted_by_each_model() {
        let table = [
            ("claude-sonnet-5-5", ["adaptive", "between_tools", "adaptive", "adaptive"]),
            ("claude-opus-5-5", ["adaptive", "adaptive", "adaptive", "adaptive"]),
            ("claude-haiku-5-5", ["adaptive", "adaptive", "adaptive", "adaptive"]),
            ("claude-fable-5-2", ["adaptive", "adaptive", "adaptive", "adaptive"]),
            ("claude-opus-5", ["adaptive", "disabled", "adaptive", "adaptive"]),
            ("claude-sonnet-5", ["adaptive", "disabled", "adaptive", "adaptive"]),
            ("claude-opus-4-6", ["adaptive", "disabled", "adaptive", "enabled"]),
            ("claude-haiku-4-5-20251001", ["absent", "disabled", "enabled", "enabled"]),
            ("claude-sonnet-4-5", ["absent", "disabled", "enabled", "enabled"]),
        ];
        for (model, expected) in table {
            let actual = ["auto", "off", "adaptive", "8k"].map(|wanted| thinking(model, wanted));
            assert_eq!(actual, expected, "{model}");
        }
    }

    #[test]
    fn effort_falls_back_to_the_nearest_supported_level() {
        let adaptive = |model: &str| of(model).thinking(Thinking::Adaptive);
        let effort = |model: &str, wanted| of(model).effort(wanted, adaptive(model));
        assert_eq!(effort("claude-sonnet-5-5", Effort::Xhigh), Some(Effort::Xhigh));
        assert_eq!(effort("claude-sonnet-4-6", Effort::Xhigh), Some(Effort::High));
        assert_eq!(effort("claude-haiku-4-5", Effort::High), None);
        let off = of("claude-sonnet-5-5").thinking(Thinking::Off);
        assert_eq!(of("claude-sonnet-5-5").effort(Effort::Max, off), Some(Effort::High));
    }

    #[test]
    fn reported_capabilities_win_over_the_table_and_refusals_win_over_both() {
        let info: ModelInfo = serde_json::from_str(
            r#"{"id":"claude-opus-9","max_input_tokens":500000,"max_tokens":9000,"lifecycle":"active",
                "capabilities":{"thinking":{"supported":true,"types":{"adaptive":{"supported":true},
                "disabled":{"supported":true},"enabled":{"supported":false}}},
                "effort":{"low":{"supported":true},"high":{"supported":true}}}}"#,
        )
        .unwrap();
        let reported = Capabilities::of("claude-opus-9", true, Some(&info), &BTreeSet::new());
        assert!(reported.disabled && !reported.between_tools);
        assert_eq!((reported.max_output, reported.window), (9000, 500_000));
        assert_eq!(reported.efforts, [Effort::Low, Effort::High]);
        let refused = BTreeSet::from([Feature::Effort, Feature::Adaptive, Feature::Disabled]);
        let learned = Capabilities::of("claude-opus-9", true, Some(&info), &refused);
        assert_eq!(learned.thinking(Thinking::Adaptive), None);
        assert_eq!(learned.effort(Effort::Low, None), None);
    }

    #[test]
    fn unknown_model_on_another_host_gets_only_the_oldest_fields() {
        let capabilities = Capabilities::of("deepseek-v4", false, None, &BTreeSet::new());
        assert_eq!(capabilities.thinking(Thinking::Adaptive), None);
        assert_eq!(capabilities.effort(Effort::High, None), None);
        assert!(!capabilities.hour_cache && !capabilities.system_messages);
        let record: ModelInfo =
            serde_json::from_str(r#"{"id":"deepseek-v4","object":"model","owned_by":"deepseek"}"#).unwrap();
        assert_eq!(Capabilities::of("deepseek-v4", false, Some(&record), &BTreeSet::new()), capabilities);
        // A gateway to a known model gets the full request first.
        assert!(Capabilities::of("claude-sonnet-5-5", false, None, &BTreeSet::new()).adaptive);
    }
}
