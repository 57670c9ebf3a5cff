//! A skill: instructions that a job or a conversation can load by name, in the public Agent Skills format.
//!
//! The rules for names and lengths are those of the specification (agentskills.io/specification). A skill that breaks
//! one of them is still loaded; `SkillSpec::notes` names the broken rules. A skill that we write must follow them all
//! (`SkillSpec::check`).

use std::collections::BTreeMap;

use super::{InvalidField, Prompt};
use crate::tool::pattern::translate;

/// The longest name, in characters.
const MAX_NAME: usize = 64;
/// The longest description, in characters.
const MAX_DESCRIPTION: usize = 1024;
/// The longest `compatibility`, in characters.
const MAX_COMPATIBILITY: usize = 500;

/// The rule for names, for messages.
const NAME_RULE: &str =
    "1 to 64 lowercase letters, digits and hyphens, without a hyphen at either end or two in a row";

/// One skill as it is written in its `SKILL.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SkillSpec {
    /// Its name.
    pub name: String,
    /// Its purpose, and when to use it.
    pub description: String,
    /// The tool patterns it brings along, as written; `None` if the key is absent.
    pub allowed_tools: Option<Vec<String>>,
    /// The license of the skill.
    pub license: Option<String>,
    /// The environment that the skill needs.
    pub compatibility: Option<String>,
    /// Details that other programs keep in the file.
    pub metadata: BTreeMap<String, String>,
    /// Keys outside the specification, each with its value as JSON. They are kept when the file is written again.
    pub other: BTreeMap<String, String>,
    /// The instructions.
    pub instructions: Prompt,
}

/// The tools of a skill, sorted by whether they exist here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillTools {
    /// Patterns of our own tools, each once.
    pub usable: Vec<String>,
    /// Patterns as written that name no tool of ours. They are ignored.
    pub ignored: Vec<String>,
}

impl SkillSpec {
    /// Returns whether the name follows the specification.
    pub fn is_well_named(&self) -> bool {
        is_skill_name(&self.name)
    }

    /// Checks the rules that a skill written by us must follow.
    pub fn check(&self) -> Result<(), InvalidField> {
        if !self.is_well_named() {
            return Err(InvalidField::new(
                "name",
                format!("{:?} is not a skill name: {NAME_RULE}", self.name),
            ));
        }
        let length = self.description.chars().count();
        if !(1..=MAX_DESCRIPTION).contains(&length) {
            let reason = format!("is {length} characters long; write 1 to {MAX_DESCRIPTION}");
            return Err(InvalidField::new("description", reason));
        }
        let length = self.compatibility.as_ref().map_or(1, |text| text.chars().count());
        if !(1..=MAX_COMPATIBILITY).contains(&length) {
            let reason = format!("is {length} characters long; write 1 to {MAX_COMPATIBILITY}");
            return Err(InvalidField::new("compatibility", reason));
        }
        Ok(())
    }

    /// Names the rules of the specification that the skill in `directory` breaks although it is loaded.
    pub fn notes(&self, directory: &str) -> Vec<String> {
        let mut notes = Vec::new();
        if self.name != directory {
            notes.push(format!(
                "its name `{}` differs from its directory; load it as `{directory}`",
                self.name.escape_debug()
            ));
        }
        if let Err(invalid) = self.check() {
            notes.push(format!("`{}`: {}", invalid.field, invalid.reason));
        }
        if self.other.contains_key("metadata") {
            notes.push("`metadata`: is not a map of text to text".to_owned());
        }
        notes
    }

    /// Sorts the tools it brings along into those that exist here and those that do not.
    pub fn tools(&self) -> SkillTools {
        let mut tools = SkillTools::default();
        for written in self.allowed_tools.iter().flatten() {
            match translate(written) {
                Some(pattern) if !tools.usable.contains(&pattern) => tools.usable.push(pattern),
                Some(_) => {}
                None => tools.ignored.push(written.clone()),
            }
        }
        tools
    }
}

/// Returns whether `name` follows the specification's rule for names.
fn is_skill_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=MAX_NAME).contains(&name.len())
        && name.chars().all(allowed)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> SkillSpec {
        SkillSpec { name: name.to_owned(), description: "Reads mail.".to_owned(), ..SkillSpec::default() }
    }

    /// SK-2: names follow the rule of the specification.
    #[test]
    fn skill_names_follow_the_specification() {
        for good in ["a", "pdf-processing", "2-in-1", &"a".repeat(64)] {
            assert!(named(good).is_well_named(), "{good}");
            assert_eq!(named(good).check(), Ok(()), "{good}");
        }
        for bad in ["", "-pdf", "pdf-", "pdf--x", "PDF", "a b", "ä", "a_b", &"a".repeat(65)] {
            assert!(!named(bad).is_well_named(), "{bad}");
            assert_eq!(named(bad).check().unwrap_err().field, "name", "{bad}");
        }
    }

    #[test]
    fn broken_soft_rules_are_noted() {
        assert_eq!(named("mail").notes("mail"), [""; 0]);
        let mut skill = named("Mail");
        assert_eq!(
            skill.notes("mail"),
            [
                "its name `Mail` differs from its directory; load it as `mail`".to_owned(),
                format!("`name`: \"Mail\" is not a skill name: {NAME_RULE}"),
            ]
        );
        skill = named("mail");
        skill.description = "x".repeat(1025);
        assert_eq!(skill.notes("mail"), ["`description`: is 1025 characters long; write 1 to 1024"]);
        skill = named("mail");
        skill.compatibility = Some("x".repeat(501));
        assert_eq!(skill.notes("mail"), ["`compatibility`: is 501 characters long; write 1 to 500"]);
    }

    /// SK-12: tools of other agents are mapped to ours, each once; unknown ones are ignored.
    #[test]
    fn tools_are_sorted_into_usable_and_ignored() {
        let mut skill = named("mail");
        let written = ["Bash(git:*)", "Read", "read_file", "NotebookEdit", "Deploy(prod)"];
        skill.allowed_tools = Some(written.map(str::to_owned).to_vec());
        let tools = skill.tools();
        assert_eq!(tools.usable, ["Bash(git *)", "Read"]);
        assert_eq!(tools.ignored, ["NotebookEdit", "Deploy(prod)"]);
    }
}
