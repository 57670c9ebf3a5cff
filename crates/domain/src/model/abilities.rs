//! The settings of thinking and effort that a model accepts.
//!
//! The table covers Anthropic's models by the family in their id. The client of the Messages API
//! takes its defaults from here, and then learns from the vendor's models endpoint and from
//! refusals.

use crate::effort::Effort;
use crate::thinking::Thinking;

/// The settings of thinking and effort of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAbilities {
    /// True if thinking can be turned off.
    pub can_turn_off: bool,
    /// True if the model can decide how much it thinks.
    pub adaptive: bool,
    /// True if thinking can be limited to a number of tokens.
    pub budgets: bool,
    /// The accepted efforts, lowest first; empty if the model has no effort.
    pub efforts: Vec<Effort>,
    /// The context window in tokens, if known.
    pub context_window: Option<u64>,
}

/// The budget for adaptive thinking of a model that only has budgets.
pub const DEFAULT_BUDGET: u32 = 8192;

/// Families of Anthropic's models that only have token budgets. Their window is 200,000 tokens.
const BUDGETS_ONLY: [&str; 3] = ["haiku-4-5", "sonnet-4-5", "opus-4-5"];

/// Families that have token budgets and adaptive thinking.
const BUDGETS_AND_ADAPTIVE: [&str; 2] = ["opus-4-6", "sonnet-4-6"];

/// Families without token budgets whose thinking can be turned off.
const CAN_TURN_OFF: [&str; 4] = ["opus-4-7", "opus-4-8", "opus-5", "sonnet-5"];

/// Families that always think. haiku-5-5 belongs here: it accepts thinking off, but then refuses the thinking blocks of
/// earlier turns.
const ALWAYS_THINKING: [&str; 9] = [
    "fable-5",
    "fable-5-1",
    "fable-5-2",
    "mythos-5",
    "mythos-5-1",
    "mythos-5-2",
    "opus-5-5",
    "sonnet-5-5",
    "haiku-5-5",
];

impl ModelAbilities {
    /// Returns the abilities of a model that always thinks and takes every effort, as Anthropic's
    /// newest models do.
    pub fn always_thinking() -> Self {
        let efforts = Effort::ALL.to_vec();
        Self { can_turn_off: false, adaptive: true, budgets: false, efforts, context_window: None }
    }

    /// Returns the abilities of the model `id` by its family. An unknown family counts as the
    /// newest.
    pub fn of_family(id: &str) -> Self {
        let is = |families: &[&str]| families.iter().any(|family| is_of_family(id, family));
        let newest = Self::always_thinking();
        if is(&BUDGETS_ONLY) {
            let window = Some(200_000);
            Self {
                can_turn_off: true,
                adaptive: false,
                budgets: true,
                efforts: Vec::new(),
                context_window: window,
            }
        } else if is(&BUDGETS_AND_ADAPTIVE) {
            let efforts = vec![Effort::Low, Effort::Medium, Effort::High, Effort::Max];
            Self {
                can_turn_off: true,
                adaptive: true,
                budgets: true,
                efforts,
                context_window: Some(1_000_000),
            }
        } else if is(&CAN_TURN_OFF) {
            Self { can_turn_off: true, context_window: Some(1_000_000), ..newest }
        } else if is(&ALWAYS_THINKING) {
            Self { context_window: Some(1_000_000), ..newest }
        } else {
            newest
        }
    }

    /// Returns whether the family of `id` is known.
    pub fn is_known_family(id: &str) -> bool {
        let known = [&BUDGETS_ONLY[..], &BUDGETS_AND_ADAPTIVE, &CAN_TURN_OFF, &ALWAYS_THINKING];
        known.into_iter().flatten().any(|family| is_of_family(id, family))
    }

    /// Returns whether no setting of thinking is accepted, such as by a server that refuses the
    /// fields.
    fn is_fixed(&self) -> bool {
        !self.adaptive && !self.budgets && self.efforts.is_empty()
    }

    /// Returns the effort that is used for `effort`: the same or the next lower one that the model
    /// has.
    pub fn nearest(&self, effort: Effort) -> Option<Effort> {
        let lower = self.efforts.iter().rev().find(|known| **known <= effort);
        lower.or(self.efforts.first()).copied()
    }

    /// Explains the thinking modes of `model`.
    pub fn explain(&self, model: &str) -> String {
        if self.is_fixed() {
            return format!("The server takes no settings for the thinking of {model}.");
        }
        let mut sentences = vec![match (self.can_turn_off, self.adaptive) {
            (false, _) => {
                format!("{model} always thinks; `off` means as little as possible, at low effort.")
            }
            (true, true) => {
                format!("{model} can think as much as it finds useful (`adaptive`) or not at all (`off`).")
            }
            (true, false) if self.budgets => {
                format!(
                    "{model} thinks only with a token budget such as `8000`; `adaptive` means {DEFAULT_BUDGET} tokens."
                )
            }
            (true, false) => {
                format!("{model} decides by its effort how much it thinks, or not at all (`off`).")
            }
        }];
        if !self.budgets && !self.efforts.is_empty() {
            sentences.push(budget_mapping_text());
        }
        sentences.join(" ")
    }

    /// Returns a remark if `model` cannot follow `thinking`.
    pub fn remark(&self, model: &str, thinking: Thinking) -> Option<String> {
        if self.is_fixed() && thinking != Thinking::Auto {
            return Some(format!(
                "The server takes no settings for the thinking of {model}, so this has no effect."
            ));
        }
        match thinking {
            Thinking::Off if !self.can_turn_off => {
                Some(format!("{model} always thinks, so this means as little as possible."))
            }
            Thinking::Adaptive if !self.adaptive && self.budgets => Some(format!(
                "{model} can't decide itself how much to think, so it gets a budget of {DEFAULT_BUDGET} tokens."
            )),
            Thinking::Budget(_) if !self.budgets && !self.efforts.is_empty() => {
                let effort = Effort::for_thinking(thinking);
                Some(format!("{model} has no token budgets, so this becomes {effort} effort."))
            }
            Thinking::Auto | Thinking::Off | Thinking::Adaptive | Thinking::Budget(_) => None,
        }
    }
}

