//! A skill: instructions that a job can load by name.

use super::Prompt;

/// One skill as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SkillSpec {
    /// What it is called.
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// The tools it brings along, if it says.
    pub allowed_tools: Option<Vec<String>>,
    /// What to do.
    pub instructions: Prompt,
}

impl SkillSpec {
    /// Whether the name is spelled as it should be: lowercase letters, digits and hyphens.
    pub fn is_well_named(&self) -> bool {
        !self.name.is_empty()
            && self.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    }
}
