//! The models that the server knows, and the limits of each of them.
//!
//! One row per model. The figures and the refusals come from the vendor's model tables and migration guides of
//! November 2026 and from the fields of the vendor's Models API. A value that the vendor does not state is marked
//! `not stated`.

/// The extent to which a model accepts `"thinking": {"type": "disabled"}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisabledThinking {
    /// At every effort.
    Accepted,
    /// Only at effort `high` or below.
    UpToHigh,
    /// Never. The text is the complete error message.
    Refused(&'static str),
}

/// The accounts for which the prefix check of replayed thinking blocks is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixCheck {
    /// The model has no prefix check.
    Never,
    /// Accounts created on or after 2026-08-31, and requests that set `prefix_mismatch_behavior`.
    NewAccounts,
    /// Every account.
    Always,
}

/// Availability of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    Active,
    Deprecated,
    Retired,
}

impl Lifecycle {
    /// The name that the Models API uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Deprecated => "deprecated",
            Self::Retired => "retired",
        }
    }
}

/// One model of the vendor, or a generic one for tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelSpec {
    pub id: &'static str,
    /// Other ids of the same model.
    pub aliases: &'static [&'static str],
    pub display_name: &'static str,
    /// The value of `line` in the Models API.
    pub line: Option<&'static str>,
    pub lifecycle: Lifecycle,
    /// Scheduled or past retirement, RFC 3339.
    pub retires_at: Option<&'static str>,
    /// Context window in tokens.
    pub window: u64,
    /// Largest accepted `max_tokens`.
    pub max_output: u64,
    /// Set if a request without `thinking` uses adaptive thinking.
    pub thinks_by_default: bool,
    pub adaptive: bool,
    pub disabled: DisabledThinking,
    /// Set if `enabled` with `budget_tokens` is accepted.
    pub enabled: bool,
    pub between_tools: bool,
    /// Set if `tool_choice` may force a tool.
    pub forced_tool_choice: bool,
    /// Set if the model thinks although `tool_choice` forces a tool.
    pub thinks_when_forced: bool,
    /// Accepted effort levels; empty if the parameter itself is refused.
    pub effort: &'static [&'static str],
    pub default_effort: &'static str,
    /// Set if `temperature`, `top_p` and `top_k` are accepted.
    pub sampling: bool,
    /// Set if the last message may be the assistant's.
    pub prefill: bool,
    /// Set if thinking text is omitted unless `display` requests it.
    pub display_omitted: bool,
    /// Set if `display` may be `updates`.
    pub display_updates: bool,
    /// Set if notes between tool calls are sent as thinking blocks.
    pub progress_notes: bool,
    /// Set if `messages` may contain `role: "system"`.
    pub system_messages: bool,
    pub prefix_check: PrefixCheck,
    /// Set if thinking blocks are bound to the account.
    pub account_bound: bool,
    /// Set if thinking of earlier turns stays in the context.
    pub keeps_thinking: bool,
    /// Fewest tokens that are cached.
    pub min_cached: u64,
    /// Tokens per 400 bytes of text: newer tokenizers count about 30 % more.
    pub tokens_per_400_bytes: u64,
    /// Thinking blocks of models up to this generation can be read, see [`ModelSpec::reads`].
    pub reads_up_to: u8,
    /// Generation for [`ModelSpec::reads`].
    pub generation: u8,
    /// Models of later generations whose thinking blocks can be read as well.
    pub also_reads: &'static [&'static str],
    /// A model for tests without rules of its own: it neither signs, checks nor emits thinking by itself.
    pub generic: bool,
}

const ALL_EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];

const NO_DISABLED_THINKING: &str = "\"thinking.type.disabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.";

/// The current wording of two that are known for this model.
const NO_DISABLED_SONNET_5_5: &str = "To turn thinking off on this model, send \"thinking\": {\"type\": \"between_tools\"} instead of {\"type\": \"disabled\"}. The model does not think before responding. The short updates it writes between tool calls come back as thinking blocks.";

/// Common to the models of 2026-07 and later.
const FIFTH_GENERATION: ModelSpec = ModelSpec {
    id: "",
    aliases: &[],
    display_name: "",
    line: None,
    lifecycle: Lifecycle::Active,
    retires_at: None,
    window: 1_000_000,
    max_output: 128_000,
    thinks_by_default: true,
    adaptive: true,
    disabled: DisabledThinking::Accepted,
    enabled: false,
    between_tools: false,
    forced_tool_choice: true,
    thinks_when_forced: true,
    effort: ALL_EFFORTS,
    default_effort: "high",
    sampling: false,
    prefill: false,
    display_omitted: true,
    display_updates: false,
    progress_notes: false,
    system_messages: true,
    prefix_check: PrefixCheck::Never,
    account_bound: false,
    keeps_thinking: true,
    min_cached: 512,
    tokens_per_400_bytes: 130,
    reads_up_to: 3,
    generation: 3,
    also_reads: &[],
    generic: false,
};