/// One example is enough, because the others follow the same order.
fn budget_mapping_text() -> String {
    let example = "8k".parse().map(Effort::for_thinking).unwrap_or_default();
    format!("Token budgets become an effort: 8k = {example}.")
}

/// Returns whether `id` is of the family, such as `claude-opus-5-20260301` of `opus-5`. A second
/// version number makes another family: `opus-5-5` is not of `opus-5`.
fn is_of_family(id: &str, family: &str) -> bool {
    let Some((_, rest)) = id.split_once(family) else { return false };
    let next = rest.strip_prefix('-').unwrap_or(rest);
    let digits = next.chars().take_while(char::is_ascii_digit).count();
    // A date has eight digits, a version number one or two.
    digits == 0 || digits >= 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_known_by_their_family() {
        let check = |id: &str, can_turn_off: bool, budgets: bool, efforts: usize| {
            let of = ModelAbilities::of_family(id);
            let found = (of.can_turn_off, of.budgets, of.efforts.len());
            assert_eq!(found, (can_turn_off, budgets, efforts), "{id}");
        };
        check("claude-sonnet-5-5", false, false, 5);
        check("claude-opus-5-5", false, false, 5);
        check("claude-fable-5-2", false, false, 5);
        check("claude-newer-7", false, false, 5);
        check("claude-opus-5", true, false, 5);
        check("claude-sonnet-5-20260630", true, false, 5);
        check("claude-haiku-5-5", false, false, 5);
        check("claude-opus-4-8", true, false, 5);
        check("claude-sonnet-4-6", true, true, 4);
        check("claude-haiku-4-5-20251001", true, true, 0);
    }

    #[test]
    fn missing_effort_becomes_the_next_lower_one() {
        let of = |id: &str, effort| ModelAbilities::of_family(id).nearest(effort);
        assert_eq!(of("claude-sonnet-5-5", Effort::Xhigh), Some(Effort::Xhigh));
        assert_eq!(of("claude-sonnet-4-6", Effort::Xhigh), Some(Effort::High));
        assert_eq!(of("claude-haiku-4-5", Effort::Low), None);
    }

    #[test]
    fn thinking_is_explained_for_each_kind_of_model() {
        let explained = |id: &str| ModelAbilities::of_family(id).explain(id);
        assert_eq!(
            explained("claude-sonnet-5-5"),
            "claude-sonnet-5-5 always thinks; `off` means as little as possible, at low effort. Token budgets become an \
             effort: 8k = medium."
        );
        assert_eq!(
            explained("claude-sonnet-5"),
            "claude-sonnet-5 can think as much as it finds useful (`adaptive`) or not at all (`off`). Token budgets \
             become an effort: 8k = medium."
        );
        assert_eq!(
            explained("claude-haiku-4-5"),
            "claude-haiku-4-5 thinks only with a token budget such as `8000`; `adaptive` means 8192 tokens."
        );
    }

    #[test]
    fn unsupported_thinking_gets_a_remark() {
        let remark = |id: &str, way: &str| ModelAbilities::of_family(id).remark(id, way.parse().unwrap());
        assert_eq!(remark("claude-sonnet-5-5", "auto"), None);
        assert_eq!(remark("claude-sonnet-5-5", "adaptive"), None);
        assert_eq!(remark("claude-sonnet-5", "off"), None);
        assert_eq!(remark("claude-sonnet-4-6", "32k"), None);
        let text = |id: &str, way: &str| remark(id, way).unwrap_or_default();
        assert_eq!(
            text("claude-opus-5-5", "off"),
            "claude-opus-5-5 always thinks, so this means as little as possible."
        );
        assert_eq!(
            text("claude-opus-5", "32k"),
            "claude-opus-5 has no token budgets, so this becomes high effort."
        );
        assert!(text("claude-haiku-4-5", "adaptive").contains("so it gets a budget of 8192 tokens"));
    }

    /// Tests a server that refuses every field of thinking.
    #[test]
    fn a_server_without_settings_for_thinking_is_explained() {
        let nothing = ModelAbilities {
            can_turn_off: false,
            adaptive: false,
            budgets: false,
            efforts: Vec::new(),
            context_window: None,
        };
        assert_eq!(nothing.explain("m"), "The server takes no settings for the thinking of m.");
        assert_eq!(nothing.remark("m", Thinking::Auto), None);
        let remark = nothing.remark("m", Thinking::Off).unwrap_or_default();
        assert!(remark.ends_with("so this has no effect."), "{remark}");
    }

    #[test]
    fn known_families_are_recognized() {
        for id in ["claude-haiku-4-5-20251001", "claude-opus-4-8", "claude-haiku-5-5", "claude-fable-5-2"] {
            assert!(ModelAbilities::is_known_family(id), "{id}");
        }
        for id in ["claude-newer-7", "claude-opus-4-1", "claude-sonnet-4", "qwen3"] {
            assert!(!ModelAbilities::is_known_family(id), "{id}");
        }
    }

    #[test]
    fn the_window_is_known_by_the_family() {
        let window = |id: &str| ModelAbilities::of_family(id).context_window;
        assert_eq!(window("claude-haiku-4-5"), Some(200_000));
        assert_eq!(window("claude-sonnet-5-5"), Some(1_000_000));
        assert_eq!(window("claude-newer-7"), None);
    }
}
