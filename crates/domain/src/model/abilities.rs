//! What a model lets its caller choose about thinking and effort.
//!
//! The table covers Anthropic's models by the family in their id. It is the only one: the client of the Messages API
//! takes its defaults from here too, and then learns from the vendor's models endpoint and from refusals.

use crate::effort::Effort;
use crate::thinking::Thinking;

/// What can be chosen about a model's thinking and effort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Thinking can be turned off.
    pub can_turn_off: bool,
    /// The model can decide itself how much it thinks.
    pub adaptive: bool,
    /// Thinking can be limited to a number of tokens.
    pub budgets: bool,
    /// The efforts that can be asked for, lowest first; none, if the model has no effort.
    pub efforts: Vec<Effort>,
}

impl Abilities {
    /// Abilities of a model that always thinks and takes every effort, as all of Anthropic's newest models do.
    pub fn always_thinking() -> Self {
        Self { can_turn_off: false, adaptive: true, budgets: false, efforts: Effort::ALL.to_vec() }
    }

    /// Abilities of the model with the vendor's id `id`, by its family. An id of no known family counts as the newest.
    pub fn of_family(id: &str) -> Self {
        let is = |families: &[&str]| families.iter().any(|family| is_of(id, family));
        let newest = Self::always_thinking();
        if is(&["haiku-4-5", "sonnet-4-5", "opus-4-5"]) {
            Self { can_turn_off: true, adaptive: false, budgets: true, efforts: Vec::new() }
        } else if is(&["opus-4-6", "sonnet-4-6"]) {
            let efforts = vec![Effort::Low, Effort::Medium, Effort::High, Effort::Max];
            Self { can_turn_off: true, adaptive: true, budgets: true, efforts }
        } else if is(&["opus-4-7", "opus-4-8", "opus-5", "sonnet-5"]) {
            Self { can_turn_off: true, ..newest }
        } else {
            // haiku-5-5 belongs here: it accepts thinking off, but then refuses the thinking blocks of earlier turns.
            newest
        }
    }

    /// Returns the effort that is used when `effort` is asked for: the next lower one that the model has.
    pub fn nearest(&self, effort: Effort) -> Option<Effort> {
        let lower = self.efforts.iter().rev().find(|known| **known <= effort);
        lower.or(self.efforts.first()).copied()
    }

    /// Explains the ways to think that `model` has.
    pub fn explain(&self, model: &str) -> String {
        let mut sentences = vec![match (self.can_turn_off, self.adaptive) {
            (false, _) => {
                format!("{model} always thinks; `off` means as little as possible, at low effort.")
            }
            (true, true) => {
                format!("{model} can think as much as it finds useful (`adaptive`) or not at all (`off`).")
            }
            (true, false) => format!("{model} thinks only with a token budget such as `8000`."),
        }];
        if !self.budgets {
            sentences.push(budgets_become_efforts());
        }
        sentences.join(" ")
    }

    /// Returns the remark that `model` does something else than `thinking` says, if it does.
    pub fn remark(&self, model: &str, thinking: Thinking) -> Option<String> {
        match thinking {
            Thinking::Off if !self.can_turn_off => {
                Some(format!("{model} always thinks, so this means as little as possible."))
            }
            Thinking::Adaptive if !self.adaptive => {
                Some(format!("{model} thinks only with a token budget such as `8000`."))
            }
            Thinking::Budget(_) if !self.budgets => {
                let effort = Effort::for_thinking(thinking);
                Some(format!("{model} has no token budgets, so this becomes {effort} effort."))
            }
            Thinking::Auto | Thinking::Off | Thinking::Adaptive | Thinking::Budget(_) => None,
        }
    }
}

/// One example says enough: the others follow the same order.
fn budgets_become_efforts() -> String {
    let example = "8k".parse().map(Effort::for_thinking).unwrap_or_default();
    format!("Token budgets become an effort: 8k = {example}.")
}

/// Whether `id` is of the family, such as `claude-opus-5-20260301` of `opus-5`. A second version number makes another
/// family: `opus-5-5` is not of `opus-5`.
fn is_of(id: &str, family: &str) -> bool {
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
            let of = Abilities::of_family(id);
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
    fn an_effort_that_a_model_lacks_becomes_the_next_lower_one() {
        let of = |id: &str, effort| Abilities::of_family(id).nearest(effort);
        assert_eq!(of("claude-sonnet-5-5", Effort::Xhigh), Some(Effort::Xhigh));
        assert_eq!(of("claude-sonnet-4-6", Effort::Xhigh), Some(Effort::High));
        assert_eq!(of("claude-haiku-4-5", Effort::Low), None);
    }

    #[test]
    fn thinking_is_explained_for_each_kind_of_model() {
        let explained = |id: &str| Abilities::of_family(id).explain(id);
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
            "claude-haiku-4-5 thinks only with a token budget such as `8000`."
        );
    }

    #[test]
    fn a_wish_that_a_model_cannot_follow_is_remarked_on() {
        let remark = |id: &str, way: &str| Abilities::of_family(id).remark(id, way.parse().unwrap());
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
        assert!(text("claude-haiku-4-5", "adaptive").contains("only with a token budget"));
    }
}
