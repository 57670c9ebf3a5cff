//! The terms under which a job runs aside: its model, its voice and its tools.

use super::{Invalid, Voice};
use crate::effort::Effort;

/// What holds while a job runs aside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Terms {
    /// The model that answers, if not the usual one.
    pub model: Option<ModelName>,
    /// Whether it thinks.
    pub thinking: Thinking,
    /// How much work it puts into an answer; if not given, the settings say.
    pub effort: Option<Effort>,
    /// How it may reach the human.
    pub voice: Voice,
    /// What it may use.
    pub tools: ToolRule,
}

/// What the human calls a model: `opus`, `sonnet`, `haiku`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelName(String);

impl ModelName {
    /// Reads a name: nothing, if there are no words.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether the model thinks before it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Thinking {
    /// As the main conversation does. A run that forks from it can then read the vendor's cache of it.
    #[default]
    Inherit,
    /// It thinks, even if the main conversation does not.
    On,
    /// It thinks as little as the model allows.
    Off,
}

impl Thinking {
    /// Reads the key `thinking` of a job's file.
    pub fn from_key(key: Option<bool>) -> Self {
        match key {
            None => Self::Inherit,
            Some(true) => Self::On,
            Some(false) => Self::Off,
        }
    }

    /// Returns the key `thinking` of a job's file; nothing, if the key is left out.
    pub fn key(self) -> Option<bool> {
        match self {
            Self::Inherit => None,
            Self::On => Some(true),
            Self::Off => Some(false),
        }
    }
}

/// Which tools a job may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum ToolRule {
    /// Those that main has.
    #[default]
    Usual,
    /// These and no others.
    Only(Vec<String>),
    /// All but these.
    Except(Vec<String>),
    /// What both let through: who works for somebody may do no more than they.
    Within(Box<ToolRule>, Box<ToolRule>),
}

impl ToolRule {
    /// Reads the two lists of a file, of which at most one may be there.
    pub fn read(allowed: Option<Vec<String>>, denied: Option<Vec<String>>) -> Result<Self, Invalid> {
        match (allowed, denied) {
            (None, None) => Ok(Self::Usual),
            (Some(tools), None) => Ok(Self::Only(tools)),
            (None, Some(tools)) => Ok(Self::Except(tools)),
            (Some(_), Some(_)) => Err(Invalid::new(
                "disallowed-tools",
                "cannot stand beside `allowed-tools`; keep one of the two lists",
            )),
        }
    }

    /// The list of tools it is limited to.
    pub fn allowed(&self) -> Option<&[String]> {
        match self {
            Self::Only(tools) => Some(tools),
            Self::Within(_, inner) => inner.allowed(),
            Self::Usual | Self::Except(_) => None,
        }
    }

    /// The list of tools it must do without.
    pub fn denied(&self) -> Option<&[String]> {
        match self {
            Self::Except(tools) => Some(tools),
            Self::Within(_, inner) => inner.denied(),
            Self::Usual | Self::Only(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DD-38: one list or the other.
    #[test]
    fn a_job_has_a_list_of_what_it_may_use_or_of_what_it_may_not() {
        let list = || Some(vec!["Bash".to_owned()]);
        assert_eq!(ToolRule::read(None, None), Ok(ToolRule::Usual));
        assert_eq!(ToolRule::read(list(), None).unwrap().allowed(), list().as_deref());
        assert_eq!(ToolRule::read(None, list()).unwrap().denied(), list().as_deref());
        let wrong = ToolRule::read(list(), list()).unwrap_err().to_string();
        assert!(wrong.contains("allowed-tools") && wrong.contains("disallowed-tools"), "{wrong}");
    }
}
