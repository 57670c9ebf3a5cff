//! The skills: `skills/<name>/SKILL.md`.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use domain::schedule::{InvalidField, Prompt, SkillSpec};
use domain::tool::pattern::split_list;

use super::FileError;
use super::items::{ItemFile, Listing, read_text};
use crate::disk::{Disk, FileKind};
use crate::frontmatter::wire::{self, MetadataKey, SkillKeys};
use crate::frontmatter::{
    BadFile, BadText, FrontmatterBuilder, Split, Value, invalid_value, read, split, with_quoted_values,
};

/// The most additional files of a skill that are listed.
const MAX_FILES: usize = 50;
/// The depth of directories that is searched for them.
const MAX_DEPTH: usize = 4;

/// A stored skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSkill {
    pub directory: String,
    /// The whole text of its file, which the user accepts.
    pub text: String,
    pub skill: SkillSpec,
}

/// The directory `skills`.
#[derive(Clone)]
pub struct SkillDirectory {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
}

impl SkillDirectory {
    /// The directory in the data directory `data`.
    pub fn new(disk: Arc<dyn Disk>, data: &Path) -> Self {
        Self { disk, dir: data.join("skills") }
    }

    /// Reads all skills, by directory name. A directory without a `SKILL.md` is skipped.
    pub fn list(&self) -> Result<Listing<SkillSpec>, FileError> {
        let mut listing = Listing { items: Vec::new(), bad: Vec::new() };
        for path in self.paths()? {
            match self.read(&path) {
                Ok(item) => listing.items.push(ItemFile { path, item }),
                Err(bad) => {
                    tracing::warn!(path = %bad.path.display(), "left out: {}", bad.bad);
                    listing.bad.push(bad);
                }
            }
        }
        Ok(listing)
    }

    /// All readable skills, by directory name.
    pub fn list_readable(&self) -> Vec<StoredSkill> {
        let paths = self.paths().unwrap_or_default();
        let directories = paths.iter().filter_map(|path| path.parent()?.file_name()?.to_str());
        directories.filter_map(|directory| self.find(directory).ok().flatten()).collect()
    }

    /// SK-3: the skill in the directory `name`, if it exists. Refuses a name or a link that leads
    /// out of `skills`.
    pub fn find(&self, name: &str) -> Result<Option<StoredSkill>, BadFile> {
        let path = self.dir.join(name).join("SKILL.md");
        let bad = |bad| BadFile { path: path.clone(), bad };
        let is_name = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
        if !is_name {
            return Err(bad(BadText::whole("a skill is called like its directory in `skills`")));
        }
        if !self.exists(&path) {
            return Ok(None);
        }
        if !self.is_inside(&path) {
            return Err(bad(BadText::whole("it is a link that leads out of `skills`, so it is not read")));
        }
        let text = read_text(&*self.disk, &path).map_err(bad)?;
        let skill = parse(&text).map_err(bad)?;
        Ok(Some(StoredSkill { directory: name.to_owned(), text, skill }))
    }

    fn is_inside(&self, path: &Path) -> bool {
        self.resolves_inside(&self.dir, path)
    }

    fn resolves_inside(&self, dir: &Path, path: &Path) -> bool {
        let real = (self.disk.canonicalize(dir), self.disk.canonicalize(path));
        matches!(real, (Ok(dir), Ok(path)) if path.starts_with(&dir))
    }

    /// The files of the skill `name` other than `SKILL.md`, at most `MAX_FILES`, as paths relative
    /// to its directory. Hidden files and links that lead out of the directory are left out.
    pub fn files(&self, name: &str) -> Vec<String> {
        let dir = self.dir.join(name);
        let mut files = Vec::new();
        let mut waiting = vec![(dir.clone(), 0)];
        while let Some((folder, depth)) = waiting.pop() {
            for listed in self.disk.list(&folder).unwrap_or_default() {
                let Ok(path) = listed.path.strip_prefix(&dir) else { continue };
                let hidden =
                    path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."));
                if hidden || path == Path::new("SKILL.md") || !self.resolves_inside(&dir, &listed.path) {
                    continue;
                }
                if listed.is_file() {
                    files.extend(path.to_str().map(str::to_owned));
                } else if listed.stamp.kind == Some(FileKind::Directory) && depth < MAX_DEPTH {
                    waiting.push((listed.path, depth + 1));
                }
            }
        }
        files.sort();
        files.truncate(MAX_FILES);
        files
    }

