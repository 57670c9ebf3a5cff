//! The skills of the data directory, loaded for a job or a conversation: found, expanded if the human has accepted
//! them as they are, and put into words.

pub mod running;

use std::sync::Arc;

use domain::context::skills::section;
use futures_util::future::BoxFuture;
use journal::files::skills::{Kept, Skills};
use journal::{Journal, hash_of};
use tools::skill::{Acceptance, Commands, Expansion};

/// What a job gets of its skills.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// SK-10: the section before what the job is told; empty, if nothing was loaded.
    pub section: String,
    /// SK-12: the tools that they bring along, in order, each once.
    pub tools: Vec<String>,
}

/// The skills, and who runs their commands.
pub struct SkillShelf {
    skills: Skills,
    journal: Arc<Journal>,
    commands: Arc<dyn Commands>,
}

/// What a skill is called where it is accepted.
pub fn name_of(skill: &str) -> String {
    format!("skill:{skill}")
}

impl SkillShelf {
    /// The skills in the directory of `journal`, whose commands are run by `commands`.
    pub fn new(journal: Arc<Journal>, commands: Arc<dyn Commands>) -> Self {
        let skills = Skills::new(journal.disk(), journal.paths().root());
        Self { skills, journal, commands }
    }

    /// SK-9: loads the skills of these names, in order; those that are missing are left out.
    pub async fn for_job(&self, names: &[String]) -> Loaded {
        let mut expansion = Expansion::new(&*self.commands);
        let (mut loaded, mut tools) = (Vec::new(), Vec::<String>::new());
        for name in names {
            let Some(kept) = self.find(name).await else { continue };
            for tool in kept.skill.allowed_tools.iter().flatten() {
                if !tools.contains(tool) {
                    tools.push(tool.clone());
                }
            }
            loaded.push((kept.skill.name.clone(), self.expanded(&mut expansion, &kept).await));
        }
        Loaded { section: section(&loaded), tools }
    }

    async fn expanded(&self, expansion: &mut Expansion<'_>, kept: &Kept) -> String {
        let accepted = self.journal.is_accepted(name_of(&kept.directory), hash_of(&kept.text)).await;
        let acceptance = match accepted {
            Ok(true) => Acceptance::Accepted,
            // What nobody can look up was not accepted.
            Ok(false) | Err(_) => Acceptance::NotAccepted,
        };
        expansion.expand(kept.skill.instructions.as_str(), acceptance).await
    }

    /// SK-3: the skill of that name: nothing, if it is missing or cannot be read, which is told in the log.
    async fn find(&self, name: &str) -> Option<Kept> {
        let (skills, name) = (self.skills.clone(), name.to_owned());
        let found = tokio::task::spawn_blocking(move || skills.find(&name)).await.ok()?;
        found.inspect_err(|bad| tracing::warn!("left out: {bad}")).ok().flatten()
    }
}

impl tools::skill::Skills for SkillShelf {
    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let kept = self.find(name).await.ok_or_else(|| {
                format!(
                    "there is no skill called `{name}`. `ollim-bot skills list` names those that there are."
                )
            })?;
            Ok(self.expanded(&mut Expansion::new(&*self.commands), &kept).await)
        })
    }
}
