//! Loads skills of the data directory for jobs and conversations; commands in them are expanded
//! only in accepted skills.

pub mod commands;

use std::sync::Arc;

use domain::context::skills::{LoadedSkills, NamedSkills, SkillSummary, file_list, section};
use domain::label::{Label, Realm};
use domain::rng::Rng;
use futures_util::future::BoxFuture;
use journal::files::skills::{SkillDirectory, StoredSkill};
use journal::{Journal, hash_of};
use tools::LabelledText;
use tools::skill::{Acceptance, CommandRunner, Expansion, ProgramPolicy};

/// The skills, and the runner of their commands.
pub struct SkillStore {
    skills: SkillDirectory,
    journal: Arc<Journal>,
    commands: Arc<dyn CommandRunner>,
}

/// Returns the name under which the acceptance of a skill is stored.
pub fn consent_name(skill: &str) -> String {
    format!("skill:{skill}")
}

/// The most characters of a skill's file that are returned at once; `Read` returns the rest.
const MAX_FILE_CHARS: usize = 100_000;

fn truncate_file(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_FILE_CHARS) {
        text.truncate(end);
        text.push_str("\n[cut here; `Read` gives the rest]");
    }
    text
}

/// Returns the skills that the model is informed about: those whose current version the user has
/// accepted.
///
/// Reading them blocks, so it runs on the blocking pool. A directory that cannot be read gives no skills.
pub async fn accepted_skills(journal: &Arc<Journal>) -> Vec<SkillSummary> {
    let skills = SkillDirectory::new(journal.disk(), journal.paths().root());
    let found = tokio::task::spawn_blocking(move || skills.list_readable()).await.unwrap_or_default();
    let mut summaries = Vec::new();
    for kept in found {
        let accepted = journal.is_accepted(consent_name(&kept.directory), hash_of(&kept.text)).await;
        if matches!(accepted, Ok(true)) {
            summaries.push(SkillSummary { name: kept.directory, description: kept.skill.description });
        }
    }
    summaries
}

impl SkillStore {
    /// Creates a store for the directory of `journal`.
    pub fn new(journal: Arc<Journal>, commands: Arc<dyn CommandRunner>) -> Self {
        let skills = SkillDirectory::new(journal.disk(), journal.paths().root());
        Self { skills, journal, commands }
    }

    /// SK-9, SK-12: Loads the named skills in order; missing ones are skipped. A skill that is not
    /// accepted runs no commands and adds no tools.
    async fn load_for_job(&self, wanted: &NamedSkills) -> LoadedSkills {
        let Ok(seed) = getrandom::u64() else {
            tracing::warn!("The system gives no random numbers, so the skills of a job were left out.");
            return LoadedSkills::default();
        };
        let mut expansion =
            Expansion::new(&*self.commands).with_tools(&wanted.tools).with_quoting(Rng::new(seed));
        let mut loaded = Vec::new();
        let mut tools = Vec::<String>::new();
        for name in &wanted.names {
            let Some(kept) = self.find(name).await else { continue };
            let acceptance = self.acceptance(&kept).await;
            if acceptance == Acceptance::Accepted {
                for tool in kept.skill.tools().usable {
                    if !tools.contains(&tool) {
                        tools.push(tool);
                    }
                }
            }
            let text = expansion.expand(kept.skill.instructions.as_str(), acceptance).await;
            loaded.push((kept.directory.clone(), self.with_files(&kept, text).await));
        }
        LoadedSkills { section: section(&loaded), tools, label: expansion.label() }
    }

    /// Appends the names of the skill's other files to its text.
    async fn with_files(&self, kept: &StoredSkill, text: String) -> String {
        let skills = self.skills.clone();
        let directory = kept.directory.clone();
        let files = tokio::task::spawn_blocking(move || skills.files(&directory)).await.unwrap_or_default();
        let files = file_list(&kept.directory, &files);
        if files.is_empty() { text } else { format!("{}{files}", text.trim_end()) }
    }

    async fn acceptance(&self, kept: &StoredSkill) -> Acceptance {
        let accepted = self.journal.is_accepted(consent_name(&kept.directory), hash_of(&kept.text)).await;
        match accepted {
            Ok(true) => Acceptance::Accepted,
            // A failed lookup counts as not accepted.
            Ok(false) | Err(_) => Acceptance::NotAccepted,
        }
    }

    /// SK-3: Finds a skill. Returns `None` if it is missing or invalid; the latter is logged.
    async fn find(&self, name: &str) -> Option<StoredSkill> {
        let skills = self.skills.clone();
        let name = name.to_owned();
        let found = tokio::task::spawn_blocking(move || skills.find(&name)).await.ok()?;
        found.inspect_err(|bad| tracing::warn!("left out: {bad}")).ok().flatten()
    }
}

impl tools::skill::SkillStore for SkillStore {
    fn load<'a>(
        &'a self,
        name: &'a str,
        programs: &'a dyn ProgramPolicy,
    ) -> BoxFuture<'a, Result<LabelledText, String>> {
        Box::pin(async move {
            let kept = self.find(name).await.ok_or_else(|| {
                format!(
                    "there is no skill called `{name}`. `ollim-bot skills list` names those that there are."
                )
            })?;
            // Commands that the caller may not run are not run for it.
            let mut expansion = Expansion::new(&*self.commands).with_policy(programs);
            let acceptance = self.acceptance(&kept).await;
            let text = expansion.expand(kept.skill.instructions.as_str(), acceptance).await;
            let label = expansion.label().join(Label::private(Realm::Files));
            Ok(LabelledText { text: self.with_files(&kept, text).await, label })
        })
    }

    fn read_file<'a>(&'a self, name: &'a str, file: &'a str) -> BoxFuture<'a, Result<String, String>> {
        let skills = self.skills.clone();
        let skill = name.to_owned();
        let path = file.to_owned();
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || skills.read_file(&skill, &path)).await;
            let text = read.map_err(|_| "the file could not be read.".to_owned())?;
            let text =
                text.map_err(|bad| format!("`{file}` of the skill `{name}` is not read: {}.", bad.bad))?;
            Ok(truncate_file(text))
        })
    }

    fn for_job<'a>(&'a self, wanted: &'a NamedSkills) -> BoxFuture<'a, LoadedSkills> {
        Box::pin(self.load_for_job(wanted))
    }
}
