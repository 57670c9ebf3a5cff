//! The skills: `skills/<name>/SKILL.md`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::schedule::{Invalid, Prompt, SkillSpec};

use super::Trouble;
use super::items::{Filed, Listing, text_of};
use crate::disk::{Disk, Seen};
use crate::frontmatter::wire::{self, SkillKeys};
use crate::frontmatter::{BadFile, BadText, Head, Value, read, split, untrue};

/// A skill, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The name of its directory.
    pub directory: String,
    /// The text of its file, whole: what the human accepts.
    pub text: String,
    /// What it says.
    pub skill: SkillSpec,
}

/// The directory `skills`.
#[derive(Clone)]
pub struct Skills {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
}

impl Skills {
    /// The directory in the data directory `data`.
    pub fn new(disk: Arc<dyn Disk>, data: &Path) -> Self {
        Self { disk, dir: data.join("skills") }
    }

    /// Reads all skills, by the name of their directory. A directory without a `SKILL.md` is none.
    pub fn list(&self) -> Result<Listing<SkillSpec>, Trouble> {
        let mut listing = Listing { items: Vec::new(), bad: Vec::new() };
        for path in self.paths()? {
            match self.read(&path) {
                Ok(item) => listing.items.push(Filed { path, item }),
                Err(bad) => {
                    tracing::warn!(path = %bad.path.display(), "left out: {}", bad.bad);
                    listing.bad.push(bad);
                }
            }
        }
        Ok(listing)
    }

    /// SK-3: the skill whose directory is called `name`: nothing, if there is none. One that lies elsewhere, by its name
    /// or by a link, is refused.
    pub fn find(&self, name: &str) -> Result<Option<Kept>, BadFile> {
        let path = self.dir.join(name).join("SKILL.md");
        let bad = |bad| BadFile { path: path.clone(), bad };
        let is_name = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
        if !is_name {
            return Err(bad(BadText::whole("a skill is called like its directory in `skills`")));
        }
        if !self.is_there(&path) {
            return Ok(None);
        }
        if !self.is_inside(&path) {
            return Err(bad(BadText::whole("it is a link that leads out of `skills`, so it is not read")));
        }
        let text = text_of(&*self.disk, &path).map_err(bad)?;
        let skill = parse(&text).map_err(bad)?;
        Ok(Some(Kept { directory: name.to_owned(), text, skill }))
    }

    fn is_inside(&self, path: &Path) -> bool {
        let real = (self.disk.real(&self.dir), self.disk.real(path));
        matches!(real, (Ok(dir), Ok(path)) if path.starts_with(&dir))
    }

    /// Reads one `SKILL.md`.
    pub fn read(&self, path: &Path) -> Result<SkillSpec, BadFile> {
        let skill = text_of(&*self.disk, path).and_then(|text| parse(&text));
        skill.map_err(|bad| BadFile { path: path.to_owned(), bad })
    }

    fn paths(&self) -> Result<Vec<PathBuf>, Trouble> {
        let reading = || Trouble::reading(&self.dir);
        if self.disk.look(&self.dir).map_err(reading())?.is_none() {
            return Ok(Vec::new());
        }
        let listed = self.disk.list(&self.dir).map_err(reading())?;
        let skills = listed.into_iter().filter(|name| !name.is_file()).map(|name| name.path.join("SKILL.md"));
        let mut paths: Vec<PathBuf> = skills.filter(|path| self.is_there(path)).collect();
        paths.sort();
        Ok(paths)
    }

    fn is_there(&self, path: &Path) -> bool {
        match self.disk.look(path) {
            Ok(Some(Seen::File(_) | Seen::Directory | Seen::Strange)) => true,
            Ok(None) => false,
            // Reading it will say what is wrong.
            Err(error) => error.kind() != std::io::ErrorKind::NotADirectory,
        }
    }
}

/// Reads the text of a skill.
pub fn parse(text: &str) -> Result<SkillSpec, BadText> {
    let split = split(text)?;
    checked(read(&split)?, Prompt::new(split.body)).map_err(|invalid| untrue(&split, invalid))
}

/// The text of a new skill.
pub fn to_text(skill: &SkillSpec) -> String {
    Head::new()
        .with("name", Some(Value::Text(skill.name.clone())))
        .with("description", Some(Value::Text(skill.description.clone())))
        .with("allowed-tools", skill.allowed_tools.clone().map(Value::List))
        .above(skill.instructions.as_str())
}

fn checked(keys: SkillKeys, instructions: Prompt) -> Result<SkillSpec, Invalid> {
    let name = wire::required("name", keys.name)?;
    let description = wire::required("description", keys.description)?;
    Ok(SkillSpec { name, description, allowed_tools: keys.allowed_tools, instructions })
}
