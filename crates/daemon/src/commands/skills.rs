//! `ollim-bot skills`: which there are, and which of them the human has accepted as they are.

use std::process::ExitCode;
use std::sync::Arc;

use domain::context::skills::commands;
use engine::ports::Clock;
use journal::disk::Disk;
use journal::files::skills::{Kept, Skills};
use journal::hash_of;
use serde_json::{Value, json};

use super::answer;
use crate::cli::{Output, SkillsAction};
use crate::clock::SystemClock;
use crate::exit::Failed;
use crate::settings::Settings;
use crate::skills::name_of;

/// Does what was asked for.
pub fn run(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    action: &SkillsAction,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let skills = Skills::new(disk, settings.paths.root());
    let desk = Desk { settings, skills, output };
    match action {
        SkillsAction::List => desk.list(),
        SkillsAction::Show { name } => desk.show(name),
        SkillsAction::Accept { name } => desk.accept(name),
    }
}

struct Desk<'a> {
    settings: &'a Settings,
    skills: Skills,
    output: &'a Output,
}

impl Desk<'_> {
    fn list(&self) -> Result<ExitCode, Failed> {
        let listing = self.skills.list().map_err(|trouble| Failed::NotDone(trouble.to_string()))?;
        let (mut lines, mut values) = (Vec::new(), Vec::new());
        for filed in &listing.items {
            let directory = filed.path.parent().and_then(|dir| dir.file_name()).unwrap_or_default();
            let Ok(Some(kept)) = self.skills.find(&directory.to_string_lossy()) else { continue };
            let standing = self.standing(&kept)?;
            lines.push(format!("  {:<24}  {:<14}  {}", kept.directory, standing, kept.skill.description));
            values.push(self.value(&kept, standing));
        }
        let bad = listing.bad.iter().map(|bad| format!("  ! {bad}"));
        lines.extend(bad);
        if lines.is_empty() {
            lines.push("no skills. one is a directory in `skills` with a file `SKILL.md`.".to_owned());
        }
        let invalid: Vec<String> = listing.bad.iter().map(ToString::to_string).collect();
        answer(self.output, &json!({ "skills": values, "invalid": invalid }), &lines.join("\n"));
        Ok(ExitCode::SUCCESS)
    }

    fn show(&self, name: &str) -> Result<ExitCode, Failed> {
        let kept = self.find(name)?;
        let standing = self.standing(&kept)?;
        let mut value = self.value(&kept, standing);
        value["text"] = kept.text.clone().into();
        let text = format!("{} ({standing})\n{}\n\n{}", kept.directory, runs(&kept), kept.text);
        answer(self.output, &value, &text);
        Ok(ExitCode::SUCCESS)
    }

    fn accept(&self, name: &str) -> Result<ExitCode, Failed> {
        let kept = self.find(name)?;
        let now = SystemClock::new(self.settings.zone.value.clone()).now().timestamp();
        let accepted =
            journal::accept(&self.settings.paths, &name_of(&kept.directory), &hash_of(&kept.text), now);
        accepted.map_err(Failed::NotDone)?;
        let text = format!("accepted {}, as it is now.\n{}", kept.directory, runs(&kept));
        answer(self.output, &self.value(&kept, "accepted"), &text);
        Ok(ExitCode::SUCCESS)
    }

    fn find(&self, name: &str) -> Result<Kept, Failed> {
        let found = self.skills.find(name).map_err(|bad| Failed::NotDone(bad.to_string()))?;
        found.ok_or_else(|| {
            Failed::NotDone(format!("there is no skill called `{name}`. `ollim-bot skills list` names them."))
        })
    }

    /// Whether its commands may run.
    fn standing(&self, kept: &Kept) -> Result<&'static str, Failed> {
        let failed = |error: &dyn std::fmt::Display| Failed::NotDone(error.to_string());
        if commands(kept.skill.instructions.as_str()).is_empty() && kept.skill.allowed_tools.is_none() {
            return Ok("words only");
        }
        let Some(database) = journal::peek(&self.settings.paths).map_err(|error| failed(&error))? else {
            return Ok("not accepted");
        };
        let accepted = database.is_accepted(&name_of(&kept.directory), &hash_of(&kept.text));
        match accepted.map_err(|error| failed(&error))? {
            true => Ok("accepted"),
            false => Ok("not accepted"),
        }
    }

    fn value(&self, kept: &Kept, standing: &str) -> Value {
        json!({
            "directory": kept.directory,
            "name": kept.skill.name,
            "description": kept.skill.description,
            "standing": standing,
            "commands": commands(kept.skill.instructions.as_str()),
            "allowed_tools": kept.skill.allowed_tools,
            "hash": hash_of(&kept.text),
        })
    }
}

/// What it would run and use.
fn runs(kept: &Kept) -> String {
    let commands = commands(kept.skill.instructions.as_str());
    let commands = commands.iter().map(|command| format!("  runs {command}"));
    let tools = kept.skill.allowed_tools.iter().flatten().map(|tool| format!("  uses {tool}"));
    let lines: Vec<String> = commands.chain(tools).collect();
    if lines.is_empty() { "  runs nothing".to_owned() } else { lines.join("\n") }
}
