//! Options of a background run: model, thinking, effort, reports, and tools.

use super::{InvalidField, ReportPolicy};
use crate::effort::Effort;

/// Options of a background run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RunOptions {
    /// The model, if not the default.
    pub model: Option<ModelName>,
    pub thinking: ThinkingOverride,
    /// The effort; `None` uses the setting.
    pub effort: Option<Effort>,
    pub report_policy: ReportPolicy,
    pub tools: ToolRule,
}

/// The short name of a model: `opus`, `sonnet`, `haiku`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelName(String);

impl ModelName {
    /// Trims `text`; `None` if it is empty.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether the model thinks before it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ThinkingOverride {
    /// As in the main conversation, so that a fork can reuse the vendor's prompt cache.
    #[default]
    Inherit,
    /// Enabled, independent of the main conversation.
    On,
    /// As little as the model allows.
    Off,
}

impl ThinkingOverride {
    /// Converts the key `thinking` of a job file.
    pub fn from_key(key: Option<bool>) -> Self {
        match key {
            None => Self::Inherit,
            Some(true) => Self::On,
            Some(false) => Self::Off,
        }
    }

    /// The key `thinking` of a job file; `None` if it is omitted.
    pub fn key(self) -> Option<bool> {
        match self {
            Self::Inherit => None,
            Self::On => Some(true),
            Self::Off => Some(false),
        }
    }
}

/// The tools that a job may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum ToolRule {
    /// The tools of main.
    #[default]
    SameAsMain,
    Only(Vec<String>),
    Except(Vec<String>),
    /// Tools that both rules allow: a subagent may not use more than its requester.
    Intersection(Box<ToolRule>, Box<ToolRule>),
}

impl ToolRule {
    /// Builds a rule from the two lists of a file, of which at most one may be given.
    pub fn from_lists(
        allowed: Option<Vec<String>>,
        denied: Option<Vec<String>>,
    ) -> Result<Self, InvalidField> {
        match (allowed, denied) {
            (None, None) => Ok(Self::SameAsMain),
            (Some(tools), None) => Ok(Self::Only(tools)),
            (None, Some(tools)) => Ok(Self::Except(tools)),
            (Some(_), Some(_)) => Err(InvalidField::new(
                "disallowed-tools",
                "cannot stand beside `allowed-tools`; keep one of the two lists",
            )),
        }
    }

    /// The list it is limited to.
    pub fn allowed(&self) -> Option<&[String]> {
        match self {
            Self::Only(tools) => Some(tools),
            Self::Intersection(_, inner) => inner.allowed(),
            Self::SameAsMain | Self::Except(_) => None,
        }
    }

    /// The list it excludes.
    pub fn denied(&self) -> Option<&[String]> {
        match self {
            Self::Except(tools) => Some(tools),
            Self::Intersection(_, inner) => inner.denied(),
            Self::SameAsMain | Self::Only(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DD-38: a file has at most one of the two lists.
    #[test]
    fn a_job_has_at_most_one_tool_list() {
        let list = || Some(vec!["Bash".to_owned()]);
        assert_eq!(ToolRule::from_lists(None, None), Ok(ToolRule::SameAsMain));
        assert_eq!(ToolRule::from_lists(list(), None).unwrap().allowed(), list().as_deref());
        assert_eq!(ToolRule::from_lists(None, list()).unwrap().denied(), list().as_deref());
        let wrong = ToolRule::from_lists(list(), list()).unwrap_err().to_string();
        assert!(wrong.contains("allowed-tools") && wrong.contains("disallowed-tools"), "{wrong}");
    }
}
