//! The subagents: `.claude/agents/<name>.md`.
//!
//! Bundled subagents are installed there and updated as long as the user does not edit them;
//! `state/agents.json` stores the hashes of the installed texts. Nothing waits for the
//! installation: until then they are listed as they will be.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::agent::Agent;
use domain::schedule::{InvalidField, ModelName};

use super::FileError;
use super::items::{is_markdown, read_text};
use crate::acceptance::hash_of;
use crate::disk::{Disk, FileKind, replace, replace_all};
use crate::frontmatter::wire::{self, AgentKeys, Tools};
use crate::frontmatter::{BadFile, BadText, invalid_value, read, split};

/// A bundled subagent: its name and its text.
pub type BundledAgent = (&'static str, String);

/// The files to write, and the installed hashes before and after.
struct InstallPlan<'b> {
    updates: BTreeMap<String, &'b str>,
    known: BTreeMap<String, String>,
    installed: BTreeMap<String, String>,
}

#[derive(Clone)]
pub struct AgentDirectory {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    manifest: PathBuf,
}

impl AgentDirectory {
    /// The directory of subagents in the data directory `data`.
    pub fn new(disk: Arc<dyn Disk>, data: &Path) -> Self {
        Self {
            disk,
            dir: data.join(".claude").join("agents"),
            manifest: data.join("state").join("agents.json"),
        }
    }

    /// SA-1, SA-4: installs the bundled subagents. An edited file stays as it is.
    pub fn install(&self, bundled: &[BundledAgent]) -> io::Result<()> {
        let InstallPlan { updates: newer, known, installed: placed } = self.plan_install(bundled)?;
        let files: Vec<_> = newer.into_iter().collect();
        replace_all(&*self.disk, &self.dir, &files)?;
        if placed == known {
            return Ok(());
        }
        replace(&*self.disk, &self.manifest, serde_json::to_string(&placed)?.as_bytes())
    }

    /// Determines which files to write.
    fn plan_install<'b>(&self, bundled: &'b [BundledAgent]) -> io::Result<InstallPlan<'b>> {
        let known = self.installed_hashes();
        let mut placed = known.clone();
        let mut newer = BTreeMap::new();
        for (name, text) in bundled {
            let file = format!("{name}.md");
            let hash = hash_of(text);
            let path = self.dir.join(&file);
            let there = match self.disk.file_kind(&path)? {
                None => None,
                Some(FileKind::File(_)) => Some(hash_of(&String::from_utf8_lossy(&self.disk.read(&path)?))),
                // Not a regular file, so it is not ours.
                Some(FileKind::Directory | FileKind::Other) => continue,
            };
            let is_ours = there.is_none() || there.as_ref() == known.get(*name);
            if is_ours && there.as_ref() != Some(&hash) {
                newer.insert(file, text.as_str());
            }
            if is_ours || there.as_ref() == Some(&hash) {
                placed.insert((*name).to_owned(), hash);
            }
        }
        Ok(InstallPlan { updates: newer, known, installed: placed })
    }

    /// SA-2, SA-3: all subagents by file name, and the files that are left out.
    pub fn list(&self) -> Result<(Vec<Agent>, Vec<BadFile>), FileError> {
        self.list_files(&BTreeMap::new())
    }

    /// Like `list`, as it will be once `bundled` are installed.
    pub fn list_after_install(
        &self,
        bundled: &[BundledAgent],
    ) -> Result<(Vec<Agent>, Vec<BadFile>), FileError> {
        // If the plan fails, they may have been installed before.
        let newer = self.plan_install(bundled).map(|placing| placing.updates).unwrap_or_default();
        self.list_files(&newer)
    }

    fn list_files(&self, newer: &BTreeMap<String, &str>) -> Result<(Vec<Agent>, Vec<BadFile>), FileError> {
        let mut agents = Vec::new();
        let mut bad = Vec::new();
        let mut names = BTreeSet::new();
        let there = self.paths()?.into_iter().chain(newer.keys().map(|file| self.dir.join(file)));
        for path in there.collect::<BTreeSet<_>>() {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let newer = path.file_name().and_then(OsStr::to_str).and_then(|file| newer.get(file));
            let text = newer.map_or_else(|| read_text(&*self.disk, &path), |text| Ok((*text).to_owned()));
            let agent = text.and_then(|text| parse(&text, &stem));
            let twice = |agent: Agent| {
                if names.insert(agent.name.clone()) {
                    Ok(agent)
                } else {
                    Err(BadText::whole(format!("another file is called `{}` too", agent.name)))
                }
            };
            match agent.and_then(twice) {
                Ok(agent) => agents.push(agent),
                Err(wrong) => bad.push(BadFile { path, bad: wrong }),
            }
        }
        Ok((agents, bad))
    }

    fn paths(&self) -> Result<Vec<PathBuf>, FileError> {
        if self.disk.file_kind(&self.dir).map_err(FileError::on_read(&self.dir))?.is_none() {
            return Ok(Vec::new());
        }
        let listed = self.disk.list(&self.dir).map_err(FileError::on_read(&self.dir))?;
        Ok(listed.into_iter().map(|listed| listed.path).filter(|path| is_markdown(path)).collect())
    }

    /// The installed subagents and their hashes. If the file is unreadable, all files count as
    /// edited.
    fn installed_hashes(&self) -> BTreeMap<String, String> {
        let bytes = self.disk.read(&self.manifest).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }
}

/// Parses the text of a subagent from the file named `stem`.
pub fn parse(text: &str, stem: &str) -> Result<Agent, BadText> {
    let split = split(text)?;
    build_agent(read(&split)?, stem, split.body.trim().to_owned())
        .map_err(|invalid| invalid_value(&split, invalid))
}

fn build_agent(keys: AgentKeys, stem: &str, prompt: String) -> Result<Agent, InvalidField> {
    let tools = match wire::required("tools", keys.tools)? {
        Tools::List(tools) => tools,
        Tools::Text(text) => split_tools(&text),
    };
    let name = keys.name.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| stem.to_owned());
    let description = keys.description.unwrap_or_default();
    let model = keys.model.as_deref().and_then(ModelName::parse);
    Ok(Agent { name, description, model, tools, prompt })
}

/// Splits a list of patterns at commas outside brackets.
fn split_tools(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let at_comma = |letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    let tools = text.split(at_comma).map(str::trim).filter(|tool| !tool.is_empty());
    tools.map(str::to_owned).collect()
}
