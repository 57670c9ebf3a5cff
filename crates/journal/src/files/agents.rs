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
use domain::schedule::{Invalid, ModelName};

use super::Trouble;
use super::items::{is_markdown, text_of};
use crate::acceptance::hash_of;
use crate::disk::{Disk, Seen, replace, replace_all};
use crate::frontmatter::wire::{self, AgentKeys, Tools};
use crate::frontmatter::{BadFile, BadText, read, split, untrue};

/// A bundled subagent: its name and its text.
pub type Bundled = (&'static str, String);

/// The files to write, and the installed hashes before and after.
struct Placing<'b> {
    newer: BTreeMap<String, &'b str>,
    known: BTreeMap<String, String>,
    placed: BTreeMap<String, String>,
}

#[derive(Clone)]
pub struct Agents {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    placed: PathBuf,
}

impl Agents {
    /// The directory of subagents in the data directory `data`.
    pub fn new(disk: Arc<dyn Disk>, data: &Path) -> Self {
        Self {
            disk,
            dir: data.join(".claude").join("agents"),
            placed: data.join("state").join("agents.json"),
        }
    }

    /// SA-1, SA-4: installs the bundled subagents. An edited file stays as it is.
    pub fn place(&self, bundled: &[Bundled]) -> io::Result<()> {
        let Placing { newer, known, placed } = self.placing(bundled)?;
        let files: Vec<_> = newer.into_iter().collect();
        replace_all(&*self.disk, &self.dir, &files)?;
        if placed == known {
            return Ok(());
        }
        replace(&*self.disk, &self.placed, serde_json::to_string(&placed)?.as_bytes())
    }

    /// Determines which files to write.
    fn placing<'b>(&self, bundled: &'b [Bundled]) -> io::Result<Placing<'b>> {
        let known = self.known();
        let mut placed = known.clone();
        let mut newer = BTreeMap::new();
        for (name, text) in bundled {
            let file = format!("{name}.md");
            let hash = hash_of(text);
            let path = self.dir.join(&file);
            let there = match self.disk.look(&path)? {
                None => None,
                Some(Seen::File(_)) => Some(hash_of(&String::from_utf8_lossy(&self.disk.read(&path)?))),
                // Not a regular file, so it is not ours.
                Some(Seen::Directory | Seen::Strange) => continue,
            };
            let is_ours = there.is_none() || there.as_ref() == known.get(*name);
            if is_ours && there.as_ref() != Some(&hash) {
                newer.insert(file, text.as_str());
            }
            if is_ours || there.as_ref() == Some(&hash) {
                placed.insert((*name).to_owned(), hash);
            }
        }
        Ok(Placing { newer, known, placed })
    }

    /// SA-2, SA-3: all subagents by file name, and the files that are left out.
    pub fn list(&self) -> Result<(Vec<Agent>, Vec<BadFile>), Trouble> {
        self.listed(&BTreeMap::new())
    }

    /// Like `list`, as it will be once `bundled` are installed.
    pub fn list_with(&self, bundled: &[Bundled]) -> Result<(Vec<Agent>, Vec<BadFile>), Trouble> {
        // If the plan fails, they may have been installed before.
        let newer = self.placing(bundled).map(|placing| placing.newer).unwrap_or_default();
        self.listed(&newer)
    }

    fn listed(&self, newer: &BTreeMap<String, &str>) -> Result<(Vec<Agent>, Vec<BadFile>), Trouble> {
        let mut agents = Vec::new();
        let mut bad = Vec::new();
        let mut names = BTreeSet::new();
        let there = self.paths()?.into_iter().chain(newer.keys().map(|file| self.dir.join(file)));
        for path in there.collect::<BTreeSet<_>>() {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let newer = path.file_name().and_then(OsStr::to_str).and_then(|file| newer.get(file));
            let text = newer.map_or_else(|| text_of(&*self.disk, &path), |text| Ok((*text).to_owned()));
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

    fn paths(&self) -> Result<Vec<PathBuf>, Trouble> {
        if self.disk.look(&self.dir).map_err(Trouble::reading(&self.dir))?.is_none() {
            return Ok(Vec::new());
        }
        let listed = self.disk.list(&self.dir).map_err(Trouble::reading(&self.dir))?;
        Ok(listed.into_iter().map(|listed| listed.path).filter(|path| is_markdown(path)).collect())
    }

    /// The installed subagents and their hashes. If the file is unreadable, all files count as
    /// edited.
    fn known(&self) -> BTreeMap<String, String> {
        let bytes = self.disk.read(&self.placed).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }
}

/// Parses the text of a subagent from the file named `stem`.
pub fn parse(text: &str, stem: &str) -> Result<Agent, BadText> {
    let split = split(text)?;
    checked(read(&split)?, stem, split.body.trim().to_owned()).map_err(|invalid| untrue(&split, invalid))
}

fn checked(keys: AgentKeys, stem: &str, prompt: String) -> Result<Agent, Invalid> {
    let tools = match wire::required("tools", keys.tools)? {
        Tools::List(tools) => tools,
        Tools::Text(text) => listed(&text),
    };
    let name = keys.name.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| stem.to_owned());
    let description = keys.description.unwrap_or_default();
    let model = keys.model.as_deref().and_then(ModelName::read);
    Ok(Agent { name, description, model, tools, prompt })
}

/// Splits a list of patterns at commas outside brackets.
fn listed(text: &str) -> Vec<String> {
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
