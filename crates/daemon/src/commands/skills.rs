//! `ollim-bot skills`: lists skills and accepts their current version.

use std::process::ExitCode;
use std::sync::Arc;

use domain::context::skills::commands;
use domain::tool::pattern::{Folders, validate};
use engine::ports::Clock;
use journal::disk::Disk;
use journal::files::skills::{SkillDirectory, StoredSkill};
use journal::hash_of;
use serde_json::{Value, json};

use super::print_result;
use crate::cli::{Output, SkillsAction};
use crate::clock::SystemClock;
use crate::exit::CommandError;
use crate::settings::Settings;
use crate::skills::consent_name;

pub fn run(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    action: &SkillsAction,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let skills = SkillDirectory::new(disk, settings.paths.root());
    let desk = SkillCommands { settings, skills, output };
    match action {
        SkillsAction::List => desk.list(),
        SkillsAction::Show { name } => desk.show(name),
        SkillsAction::Accept { name } => desk.accept(name),
    }
}

struct SkillCommands<'a> {
    settings: &'a Settings,
    skills: SkillDirectory,
    output: &'a Output,
}

impl SkillCommands<'_> {
    fn list(&self) -> Result<ExitCode, CommandError> {
        let listing = self.skills.list().map_err(|trouble| CommandError::Failed(trouble.to_string()))?;
        let mut lines = Vec::new();
        let mut values = Vec::new();
        for filed in &listing.items {
            let directory = filed.path.parent().and_then(|dir| dir.file_name()).unwrap_or_default();
            let Ok(Some(kept)) = self.skills.find(&directory.to_string_lossy()) else { continue };
            let standing = self.acceptance(&kept)?;
            lines.push(format!("  {:<24}  {:<14}  {}", kept.directory, standing, kept.skill.description));
            lines.extend(self.notes(&kept).iter().map(|note| format!("      note: {note}")));
            values.push(self.value(&kept, standing));
        }
        let bad = listing.bad.iter().map(|bad| format!("  ! {bad}"));
        lines.extend(bad);
        if lines.is_empty() {
            lines
                .push("No skills yet. A skill is a directory in `skills` with a file `SKILL.md`.".to_owned());
        } else if values.iter().any(|value| value["standing"] != ACCEPTED) {
            lines.push(
                "The assistant is told of accepted skills only. `ollim-bot skills accept NAME` accepts one."
                    .to_owned(),
            );
        }
        let invalid: Vec<String> = listing.bad.iter().map(ToString::to_string).collect();
        print_result(self.output, &json!({ "skills": values, "invalid": invalid }), &lines.join("\n"));
        Ok(ExitCode::SUCCESS)
    }

    fn show(&self, name: &str) -> Result<ExitCode, CommandError> {
        let kept = self.find(name)?;
        let standing = self.acceptance(&kept)?;
        let mut value = self.value(&kept, standing);
        value["text"] = kept.text.clone().into();
        let notes: String = self.notes(&kept).iter().map(|note| format!("\n  note: {note}")).collect();
        let text =
            format!("{} ({standing})\n{}{notes}\n\n{}", kept.directory, commands_and_tools(&kept), kept.text);
        print_result(self.output, &value, &text);
        Ok(ExitCode::SUCCESS)
    }

    fn accept(&self, name: &str) -> Result<ExitCode, CommandError> {
        let kept = self.find(name)?;
        let now = SystemClock::new(self.settings.zone.value.clone()).now().timestamp();
        let accepted =
            journal::accept(&self.settings.paths, &consent_name(&kept.directory), &hash_of(&kept.text), now);
        accepted.map_err(CommandError::Failed)?;
        let text = format!(
            "accepted {}, as it is now.\n{}\nThe assistant sees it in its list of skills from its next start on.",
            kept.directory,
            commands_and_tools(&kept)
        );
        print_result(self.output, &self.value(&kept, ACCEPTED), &text);
        Ok(ExitCode::SUCCESS)
    }

    fn find(&self, name: &str) -> Result<StoredSkill, CommandError> {
        let found = self.skills.find(name).map_err(|bad| CommandError::Failed(bad.to_string()))?;
        found.ok_or_else(|| {
            CommandError::Failed(format!(
                "there is no skill called `{name}`. `ollim-bot skills list` names them."
            ))
        })
    }

    /// Returns whether the user has accepted the skill, or whether it has nothing that needs
    /// acceptance.
    fn acceptance(&self, kept: &StoredSkill) -> Result<&'static str, CommandError> {
        let failed = |error: &dyn std::fmt::Display| CommandError::Failed(error.to_string());
        let database = journal::open_read_only(&self.settings.paths).map_err(|error| failed(&error))?;
        if let Some(database) = database {
            let accepted = database.is_accepted(&consent_name(&kept.directory), &hash_of(&kept.text));
            if accepted.map_err(|error| failed(&error))? {
                return Ok(ACCEPTED);
            }
        }
        let words_only =
            commands(kept.skill.instructions.as_str()).is_empty() && kept.skill.allowed_tools.is_none();
        Ok(if words_only { "words only" } else { "not accepted" })
    }

    /// Returns which parts of the file have no effect, and which rules of the specification it
    /// violates.
    fn notes(&self, kept: &StoredSkill) -> Vec<String> {
        let mut notes = kept.skill.notes(&kept.directory);
        let tools = kept.skill.tools();
        if !tools.ignored.is_empty() {
            notes.push(format!("ignored tools, which do not exist here: {}", quoted(&tools.ignored)));
        }
        let data = self.settings.paths.root().to_string_lossy().into_owned();
        let folders = Folders { data, home: self.settings.home.clone() };
        for tool in &tools.usable {
            for finding in validate(tool, &folders) {
                notes.push(format!("tool `{}`: {finding}", tool.escape_debug()));
            }
        }
        let ignored: Vec<String> =
            kept.skill.other.keys().filter(|key| *key != "metadata").cloned().collect();
        if !ignored.is_empty() {
            notes.push(format!("ignored keys: {}", quoted(&ignored)));
        }
        if let Some(needs) = &kept.skill.compatibility {
            notes.push(format!("compatibility, not checked here: {}", needs.escape_debug()));
        }
        notes
    }

    fn value(&self, kept: &StoredSkill, standing: &str) -> Value {
        json!({
            "directory": kept.directory,
            "name": kept.skill.name,
            "description": kept.skill.description,
            "standing": standing,
            "commands": commands(kept.skill.instructions.as_str()),
            "allowed_tools": kept.skill.allowed_tools,
            "tools": kept.skill.tools().usable,
            "ignored_tools": kept.skill.tools().ignored,
            "license": kept.skill.license,
            "compatibility": kept.skill.compatibility,
            "metadata": kept.skill.metadata,
            "files": self.skills.files(&kept.directory),
            "notes": self.notes(kept),
            "hash": hash_of(&kept.text),
        })
    }
}

/// The state of a skill whose current version is accepted.
const ACCEPTED: &str = "accepted";

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{}`", name.escape_debug())).collect::<Vec<_>>().join(", ")
}

/// Lists the commands and tools of the skill.
fn commands_and_tools(kept: &StoredSkill) -> String {
    let commands = commands(kept.skill.instructions.as_str());
    let commands = commands.iter().map(|command| format!("  runs {command}"));
    let tools = kept.skill.tools();
    let tools = tools.usable.into_iter().map(|tool| format!("  uses {tool}"));
    let lines: Vec<String> = commands.chain(tools).collect();
    if lines.is_empty() { "  runs nothing".to_owned() } else { lines.join("\n") }
}