const FABLE: ModelSpec = ModelSpec {
    line: Some("fable"),
    disabled: DisabledThinking::Refused(NO_DISABLED_THINKING),
    display_updates: true,
    progress_notes: true,
    generation: 5,
    ..FIFTH_GENERATION
};

const OPUS_4: ModelSpec = ModelSpec {
    line: Some("opus"),
    thinks_by_default: false,
    system_messages: false,
    reads_up_to: 1,
    generation: 1,
    ..FIFTH_GENERATION
};

const FOUR_SIX: ModelSpec = ModelSpec {
    enabled: true,
    effort: &["low", "medium", "high", "max"],
    sampling: true,
    display_omitted: false,
    tokens_per_400_bytes: 100,
    ..OPUS_4
};

const FOUR_FIVE: ModelSpec = ModelSpec {
    window: 200_000,
    max_output: 64_000,
    adaptive: false,
    effort: &[],
    prefill: true,
    keeps_thinking: false,
    ..FOUR_SIX
};

const RETIRED: ModelSpec = ModelSpec { lifecycle: Lifecycle::Retired, ..FOUR_FIVE };

/// Every model of the vendor.
pub const MODELS: &[ModelSpec] = &[
    ModelSpec {
        id: "claude-fable-5-2",
        display_name: "Claude Fable 5.2",
        forced_tool_choice: false,
        prefix_check: PrefixCheck::Always,
        account_bound: true,
        reads_up_to: 6,
        generation: 6,
        ..FABLE
    },
    ModelSpec {
        id: "claude-fable-5-1",
        display_name: "Claude Fable 5.1",
        forced_tool_choice: false,
        prefix_check: PrefixCheck::NewAccounts,
        // Opus 5.5 is stated; Sonnet 5.5 and Haiku 5.5 are not stated.
        also_reads: &["claude-opus-5-5", "claude-fable-5"],
        ..FABLE
    },
    ModelSpec { id: "claude-fable-5", display_name: "Claude Fable 5", ..FABLE },
    ModelSpec {
        id: "claude-opus-5-5",
        display_name: "Claude Opus 5.5",
        line: Some("opus"),
        disabled: DisabledThinking::Refused(NO_DISABLED_THINKING),
        forced_tool_choice: false,
        default_effort: "medium",
        display_updates: true,
        progress_notes: true,
        prefix_check: PrefixCheck::NewAccounts,
        generation: 5,
        also_reads: &["claude-sonnet-5-5", "claude-haiku-5-5"],
        ..FIFTH_GENERATION
    },
    ModelSpec {
        id: "claude-opus-5",
        display_name: "Claude Opus 5",
        line: Some("opus"),
        disabled: DisabledThinking::UpToHigh,
        ..FIFTH_GENERATION
    },
    ModelSpec {
        id: "claude-opus-4-8",
        display_name: "Claude Opus 4.8",
        system_messages: true,
        min_cached: 1024,
        ..OPUS_4
    },
    ModelSpec { id: "claude-opus-4-7", display_name: "Claude Opus 4.7", min_cached: 2048, ..OPUS_4 },
    ModelSpec { id: "claude-opus-4-6", display_name: "Claude Opus 4.6", min_cached: 4096, ..FOUR_SIX },
    ModelSpec {
        id: "claude-opus-4-5",
        aliases: &["claude-opus-4-5-20251101"],
        display_name: "Claude Opus 4.5",
        // Not stated: effort up to high, from the release notes of the parameter.
        effort: &["low", "medium", "high"],
        keeps_thinking: true,
        min_cached: 4096,
        ..FOUR_FIVE
    },
    ModelSpec {
        id: "claude-sonnet-5-5",
        display_name: "Claude Sonnet 5.5",
        line: Some("sonnet"),
        disabled: DisabledThinking::Refused(NO_DISABLED_SONNET_5_5),
        between_tools: true,
        forced_tool_choice: false,
        display_updates: true,
        progress_notes: true,
        prefix_check: PrefixCheck::NewAccounts,
        account_bound: true,
        reads_up_to: 2,
        generation: 5,
        also_reads: &["claude-haiku-5-5"],
        ..FIFTH_GENERATION
    },
    ModelSpec {
        id: "claude-sonnet-5",
        display_name: "Claude Sonnet 5",
        line: Some("sonnet"),
        system_messages: false,
        min_cached: 1024,
        reads_up_to: 2,
        generation: 2,
        ..FIFTH_GENERATION
    },
    ModelSpec {
        id: "claude-sonnet-4-6",
        display_name: "Claude Sonnet 4.6",
        line: Some("sonnet"),
        min_cached: 1024,
        ..FOUR_SIX
    },
    ModelSpec {
        id: "claude-sonnet-4-5",
        aliases: &["claude-sonnet-4-5-20250929"],
        display_name: "Claude Sonnet 4.5",
        line: Some("sonnet"),
        lifecycle: Lifecycle::Deprecated,
        retires_at: Some("2026-11-30T00:00:00Z"),
        min_cached: 1024,
        ..FOUR_FIVE
    },
    ModelSpec {
        id: "claude-haiku-5-5",
        display_name: "Claude Haiku 5.5",
        line: Some("haiku"),
        disabled: DisabledThinking::UpToHigh,
        thinks_when_forced: false,
        default_effort: "medium",
        prefix_check: PrefixCheck::NewAccounts,
        account_bound: true,
        reads_up_to: 2,
        generation: 5,
        ..FIFTH_GENERATION
    },
    ModelSpec {
        id: "claude-haiku-4-5",
        aliases: &["claude-haiku-4-5-20251001"],
        display_name: "Claude Haiku 4.5",
        line: Some("haiku"),
        min_cached: 4096,
        ..FOUR_FIVE
    },
    ModelSpec {
        id: "claude-opus-4-1",
        aliases: &["claude-opus-4-1-20250805"],
        display_name: "Claude Opus 4.1",
        retires_at: Some("2026-08-05T00:00:00Z"),
        ..RETIRED
    },
    ModelSpec {
        id: "claude-sonnet-4",
        aliases: &["claude-sonnet-4-20250514"],
        display_name: "Claude Sonnet 4",
        line: Some("sonnet"),
        ..RETIRED
    },
    ModelSpec {
        id: "claude-opus-4",
        aliases: &["claude-opus-4-20250514"],
        display_name: "Claude Opus 4",
        ..RETIRED
    },
];