    /// Reads an additional file of the skill `name`. `file` is relative to its directory and must
    /// not lead out of it.
    pub fn read_file(&self, name: &str, file: &str) -> Result<String, BadFile> {
        let dir = self.dir.join(name);
        let path = dir.join(file);
        let bad = |bad| BadFile { path: path.clone(), bad };
        let plain =
            Path::new(file).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if self.find(name)?.is_none() || !plain || file.contains('\0') {
            return Err(bad(BadText::whole("only files in the directory of a skill are read")));
        }
        if !self.exists(&path) {
            return Err(bad(BadText::whole("there is no such file in the skill")));
        }
        if !self.resolves_inside(&dir, &path) {
            return Err(bad(BadText::whole("it is a link that leads out of the skill, so it is not read")));
        }
        read_text(&*self.disk, &path).map_err(bad)
    }

    pub fn read(&self, path: &Path) -> Result<SkillSpec, BadFile> {
        let skill = read_text(&*self.disk, path).and_then(|text| parse(&text));
        skill.map_err(|bad| BadFile { path: path.to_owned(), bad })
    }

    fn paths(&self) -> Result<Vec<PathBuf>, FileError> {
        let reading = || FileError::on_read(&self.dir);
        if self.disk.file_kind(&self.dir).map_err(reading())?.is_none() {
            return Ok(Vec::new());
        }
        let listed = self.disk.list(&self.dir).map_err(reading())?;
        let skills = listed.into_iter().filter(|name| !name.is_file()).map(|name| name.path.join("SKILL.md"));
        let mut paths: Vec<PathBuf> = skills.filter(|path| self.exists(path)).collect();
        paths.sort();
        Ok(paths)
    }

    fn exists(&self, path: &Path) -> bool {
        match self.disk.file_kind(path) {
            Ok(Some(FileKind::File(_) | FileKind::Directory | FileKind::Other)) => true,
            Ok(None) => false,
            // Reading it reports the error.
            Err(error) => error.kind() != std::io::ErrorKind::NotADirectory,
        }
    }
}

/// Parses the text of a skill.
///
/// A plain value that contains `: ` is invalid YAML but common in skills by other authors. Such
/// values are read as if they were quoted.
pub fn parse(text: &str) -> Result<SkillSpec, BadText> {
    let split = split(text)?;
    let keys = match read::<SkillKeys>(&split) {
        Ok(keys) => keys,
        Err(bad) => {
            let quoted = with_quoted_values(split.yaml).ok_or_else(|| bad.clone())?;
            let quoted = Split { yaml: &quoted, ..split };
            return build_skill(read(&quoted).map_err(|_| bad)?, &quoted);
        }
    };
    build_skill(keys, &split)
}

/// The text of a new skill. Fails if it violates the specification.
pub fn to_text(skill: &SkillSpec) -> Result<String, InvalidField> {
    skill.check()?;
    let metadata =
        (!skill.metadata.is_empty()).then(|| Value::Json(serde_json::json!(skill.metadata).to_string()));
    let mut head = FrontmatterBuilder::new()
        .with("name", Some(Value::Text(skill.name.clone())))
        .with("description", Some(Value::Text(skill.description.clone())))
        .with("license", skill.license.clone().map(Value::Text))
        .with("compatibility", skill.compatibility.clone().map(Value::Text))
        .with("metadata", metadata)
        .with("allowed-tools", skill.allowed_tools.as_deref().map(tool_list));
    for (key, value) in &skill.other {
        let key = if is_plain_key(key) { key.clone() } else { serde_json::json!(key).to_string() };
        head = head.with(&key, Some(Value::Json(value.clone())));
    }
    Ok(head.with_body(skill.instructions.as_str()))
}

/// The specification writes tools as one string. A list is written only if the string would be
/// parsed differently.
fn tool_list(tools: &[String]) -> Value {
    let text = tools.join(" ");
    if split_list(&text) == tools { Value::Text(text) } else { Value::List(tools.to_vec()) }
}

fn is_plain_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

fn build_skill(keys: SkillKeys, split: &Split<'_>) -> Result<SkillSpec, BadText> {
    let required = |key, value| wire::required(key, value).map_err(|invalid| invalid_value(split, invalid));
    let name = required("name", keys.name)?;
    let description = required("description", keys.description)?;
    let metadata = read::<MetadataKey>(split).map(|key| key.metadata.unwrap_or_default());
    let all: BTreeMap<String, serde_json::Value> = read(split).unwrap_or_default();
    let is_known = |key: &str| match key {
        "name" | "description" | "license" | "compatibility" | "allowed-tools" | "allowed_tools" => true,
        // Metadata of another shape is preserved like an unknown key.
        "metadata" => metadata.is_ok(),
        _ => false,
    };
    let other = all.iter().filter(|(key, _)| !is_known(key));
    let other = other.map(|(key, value)| (key.clone(), value.to_string())).collect();
    Ok(SkillSpec {
        name,
        description,
        license: keys.license,
        compatibility: keys.compatibility,
        allowed_tools: keys.allowed_tools.map(|list| list.0),
        metadata: metadata.unwrap_or_default(),
        other,
        instructions: Prompt::new(split.body),
    })
}
