//! The effort of model calls.

use std::fmt;
use std::str::FromStr;

use crate::thinking::Thinking;

/// The effort of one model call, from cheapest to most thorough. Vendors share these names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effort {
    #[default]
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

/// A text that names no effort.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("I don't understand `{0}` as an effort. Use low, medium, high, xhigh or max.")]
pub struct InvalidEffort(String);

/// The user's choice of the effort in the main conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffortChoice {
    /// Show the current effort.
    Show,
    /// Return to the configured effort.
    Default,
    /// Use this effort until the next start.
    Set(Effort),
}

impl EffortChoice {
    /// Parses the argument of `/effort`.
    pub fn parse(words: &str) -> Result<Self, InvalidEffort> {
        match words.trim().to_lowercase().as_str() {
            "" => Ok(Self::Show),
            "default" => Ok(Self::Default),
            level => level.parse().map(Self::Set),
        }
    }
}

impl Effort {
    /// Every effort, lowest first.
    pub const ALL: [Self; 5] = [Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// Returns the effort used when none is set. It starts low, because a conversation needs short
    /// waits; a setting for more thinking raises it. Token budgets map to efforts because current
    /// models have no budgets.
    pub fn for_thinking(thinking: Thinking) -> Self {
        match thinking {
            Thinking::Auto | Thinking::Off => Self::Low,
            Thinking::Adaptive => Self::Medium,
            Thinking::Budget(tokens) => match tokens.get() {
                0..=4_000 => Self::Low,
                4_001..=16_000 => Self::Medium,
                16_001..=32_000 => Self::High,
                _ => Self::Xhigh,
            },
        }
    }

    /// Returns the next lower effort, if there is one.
    pub fn lower(self) -> Option<Self> {
        match self {
            Self::Low => None,
            Self::Medium => Some(Self::Low),
            Self::High => Some(Self::Medium),
            Self::Xhigh => Some(Self::High),
            Self::Max => Some(Self::Xhigh),
        }
    }

    /// Returns the name that vendors and settings use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Effort {
    type Err = InvalidEffort;

    fn from_str(text: &str) -> Result<Self, InvalidEffort> {
        let name = text.trim().to_lowercase();
        Self::ALL
            .into_iter()
            .find(|effort| effort.as_str() == name)
            .ok_or_else(|| InvalidEffort(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effort_is_parsed_in_any_case_and_refused_with_the_choices() {
        assert_eq!("Medium".parse(), Ok(Effort::Medium));
        assert_eq!(" xhigh ".parse(), Ok(Effort::Xhigh));
        let refused = "hard".parse::<Effort>().unwrap_err().to_string();
        assert_eq!(refused, "I don't understand `hard` as an effort. Use low, medium, high, xhigh or max.");
    }

    #[test]
    fn token_budgets_map_to_efforts() {
        let of = |text: &str| Effort::for_thinking(text.parse().unwrap());
        assert_eq!(of("auto"), Effort::Low);
        assert_eq!(of("off"), Effort::Low);
        assert_eq!(of("adaptive"), Effort::Medium);
        assert_eq!(of("4k"), Effort::Low);
        assert_eq!(of("8k"), Effort::Medium);
        assert_eq!(of("32k"), Effort::High);
        assert_eq!(of("64k"), Effort::Xhigh);
    }
}