/// A model without rules of its own, for names that the options of a server list.
pub const GENERIC: ModelSpec = ModelSpec {
    id: "generic",
    display_name: "Test model",
    thinks_by_default: false,
    enabled: true,
    default_effort: "high",
    sampling: true,
    prefill: true,
    display_omitted: false,
    display_updates: true,
    between_tools: true,
    min_cached: 0,
    tokens_per_400_bytes: 100,
    reads_up_to: u8::MAX,
    generation: 0,
    generic: true,
    ..FIFTH_GENERATION
};

/// Finds a model of the vendor by its id or an alias, including retired ones.
pub fn find(id: &str) -> Option<&'static ModelSpec> {
    MODELS.iter().find(|model| model.id == id || model.aliases.contains(&id))
}

impl ModelSpec {
    /// Returns true if this model may read a thinking block that the model `producer` wrote.
    ///
    /// Each model reads its own blocks, those of older generations and a few listed ones. Blocks of an unknown
    /// producer are not read.
    pub fn reads(&self, producer: &str) -> bool {
        let readable = |other: &ModelSpec| {
            other.id == self.id || other.generation <= self.reads_up_to || self.also_reads.contains(&other.id)
        };
        self.generic || find(producer).is_some_and(readable)
    }

    /// Returns the tokens of `bytes` bytes of text.
    pub fn tokens(&self, bytes: usize) -> u64 {
        (bytes as u64 * self.tokens_per_400_bytes).div_ceil(400)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(reader: &str, producer: &str) -> bool {
        find(reader).unwrap().reads(producer)
    }

    #[test]
    fn ids_and_aliases_are_unique() {
        let ids: Vec<_> = MODELS.iter().flat_map(|model| model.aliases.iter().chain([&model.id])).collect();
        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(ids.len(), distinct.len());
        assert_eq!(find("claude-haiku-4-5-20251001").unwrap().id, "claude-haiku-4-5");
        assert!(find("claude-mythos-5-2").is_none());
    }

    #[test]
    fn models_read_thinking_according_to_the_vendors_list() {
        for producer in ["claude-sonnet-5", "claude-opus-4-8", "claude-haiku-4-5", "claude-haiku-5-5"] {
            assert!(reads("claude-sonnet-5-5", producer), "{producer}");
        }
        for producer in ["claude-opus-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-sonnet-4-6"] {
            assert!(reads("claude-opus-5-5", producer), "{producer}");
        }
        assert!(
            reads("claude-haiku-5-5", "claude-sonnet-5") && reads("claude-haiku-5-5", "claude-haiku-5-5")
        );
        assert!(
            !reads("claude-haiku-5-5", "claude-sonnet-5-5") && !reads("claude-sonnet-5-5", "claude-opus-5")
        );
        for model in MODELS {
            assert!(reads("claude-fable-5-2", model.id), "{}", model.id);
            assert_eq!(model.reads("claude-fable-5-2"), model.id == "claude-fable-5-2", "{}", model.id);
        }
        for old in ["claude-opus-5", "claude-sonnet-5"] {
            for new in ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"] {
                assert!(!reads(old, new), "{old} {new}");
            }
        }
    }
}
